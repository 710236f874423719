// Runs whose runner the launcher has no pidfd of, and what wakes it. A broken promise shows as an
// end that is told of a run that is still to come, as a hang, or as a launcher that never sleeps.
#include <rota/job/process_launcher.h>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "job/launcher_support.h"
#include "job/runner_wire.h"

namespace rota::job::launcher_tests {

// As long as it lives, no file can be opened.
class no_files {
 public:
  no_files() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int next = ::dup(0);
    EXPECT_GE(next, 0);
    ::close(next);
    rlimit low = before_;
    low.rlim_cur = static_cast<rlim_t>(next);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  }
  void end() const { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  ~no_files() { end(); }

 private:
  rlimit before_ = {};
};

class launcher_blind : public launcher_fixture {
 protected:
  definition counted() { return shell_job("echo $ROTA_RUN >> " + path("starts")); }

  // A runner that has stopped itself before its claim, and whose pidfd was not sent.
  pid_t start_blind(run_id id) {
    process_launcher_options o = options();
    o.fault = static_cast<std::uint32_t>(wire::fault::blind);
    renew(o).start(run_of(id), counted());
    pid_t runner = 0;
    EXPECT_TRUE(until([&] { return (runner = stopped_child_of(launcher().server())) > 0; }));
    to_kill_.push_back(runner);
    return runner;
  }

  // 0: there is none.
  static pid_t stopped_child_of(pid_t parent) {
    const std::string wanted = "T " + std::to_string(parent) + " ";
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0) continue;
      const std::string stat = read_all(entry.path().string() + "/stat");
      const auto end = stat.rfind(')');
      if (end != std::string::npos && stat.compare(end + 2, wanted.size(), wanted) == 0) return pid;
    }
    return 0;
  }

  // Handles what there is, as often as the launcher wants to be woken, `times` at most.
  int handle_wakeups(int times) {
    int woken = 0;
    pollfd p = {launcher().fd(), POLLIN, 0};
    while (woken < times && ::poll(&p, 1, 1'000) > 0) {
      launcher().handle();
      ++woken;
    }
    return woken;
  }
};

TEST_F(launcher_blind, a_runner_that_cannot_be_watched_is_waited_for_until_its_claim) {
  const pid_t runner = start_blind(1);
  ASSERT_EQ(handle_wakeups(5), 5);  // it is looked after without any other event
  EXPECT_TRUE(over_.empty());
  ::kill(runner, SIGCONT);
  ASSERT_TRUE(until_over(1));
  EXPECT_EQ(over_[1][0].outcome, outcome::success) << over_[1][0].note;
  EXPECT_EQ(over_[1].size(), 1U);
  EXPECT_EQ(count_lines("starts"), 1U);
}

TEST_F(launcher_blind, one_that_dies_before_its_claim_is_noticed) {
  const pid_t runner = start_blind(1);
  ASSERT_EQ(handle_wakeups(5), 5);
  ::kill(runner, SIGKILL);
  ASSERT_TRUE(until_over(1));
  EXPECT_EQ(over_[1][0].outcome, outcome::not_started);
  EXPECT_EQ(handle_wakeups(20), 0);  // there is nobody left to look after
  EXPECT_EQ(count_lines("starts"), 0U);
}

TEST_F(launcher_blind, it_may_outlive_its_server) {
  const pid_t runner = start_blind(1);
  ASSERT_EQ(handle_wakeups(5), 5);
  const pid_t server = launcher().server();
  ::kill(server, SIGKILL);
  ASSERT_TRUE(until([&] { return launcher().server() != server; }));
  ASSERT_EQ(handle_wakeups(5), 5);
  EXPECT_TRUE(over_.empty());
  ::kill(runner, SIGCONT);
  ASSERT_TRUE(until_over(1));
  EXPECT_EQ(over_[1][0].outcome, outcome::success) << over_[1][0].note;
  EXPECT_EQ(count_lines("starts"), 1U);
}

TEST_F(launcher_blind, without_files_to_be_had_runs_are_neither_lost_nor_doubled) {
  for (run_id id = 1; id <= 20; ++id) launcher().start(run_of(id), counted());
  const no_files guard;
  const bool all_started = until([&] { return started_.size() == 20; });
  const std::size_t over_so_far = over_.size();
  guard.end();
  EXPECT_TRUE(all_started);
  EXPECT_EQ(over_so_far, 0U);  // who cannot look does not know
  ASSERT_TRUE(until([&] { return over_.size() == 20; })) << over_.size();
  for (const auto& [id, results] : over_) {
    EXPECT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].outcome, outcome::success) << results[0].note;
  }
  EXPECT_EQ(count_lines("starts"), 20U);
}

TEST_F(launcher_blind, a_request_for_which_there_is_no_file_is_sent_when_there_is_one) {
  // Too long for a message, so it goes as a file.
  const definition d = with_surroundings(counted(), [](surroundings& s) {
    for (int i = 0; i < 40; ++i)
      s.environment.emplace_back("V" + std::to_string(i), std::string(1'000, 'x'));
  });
  // The first one looks up the user, which takes files too. It is not answered, so it is not what
  // wakes us.
  const pid_t server = launcher().server();
  ::kill(server, SIGSTOP);
  launcher().start(run_of(2), counted());
  const no_files guard;
  launcher().start(run_of(1), d);
  // Now and then, and not for each turn of a loop.
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(handle_wakeups(5), 5);
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(150));
  EXPECT_TRUE(over_.empty());
  guard.end();
  ::kill(server, SIGCONT);
  ASSERT_TRUE(until([&] { return over_.size() == 2; }));
  EXPECT_EQ(over_[1][0].outcome, outcome::success) << over_[1][0].note;
  EXPECT_EQ(handle_wakeups(20), 0);
}

TEST_F(launcher_blind, requests_that_were_withdrawn_do_not_keep_it_awake) {
  const pid_t server = launcher().server();
  ::kill(server, SIGSTOP);
  const definition d = with_surroundings(counted(), [](surroundings& s) {
    s.environment.emplace_back("V", std::string(10'000, 'x'));  // the socket is full soon
  });
  constexpr run_id count = 400;
  for (run_id id = 1; id <= count; ++id) launcher().start(run_of(id), d);
  for (run_id id = 1; id <= count; ++id) launcher().stop(id);
  launcher().handle();
  EXPECT_GT(over_.size(), 0U);  // those that were not sent
  EXPECT_LT(over_.size(), std::size_t{count});
  ::kill(server, SIGCONT);
  ASSERT_TRUE(until([&] { return over_.size() == std::size_t{count}; })) << over_.size();
  EXPECT_LT(handle_wakeups(50), 50);
}

}  // namespace rota::job::launcher_tests
