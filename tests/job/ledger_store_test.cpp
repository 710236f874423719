// What the engine leans on: rows come back as they went in, all of a commit or nothing, one key
// once, one daemon at a time, nobody else reads.

#include <rota/job/sqlite_ledger.h>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "job/ledger_db.h"
#include "job/ledger_schema.h"
#include "job/ledger_support.h"

namespace {

using namespace rota_ledger_test;

void expect_same(const run& a, const run& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.job, b.job);
  EXPECT_EQ(a.scheduled, b.scheduled);
  EXPECT_EQ(a.attempt, b.attempt);
  EXPECT_EQ(a.why, b.why);
  EXPECT_EQ(a.phase, b.phase);
  EXPECT_EQ(a.outcome, b.outcome);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.first, b.first);
  EXPECT_EQ(a.recorded, b.recorded);
  EXPECT_EQ(a.not_before, b.not_before);
  EXPECT_EQ(a.launched, b.launched);
  EXPECT_EQ(a.started, b.started);
  EXPECT_EQ(a.finished, b.finished);
  EXPECT_EQ(a.exit_code, b.exit_code);
  EXPECT_EQ(a.signal, b.signal);
  EXPECT_EQ(a.pid, b.pid);
  EXPECT_EQ(a.boot, b.boot);
  EXPECT_EQ(a.note, b.note);
  EXPECT_EQ(a.requested_by, b.requested_by);
  EXPECT_EQ(a.owner, b.owner);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

mode_t mode_of(const std::string& path) {
  struct stat s{};
  return ::stat(path.c_str(), &s) == 0 ? s.st_mode & 0777 : 0;
}

}  // namespace

TEST(ledger_store, a_row_comes_back_with_each_of_its_fields) {
  const folder f;
  const run r = full_run(17, "backup", 1'000);
  job_row j = row_of("backup", 5);
  j.anchor = at(6);
  j.paused = true;
  j.last_success = at(7);
  j.known_since = at(8);
  j.failing = true;
  j.absent = true;
  j.boot = "b";
  j.schedule = 0xFEDC'BA98;
  {
    sqlite_ledger l{f.store(), when(1)};
    l.commit({.runs = {r}, .jobs = {j}, .forgotten = {}});
  }
  sqlite_ledger l{f.store(), when(2)};
  EXPECT_EQ(all_notes(l), "");
  ASSERT_TRUE(l.find_run(17));
  expect_same(*l.find_run(17), r);
  const auto s = l.load();
  ASSERT_EQ(s.jobs.size(), 1U);
  EXPECT_EQ(s.jobs[0].name, "backup");
  EXPECT_EQ(s.jobs[0].cursor, at(5));
  EXPECT_EQ(s.jobs[0].anchor, at(6));
  EXPECT_TRUE(s.jobs[0].paused);
  EXPECT_EQ(s.jobs[0].last_success, at(7));
  EXPECT_EQ(s.jobs[0].known_since, at(8));
  EXPECT_TRUE(s.jobs[0].failing);
  EXPECT_TRUE(s.jobs[0].absent);
  EXPECT_EQ(s.jobs[0].boot, "b");
  EXPECT_EQ(s.jobs[0].schedule, j.schedule);
  EXPECT_EQ(s.next_id, 18);
  EXPECT_TRUE(s.unfinished.empty());
}

TEST(ledger_store, a_row_replaces_the_one_of_its_id_or_name) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  l.commit({.runs = {due_run(1, "a", 10)}, .jobs = {row_of("a", 10)}, .forgotten = {}});
  l.commit({.runs = {full_run(1, "a", 10)},
            .jobs = {row_of("a", 12), row_of("a", 11)},
            .forgotten = {}});
  expect_same(*l.find_run(1), full_run(1, "a", 10));
  const auto s = l.load();
  ASSERT_EQ(s.jobs.size(), 1U);
  EXPECT_EQ(s.jobs[0].cursor, at(11));
  EXPECT_EQ(l.history({}).runs.size(), 1U);
}

