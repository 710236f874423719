// When a run is over, how it is stopped, and whose children are whose (rules O2, C4 and K5). A
// broken promise shows as a hang, which the limit of until() turns into a failure, or as a process
// that is left.
#include <rota/job/process_launcher.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "job/launcher_support.h"

namespace rota::job::launcher_tests {

class launcher_stop : public launcher_fixture {
 protected:
  // Waits until a program has written a pid to a file.
  pid_t pid_in(const std::string& name) {
    pid_t pid = 0;
    EXPECT_TRUE(until([&] {
      const std::string text = read_all(path(name));
      if (text.empty() || text.back() != '\n') return false;
      pid = std::stoi(text);
      return true;
    }));
    to_kill_.push_back(pid);
    return pid;
  }
};

TEST_F(launcher_stop, a_run_is_over_when_its_process_has_ended_not_when_its_pipes_close) {
  const run_result r =
      run_job(1, shell_job("sleep 1000 & echo $! > " + path("pid") + "; echo said"));
  EXPECT_EQ(r.outcome, outcome::success);
  EXPECT_EQ(log(1), "said\n");
  const pid_t grandchild = pid_in("pid");
  EXPECT_TRUE(is_alive(grandchild));  // nobody asked for its end
}

TEST_F(launcher_stop, somebody_who_prints_for_ever_does_not_keep_a_run_from_its_end) {
  const run_result r = run_job(1, shell_job("yes & echo $! > " + path("pid") + "; sleep 0.05"));
  EXPECT_EQ(r.outcome, outcome::success);
  const pid_t grandchild = pid_in("pid");
  EXPECT_TRUE(until([&] { return !is_alive(grandchild); }));  // nobody reads its pipe any more
}

TEST_F(launcher_stop, a_program_that_takes_too_long_is_asked_to_end) {
  const definition d =
      with_rules(shell_job("trap 'echo bye; exit 4' TERM; echo up; while :; do sleep 0.02; done"),
                 [](rules& r) { r.timeout = milliseconds{300}; });
  const run_result r = run_job(1, d);
  EXPECT_EQ(r.outcome, outcome::timed_out);
  EXPECT_EQ(r.exit_code, 4);
  EXPECT_TRUE(log(1).starts_with("up\n") && log(1).ends_with("bye\n")) << log(1);
  EXPECT_GE(r.finished - r.started, milliseconds{300});
}

TEST_F(launcher_stop, who_does_not_go_is_killed_with_the_whole_group) {
  // Neither the program nor its child hears TERM.
  const definition d = with_rules(
      shell_job("trap '' TERM; (sleep 1000) & echo $! > " + path("pid") + "; wait"), [](rules& r) {
        r.timeout = milliseconds{200};
        r.grace = milliseconds{200};
      });
  const run_result r = run_job(1, d);
  EXPECT_EQ(r.outcome, outcome::timed_out);
  EXPECT_EQ(r.signal, SIGKILL);
  EXPECT_GE(r.finished - r.started, milliseconds{400});
  const pid_t child = pid_in("pid");
  EXPECT_TRUE(until([&] { return !is_alive(child); }));
}

TEST_F(launcher_stop, a_stopped_run_is_over_when_its_group_is_gone) {
  // The program goes at once, its child needs a while: what replaces the run must not meet it.
  const definition d =
      with_rules(shell_job("sh -c 'trap \"sleep 0.3; echo child gone; exit\" TERM; echo $$ > " +
                           path("pid") + "; while :; do sleep 0.02; done' & wait"),
                 [](rules& r) { r.grace = milliseconds{30'000}; });
  launcher().start(run_of(1), d);
  const pid_t child = pid_in("pid");
  launcher().stop(1);
  ASSERT_TRUE(until_over(1));
  EXPECT_EQ(over_[1][0].outcome, outcome::cancelled);
  EXPECT_FALSE(is_alive(child));
  EXPECT_TRUE(log(1).ends_with("child gone\n")) << log(1);
}

TEST_F(launcher_stop, a_child_that_does_not_go_is_killed_when_the_program_has_gone) {
  const definition d = with_rules(shell_job("sh -c 'trap \"\" TERM; echo $$ > " + path("pid") +
                                            "; while :; do sleep 0.02; done' & "
                                            "wait"),
                                  [](rules& r) { r.grace = milliseconds{200}; });
  launcher().start(run_of(1), d);
  const pid_t child = pid_in("pid");
  launcher().stop(1);
  ASSERT_TRUE(until_over(1));
  EXPECT_EQ(over_[1][0].signal, SIGTERM);
  EXPECT_TRUE(until([&] { return !is_alive(child); }));
}

TEST_F(launcher_stop, who_has_left_the_group_is_left_alone) {
  const definition d = with_rules(
      shell_job("setsid sh -c 'echo $$ > " + path("pid") + "; exec sleep 1000' & sleep 1000"),
      [](rules& r) { r.grace = milliseconds{30'000}; });
  launcher().start(run_of(1), d);
  const pid_t other = pid_in("pid");
  launcher().stop(1);
  ASSERT_TRUE(until_over(1));
  EXPECT_EQ(over_[1][0].outcome, outcome::cancelled);
  EXPECT_TRUE(is_alive(other));
}

TEST_F(launcher_stop, k5_a_runner_takes_in_the_orphans_of_its_program) {
  // The inner shell is gone when its child is looked at.
  const definition d =
      shell_job("sh -c 'sleep 1000 & echo $! > " + path("pid") + "'; echo up; exec sleep 1000");
  launcher().start(run_of(1), d);
  const pid_t orphan = pid_in("pid");
  ASSERT_TRUE(until([&] { return log(1) == "up\n"; }));
  const std::string stat = read_all("/proc/" + std::to_string(orphan) + "/stat");
  const pid_t parent = std::stoi(stat.substr(stat.rfind(')') + 4));  // after the state
  EXPECT_EQ(read_all("/proc/" + std::to_string(parent) + "/comm"), "rota-runner\n");
  launcher().stop(1);
  ASSERT_TRUE(until_over(1));
  EXPECT_TRUE(until([&] { return !is_alive(orphan); }));
}

TEST_F(launcher_stop, k5_children_of_the_program_around_the_launcher_are_left_to_it) {
  const pid_t ours = ::fork();
  ASSERT_GE(ours, 0);
  if (ours == 0) ::_exit(7);
  for (run_id id = 1; id <= 5; ++id) EXPECT_EQ(run_job(id, argv_job({"true"})).exit_code, 0);
  launcher_.reset();  // which waits for a child of its own
  int status = 0;
  ASSERT_EQ(::waitpid(ours, &status, 0), ours);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

TEST_F(launcher_stop, a_program_that_is_stopped_hears_the_end_of_its_time) {
  const definition d =
      with_rules(shell_job("kill -STOP $$"), [](rules& r) { r.timeout = milliseconds{200}; });
  const run_result r = run_job(1, d);
  EXPECT_EQ(r.outcome, outcome::timed_out);
  EXPECT_EQ(r.signal, SIGTERM);
}

TEST_F(launcher_stop, cancel_works_at_any_moment) {
  // Right after the start, before anybody has answered; the last ones wait for room in the socket.
  const definition d = shell_job("exec sleep 1000");
  constexpr run_id count = 50;
  for (run_id id = 1; id <= count; ++id) {
    launcher().start(run_of(id), d);
    if (id % 5 == 0) launcher().handle();
    launcher().stop(id);
  }
  ASSERT_TRUE(until([&] { return over_.size() == count; }));
  for (const auto& [id, results] : over_) {
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].outcome, outcome::cancelled) << id << " " << results[0].note;
  }
  launcher().stop(1);    // over
  launcher().stop(999);  // never heard of
}

TEST_F(launcher_stop, a_run_that_ended_by_itself_is_not_cancelled) {
  run_job(1, argv_job({"true"}));
  launcher().stop(1);
  const run_result r = run_job(2, argv_job({"true"}));
  EXPECT_EQ(r.outcome, outcome::success);
  EXPECT_EQ(over_[1].size(), 1U);
}

}  // namespace rota::job::launcher_tests
