// The last good versions of tables, in the state directory: a file each, with the table's path, its
// owner and its text. They are what a start falls back to.
#include <rota/job/table_file.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "job_tables.h"
#include "place.h"

namespace rota::app {

namespace {

namespace fs = std::filesystem;

}  // namespace

bool is_directory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::string directory_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// By a hash of the path (FNV-1a): a path is no name for a file.
std::string job_tables::keep_path(const std::string& file) const {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : file) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  char name[24];
  std::snprintf(name, sizeof name, "/%016llx", static_cast<unsigned long long>(hash));
  return options_.last_good + name;
}

void job_tables::keep_good(const std::string& file, const entry& e) {
  try {
    const std::string text = file + "\n" + e.text;
    if (read_whole_file(keep_path(file), std::size_t{64} << 20) != text)
      write_whole_file(keep_path(file), text);
  } catch (const std::exception& error) {
    events_.log(std::string("warning: the last good version is not kept: ") + error.what());
  }
}

void job_tables::read_kept(const std::string& file, entry& e) {
  std::string text;
  try {
    text = read_whole_file(keep_path(file), std::size_t{64} << 20);
  } catch (const std::exception&) {
    return;  // As if there were none.
  }
  if (!text.starts_with(file + "\n")) return;
  text.erase(0, file.size() + 1);
  const std::size_t line = text.find('\n');
  if (line == text.npos) return;
  job::table_options o = options_for(file, e.form);
  o.owner = text.substr(0, line);
  job::table t = job::read_table(std::string_view(text).substr(line + 1), o);
  if (!t.ok()) return;
  e.good = std::move(t);
  e.packed = false;
  events_.log(file + ": its last good version, of before, is used");
}

// A start has read no last good version where the new one was in order by itself.
void job_tables::step_back(const std::string& path, entry& e, const job::problem& p) {
  e.candidate.reset();
  if (!e.good) read_kept(path, e);
  say(path, e, job::to_text(p));
}

std::size_t job_tables::bytes_of(const std::string& owner, const std::string& but) const {
  std::size_t bytes = 0;
  for (const auto& [name, a] : added_)
    if (a.owner == owner && name != but) bytes += a.toml.size();
  return bytes;
}

// A directory that is not there, or cannot be read, as the daemon starts (not mounted yet, say) has
// the files that it had: without them, their jobs would be removed, and with them what is known of
// them. Those that went while nobody looked are forgotten.
void job_tables::remember_directories() {
  std::error_code error;
  for (const auto& kept : fs::directory_iterator(options_.last_good, error)) {
    std::string path;
    try {
      path = read_whole_file(kept.path().string(), std::size_t{64} << 20);
    } catch (const std::exception&) {
      continue;  // As if there were none.
    }
    path.erase(std::min(path.find('\n'), path.size()));
    bool of_directory = false;
    bool gone = true;
    for (const source& s : options_.sources) {
      if (directory_of(path) != s.path) continue;
      of_directory = true;
      const auto names = is_directory(s.path) ? job::list_tables(s.path, s.form) : std::nullopt;
      if (names && std::find(names->begin(), names->end(), path) == names->end()) continue;
      gone = false;
      if (names) continue;
      directories_.insert(s.path);
      unwatched_.insert(s.path);
      files_[path].form = s.form;
      files_[path].from_directory = true;
    }
    std::error_code ignored;
    if (of_directory && gone) fs::remove(kept.path(), ignored);
  }
  for (const std::string& directory : directories_)
    events_.log("error: " + directory +
                " is not there or cannot be read; the last good versions of its tables are used");
}

}  // namespace rota::app
