// The runs that are due and wait for a slot, in the order of rule C2: by (scheduled, id).
//
// A run is held while a run of its own job is under way (unless the job allows two), or while its
// group is full. A group is those who share the same limits, which groups share in turn: that of
// a `limit_group`, that of an owner. Of those that are not held the first one is next. It passes
// the held ones before it, which could not use the slot. With `no_limit`, as is usual, they may be
// passed as long as they are held; otherwise each may be passed `passes` times, and then nobody
// behind it is next.
//
//   if (const queued_run* r = queue.next()) queue.launch(r->key);
//
// Cost: not the length of the queue. A job offers its first run to its group unless it is busy, a
// group offers the first of these unless it is full, and the first of the groups' offers is next. A
// limit that is reached, or is no more, looks at its groups: those of one owner, or of one name.
// With a limit, passing walks over those that are passed, and each can be passed `passes` times in
// its life; without one nobody counts.
#ifndef ROTA_JOB_DUE_QUEUE_H
#define ROTA_JOB_DUE_QUEUE_H

#include <rota/job/run.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "job/job_table.h"

namespace rota::job {

struct due_key {
  instant scheduled{};
  run_id id = 0;
  friend auto operator<=>(const due_key&, const due_key&) = default;
};

struct queued_run {
  due_key key;
  job_index job = no_job;
  std::uint32_t group = 0;
  bool alone = true;  // not while another run of the job is under way
  std::uint32_t passed = 0;
};

class due_queue {
 public:
  explicit due_queue(std::uint32_t passes) : passes_(passes) {}

  // Limits and groups are 0, 1, ...; each is added before it is used. A group without limits is
  // never full.
  std::uint32_t add_limit(std::uint32_t cap);
  void set_cap(std::uint32_t l, std::uint32_t cap);
  std::uint32_t add_group(std::vector<std::uint32_t> limits);
  // How many are in the queue whose group has this limit.
  std::size_t waiting(std::uint32_t l) const { return limits_[l].waiting; }

  // `busy`: whether a run of its job is under way.
  void push(const queued_run& r, bool busy);
  queued_run take(due_key k);
  const queued_run* find(due_key k) const;

  // Who may start next if there is a slot; null if nobody.
  const queued_run* next() const;
  // Takes out the one that was next, and counts those whom it passed.
  queued_run launch(due_key k);

  // A run of the job or of the group begins or ends; also those that never were in the queue.
  void job_is_busy(job_index job, bool busy);
  void group_uses(std::uint32_t g, int more);

  std::size_t size() const noexcept { return all_.size(); }
  template <class F>
  void each(F f) const {
    for (const auto& [key, r] : all_) f(r);
  }

 private:
  using keys = std::set<due_key>;
  struct lane {  // the waiting runs of a job that runs alone
    keys rows;
    std::uint32_t group = 0;
    bool busy = false;
    std::optional<due_key> offer;  // what is in the group's rows
  };
  struct group {
    keys rows;
    std::vector<std::uint32_t> limits;
    std::optional<due_key> offer;  // what is in offers_
  };
  struct limit {
    std::uint32_t cap = 0;
    std::uint32_t used = 0;
    std::size_t waiting = 0;
    std::vector<std::uint32_t> groups;
    bool is_reached() const { return used >= cap; }
  };

  static void offer(std::optional<due_key>& now, std::optional<due_key> wanted, keys& to);
  void refresh(lane& l);
  void refresh(group& g);
  template <class F>
  void change(limit& l, F f);

  const std::uint32_t passes_;
  std::map<due_key, queued_run> all_;
  std::unordered_map<job_index, lane> lanes_;  // none is empty
  std::vector<group> groups_;
  std::vector<limit> limits_;
  keys offers_;
  keys at_limit_;  // who must not be passed any more
};

}  // namespace rota::job

#endif
