// Which version of each table is used: the new one, if all of them fit together; otherwise tables
// give way one after the other, first the one that is blamed, from its new version to its last good
// one, then to none. If a table that did not change is blamed, those that did change give way
// before it: who breaks an order does not push out who kept it. But root's never gives way to a
// user's: what is wrong with a user's table is not made right by root's (rule S1).
//
// A job that was added is a table of its own, and older than what changes. One that is not used
// stays in the ledger and here, and like a file that is not used it is tried again with each
// change.
//
// The definitions of jobs that rest are the engine's alone: settle() gives them away, and unpack()
// asks for them when tables are to be looked at together. Between the two, a table knows its groups
// and how many jobs it has.

#include "job_tables.h"

#include <rota/job/table_file.h>

#include <malloc.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "place.h"

namespace rota::app {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds a_moment{100};
constexpr std::chrono::milliseconds between_tries{1000};
constexpr std::size_t many = 10'000;  // jobs: some megabytes to be given back

// With its memory, which `= {}` would keep.
template <class Container>
void let_go(Container& c) {
  Container().swap(c);
}

// A job that was added stands nowhere.
job::table without_source(job::table t) {
  for (job::definition& d : t.jobs) d.source = {};
  return t;
}

// The errors, one a line.
std::string errors_of(const std::vector<job::problem>& problems) {
  constexpr std::size_t enough = 20;
  std::string text;
  std::size_t count = 0;
  for (const job::problem& p : problems) {
    if (p.severity != job::severity::error) continue;
    if (++count <= enough) text += (text.empty() ? "" : "\n") + job::to_text(p);
  }
  if (count > enough) text += "\n... and " + std::to_string(count - enough) + " more";
  return text;
}

}  // namespace

job_tables::job_tables(loop& l, options o, job::engine& e, job::sqlite_ledger& s, events ev)
    : loop_(l),
      options_(std::move(o)),
      engine_(e),
      ledger_(s),
      events_(std::move(ev)),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      soon_(l,
            [this] {
              if (all_dirty_) return reload(events_.now());
              find_files();
              const std::set<std::string> dirty = std::exchange(dirty_, {});
              for (auto& [path, of_file] : files_)
                if (!of_file.error.empty() || dirty.contains(path)) read(path, of_file);
              settle(events_.now());
            }),
      rewatch_(l, [this] { watch_directories(); }) {
  if (inotify_ < 0) throw std::system_error(errno, std::generic_category(), "inotify");
  loop_.watch(inotify_, [this] { on_change(); });
  std::error_code error;
  fs::create_directories(options_.last_good, error);
  ::chmod(options_.last_good.c_str(), 0700);
}

job_tables::~job_tables() {
  loop_.unwatch(inotify_);
  ::close(inotify_);
}

void job_tables::start(instant now) {
  for (const source& s : options_.sources)
    unwatched_.insert(is_directory(s.path) ? s.path : directory_of(s.path));
  remember_directories();
  watch_directories();
  find_files();
  for (auto& [path, e] : files_) {
    read(path, e);
    if (!e.candidate) read_kept(path, e);
  }
  read_added();
  settle(now);
}

void job_tables::reload(instant now) {
  all_dirty_ = false;
  dirty_.clear();
  find_files();
  for (auto& [path, e] : files_) read(path, e);
  settle(now);
}

// --- watching -----------------------------------------------------------------------------------

