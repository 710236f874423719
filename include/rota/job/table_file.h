// Opens tables of jobs so that nobody can slip in another one (rule S1).
//
//   auto opened = rota::job::open_table("/var/spool/cron/crontabs/alice", {.user = 1000});
//   if (opened.fault != rota::job::table_fault::none) std::cerr << opened.text << '\n';
//
// Promised: the text is that of a regular file, no link, which root or the expected user owns,
// which nobody else can write, in a directory of which the same holds (others may write it if it is
// sticky, as /var/spool/cron/crontabs is), and which is not too large. What is checked is the file
// that was opened, not what the path means a moment later. A device or a pipe is never waited for.
// Not promised: anything about the directories above.
//
// Threads: anyone's.
#ifndef ROTA_JOB_TABLE_FILE_H
#define ROTA_JOB_TABLE_FILE_H

#include <rota/job/table.h>

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rota::job {

enum class table_fault : std::uint8_t {
  none,
  missing,             // no such file
  is_link,             // a symbolic link
  not_regular,         // a directory, a device, a pipe
  wrong_owner,         // neither root's nor that of the expected user
  wrong_name,          // a member of a directory of users' tables that is not its owner's
  linked,              // likewise: the file has another name elsewhere
  writable,            // by its group or by others
  directory_owner,     // the directory is somebody else's
  directory_writable,  // others can put files there
  too_large,
  unreadable,  // what else the system says
};

std::string_view to_text(table_fault f) noexcept;

struct table_expectations {
  // Whose the file may be besides root's. None: the one whose process this is.
  std::optional<uid_t> user = {};
  std::size_t size = table_limits{}.size;
  // Of a directory with a table for each user, as /var/spool/cron/crontabs: the file bears the name
  // of the user whose it is, also if it is root's, and no other name.
  bool named_by_user = false;
};

struct opened_table {
  table_fault fault = table_fault::none;
  std::string text;  // of the file; or what is wrong, and what would be right
  uid_t owner = 0;   // of the file
  explicit operator bool() const noexcept { return fault == table_fault::none; }
};

opened_table open_table(const std::string& path, const table_expectations& e = {});

// Opens and reads. `o.file` is the path; an empty `o.owner` becomes the name of the file's owner. A
// fault is an error of the table.
table load_table(table_options o, const table_expectations& e = {});

// By its name: *.toml is TOML, /etc/crontab and what is in a cron.d is of the system, the rest is a
// user's.
table_form form_of(std::string_view path);

// The tables in a directory, by name: *.toml, or, of a cron.d, names that are made of letters,
// digits, _ and - (as Debian takes them: backups and packages' leftovers have others). Nothing if
// the directory cannot be read.
std::optional<std::vector<std::string>> list_tables(const std::string& directory, table_form form);

// The name of a user of this system, or its number where it has none.
std::string user_name(uid_t user);

}  // namespace rota::job

#endif