TEST(ledger_store, unfinished_runs_are_loaded_in_the_order_of_the_queue) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  run launched = due_run(4, "b", 20);
  launched.phase = phase::launched;
  l.commit({.runs = {due_run(1, "a", 30), over_run(2, "a", 5), due_run(3, "c", 20), launched,
                     due_run(5, "a", 10)},
            .jobs = {},
            .forgotten = {}});
  EXPECT_EQ(ids_of(l.load().unfinished), (std::vector<run_id>{5, 3, 4, 1}));
}

TEST(ledger_store, a_forgotten_job_is_gone_and_its_runs_stay) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  l.commit(
      {.runs = {over_run(1, "a", 1)}, .jobs = {row_of("a", 1), row_of("b", 1)}, .forgotten = {}});
  l.commit({.runs = {}, .jobs = {row_of("a", 2)}, .forgotten = {"a"}});
  const auto s = l.load();
  ASSERT_EQ(s.jobs.size(), 1U);
  EXPECT_EQ(s.jobs[0].name, "b");
  EXPECT_TRUE(l.find_run(1));
}

TEST(ledger_store, a_key_is_there_once_and_a_commit_is_all_or_nothing) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  l.commit({.runs = {due_run(1, "a", 10)}, .jobs = {}, .forgotten = {}});
  const auto error = error_of([&] {
    l.commit({.runs = {due_run(2, "b", 10), due_run(3, "a", 10)},
              .jobs = {row_of("b", 1)},
              .forgotten = {}});
  });
  EXPECT_TRUE(has(error, "UNIQUE")) << error;
  EXPECT_TRUE(has(error, "run 3: job 'a'")) << error;
  EXPECT_FALSE(l.find_run(2));
  const auto s = l.load();
  EXPECT_TRUE(s.jobs.empty());
  EXPECT_EQ(s.next_id, 2);
  run second = due_run(3, "a", 10);
  second.attempt = 2;
  l.commit({.runs = {due_run(2, "b", 10), second}, .jobs = {}, .forgotten = {}});
  EXPECT_EQ(l.load().next_id, 4);
}

