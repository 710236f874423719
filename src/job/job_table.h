// All jobs, found by name and by their next instant, in little memory: most of them are idle.
//
// An entry is a fixed record and one block with its texts. What many jobs have in common (rules,
// surroundings, owner, file, zone) is kept once. The next instants are in one heap (rule T5), whose
// places the entries know, so that one can be taken out.
//
// Entries do not move, and their numbers are used again. An entry of status `none` has a name and
// nothing else: a job that was removed while a run of it is under way, or one that the ledger knows
// and the table does not yet. A name that name() gives is good until the table changes.
#ifndef ROTA_JOB_JOB_TABLE_H
#define ROTA_JOB_JOB_TABLE_H

#include <rota/job/definition.h>
#include <rota/job/engine.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "job/packed_schedule.h"
#include "job/text_blocks.h"

namespace rota::job {

using job_index = std::uint32_t;
inline constexpr job_index no_job = 0xFFFF'FFFF;
inline constexpr instant never = instant::max();

struct job_entry {
  packed_schedule when;
  instant next = never;  // the next instant
  instant wake = never;  // the next instant, or when its absence is noticed: the key in the heap
  // As in job_row.
  instant cursor{};
  instant anchor{};
  instant last_success{};
  instant known_since{};
  const char* block = nullptr;  // name, command, text
  std::uint32_t setting = 0;
  std::uint32_t line = 0;
  std::uint32_t place = no_job;     // in the heap
  std::uint32_t waiting = 0;        // rows in the due queue
  std::uint32_t retrying = 0;       // rows that wait for their time
  std::uint32_t running = 0;        // rows that are launched and not over
  std::uint32_t schedule_hash = 0;  // as in job_row
  std::uint16_t generation = 0;     // of the table that it was last seen in, or the one before
  job_status status = job_status::none;
  bool used : 1 = false;    // the number is not free
  bool paused : 1 = false;  // these as in job_row
  bool failing : 1 = false;
  bool absent : 1 = false;
  bool booted : 1 = false;   // @reboot: it ran in this boot
  bool touched : 1 = false;  // its job_row is part of the next transaction
  bool saved : 1 = false;    // the ledger has a job_row of it
};

class job_table {
 public:
  job_table();

  // About so many entries will be there.
  void expect(std::size_t entries);

  job_index find(std::string_view name) const;
  // A new entry of status none.
  job_index insert(std::string_view name);
  void erase(job_index i);

  void define(job_index i, const definition& d);
  void undefine(job_index i);
  // Whether the entry already means this; where it stands, and how it is written, may differ.
  bool same(job_index i, const definition& d) const;

  job_entry& operator[](job_index i) { return chunks_[i / chunk_size][i % chunk_size]; }
  const job_entry& operator[](job_index i) const { return chunks_[i / chunk_size][i % chunk_size]; }
  std::string_view name(job_index i) const;
  schedule when(job_index i) const { return (*this)[i].when.unpacked(zones_); }
  const rota::job::rules& rules(job_index i) const { return *settings_[(*this)[i].setting].rules; }
  const std::string& owner(job_index i) const { return settings_[(*this)[i].setting].owner; }
  definition definition_of(job_index i) const;

  // Jobs with a definition.
  std::size_t size() const noexcept { return defined_; }
  template <class F>
  void each(F f) {
    for (job_index i = 0; i < entries_; ++i)
      if ((*this)[i].used) f(i);
  }
  template <class F>
  void each(F f) const {
    for (job_index i = 0; i < entries_; ++i)
      if ((*this)[i].used) f(i);
  }

  // --- the heap of what comes next -------------------------------------------------------------
  // Puts the entry where its `wake` belongs; one that never wakes is taken out.
  void arm(job_index i);
  void disarm(job_index i);
  // Who wakes first, or no_job.
  job_index first() const noexcept { return heap_.empty() ? no_job : heap_.front(); }

 private:
  struct setting {
    std::shared_ptr<const rota::job::rules> rules;
    std::shared_ptr<const rota::job::surroundings> surroundings;
    std::shared_ptr<const std::string> file;
    std::string owner;
    std::uint32_t users = 0;
  };
  using setting_key = std::tuple<const void*, const void*, const void*, std::string_view>;

  static setting_key key_of(const setting& s) {
    return {s.rules.get(), s.surroundings.get(), s.file.get(), s.owner};
  }
  // Entries that are allocated together: a deque has three of them in a block, and a gap.
  static constexpr job_index chunk_size = 64;

  std::size_t block_size(job_index i) const;
  void set_block(job_index i, std::string_view bytes);
  void tidy_texts();
  std::uint32_t intern(const definition& d);
  void leave_setting(std::uint32_t at);

  std::size_t slot_of(std::string_view name) const;
  void grow_index(std::size_t slots);
  bool before(job_index a, job_index b) const;
  void set_place(std::size_t at, job_index i);
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);

  std::vector<std::unique_ptr<job_entry[]>> chunks_;
  job_index entries_ = 0;
  std::vector<job_index> free_;
  std::size_t defined_ = 0;

  std::deque<setting> settings_;  // the first is that of entries without a definition
  std::map<setting_key, std::uint32_t> setting_at_;
  std::vector<std::uint32_t> free_settings_;
  zone_list zones_;
  text_blocks texts_;

  // Open addressing, linear probing: numbers of entries, or no_job.
  std::vector<job_index> index_;
  std::size_t named_ = 0;

  std::vector<job_index> heap_;  // binary, the earliest wake first
};

}  // namespace rota::job

#endif
