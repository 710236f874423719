// Reads tables of jobs: crontabs, in the user's and in the system's form, and native TOML.
//
//   rota::job::table t = rota::job::read_table(text, {.file = "jobs/backup.toml",
//                                                     .form = rota::job::table_form::toml});
//   if (!t.ok()) for (const auto& p : t.problems) std::cerr << to_text(p) << '\n';
//
// Promised: any bytes give a table or errors with their places, never both: a table with an error
// has no jobs, so that nobody runs half a file (rule K4). All errors are listed, not only the first
// (up to most_problems). What is written back by to_toml() reads as the same job.
// docs/job_files.md has both formats, key by key.
//
// Opening the files safely is table_file.h. Threads: the functions are anyone's, an interner is
// not.
#ifndef ROTA_JOB_TABLE_H
#define ROTA_JOB_TABLE_H

#include <rota/job/definition.h>
#include <rota/job/interner.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rota::job {

enum class severity : std::uint8_t { error, warning };

// Something about a table that a person should know.
struct problem {
  std::string file;
  std::uint32_t line = 0;    // from 1; zero: of the file as a whole
  std::uint32_t column = 0;  // from 1, in bytes; zero: of the line as a whole
  rota::job::severity severity = severity::error;
  std::string text;      // what, and what would be right
  std::string job = {};  // whom check_together() blames
  friend bool operator==(const problem&, const problem&) = default;
};

// "file:line:column: what, and what would be right"; a warning says that it is one.
std::string to_text(const problem& p);

// Caps of groups, by name.
using group_caps = std::map<std::string, std::uint32_t, std::less<>>;

struct table {
  std::string file;               // as the options say
  std::string owner;              // likewise
  std::vector<definition> jobs;   // in the order of the text
  group_caps groups;              // those that this table defines
  std::vector<problem> problems;  // in the order of the text

  // Whether the daemon may use it.
  bool ok() const noexcept;
};

enum class table_form : std::uint8_t {
  user_crontab,    // `crontab -l`: five fields, command
  system_crontab,  // /etc/crontab, /etc/cron.d: five fields, user, command
  toml,
};

// Rule S1: what no table may exceed.
struct table_limits {
  std::size_t size = std::size_t{16} << 20;  // bytes of a file
  std::size_t line = std::size_t{64} << 10;  // bytes of a line of a crontab
  std::size_t entries = 100'000;             // jobs of a table, and of one owner in all tables
};

// As cron does it, runs may overlap (O1). Missed instants are as everywhere: the last one is made
// up (M1).
rules default_crontab_rules();

struct table_options {
  std::string file = {};  // for messages and names; the file need not exist
  table_form form = table_form::user_crontab;
  // Who the jobs belong to. Those of anyone but root run as their owner and as nobody else; root's
  // run as the daemon's user where they name none. Empty: as root's.
  std::string owner = {};
  // The zone and the rule for clock changes of jobs that name none.
  time_zone zone = {};
  dst_rule dst = dst_rule::wall;
  cron_syntax syntax = cron_syntax::strict;                  // of crontabs
  rota::job::rules crontab_rules = default_crontab_rules();  // of entries that say nothing else
  table_limits limits = {};
  interner* shared = nullptr;  // none: shared within the table
};

inline constexpr std::size_t most_problems = 1000;

table read_table(std::string_view text, const table_options& o);

// One job, as `rota job add` and PUT /jobs/NAME give it: keys at the top level, no groups. `name`
// is its name; a key `name` in the text may only repeat it.
table read_job(std::string_view text, std::string_view name, table_options o);

// The job in TOML, with everything that differs from the defaults, and its zone. Reads as the same
// job wherever its owner is the same. What an environment_file holds is not in it: only its path
// is.
std::string to_toml(const definition& d);

// A file of several jobs: [job.NAME] tables, then [group.NAME].
std::string to_toml(const std::vector<definition>& jobs, const group_caps& groups = {});

// What is wrong with tables that are each in order, between them: a name twice, `after` that names
// no job or leads back, a group without a cap or with two, more jobs of an owner than may be. Jobs
// and groups of other owners are as good as absent to all but root. `groups` are root's caps from
// elsewhere.
std::vector<problem> check_together(const std::vector<const table*>& tables,
                                    const group_caps& groups = {}, const table_limits& limits = {});

// Jobs that only root's daemon can run: those of another user than the daemon's.
std::vector<problem> check_users(const table& t, std::string_view daemon_user, bool daemon_is_root);

// Empty if a job, a group or a user may be called so, otherwise what is wrong and what would be
// right.
std::string wrong_with_name(std::string_view name);

inline constexpr std::size_t longest_name = 128;

}  // namespace rota::job

#endif
