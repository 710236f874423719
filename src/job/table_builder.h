// Makes definitions of drafts, and a table of them: the checks that both formats share.
#ifndef ROTA_SRC_JOB_TABLE_BUILDER_H
#define ROTA_SRC_JOB_TABLE_BUILDER_H

#include <rota/job/table.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "job/table_keys.h"

namespace rota::job::detail {

class table_builder {
 public:
  explicit table_builder(const table_options& o);

  const table_options& options() const noexcept { return options_; }
  // About so many entries will come.
  void expect(std::size_t entries);
  problem_list& problems() noexcept { return problems_; }

  // What a job starts from: whose it is, and nothing else that differs from the defaults.
  rota::job::surroundings first_surroundings() const;

  // Adds the job, unless there is an error, which is noted.
  void add(draft&& d);

  // The same for entries that share theirs with the one before them: nothing is copied or looked
  // up. Of the draft, rules and surroundings do not count.
  void add(draft&& d, std::shared_ptr<const rota::job::rules> r,
           std::shared_ptr<const rota::job::surroundings> s);

  template <class T>
  std::shared_ptr<const T> share(T value) {
    return shared_->share(std::move(value));
  }

  // A name of `base` and what the entry says, the same as long as the entry stays the same.
  std::string make_name(std::string_view base, std::string_view schedule, std::string_view command);

  void set_cap(std::string name, std::uint32_t cap) { groups_[std::move(name)] = cap; }

  table take();

 private:
  bool has_room(const draft& d);
  bool parse_schedule(draft& d, schedule& when);
  void check_owner(const draft& d, const rota::job::surroundings& s);

  const table_options& options_;
  problem_list problems_;
  interner own_;
  interner* shared_;
  std::shared_ptr<const std::string> file_;
  std::vector<definition> jobs_;
  group_caps groups_;
  std::unordered_map<std::string, std::uint32_t> names_;    // and their lines
  std::unordered_map<std::string, std::uint32_t> numbers_;  // of made names that were taken
  bool full_ = false;
};

// The readers of the formats; they add to the builder what they find.
void read_crontab(std::string_view text, table_builder& b);
void read_toml(std::string_view text, table_builder& b);
// One job alone, of this name.
void read_toml_job(std::string_view text, std::string_view name, table_builder& b);

}  // namespace rota::job::detail

#endif
