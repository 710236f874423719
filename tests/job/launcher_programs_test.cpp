// How programs are started: with what, as whom, and what is kept of what they print. A broken
// promise shows in what the program sees or in its log.
#include <rota/job/process_launcher.h>

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "job/launcher_support.h"

namespace rota::job::launcher_tests {

class launcher_programs : public launcher_fixture {
 protected:
  void write_file(const std::string& name, const std::string& text, mode_t mode = 0644) {
    std::ofstream(path(name), std::ios::binary) << text;
    ::chmod(path(name).c_str(), mode);
  }
};

TEST_F(launcher_programs, a_program_runs_and_its_end_is_known) {
  const run_result r = run_job(7, shell_job("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(r.outcome, outcome::failed);
  EXPECT_EQ(r.exit_code, 3);
  EXPECT_EQ(r.signal, 0);
  EXPECT_EQ(log(7), "out\nerr\n");
  ASSERT_EQ(started_[7].size(), 1U);
  EXPECT_EQ(started_[7][0], r.pid);
  EXPECT_GT(r.started, instant{});
  EXPECT_GE(r.finished, r.started);
}

TEST_F(launcher_programs, success_and_signals_are_told_apart) {
  EXPECT_EQ(run_job(1, argv_job({"true"})).outcome, outcome::success);
  const run_result r = run_job(2, shell_job("kill -USR1 $$"));
  EXPECT_EQ(r.outcome, outcome::signalled);
  EXPECT_EQ(r.signal, SIGUSR1);
}

TEST_F(launcher_programs, arguments_are_not_read_by_a_shell) {
  const std::string evil = "; echo no > " + path("pwned") + " $(id) `id` * 'q' \"d\" \\ \n x";
  run_job(1, argv_job({"printf", "%s|%s", evil, ""}));
  EXPECT_EQ(log(1), evil + "|");
  EXPECT_FALSE(std::filesystem::exists(path("pwned")));
}

TEST_F(launcher_programs, a_program_has_its_three_files_and_no_other) {
  // Files of the daemon that would be inherited if nobody cared.
  const int leaked = ::open("/dev/null", O_RDONLY);
  // To list the folder would open it; so each number is asked for.
  run_job(1, shell_job("for f in $(seq 0 99); do [ -e /proc/$$/fd/$f ] && echo $f; done"));
  ::close(leaked);
  EXPECT_EQ(log(1), "0\n1\n2\n");
}

TEST_F(launcher_programs, a_program_has_its_own_session_and_no_signal_blocked_or_ignored) {
  struct sigaction ignore = {};
  struct sigaction before = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGHUP, &ignore, &before);
  run_job(1, argv_job({"cat", "/proc/self/status", "/proc/self/stat"}));
  ::sigaction(SIGHUP, &before, nullptr);
  const std::string text = log(1);
  EXPECT_NE(text.find("SigBlk:\t0000000000000000"), std::string::npos) << text;
  EXPECT_NE(text.find("SigIgn:\t0000000000000000"), std::string::npos) << text;
  std::istringstream stat(text.substr(text.rfind(") ") + 4));
  pid_t parent = 0, group = 0, session = 0;
  int terminal = -1;
  stat >> parent >> group >> session >> terminal;
  EXPECT_EQ(group, over_[1][0].pid);
  EXPECT_EQ(session, over_[1][0].pid);
  EXPECT_EQ(terminal, 0);
}

TEST_F(launcher_programs, the_environment_is_what_the_job_says_and_nothing_of_the_daemon) {
  ::setenv("ROTA_TEST_SECRET", "of the daemon", 1);
  renew();
  definition d = with_surroundings(argv_job({"env"}), [](surroundings& s) {
    s.environment = {{"A", "1"}, {"PATH", "/usr/bin:/bin"}, {"A", "two words"}};
    s.shell = "/bin/bash";
  });
  run r = run_of(12);
  r.attempt = 3;
  r.scheduled += milliseconds{250};
  launcher().start(r, d);
  ASSERT_TRUE(until_over(12));
  ::unsetenv("ROTA_TEST_SECRET");
  std::vector<std::string> seen = lines_of(log(12));
  std::sort(seen.begin(), seen.end());
  const passwd* me = ::getpwuid(::geteuid());
  const std::string name = me->pw_name;
  std::vector<std::string> expected = {"A=two words",     "HOME=" + std::string(me->pw_dir),
                                       "LOGNAME=" + name, "PATH=/usr/bin:/bin",
                                       "ROTA_ATTEMPT=3",  "ROTA_JOB=job",
                                       "ROTA_RUN=12",     "ROTA_SCHEDULED=2026-03-29T01:00:00.250Z",
                                       "SHELL=/bin/bash", "USER=" + name};
  EXPECT_EQ(seen, expected);
}

TEST_F(launcher_programs, an_environment_file_adds_variables) {
  write_file("env", "# a comment\n\nSECRET=s=1 \n  B = no\n");
  const auto with_file = [&](const std::string& name) {
    return with_surroundings(shell_job("echo \"$SECRET|$Q|$A\""), [&](surroundings& s) {
      s.environment_file = path(name);
      s.environment = {{"A", "job"}};
    });
  };
  run_result r = run_job(1, with_file("env"));
  EXPECT_EQ(r.outcome, outcome::not_started);
  EXPECT_EQ(r.note, "environment file " + path("env") + ":4: has to be NAME=VALUE");
  write_file("env", "SECRET=s=1\r\nQ=\"in quotes\"\nA='file'");
  EXPECT_EQ(run_job(2, with_file("env")).outcome, outcome::success);
  EXPECT_EQ(log(2), "s=1|in quotes|file\n");
  r = run_job(3, with_file("none"));
  EXPECT_EQ(r.outcome, outcome::not_started);
  EXPECT_NE(r.note.find("No such file"), std::string::npos) << r.note;
  write_file("large", std::string(70'000, 'x'));
  EXPECT_NE(run_job(4, with_file("large")).note.find("65536"), std::string::npos);
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_NE(run_job(5, with_file("fifo")).note.find("no regular file"), std::string::npos);
}

TEST_F(launcher_programs, input_is_read_and_without_one_there_is_nothing_to_read) {
  definition d = argv_job({"cat"});
  EXPECT_EQ(run_job(1, d).outcome, outcome::success);
  EXPECT_EQ(log(1), "");
  d.command.input = "one\ntwo" + std::string(1, '\0') + "three";
  run_job(2, d);
  EXPECT_EQ(log(2), d.command.input);
  d.command.input = std::string(3'000'000, 'i');  // more than a message or a pipe holds
  run_job(3, d);
  EXPECT_EQ(log(3), d.command.input);
}

TEST_F(launcher_programs, a_large_environment_arrives_whole) {
  const definition d = with_surroundings(argv_job({"env"}), [](surroundings& s) {
    for (int i = 0; i < 2'000; ++i)
      s.environment.emplace_back("V" + std::to_string(i), std::string(200, 'v'));
  });
  EXPECT_EQ(run_job(1, d).outcome, outcome::success);
  EXPECT_EQ(lines_of(log(1)).size(), 2'009U);
}

TEST_F(launcher_programs, directory_umask_nice_and_limits_are_those_of_the_job) {
  rlimit here = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &here), 0);
  const definition d =
      with_surroundings(shell_job("pwd; umask; nice; ulimit -n"), [&](surroundings& s) {
        s.directory = directory_.path();
        s.umask = 027;
        s.nice = 5;
      });
  run_job(1, d);
  EXPECT_EQ(log(1), directory_.path() + "\n0027\n5\n" + std::to_string(here.rlim_cur) + "\n");
  rlimit back = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &back), 0);
  EXPECT_EQ(back.rlim_cur, back.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &here);
}

TEST_F(launcher_programs, without_a_directory_a_program_is_at_home) {
  const definition d =
      with_surroundings(argv_job({"pwd"}), [](surroundings& s) { s.directory.clear(); });
  const std::string home = ::getpwuid(::geteuid())->pw_dir;
  const run_result r = run_job(1, d);
  if (std::filesystem::is_directory(home)) {
    EXPECT_EQ(log(1), std::filesystem::canonical(home).string() + "\n");
  } else {
    EXPECT_EQ(r.outcome, outcome::not_started);
    EXPECT_NE(r.note.find(home), std::string::npos);
  }
}

TEST_F(launcher_programs, what_cannot_be_started_says_why) {
  write_file("plain", "no program", 0644);
  write_file("strange", "no first line", 0755);
  const auto note_of = [&](run_id id, const definition& d) {
    const run_result r = run_job(id, d);
    EXPECT_EQ(r.outcome, outcome::not_started) << id;
    EXPECT_TRUE(started_[id].empty()) << id;
    return r.note;
  };
  EXPECT_EQ(note_of(1, argv_job({"/no/such/file"})),
            "cannot run /no/such/file: there is no such file, or no interpreter for it");
  EXPECT_EQ(note_of(2, argv_job({"no-such-program"})),
            "cannot run no-such-program: there is no such program in "
            "PATH=/usr/local/bin:/usr/bin:/bin");
  EXPECT_EQ(note_of(3, argv_job({path("plain")})),
            "cannot run " + path("plain") + ": Permission denied");
  EXPECT_EQ(
      note_of(4, argv_job({path("strange")})),
      "cannot run " + path("strange") + ": it is no program; is its first line, #!, missing?");
  EXPECT_EQ(note_of(5, with_surroundings(argv_job({"true"}),
                                         [](surroundings& s) { s.directory = "/no/such"; })),
            "cannot enter the directory /no/such: No such file or directory");
  EXPECT_EQ(note_of(6, with_surroundings(argv_job({"true"}),
                                         [](surroundings& s) { s.user = "no-such-user"; })),
            "there is no user no-such-user");
  EXPECT_EQ(note_of(7, with_surroundings(argv_job({"true"}),
                                         [](surroundings& s) { s.group = "no-such-group"; })),
            "there is no group no-such-group");
  EXPECT_EQ(note_of(8, argv_job({})), "the job has no command");
  EXPECT_EQ(note_of(9, argv_job({"echo", std::string("a\0b", 3)})),
            "a zero byte in the command, its directory or its environment");
  EXPECT_EQ(note_of(10, with_surroundings(argv_job({"true"}),
                                          [](surroundings& s) { s.environment = {{"A=B", ""}}; })),
            "\"A=B\" is no name of a variable");
  EXPECT_EQ(note_of(11, argv_job(std::vector<std::string>(9'000, "x"))),
            "more than 8000 arguments and variables");
}

// Root can be anybody; others are told that they cannot.
TEST_F(launcher_programs, another_user_is_taken_on_whole_or_refused) {
  const std::string other = ::geteuid() == 0 ? "nobody" : "root";
  const passwd* nobody = ::getpwnam(other.c_str());
  ASSERT_NE(nobody, nullptr);
  const uid_t uid = nobody->pw_uid;
  const gid_t gid = nobody->pw_gid;
  const definition d = with_surroundings(
      shell_job(
          "id -u; id -ru; id -g; id -G; echo $USER $LOGNAME; grep -E '^(Uid|Gid|Groups|CapEff)' "
          "/proc/self/status; cat " +
          path("private") + " && echo leaked"),
      [&](surroundings& s) { s.user = other; });
  write_file("private", "secret", 0600);
  // A group of the daemon that the program is not to have.
  std::vector<gid_t> mine(64);
  mine.resize(static_cast<std::size_t>(::getgroups(64, mine.data())));
  const gid_t more = 4;
  if (::geteuid() == 0) {
    ASSERT_EQ(::setgroups(1, &more), 0);
  }
  renew();
  const run_result r = run_job(1, d);
  if (::geteuid() == 0) {
    ASSERT_EQ(::setgroups(mine.size(), mine.data()), 0);
  }
  if (::geteuid() != 0) {
    EXPECT_EQ(r.outcome, outcome::not_started);
    EXPECT_NE(r.note.find("only a daemon that is root can run programs as user root"),
              std::string::npos);
    return;
  }
  const std::string u = std::to_string(uid);
  const std::string g = std::to_string(gid);
  const std::string text = log(1);
  EXPECT_EQ(text.find(u + "\n" + u + "\n" + g + "\n" + g + "\nnobody nobody\n"), 0U) << text;
  EXPECT_NE(text.find("Uid:\t" + u + "\t" + u + "\t" + u + "\t" + u), std::string::npos) << text;
  EXPECT_NE(text.find("Gid:\t" + g + "\t" + g + "\t" + g + "\t" + g), std::string::npos) << text;
  EXPECT_NE(text.find("CapEff:\t0000000000000000"), std::string::npos) << text;
  EXPECT_EQ(text.find("leaked"), std::string::npos) << text;
}

// It is the user's right to read that counts, not the daemon's.
TEST_F(launcher_programs, an_environment_file_is_read_by_the_user_of_the_job) {
  write_file("env", "SECRET=1\n", 0600);
  const definition d = with_surroundings(shell_job("echo $SECRET"), [&](surroundings& s) {
    s.environment_file = path("env");
    if (::geteuid() == 0) s.user = "nobody";
  });
  const run_result r = run_job(1, d);
  if (::geteuid() == 0) {
    EXPECT_EQ(r.outcome, outcome::not_started);
    EXPECT_NE(r.note.find("Permission denied"), std::string::npos) << r.note;
  } else {
    EXPECT_EQ(log(1), "1\n");
  }
}

TEST_F(launcher_programs, output_beyond_the_limit_keeps_beginning_and_end) {
  const auto limited = [](std::uint64_t limit, const std::string& text) {
    return with_surroundings(shell_job(text), [&](surroundings& s) { s.output_limit = limit; });
  };
  run_job(1, limited(1'000, "seq -f %09.0f 1 100"));  // 1,000 bytes: all of it
  EXPECT_EQ(log(1).size(), 1'000U);
  EXPECT_EQ(log(1).find("left out"), std::string::npos);
  run_job(2, limited(1'000, "seq -f %09.0f 1 10000"));
  const std::string text = log(2);
  EXPECT_EQ(text.find("000000001\n"), 0U);
  const std::string gap = "\n[... 99000 bytes left out ...]\n";
  ASSERT_EQ(text.find(gap), 500U) << text;
  EXPECT_EQ(text.size(), 1'000 + gap.size());
  EXPECT_EQ(text.substr(text.size() - 10), "000010000\n");
  EXPECT_EQ(text.substr(500 + gap.size(), 10), "000009951\n");
  run_job(3, limited(0, "echo nothing"));
  EXPECT_EQ(log(3), "\n[... 8 bytes left out ...]\n");
}

TEST_F(launcher_programs, output_is_kept_byte_by_byte) {
  run_job(1, shell_job(
                 "i=0; while [ $i -lt 256 ]; do printf \"\\\\$(printf %o $i)\"; i=$((i+1)); done"));
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  EXPECT_EQ(log(1), all);
}

TEST_F(launcher_programs, much_output_is_taken_as_fast_as_it_comes) {
  const run_result r = run_job(1, shell_job("head -c 100000000 /dev/zero; echo end"));
  EXPECT_EQ(r.outcome, outcome::success);
  const std::string text = log(1);
  EXPECT_EQ(text.substr(text.size() - 4), "end\n");
  EXPECT_NE(text.find("[... 90000004 bytes left out ...]"), std::string::npos);
}

TEST_F(launcher_programs, logs_and_runs_are_for_the_daemon_alone) {
  run_job(1, argv_job({"echo", "x"}));
  for (const auto& [name, mode] : std::vector<std::pair<std::string, mode_t>>{
           {"runs", 0700}, {"logs", 0700}, {"runs/1.run", 0600}, {"logs/1.log", 0600}}) {
    struct stat s = {};
    ASSERT_EQ(::stat(path(name).c_str(), &s), 0) << name;
    EXPECT_EQ(s.st_mode & 0777, mode) << name;
  }
  launcher().remove_log(1);
  EXPECT_FALSE(std::filesystem::exists(path("logs/1.log")));
  launcher_.reset();
  ::chmod(path("runs").c_str(), 0755);
  EXPECT_THROW(process_launcher{options()}, std::runtime_error);
  ::chmod(path("runs").c_str(), 0700);
  std::filesystem::rename(path("logs"), path("elsewhere"));
  std::filesystem::create_symlink(path("elsewhere"), path("logs"));
  EXPECT_THROW(process_launcher{options()}, std::runtime_error);
}

TEST_F(launcher_programs, a_log_that_is_there_is_not_written_over) {
  launcher();
  std::filesystem::create_symlink(path("victim"), path("logs/1.log"));
  const run_result r = run_job(1, argv_job({"echo", "x"}));
  EXPECT_EQ(r.outcome, outcome::success);
  EXPECT_NE(r.note.find("its log is not whole"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("victim")));
}

TEST_F(launcher_programs, a_runner_that_is_no_program_is_an_error_with_its_name) {
  process_launcher_options o = options();
  o.runner = path("no-runner");
  try {
    renew(o);
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find(path("no-runner")), std::string::npos);
  }
}

TEST_F(launcher_programs, a_thousand_at_once_all_run) {
  const definition d = shell_job("echo $ROTA_RUN >> " + path("starts"));
  for (run_id id = 1; id <= 1'000; ++id) launcher().start(run_of(id), d);
  ASSERT_TRUE(until([&] { return over_.size() == 1'000; })) << over_.size();
  for (const auto& [id, results] : over_) {
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].outcome, outcome::success) << results[0].note;
    EXPECT_EQ(started_[id].size(), 1U);
  }
  std::vector<std::string> starts = lines_of(read_all(path("starts")));
  EXPECT_EQ(starts.size(), 1'000U);
  std::sort(starts.begin(), starts.end());
  EXPECT_EQ(std::unique(starts.begin(), starts.end()), starts.end());
}

}  // namespace rota::job::launcher_tests
