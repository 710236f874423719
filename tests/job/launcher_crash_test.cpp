// What is left when somebody is killed (rules K2 to K5). Each program appends a line to a file when
// it starts: a broken promise shows as a second line, as a line that is missing, or as a wrong
// finding.
#include <rota/job/process_launcher.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "job/launcher_files.h"
#include "job/launcher_request.h"
#include "job/launcher_server.h"
#include "job/launcher_support.h"
#include "job/runner_wire.h"

namespace rota::job::launcher_tests {

class launcher_crash : public launcher_fixture {
 protected:
  // Says that it has started; ends when the file `go` is there.
  definition counted(const std::string& then = "") {
    return shell_job("echo $ROTA_RUN >> " + path("starts") + "; " + then);
  }
  definition counted_until_go() {
    return counted("while [ ! -e " + path("go") + " ]; do sleep 0.02; done; exit 5");
  }
  void go() { std::ofstream(path("go")) << "go"; }

  // A file that can be used again, by a runner that was killed in the middle of doing so.
  void leave_spare(std::int64_t number) {
    std::ofstream(path("runs/" + std::to_string(number) + ".spare"))
        << "rota run 1\nboot " << read_boot_id() << "\nrunner 1\nkey a b 1\nclaimed 1\n"
        << "program 1 1 1\nover failed 9 0 1 of another run\n";
  }
  std::size_t count_files(const std::string& ending) {
    std::size_t n = 0;
    for (const auto& f : std::filesystem::directory_iterator(path("runs")))
      n += f.path().extension() == ending;
    return n;
  }

  // A daemon of its own, which is killed in the middle of what it does.
  pid_t fork_daemon(const std::function<void(process_launcher&)>& work) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    process_launcher mine{options()};
    work(mine);
    while (true) {
      pollfd p = {mine.fd(), POLLIN, 0};
      ::poll(&p, 1, -1);
      mine.handle();
    }
  }
  void kill_daemon(pid_t pid) {
    ::kill(pid, SIGKILL);
    EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  }

  void race(bool with_spares);

  bool until_lines(std::size_t n) {
    return until([&] { return count_lines("starts") >= n; });
  }
};

TEST_F(launcher_crash, a_second_start_starts_nothing_and_answers) {
  run_job(1, counted("exit 3"));
  launcher().start(run_of(1), counted("exit 4"));
  ASSERT_TRUE(until_over(1, 2));
  EXPECT_EQ(over_[1][1].outcome, outcome::failed);
  EXPECT_EQ(over_[1][1].exit_code, 3);
  EXPECT_EQ(count_lines("starts"), 1U);
  launcher().forget(1);
  EXPECT_EQ(launcher().look(run_of(1)).what, finding::absent);
}

TEST_F(launcher_crash, a_second_start_while_the_first_runs_starts_nothing) {
  launcher().start(run_of(1), counted_until_go());
  launcher().start(run_of(1), counted_until_go());
  ASSERT_TRUE(until_lines(1));
  renew();  // another daemon, which has not looked and starts it again
  launcher().start(run_of(1), counted_until_go());
  go();
  ASSERT_TRUE(until_over(1));
  EXPECT_EQ(over_[1].size(), 1U);
  EXPECT_EQ(over_[1][0].exit_code, 5);
  EXPECT_EQ(count_lines("starts"), 1U);
}

TEST_F(launcher_crash, to_look_at_a_run_that_is_being_started_does_not_disturb_it) {
  for (run_id id = 1; id <= 20; ++id) {
    launcher().start(run_of(id), counted());
    while (over_[id].empty()) {
      EXPECT_EQ(launcher().look(run_of(id)).what, finding::running);
      launcher().handle();
    }
    EXPECT_EQ(over_[id][0].outcome, outcome::success) << over_[id][0].note;
  }
}

// Beneath the launcher, whose lock lets one daemon in: servers that know nothing of each other.
TEST_F(launcher_crash, two_servers_that_race_for_a_run_start_it_once) { race(false); }

TEST_F(launcher_crash, two_servers_that_race_for_a_run_and_a_spare_start_it_once) { race(true); }