TEST(ledger_store, text_is_kept_whatever_it_is) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  const std::vector<std::string> names = {"it's",
                                          "\"; DROP TABLE run; --",
                                          "?1",
                                          "%s\\n",
                                          "nächtlich 日本 🦀",
                                          " ",
                                          "",
                                          std::string("nul\0inside", 10),
                                          std::string(100'000, 'x')};
  changes c;
  for (std::size_t i = 0; i < names.size(); ++i) {
    run r = over_run(static_cast<run_id>(i + 1), names[i], 10);
    r.note = names[i];
    c.runs.push_back(r);
    c.jobs.push_back(row_of(names[i], 1));
    l.put_definition({.name = names[i], .owner = names[i], .toml = names[i]});
  }
  l.commit(c);
  const auto s = l.load();
  EXPECT_EQ(s.jobs.size(), names.size());
  EXPECT_EQ(l.definitions().size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto page = l.history({.jobs = {{names[i]}}});
    ASSERT_EQ(page.runs.size(), 1U) << names[i];
    EXPECT_EQ(page.runs[0].job, names[i]);
    EXPECT_EQ(page.runs[0].note, names[i]);
    EXPECT_TRUE(l.remove_definition(names[i]));
  }
  EXPECT_FALSE(l.remove_definition("it's"));
}

TEST(ledger_store, an_id_is_never_used_again) {
  const folder f;
  {
    sqlite_ledger l{f.store(), when(1)};
    EXPECT_EQ(l.load().next_id, 1);
    l.commit({.runs = {over_run(1, "a", 1), over_run(2, "a", 2)}, .jobs = {}, .forgotten = {}});
    EXPECT_EQ(l.prune("a", {.runs = 0}, at(3)).ids.size(), 2U);
  }
  {
    sqlite_ledger l{f.store(), when(1)};
    EXPECT_EQ(l.load().next_id, 3);
    l.raise_next_id(100);
    l.raise_next_id(50);
  }
  sqlite_ledger l{f.store(), when(1)};
  EXPECT_EQ(l.load().next_id, 100);
}

TEST(ledger_store, only_its_owner_may_read_it) {
  const folder f;
  const mode_t before = ::umask(0);
  {
    sqlite_ledger l{f.store(), when(1)};
    l.commit({.runs = {}, .jobs = {row_of("a", 1)}, .forgotten = {}});
    l.backup();
    EXPECT_EQ(f.files("ledger.db").size(), 5U);
    for (const auto& file : f.files("ledger.db")) {
      EXPECT_EQ(mode_of(file), 0600U) << file;
    }
  }
  ::chmod(f.store().c_str(), 0644);
  {
    sqlite_ledger l{f.store(), when(1)};
    EXPECT_EQ(mode_of(f.store()), 0600U);
    EXPECT_EQ(mode_of(f.store() + "-wal"), 0600U);
  }
  ::umask(before);
}

TEST(ledger_store, a_directory_that_others_may_write_to_is_refused) {
  const folder f;
  for (const mode_t mode : {0702U, 0720U}) {
    ASSERT_EQ(::chmod(f.path().c_str(), mode), 0);
    const auto error = error_of([&] { sqlite_ledger l(f.store(), when(1)); });
    EXPECT_TRUE(has(error, "others may write") && has(error, "chmod go-w")) << error;
  }
  ASSERT_EQ(::chmod(f.path().c_str(), 0755), 0);
  EXPECT_NO_THROW(sqlite_ledger(f.store(), when(1)));
}

TEST(ledger_store, what_cannot_be_a_ledger_is_refused_and_left_alone) {
  const folder f;
  const auto refused = [&](const std::string& path, const std::string& part) {
    const auto error = error_of([&] { sqlite_ledger l(path, when(1)); });
    EXPECT_TRUE(has(error, part)) << path << ": " << error;
  };
  refused(f.path() + "/none/ledger.db", "no directory for the ledger");
  std::filesystem::create_directory(f.path() + "/dir");
  refused(f.path() + "/dir", "is a directory");
  std::filesystem::create_symlink("elsewhere", f.path() + "/link");
  refused(f.path() + "/link", "is a symbolic link");
  ASSERT_EQ(::mkfifo((f.path() + "/fifo").c_str(), 0600), 0);
  refused(f.path() + "/fifo", "is no file");
  write_bytes(f.path() + "/notes", std::string(5'000, 'n'));
  write_bytes(f.path() + "/notes.lock", "somebody else's");
  refused(f.path() + "/notes", "file of something else");
  EXPECT_TRUE(bytes_of(f.path() + "/notes") == std::string(5'000, 'n'));
  {
    store::connection other{f.path() + "/other.db", store::access::write, {}};
    other.execute("CREATE TABLE t (x)");
  }
  refused(f.path() + "/other.db", "file of something else");
}

TEST(ledger_store, a_store_that_may_not_be_written_is_refused) {
  const folder f;
  {
    sqlite_ledger l{f.store(), when(1)};
  }
  const auto before = bytes_of(f.store());
  // As a user who is not root, and has the directory but not the file.
  for (const mode_t mode : {0400U, 0444U, 0000U}) {
    ASSERT_EQ(::chmod(f.store().c_str(), mode), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::geteuid() == 0 && (::chown(f.path().c_str(), 65'534, 65'534) != 0 ||
                               ::chown((f.store() + ".lock").c_str(), 65'534, 65'534) != 0 ||
                               ::setgid(65'534) != 0 || ::setuid(65'534) != 0)) {
        ::_exit(3);
      }
      const auto error = error_of([&] { sqlite_ledger l(f.store(), when(1)); });
      ::_exit(has(error, "cannot") && has(error, "ledger.db: ") && has(error, "Permission denied")
                  ? 0
                  : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << mode;
  }
  ASSERT_EQ(::chmod(f.store().c_str(), 0600), 0);
  EXPECT_TRUE(bytes_of(f.store()) == before);
}

TEST(ledger_store, a_second_daemon_is_refused_and_told_who_the_first_is) {
  const folder f;
  int ready[2];
  int stop[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(stop), 0);
  const pid_t first = ::fork();
  if (first == 0) {
    ::close(stop[1]);
    sqlite_ledger l{f.store(), when(1)};
    char c = 'r';
    const bool told = ::write(ready[1], &c, 1) == 1;
    ::_exit(told && ::read(stop[0], &c, 1) == 0 ? 0 : 1);  // until the parent closes it
  }
  ::close(stop[0]);
  ::close(ready[1]);
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  const auto error = error_of([&] { sqlite_ledger second(f.store(), when(1)); });
  EXPECT_TRUE(has(error, "another daemon has the ledger open (pid " + std::to_string(first) + ")"))
      << error;
  ::close(ready[0]);
  ::close(stop[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(first, &status, 0), first);
  EXPECT_EQ(status, 0);
}

TEST(ledger_store, a_process_has_a_ledger_open_once) {
  const folder f;
  {
    sqlite_ledger l{f.store(), when(1)};
    const auto error = error_of([&] { sqlite_ledger second(f.path() + "/./ledger.db", when(1)); });
    EXPECT_TRUE(has(error, "this process (pid " + std::to_string(::getpid()))) << error;
  }
  EXPECT_NO_THROW(sqlite_ledger(f.store(), when(1)));
}

TEST(ledger_store, the_lock_goes_with_the_ledger_and_with_its_process) {
  const folder f;
  {
    sqlite_ledger l{f.store(), when(1)};
  }
  const pid_t child = ::fork();
  if (child == 0) {
    sqlite_ledger l{f.store(), when(1)};
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_NO_THROW(sqlite_ledger(f.store(), when(1)));
}

TEST(ledger_store, the_view_says_in_words_what_the_rows_say_in_numbers) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  changes c;
  for (int i = 0; i <= 10; ++i) {
    run r = over_run(i + 1, "a", 1'774'746'000'000 + i, static_cast<outcome>(i));
    r.why = static_cast<trigger>(i % 6);
    r.reason = static_cast<reason>(i % 7);
    r.phase = static_cast<phase>(i % 3);
    c.runs.push_back(r);
  }
  l.commit(c);
  store::connection db{f.store(), store::access::read, {}};
  auto q = db.use("SELECT why, phase, outcome, reason, scheduled, started FROM runs_readable");
  for (int i = 0; i <= 10; ++i) {
    ASSERT_TRUE(q.step());
    EXPECT_EQ(q.text(0), to_text(static_cast<trigger>(i % 6)));
    EXPECT_EQ(q.text(1), to_text(static_cast<phase>(i % 3)));
    EXPECT_EQ(q.text(2), to_text(static_cast<outcome>(i)));
    EXPECT_EQ(q.text(3), to_text(static_cast<reason>(i % 7)));
    EXPECT_EQ(q.text(4).substr(0, 19), "2026-03-29 01:00:00");
    EXPECT_EQ(q.text(5), "");
  }
}

TEST(ledger_store, a_later_version_is_refused_and_left_alone) {
  const folder f;
  {
    sqlite_ledger l{f.store(), when(1)};
  }
  {
    store::connection db{f.store(), store::access::write, {}};
    db.execute("PRAGMA user_version = 3");
  }
  const auto error = error_of([&] { sqlite_ledger l(f.store(), when(1)); });
  EXPECT_TRUE(has(error, "of version 3, this program knows versions up to 2")) << error;
  EXPECT_TRUE(f.files("ledger.db.damaged").empty());
  store::connection db{f.store(), store::access::read, {}};
  EXPECT_EQ(db.ask("PRAGMA user_version"), 3);
}

TEST(ledger_store, a_migration_takes_the_missing_steps_after_keeping_a_copy) {
  const folder f;
  store::connection db{f.store(), store::access::write, {}};
  db.execute("CREATE TABLE old (x); INSERT INTO old VALUES (7)");  // a version 0 that never was
  std::vector<std::size_t> copies;
  const auto keep = [&](std::size_t to) { copies.push_back(to); };
  std::vector<store::migration> steps = {
      [](store::connection& c) { c.execute("ALTER TABLE old RENAME TO middle"); },
      [](store::connection& c) { c.execute("ALTER TABLE middle ADD COLUMN y DEFAULT 8"); }};
  EXPECT_TRUE(store::migrate(db, steps, keep));
  EXPECT_EQ(db.ask("SELECT x + y FROM middle"), 15);
  EXPECT_EQ(copies, std::vector<std::size_t>{2});
  EXPECT_FALSE(store::migrate(db, steps, keep));

  // A step that fails leaves all as it was.
  steps.emplace_back([](store::connection& c) { c.execute("DROP TABLE middle"); });
  steps.emplace_back([](store::connection& c) { c.execute("DROP TABLE none"); });
  EXPECT_THROW(store::migrate(db, steps, keep), ledger_error);
  EXPECT_EQ(db.ask("SELECT x + y FROM middle"), 15);
  EXPECT_EQ(store::version_of(db), 2U);
  EXPECT_EQ(copies, (std::vector<std::size_t>{2, 4}));
}

TEST(ledger_store, a_ledger_of_version_0_is_migrated_with_a_copy_beside_it) {
  const folder f;
  {
    store::connection db{f.store(), store::access::write, {}};
    db.execute("CREATE TABLE early (x); INSERT INTO early VALUES (7)");
    db.execute(("PRAGMA application_id = " + std::to_string(store::application_id)).c_str());
  }
  sqlite_ledger l{f.store(), when(1)};
  EXPECT_EQ(l.load().next_id, 1);
  store::connection copy{f.store() + ".before-v2", store::access::read, {}};
  EXPECT_EQ(copy.ask("SELECT x FROM early"), 7);
  EXPECT_EQ(store::version_of(copy), 0U);
}

TEST(ledger_store, pauses_are_kept_by_owner_and_job) {
  const folder f;
  {
    sqlite_ledger l{f.store(), when(1)};
    l.commit({.runs = {},
              .jobs = {},
              .forgotten = {},
              .pauses = {{"me", "a", at(0)}, {"you", "a", at(5)}}});
    l.commit({.runs = {},
              .jobs = {},
              .forgotten = {"a"},
              .pauses = {{"me", "a", at(7)}},
              .resumed = {{"you", "a", {}}}});
  }
  sqlite_ledger l{f.store(), when(1)};
  EXPECT_EQ(l.load().pauses, (std::vector<pause_row>{{"me", "a", at(7)}}));
}

// RLIMIT_FSIZE makes write() fail as a full disk does, for whoever runs the test.
TEST(ledger_store, a_full_disk_changes_nothing_and_with_room_the_same_commit_works) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  l.commit({.runs = {over_run(1, "a", 1)}, .jobs = {row_of("a", 1)}, .forgotten = {}});
  changes big;
  for (run_id id = 2; id < 2'000; ++id) {
    big.runs.push_back(over_run(id, "a", id));
  }
  big.jobs = {row_of("a", 2'000)};
  auto* const before = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  struct rlimit little = limit;
  for (const rlim_t room : {0UL, 20'000UL, 60'000UL, 200'000UL}) {
    little.rlim_cur = room + 50'000;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
    const auto error = error_of([&] { l.commit(big); });
    const auto copy_error = error_of([&] { l.backup(); });
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_TRUE(has(error, "ledger.db: ")) << error;
    EXPECT_FALSE(has(error, "malformed")) << error;
    const auto s = l.load();
    EXPECT_EQ(s.next_id, 2);
    EXPECT_EQ(s.jobs.at(0).cursor, at(1));
    EXPECT_EQ(l.sizes().runs, 1U);
    EXPECT_TRUE(f.files("ledger.db.good.partial").empty());
  }
  std::signal(SIGXFSZ, before);
  l.commit(big);
  l.backup();
  EXPECT_EQ(l.load().next_id, 2'000);
  EXPECT_EQ(l.sizes().runs, 1'999U);
}

TEST(ledger_store, a_lock_of_another_program_is_an_error_and_goes_by) {
  const folder f;
  auto o = when(1);
  o.busy = std::chrono::milliseconds{1};
  sqlite_ledger l{f.store(), o};
  store::connection other{f.store(), store::access::write, {}};
  other.execute("BEGIN IMMEDIATE");
  const changes c{.runs = {}, .jobs = {row_of("a", 1)}, .forgotten = {}};
  const auto error = error_of([&] { l.commit(c); });
  EXPECT_TRUE(has(error, "another program holds a lock")) << error;
  EXPECT_TRUE(l.history({}).runs.empty());  // who reads does not care
  other.execute("ROLLBACK");
  l.commit(c);
  EXPECT_EQ(l.load().jobs.size(), 1U);
}
