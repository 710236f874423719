// What both readers of tables share: the keys that a job has, and the places of problems.
//
// A key with one value is a row of one table, whether it stands in TOML (`timeout = "5m"`) or above
// an entry of a crontab (`# rota: timeout=5m`). Keys of tables within a job have a dot:
// `retry.delay`.
#ifndef ROTA_SRC_JOB_TABLE_KEYS_H
#define ROTA_SRC_JOB_TABLE_KEYS_H

#include <rota/job/table.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rota::job::detail {

struct place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// A job while its entry is read.
struct draft {
  std::string name;
  std::string schedule;        // as it is kept and shown
  std::string_view written{};  // as it stands in the file, so that columns are right
  place at;                    // of the entry
  place schedule_at;           // of `written`
  bool has_schedule = false;
  std::optional<time_zone> zone;
  std::optional<dst_rule> dst;
  cron_syntax syntax = cron_syntax::strict;
  rota::job::rules rules;
  rota::job::surroundings surroundings;
  rota::job::command command;
};

// What TOML has to give for a key.
enum class value_kind : std::uint8_t { text, whole, real, flag };

struct key_rule {
  std::string_view name;
  value_kind kind;
  bool in_crontab;  // it may stand in a `# rota:` line
  // Takes the value; empty, or what is wrong with it and what would be right.
  std::string (*set)(draft&, std::string_view value);
};

std::span<const key_rule> key_rules();
const key_rule* find_key(std::string_view name);

// "; did you mean `x`?", or which keys there are if none is near.
std::string key_hint(std::string_view unknown, bool in_crontab);

std::string wrong_with_user(std::string_view name);
std::string wrong_with_environment_name(std::string_view name);
std::string wrong_with_mail(std::string_view address);

bool is_utf8(std::string_view text);

// `x`, for a message: short, and without what a terminal would take for more than text.
std::string in_quotes(std::string_view text);

// Problems in the order of the text, not too many of them.
class problem_list {
 public:
  explicit problem_list(std::string file) : file_(std::move(file)) {}

  void error(place at, std::string text) { add(at, severity::error, std::move(text)); }
  void warn(place at, std::string text) { add(at, severity::warning, std::move(text)); }
  bool failed() const noexcept { return failed_; }
  // Makes columns that were counted in characters, by whoever counted them, bytes of this text, and
  // keeps them inside their lines.
  void count_bytes(std::string_view text);
  std::vector<problem> take();

 private:
  void sort();
  void add(place at, severity s, std::string text);

  std::string file_;
  std::vector<problem> list_;
  std::size_t left_out_ = 0;
  bool failed_ = false;
};

}  // namespace rota::job::detail

#endif