void job_tables::watch_directories() {
  bool found_again = false;
  for (auto it = unwatched_.begin(); it != unwatched_.end();) {
    const int watch =
        ::inotify_add_watch(inotify_, it->c_str(),
                            IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
    if (watch < 0) {
      ++it;
      continue;
    }
    watches_[watch] = *it;
    it = unwatched_.erase(it);
    found_again = true;
  }
  if (found_again && rewatch_due_) {
    all_dirty_ = true;
    soon_.after(a_moment);
  }
  rewatch_due_ = !unwatched_.empty();
  if (rewatch_due_) rewatch_.after(between_tries);
}

void job_tables::on_change() {
  alignas(inotify_event) std::array<char, 16 * 1024> room;
  bool changed = false;
  for (;;) {
    const ssize_t n = ::read(inotify_, room.data(), room.size());
    if (n <= 0) break;
    for (ssize_t at = 0; at < n;) {
      const auto* const e = reinterpret_cast<const inotify_event*>(room.data() + at);
      at += static_cast<ssize_t>(sizeof *e) + e->len;
      if (e->mask & IN_Q_OVERFLOW) {
        all_dirty_ = changed = true;
        continue;
      }
      const auto where = watches_.find(e->wd);
      if (where == watches_.end()) continue;
      if (e->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) {
        ::inotify_rm_watch(inotify_, e->wd);
        unwatched_.insert(where->second);
        watches_.erase(where);
        rewatch_due_ = true;
        all_dirty_ = changed = true;
        rewatch_.after(a_moment);
        continue;
      }
      if (e->len == 0) continue;
      const std::string path = where->second + "/" + e->name;
      const bool in_directory =
          std::any_of(options_.sources.begin(), options_.sources.end(),
                      [&](const source& s) { return s.path == where->second; });
      const bool named = std::any_of(options_.sources.begin(), options_.sources.end(),
                                     [&](const source& s) { return s.path == path; });
      if (!in_directory && !named) continue;
      dirty_.insert(path);
      changed = true;
    }
  }
  if (changed) soon_.after(a_moment);
}

// --- reading ------------------------------------------------------------------------------------

job::table_options job_tables::options_for(const std::string& file, job::table_form form) const {
  job::table_options o;
  o.file = file;
  o.form = form;
  o.zone = options_.zone;
  o.dst = options_.dst;
  o.syntax = options_.syntax;
  o.shared = &shared_;
  return o;
}

// Which files there are: those named, and those in directories.
void job_tables::find_files() {
  // A directory that was not there before is watched first, then read.
  for (const source& s : options_.sources) {
    const bool watched = std::any_of(watches_.begin(), watches_.end(),
                                     [&](const auto& w) { return w.second == s.path; });
    if (!watched && is_directory(s.path)) unwatched_.insert(s.path);
  }
  if (!unwatched_.empty()) watch_directories();
  std::map<std::string, std::pair<job::table_form, bool>> there;
  for (const source& s : options_.sources) {
    if (is_directory(s.path)) directories_.insert(s.path);
    if (!directories_.contains(s.path)) {
      there[s.path] = {s.form, false};
      continue;
    }
    // A directory that cannot be read keeps what it had.
    const auto names = job::list_tables(s.path, s.form);
    if (names)
      for (const std::string& path : *names) there[path] = {s.form, true};
    else
      for (const auto& [path, e] : files_)
        if (e.from_directory && directory_of(path) == s.path) there[path] = {s.form, true};
  }
  for (auto it = files_.begin(); it != files_.end();) {
    if (there.contains(it->first)) {
      ++it;
      continue;
    }
    events_.log(it->first + ": gone, and its jobs with it");
    std::error_code error;
    fs::remove(keep_path(it->first), error);
    it = files_.erase(it);
  }
  for (const auto& [path, how] : there) {
    auto [it, fresh] = files_.try_emplace(path);
    it->second.form = how.first;
    it->second.from_directory = how.second;
    if (fresh) dirty_.insert(path);
  }
}

void job_tables::read(const std::string& path, entry& e) {
  job::table_expectations expected;
  struct stat is{};
  // Root's daemon takes a user's table; its jobs run as that user.
  if (::geteuid() == 0 && ::lstat(path.c_str(), &is) == 0) expected.user = is.st_uid;
  expected.named_by_user = e.from_directory && e.form == job::table_form::user_crontab;
  const job::opened_table opened = job::open_table(path, expected);
  e.candidate.reset();
  if (!opened) return say(path, e, opened.text);
  job::table_options o = options_for(path, e.form);
  o.owner = job::user_name(opened.owner);
  job::table t = job::read_table(opened.text, o);
  const auto users = job::check_users(t, job::user_name(::geteuid()), ::geteuid() == 0);
  t.problems.insert(t.problems.end(), users.begin(), users.end());
  if (!t.ok()) return say(path, e, errors_of(t.problems));
  for (const job::problem& p : t.problems) events_.log(job::to_text(p));
  e.text = o.owner + "\n" + opened.text;
  e.candidate = std::move(t);
}

void job_tables::read_added() {
  for (const job::stored_definition& d : ledger_.definitions())
    added_[d.name] = {.owner = d.owner, .toml = d.toml, .used = false};
}

// Those that are not used may fit by now; who does not is left out again.
void job_tables::bring_back() {
  for (auto& [name, a] : added_) {
    if (a.used) continue;
    job::table_options o = options_for(name, job::table_form::toml);
    o.owner = a.owner;
    a.table = without_source(job::read_job(a.toml, name, o));
    a.packed = false;
    a.used = a.table.ok();
    if (!a.used) leave_out(name, a, errors_of(a.table.problems));
  }
}

void job_tables::leave_out(const std::string& name, added_job& a, const std::string& error) {
  a.used = false;
  a.table = {};
  if (std::exchange(a.error, error) != error)
    events_.log("error: job " + name + ", which was added, is not used: " + error);
}

void job_tables::say(const std::string& file, entry& e, const std::string& error) {
  if (e.error == error) return;
  e.error = error;
  events_.log("error: " + file + " is not used" +
              (e.good ? ", its last good version stays:\n" : ":\n") + error);
}

// --- which versions are used --------------------------------------------------------------------

void job_tables::unpack() {
  bool any = false;
  for (const auto& [path, e] : files_) any |= e.packed && e.good;
  for (const auto& [name, a] : added_) any |= a.used && a.packed;
  if (!any) return;
  std::vector<std::pair<const std::string*, entry*>> seen;  // by the file's name in definitions
  engine_.each_job([&](const job::job_view& v) {
    const std::string* const file = v.def->source.file.get();
    if (file == nullptr) {
      if (const auto a = added_.find(v.def->name);
          a != added_.end() && a->second.used && a->second.packed)
        a->second.table.jobs.push_back(*v.def);
      return;
    }
    // Neighbours come from one file, mostly.
    if (seen.empty() || seen.back().first != file) {
      const auto found = files_.find(*file);
      seen.emplace_back(file, found == files_.end() ? nullptr : &found->second);
    }
    entry* const e = seen.back().second;
    if (e && e->packed && e->good) e->good->jobs.push_back(*v.def);
  });
  for (auto& [path, e] : files_) {
    if (!e.packed || !e.good) continue;
    e.packed = false;
    std::sort(e.good->jobs.begin(), e.good->jobs.end(),
              [](const auto& a, const auto& b) { return a.source.line < b.source.line; });
  }
  for (auto& [name, a] : added_) a.packed = false;
}

void job_tables::pack() {
  for (auto& [path, e] : files_) {
    if (e.good) let_go(e.good->jobs);
    e.packed = true;
  }
  for (auto& [name, a] : added_) {
    let_go(a.table.jobs);
    a.packed = true;
  }
}

std::vector<job::problem> job_tables::problems_together() {
  unpack();
  std::vector<const job::table*> tables;
  for (const auto& [path, e] : files_)
    if (!e.candidate && e.good) tables.push_back(&*e.good);
  for (const auto& [name, a] : added_)
    if (a.used) tables.push_back(&a.table);
  for (const auto& [path, e] : files_)
    if (e.candidate) tables.push_back(&*e.candidate);
  auto problems = job::check_together(tables);
  std::erase_if(problems, [](const job::problem& p) { return p.severity != job::severity::error; });
  return problems;
}

// One table takes a step back. False: none is left that could.
bool job_tables::give_way(const job::problem& p) {
  const auto blamed = files_.find(p.file);
  const auto added = p.file.empty() ? added_.find(p.job) : added_.end();  // has no file
  if (blamed != files_.end() && blamed->second.candidate) {
    step_back(blamed->first, blamed->second, p);
    return true;
  }
  const std::string owner = added != added_.end() ? added->second.owner
                            : blamed != files_.end() && blamed->second.good
                                ? blamed->second.good->owner
                                : std::string();
  const auto may_be_the_cause = [&](const std::string& other) {
    return owner.empty() || owner == "root" || owner == other;
  };
  for (auto& [path, e] : files_)
    if (e.candidate && e.good && may_be_the_cause(e.candidate->owner)) {
      step_back(path, e, p);
      return true;
    }
  if (blamed != files_.end() && blamed->second.good) {
    blamed->second.good.reset();
    say(blamed->first, blamed->second, job::to_text(p));
    return true;
  }
  if (added == added_.end() || !added->second.used) return false;
  leave_out(added->first, added->second, p.text);
  return true;
}

void job_tables::settle(instant now) {
  bring_back();
  for (auto problems = problems_together(); !problems.empty(); problems = problems_together())
    if (!give_way(problems.front())) break;
  groups_.clear();
  std::vector<job::definition> all;
  const auto take = [&](job::table& t) {
    const std::size_t count = t.jobs.size();
    if (all.empty())
      all.swap(t.jobs);
    else
      all.insert(all.end(), std::make_move_iterator(t.jobs.begin()),
                 std::make_move_iterator(t.jobs.end()));
    let_go(t.problems);
    groups_.insert(t.groups.begin(), t.groups.end());
    return count;
  };
  for (auto& [path, e] : files_) {
    if (e.candidate) {
      if (!e.error.empty()) events_.log(path + ": in order again");
      e.error.clear();
      e.good = std::move(e.candidate);
      e.candidate.reset();
      e.loaded = now;
      keep_good(path, e);
    }
    let_go(e.text);
    e.count = e.good ? take(*e.good) : 0;
  }
  for (auto& [name, a] : added_) {
    if (!a.used) continue;
    if (!a.error.empty()) events_.log(name + ": used again");
    a.error.clear();
    take(a.table);
  }
  pack();
  const bool large = all.size() >= many;
  engine_.set_groups({groups_.begin(), groups_.end()});
  engine_.set_jobs(std::move(all), now);
  // What reading took is several times what stays.
  if (large) ::malloc_trim(0);
  events_.reloaded();
}

// --- added jobs ---------------------------------------------------------------------------------

std::string job_tables::add(const std::string& name, const std::string& owner,
                            const std::string& toml, instant now) {
  job::table_options o = options_for(name, job::table_form::toml);
  o.owner = owner;
  job::table t = without_source(job::read_job(toml, name, o));
  const auto users = job::check_users(t, job::user_name(::geteuid()), ::geteuid() == 0);
  t.problems.insert(t.problems.end(), users.begin(), users.end());
  if (!t.ok()) return errors_of(t.problems);
  unpack();
  const auto before = added_.find(name);
  std::optional<added_job> old;
  if (before != added_.end()) old = before->second;
  added_[name] = {.owner = owner, .toml = toml, .table = std::move(t)};
  const auto take_back = [&] {
    if (old)
      added_[name] = *old;
    else
      added_.erase(name);
    pack();
  };
  if (const auto problems = problems_together(); !problems.empty()) {
    take_back();
    return errors_of(problems);
  }
  // The ledger first: what we say is added is there after a power cut.
  try {
    ledger_.put_definition({name, owner, toml});
  } catch (...) {
    take_back();
    throw;
  }
  settle(now);
  return {};
}

std::string job_tables::remove(const std::string& name, instant now) {
  unpack();
  auto taken = added_.extract(name);
  if (const auto problems = problems_together(); !problems.empty()) {
    added_.insert(std::move(taken));
    pack();
    return errors_of(problems);
  }
  try {
    ledger_.remove_definition(name);
  } catch (...) {
    added_.insert(std::move(taken));
    pack();
    throw;
  }
  settle(now);
  return {};
}

std::optional<std::string> job_tables::added_by(const std::string& name) const {
  const auto found = added_.find(name);
  return found == added_.end() ? std::nullopt : std::optional(found->second.owner);
}

std::optional<std::string> job_tables::text_of(const std::string& name) const {
  const auto found = added_.find(name);
  if (found == added_.end() || !found->second.used) return std::nullopt;
  return found->second.toml;
}

std::vector<table_status> job_tables::status() const {
  std::vector<table_status> all;
  for (const auto& [path, e] : files_)
    all.push_back({path, e.error.empty() && e.good, e.error, e.loaded, e.count});
  return all;
}

}  // namespace rota::app
