// A child commits and tells each commit through a pipe until it is killed; what was told is there,
// and of what was not told, a transaction is there wholly or not at all.

#include <rota/job/sqlite_ledger.h>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <random>
#include <thread>

#include "job/ledger_support.h"
#include "support/strength.h"

namespace {

using namespace rota_ledger_test;

constexpr run_id rows_of_a_commit = 3;

// Commit n has the runs 3n - 2 to 3n and moves the cursor to n. Each 20th also prunes, each
// 70th makes a copy; most of the time is for commits, so that most kills meet one.
[[noreturn]] void commit_for_ever(const std::string& path, int tell) {
  try {
    sqlite_ledger l{path, when(1)};
    const auto s = l.load();
    for (std::int64_t n = (s.next_id - 1) / rows_of_a_commit + 1;; ++n) {
      changes c;
      for (run_id id = (n - 1) * rows_of_a_commit + 1; id <= n * rows_of_a_commit; ++id) {
        c.runs.push_back(over_run(id, "a", id));
      }
      c.jobs = {row_of("a", n)};
      l.commit(c);
      if (::write(tell, &n, sizeof n) != static_cast<ssize_t>(sizeof n)) {
        ::_exit(1);
      }
      if (n % 20 == 0) {
        l.prune("a", {.runs = 30 * rows_of_a_commit}, at(n));
      }
      if (n % 70 == 0) {
        l.backup();
      }
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  ::_exit(2);
}

// What the child told until it died, at least 0.
std::int64_t last_told(int from) {
  std::int64_t last = 0;
  std::int64_t n = 0;
  while (::read(from, &n, sizeof n) == static_cast<ssize_t>(sizeof n)) {
    last = n;
  }
  return last;
}

}  // namespace

TEST(ledger_crash, what_was_committed_survives_kill_9) {
  const int rounds = rota::test::long_tests() ? 1'000 : 36;
  const folder f;
  std::mt19937 random{20'260'329};
  std::int64_t told = 0;
  for (int round = 0; round < rounds; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(pipe_ends[0]);
      commit_for_ever(f.store(), pipe_ends[1]);
    }
    ::close(pipe_ends[1]);
    // Any moment will do. Every fourth time it may be one before the first commit.
    std::int64_t first = 0;
    if (round % 4 != 0) {
      ASSERT_EQ(::read(pipe_ends[0], &first, sizeof first), static_cast<ssize_t>(sizeof first));
      told = std::max(told, first);
    }
    ::usleep(static_cast<useconds_t>(random() % 20'000));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child gave up: " << status;
    told = std::max(told, last_told(pipe_ends[0]));
    ::close(pipe_ends[0]);

    sqlite_ledger l{f.store(), when(1)};
    ASSERT_EQ(all_notes(l), "");
    const auto s = l.load();
    const auto there = (s.next_id - 1) / rows_of_a_commit;
    ASSERT_GE(there, told);
    ASSERT_LE(there, told + 1);
    ASSERT_EQ((s.next_id - 1) % rows_of_a_commit, 0);
    if (there > 0) {
      ASSERT_EQ(s.jobs.at(0).cursor, at(there));
      const auto runs = l.history({.limit = 10'000}).runs;
      // Pruning takes bites of its own size from the other end.
      ASSERT_GE(runs.size(),
                static_cast<std::size_t>(std::min<run_id>(there, 30) * rows_of_a_commit));
      for (std::size_t i = 0; i < runs.size(); ++i) {
        ASSERT_EQ(runs[i].id, s.next_id - 1 - static_cast<run_id>(i));
      }
      ASSERT_EQ(l.totals()[static_cast<std::size_t>(outcome::success)],
                static_cast<std::uint64_t>(there * rows_of_a_commit));
    }
    told = there;
  }
  EXPECT_GT(told, rounds / 4);  // or nothing was tried
}

// The copy is made by one thread while another one commits.
TEST(ledger_crash, a_copy_that_is_made_while_commits_go_on_is_whole) {
  const folder f;
  const pid_t child = ::fork();
  if (child == 0) {
    sqlite_ledger l{f.store(), when(1)};
    std::int64_t n = 0;
    std::thread copies{[&] {
      for (int i = 0; i < 10; ++i) {
        l.backup();
      }
    }};
    while (n < 100) {
      ++n;
      changes c;
      c.runs = {over_run(2 * n - 1, "a", n), over_run(2 * n, "b", n)};
      c.jobs = {row_of("a", n)};
      l.commit(c);
      l.history({.limit = 10});
    }
    copies.join();
    ::_exit(l.sizes().runs == 200 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  std::filesystem::remove(f.store());
  sqlite_ledger l{f.store(), when(1)};
  const auto runs = l.history({.limit = 1'000}).runs;
  ASSERT_GT(runs.size(), 0U);
  EXPECT_EQ(runs.size() % 2, 0U);
  EXPECT_EQ(l.load().jobs.at(0).cursor, at(static_cast<std::int64_t>(runs.size() / 2)));
}
