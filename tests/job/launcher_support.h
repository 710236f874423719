// A launcher in directories of its own, and what it has said.
#ifndef ROTA_TESTS_JOB_LAUNCHER_SUPPORT_H
#define ROTA_TESTS_JOB_LAUNCHER_SUPPORT_H

#include <rota/job/process_launcher.h>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/scratch_folder.h"

namespace rota::job::launcher_tests {

// Long enough for a busy machine; what is promised happens at once.
inline constexpr std::chrono::seconds long_enough{60};

// bin/rota-runner of the build that this test is of.
inline std::string runner_path() {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  return (self.parent_path().parent_path() / "bin" / "rota-runner").string();
}

inline std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  // An iterator would throw if a file of /proc is of a process that ends just now.
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// A process of ours that is not there is also one that is a zombie of somebody else.
inline bool is_alive(pid_t pid) {
  const std::string stat = read_all("/proc/" + std::to_string(pid) + "/stat");
  const auto end = stat.rfind(')');
  return end != std::string::npos && end + 2 < stat.size() && stat[end + 2] != 'Z';
}

inline definition job_of(std::vector<std::string> argv, bool shell) {
  definition d;
  d.name = "job";
  d.rules = std::make_shared<rules>();
  auto s = std::make_shared<surroundings>();
  s->directory = "/";
  d.surroundings = s;
  d.command.shell = shell;
  d.command.argv = std::move(argv);
  return d;
}

inline definition shell_job(std::string text) { return job_of({std::move(text)}, true); }
inline definition argv_job(std::vector<std::string> argv) { return job_of(std::move(argv), false); }

// The same job with other rules or surroundings.
template <class Change>
definition with_rules(definition d, Change change) {
  auto changed = std::make_shared<rules>(*d.rules);
  change(*changed);
  d.rules = changed;
  return d;
}
template <class Change>
definition with_surroundings(definition d, Change change) {
  auto changed = std::make_shared<surroundings>(*d.surroundings);
  change(*changed);
  d.surroundings = changed;
  return d;
}

inline run run_of(run_id id) {
  run r;
  r.id = id;
  r.job = "job";
  r.scheduled = instant{std::chrono::seconds{1'774'746'000}};  // 2026-03-29T01:00:00Z
  return r;
}

class launcher_fixture : public ::testing::Test {
 protected:
  launcher_fixture() {
    // Others are to be able to enter it; what is secret has directories of its own.
    ::chmod(directory_.path().c_str(), 0755);
  }

  ~launcher_fixture() override {
    launcher_.reset();
    for (const pid_t pid : to_kill_)
      if (pid > 1 || pid < -1) ::kill(pid, SIGKILL);  // the others are not of one program
  }

  std::string path(const std::string& name) const { return directory_ / name; }

  process_launcher_options options() const {
    return {.runner = runner_path(), .runs = path("runs"), .logs = path("logs")};
  }

  // Ends the launcher that there is, as a daemon that leaves.
  process_launcher& renew(process_launcher_options o) {
    launcher_.reset();
    launcher_ = std::make_unique<process_launcher>(std::move(o));
    launcher_->listen({.on_started =
                           [this](run_id id, pid_t pid, instant) {
                             started_[id].push_back(pid);
                             to_kill_.push_back(-pid);
                           },
                       .on_over =
                           [this](run_id id, const run_result& r) {
                             over_[id].push_back(r);
                             std::erase(to_kill_, -r.pid);
                           }});
    return *launcher_;
  }
  process_launcher& renew() { return renew(options()); }
  process_launcher& launcher() { return launcher_ ? *launcher_ : renew(); }

  // Handles events until the condition holds. False: it never did.
  bool until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + long_enough;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      pollfd p = {launcher().fd(), POLLIN, 0};
      ::poll(&p, 1, 10);  // the condition may be about something else
      launcher().handle();
    }
    return true;
  }

  bool until_over(run_id id, std::size_t times = 1) {
    return until([&] { return over_[id].size() >= times; });
  }

  // Runs a job to its end.
  run_result run_job(run_id id, const definition& d) {
    launcher().start(run_of(id), d);
    EXPECT_TRUE(until_over(id));
    return over_[id].empty() ? run_result{} : over_[id].back();
  }

  std::string log(run_id id) { return read_all(launcher().log_path(id)); }
  std::size_t count_lines(const std::string& name) { return lines_of(read_all(path(name))).size(); }

  std::map<run_id, std::vector<pid_t>> started_;
  std::map<run_id, std::vector<run_result>> over_;
  std::vector<pid_t> to_kill_;  // what is left when a test fails
  rota::test::scratch_folder directory_;
  std::unique_ptr<process_launcher> launcher_;
};

}  // namespace rota::job::launcher_tests

#endif