void launcher_crash::race(bool with_spares) {
  const owned_fd runs = open_private_directory(path("runs"));
  const owned_fd logs = open_private_directory(path("logs"));
  const owned_fd lock{::open(path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  const runner_server::settings s{runner_path(), runs.get(), logs.get(), lock.get(), 1024};
  runner_server one{s};
  runner_server two{s};
  account_cache accounts;
  constexpr run_id count = 200;
  std::map<run_id, int> started;
  std::map<run_id, int> there;
  const auto note = [&](const wire::answer& a, const owned_fd&) {
    if (a.kind == wire::answer_kind::started) ++started[a.id];
    if (a.kind == wire::answer_kind::there) ++there[a.id];
  };
  for (run_id id = 1; id <= count; ++id) {
    if (with_spares) leave_spare(id);
    const std::string request = make_request(run_of(id), counted(), accounts, instant{}, 0,
                                             with_spares ? std::int64_t{id} : 0);
    (id % 2 == 0 ? one : two).send(id, request);
    (id % 2 == 0 ? two : one).send(id, request);
  }
  const auto end = std::chrono::steady_clock::now() + long_enough;
  while (started.size() + there.size() < 2 * count && std::chrono::steady_clock::now() < end) {
    pollfd p[2] = {{one.socket(), POLLIN, 0}, {two.socket(), POLLIN, 0}};
    ::poll(p, 2, 10);
    for (runner_server* server : {&one, &two}) {
      server->flush();
      server->receive(note);
    }
  }
  EXPECT_EQ(started.size(), std::size_t{count});
  EXPECT_EQ(there.size(), std::size_t{count});
  for (run_id id = 1; id <= count; ++id)
    while (inspect_run(runs.get(), id, "").found.what == finding::running) ::usleep(1'000);
  const std::vector<std::string> lines = lines_of(read_all(path("starts")));
  EXPECT_EQ(lines.size(), std::size_t{count});
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), std::size_t{count});
}

// A daemon in another time (a test, a container) has rows of that time.
TEST_F(launcher_crash, times_are_those_of_the_daemons_clock) {
  const owned_fd runs = open_private_directory(path("runs"));
  const owned_fd logs = open_private_directory(path("logs"));
  const owned_fd lock{::open(path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  runner_server server{{runner_path(), runs.get(), logs.get(), lock.get(), 1024}};
  account_cache accounts;
  const instant then{std::chrono::seconds{946'684'800}};  // 2000
  server.send(1, make_request(run_of(1), counted(), accounts, then, 0));
  // Who looked before the claim is made would withdraw it.
  bool started = false;
  inspection i;
  const auto end = std::chrono::steady_clock::now() + long_enough;
  while (i.found.what != finding::over && std::chrono::steady_clock::now() < end) {
    ::usleep(1'000);
    server.receive([&](const wire::answer& a, const owned_fd&) {
      started = started || a.kind == wire::answer_kind::started;
    });
    if (started) i = inspect_run(runs.get(), 1, "");
  }
  EXPECT_EQ(i.found.what, finding::over);
  EXPECT_GE(i.found.result.started, then);
  EXPECT_LT(i.found.result.finished, then + long_enough);
}

// kill -9 of the runner, at each of its steps.
TEST_F(launcher_crash, after_the_death_of_a_runner_the_finding_is_right_and_nothing_starts_twice) {
  using wire::fault;
  struct expectation {
    fault where;
    finding found;
    outcome told;
    std::size_t least;  // how often the program has started
    std::size_t most;
  };
  // A program that has just started dies with its runner, perhaps before it has written that down.
  const std::vector<expectation> all = {
      {fault::before_claim, finding::absent, outcome::not_started, 0, 0},
      {fault::after_create, finding::absent, outcome::not_started, 0, 0},
      {fault::after_lock, finding::absent, outcome::not_started, 0, 0},
      {fault::after_claim, finding::dead, outcome::lost, 0, 0},
      {fault::after_fork, finding::dead, outcome::lost, 0, 0},
      {fault::after_exec, finding::dead, outcome::lost, 0, 1},
      {fault::after_started, finding::dead, outcome::lost, 0, 1},
      {fault::before_status, finding::dead, outcome::lost, 1, 1},
      {fault::within_status, finding::dead, outcome::lost, 1, 1},
      {fault::after_status, finding::over, outcome::success, 1, 1},
      {fault::before_exit, finding::over, outcome::success, 1, 1},
  };
  ASSERT_EQ(all.size() + 1, static_cast<std::size_t>(fault::count));
  const auto check = [&](const expectation& e, bool with_spare) {
    SCOPED_TRACE(static_cast<int>(e.where));
    std::filesystem::remove(path("starts"));
    over_.clear();
    process_launcher_options o = options();
    o.fault = static_cast<std::uint32_t>(e.where);
    if (with_spare) leave_spare(static_cast<std::int64_t>(e.where));
    renew(o);
    const auto id = (with_spare ? 200 : 100) + static_cast<run_id>(e.where);
    launcher().start(run_of(id), counted());
    ASSERT_TRUE(until_over(id));
    EXPECT_EQ(over_[id][0].outcome, e.told) << over_[id][0].note;
    if (e.least > 0) {
      ASSERT_TRUE(until_lines(e.least));
    }

    // The daemon did not hear of it, since it was killed too.
    renew();
    EXPECT_EQ(launcher().look(run_of(id)).what, e.found);
    // Whoever starts it again gets one start in all; none if nobody can tell.
    launcher().start(run_of(id), counted());
    ASSERT_TRUE(until_over(id, 2));
    EXPECT_GE(count_lines("starts"), e.found == finding::absent ? 1 : e.least);
    EXPECT_LE(count_lines("starts"), e.found == finding::absent ? 1 : e.most);
    EXPECT_EQ(over_[id][1].outcome, e.found == finding::dead ? outcome::lost : outcome::success);
  };
  for (const expectation& e : all) check(e, false);
  for (const expectation& e : all) check(e, true);
}

TEST_F(launcher_crash, the_file_of_a_run_that_is_over_is_used_again) {
  struct stat first = {};
  struct stat second = {};
  run_job(1, counted());
  ASSERT_EQ(::stat(path("runs/1.run").c_str(), &first), 0);
  launcher().forget(1);
  EXPECT_EQ(launcher().look(run_of(1)).what, finding::absent);
  EXPECT_EQ(count_files(".spare"), 1U);

  // The next daemon finds it too.
  renew();
  launcher().start(run_of(2), counted("exit 7"));
  launcher().start(run_of(3), counted());
  EXPECT_EQ(launcher().starting(), 2U);
  ASSERT_TRUE(until([&] { return over_.contains(2) && over_.contains(3); }));
  EXPECT_EQ(launcher().starting(), 0U);
  EXPECT_EQ(over_[2][0].exit_code, 7);
  EXPECT_EQ(over_[3][0].outcome, outcome::success);
  ASSERT_EQ(::stat(path("runs/2.run").c_str(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino);
  EXPECT_EQ(count_files(".spare"), 0U);

  // One that its run did not use is not lost.
  launcher().forget(2);
  launcher().start(run_of(4), argv_job({}));  // nothing to start
  ASSERT_TRUE(until_over(4));
  for (const run_id id : {3, 4}) launcher().forget(id);
  EXPECT_TRUE(until([&] { return count_files(".run") == 0; }));
  EXPECT_EQ(count_files(".spare"), 2U);
  EXPECT_EQ(count_lines("starts"), 3U);
}

// Something that is no file of ours is not kept, nor written to.
TEST_F(launcher_crash, only_a_file_is_used_again) {
  launcher();
  std::ofstream(path("other")) << "precious";
  std::filesystem::create_symlink(path("other"), path("runs/1.run"));
  ASSERT_EQ(::mkfifo(path("runs/2.run").c_str(), 0600), 0);
  for (const run_id id : {1, 2}) launcher().forget(id);
  EXPECT_EQ(read_all(path("other")), "precious");
  EXPECT_EQ(count_files(".spare") + count_files(".run"), 0U);
}

// The same, seen by a daemon that comes while the runner is where it dies: it finds one of K3's
// cases.
TEST_F(launcher_crash, an_empty_file_of_another_boot_proves_nothing) {
  launcher();
  std::ofstream(path("runs/1.run")).flush();
  run r = run_of(1);
  r.boot = "another boot";
  EXPECT_EQ(launcher().look(r).what, finding::dead);
  r.boot.clear();
  EXPECT_EQ(launcher().look(r).what, finding::absent);
}

TEST_F(launcher_crash, programs_survive_the_daemon_and_are_adopted_by_the_next) {
  const pid_t daemon = fork_daemon([&](process_launcher& l) {
    for (run_id id = 1; id <= 5; ++id) l.start(run_of(id), counted_until_go());
  });
  const auto end = std::chrono::steady_clock::now() + long_enough;
  // A program may come to its first line before its runner has written down that it runs.
  const auto is_known = [&](run_id id) {
    return read_all(path("runs/" + std::to_string(id) + ".run")).find("\nprogram ") !=
           std::string::npos;
  };
  for (run_id id = 1; id <= 5; ++id)
    while (!is_known(id) && std::chrono::steady_clock::now() < end) ::usleep(1'000);
  while (count_lines("starts") < 5 && std::chrono::steady_clock::now() < end) ::usleep(1'000);
  kill_daemon(daemon);
  renew();
  for (run_id id = 1; id <= 5; ++id) {
    const survey s = launcher().look(run_of(id));
    EXPECT_EQ(s.what, finding::running);
    ASSERT_GT(s.result.pid, 0);
    EXPECT_TRUE(is_alive(s.result.pid));
    to_kill_.push_back(-s.result.pid);
    EXPECT_GT(s.result.started, instant{});
  }
  EXPECT_EQ(launcher().look(run_of(6)).what, finding::absent);
  EXPECT_EQ(launcher().claims(), (std::vector<run_id>{1, 2, 3, 4, 5}));
  launcher().stop(3);  // an adopted run can be stopped
  ASSERT_TRUE(until_over(3));
  EXPECT_EQ(over_[3][0].outcome, outcome::cancelled);
  go();
  ASSERT_TRUE(until([&] { return over_.size() == 5; }));
  for (const run_id id : {1, 2, 4, 5}) {
    EXPECT_EQ(over_[id][0].outcome, outcome::failed);
    EXPECT_EQ(over_[id][0].exit_code, 5);
  }
  EXPECT_EQ(count_lines("starts"), 5U);
}

TEST_F(launcher_crash, what_ends_while_there_is_no_daemon_is_found) {
  launcher().start(run_of(1), counted_until_go());
  ASSERT_TRUE(until_lines(1));
  launcher_.reset();
  go();
  while (inspect_run(open_private_directory(path("runs")).get(), 1, "").found.what ==
         finding::running)
    ::usleep(1'000);
  const survey s = renew().look(run_of(1));
  EXPECT_EQ(s.what, finding::over);
  EXPECT_EQ(s.result.exit_code, 5);
  EXPECT_EQ(s.result.outcome, outcome::failed);
}

// The daemon is killed while its requests are on their way; the next one starts what it does not
// find, forgets what is over, and so on, as an engine would. Each run is started once.
TEST_F(launcher_crash, a_daemon_that_is_killed_while_it_starts_loses_and_doubles_nothing) {
  constexpr run_id count = 60;
  unsigned delay = 0;
  for (int round = 0; round < 8; ++round, delay += 700) {
    SCOPED_TRACE(round);
    const run_id first = 1 + round * count;
    const pid_t daemon = fork_daemon([&](process_launcher& l) {
      for (run_id id = first; id < first + count; ++id) l.start(run_of(id), counted());
    });
    ::usleep(5'000 + delay);
    kill_daemon(daemon);
    over_.clear();
    renew();
    std::size_t found_over = 0;
    for (run_id id = first; id < first + count; ++id) {
      const survey s = launcher().look(run_of(id));
      EXPECT_NE(s.what, finding::dead);
      if (s.what == finding::absent) launcher().start(run_of(id), counted());
      if (s.what == finding::over) ++found_over, launcher().forget(id);
    }
    ASSERT_TRUE(until([&] { return over_.size() + found_over == std::size_t{count}; }));
    for (const auto& [id, results] : over_) {
      EXPECT_EQ(results[0].outcome, outcome::success) << results[0].note;
      launcher().forget(id);
    }
  }
  const std::vector<std::string> lines = lines_of(read_all(path("starts")));
  EXPECT_EQ(lines.size(), std::size_t{8 * count});
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), std::size_t{8 * count});
}

TEST_F(launcher_crash, a_server_that_dies_is_replaced_and_nothing_is_lost) {
  launcher().start(run_of(1), counted_until_go());
  ASSERT_TRUE(until_lines(1));
  const pid_t server = launcher().server();
  ::kill(server, SIGSTOP);  // so that it does not answer before it dies
  for (run_id id = 2; id <= 40; ++id) launcher().start(run_of(id), counted());
  launcher().handle();
  ::kill(server, SIGKILL);
  go();
  ASSERT_TRUE(until([&] { return over_.size() == 40; }));
  EXPECT_NE(launcher().server(), server);
  EXPECT_FALSE(is_alive(server));
  EXPECT_EQ(over_[1][0].exit_code, 5);
  for (run_id id = 2; id <= 40; ++id) EXPECT_EQ(over_[id][0].outcome, outcome::success);
  EXPECT_EQ(count_lines("starts"), 40U);
}

TEST_F(launcher_crash, a_server_that_dies_again_and_again_is_an_answer) {
  process_launcher_options o = options();
  o.runner = "/bin/false";
  renew(o);
  launcher().start(run_of(1), counted());
  ASSERT_TRUE(until_over(1));
  EXPECT_EQ(over_[1][0].outcome, outcome::not_started);
  EXPECT_EQ(count_lines("starts"), 0U);
}

TEST_F(launcher_crash, there_is_one_launcher_for_a_directory) {
  launcher();
  process_launcher_options o = options();
  o.patience = milliseconds{20};
  EXPECT_THROW(process_launcher{o}, std::runtime_error);
  launcher_.reset();
  EXPECT_NO_THROW(process_launcher{o});
}

TEST_F(launcher_crash, c1_a_runner_that_is_killed_is_noticed_and_takes_its_program_along) {
  launcher().start(run_of(1), counted_until_go());
  ASSERT_TRUE(until([&] { return !started_[1].empty(); }));
  const survey s = inspect_run(open_private_directory(path("runs")).get(), 1, "").found;
  ASSERT_EQ(s.what, finding::running);
  const std::string text = read_all(path("runs/1.run"));
  const auto at = text.find("\nrunner ");
  ASSERT_NE(at, std::string::npos);
  ::kill(std::stoi(text.substr(at + 8)), SIGKILL);
  ASSERT_TRUE(until_over(1));
  EXPECT_EQ(over_[1][0].outcome, outcome::lost);
  EXPECT_TRUE(over_[1][0].note.starts_with("its runner died")) << over_[1][0].note;
  // Nobody has told it to go on, nor that it may end.
  ASSERT_TRUE(until([&] { return !is_alive(started_[1][0]); }));
}

// The pids in the file are of processes that are alive and not those that wrote it.
TEST_F(launcher_crash, a_pid_that_was_used_again_is_not_taken_for_a_runner) {
  launcher();
  const std::string me = std::to_string(::getpid());
  std::ofstream(path("runs/1.run")) << "rota run 1\nboot " << read_boot_id() << "\nrunner " << me
                                    << "\nkey job\nclaimed 5\nprogram " << me << " 5 12345\n";
  const survey s = launcher().look(run_of(1));
  EXPECT_EQ(s.what, finding::dead);
  EXPECT_EQ(s.result.note, "its runner died");
}

// Who holds the lock is the runner, whatever the file says.
TEST_F(launcher_crash, the_holder_of_the_lock_is_the_one_that_is_adopted) {
  launcher();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const int file = ::open(path("runs/1.run").c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    struct flock l = {};
    l.l_type = F_WRLCK;
    l.l_whence = SEEK_SET;
    const std::string text = "rota run 1\nrunner 1\n";
    if (::fcntl(file, F_SETLK, &l) != 0 || ::write(file, text.data(), text.size()) < 0) ::_exit(1);
    (void)!::write(ready[1], "r", 1);
    while (true) ::pause();
  }
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  EXPECT_EQ(launcher().look(run_of(1)).what, finding::running);
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  ASSERT_TRUE(until_over(1));
  EXPECT_EQ(over_[1][0].outcome, outcome::lost);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(launcher_crash, what_is_no_file_of_a_run_is_not_believed) {
  launcher();
  const auto look_at = [&](const std::string& text) {
    std::ofstream(path("runs/1.run"), std::ios::binary | std::ios::trunc) << text;
    return launcher().look(run_of(1)).what;
  };
  EXPECT_EQ(look_at("over success 0 0 1 \n"), finding::dead);  // no runner begins so
  EXPECT_EQ(look_at("rota run 1\nover success 0 0 1 \n"), finding::over);
  EXPECT_EQ(look_at("rota run 1\nover success 0 0 1 "), finding::dead);
  EXPECT_EQ(look_at("rota run 1\nover success 0 0\n"), finding::dead);
  EXPECT_EQ(look_at("rota run 1\nover nonsense 0 0 1 \n"), finding::dead);
  EXPECT_EQ(look_at("rota run 1\nover success x 0 1 \n"), finding::dead);
  EXPECT_EQ(look_at(std::string(5'000, 'x')), finding::dead);
  EXPECT_EQ(look_at(std::string(100, '\0')), finding::dead);
  std::filesystem::remove(path("runs/1.run"));
  std::filesystem::create_symlink("/etc/passwd", path("runs/1.run"));
  EXPECT_EQ(launcher().look(run_of(1)).what, finding::dead);
}

}  // namespace rota::job::launcher_tests
