#include "own_daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "../serve/job_client.h"

namespace rota::app {

namespace fs = std::filesystem;

namespace {

using namespace std::chrono_literals;

// In the child, between fork and exec: nothing here allocates.
[[noreturn]] void become(char* const* words, int log) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever ends the tour hard leaves no daemon behind
  ::setpgid(0, 0);                     // Ctrl-C is for the tour
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv("/proc/self/exe", words);
  ::_exit(127);
}

void start_program(const std::vector<std::string>& words, const fs::path& log, pid_t& pid) {
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) throw std::system_error(errno, std::generic_category(), log.string());
  pid = ::fork();
  if (pid == 0) become(argv.data(), file);
  const int error = errno;
  ::close(file);
  if (pid > 0) return;
  pid = 0;
  throw std::system_error(error, std::generic_category(), "fork");
}

std::string text_of_file(const fs::path& path) {
  std::ifstream in{path};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

own_daemon::own_daemon(std::uint32_t max_active) : max_active_(max_active) {
  std::string name = (fs::temp_directory_path() / "rota_tour_").string();
  name.append(6, 'X');  // what mkdtemp() replaces
  if (!::mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), name);
  folder_ = name;
  fs::create_directory(folder_ / "jobs");
  fs::permissions(folder_ / "jobs", fs::perms::owner_all);
}

own_daemon::~own_daemon() {
  if (pid_ > 0) end();
  // Programs last for some tenths of a second, and so their runners.
  std::error_code ignored;
  for (int i = 0; i < 20 && fs::exists(folder_); ++i) {
    fs::remove_all(folder_, ignored);
    if (fs::exists(folder_, ignored)) std::this_thread::sleep_for(50ms);
  }
}

void own_daemon::write_job(const std::string& name, const std::string& toml) const {
  const fs::path file = folder_ / "jobs" / (name + ".toml");
  std::ofstream{file} << toml;
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
}

void own_daemon::remove_jobs() const {
  for (const auto& file : fs::directory_iterator(folder_ / "jobs")) fs::remove(file.path());
}

void own_daemon::start(const std::function<void()>& wait) {
  const std::vector<std::string> words = {"rota",         "serve",
                                          "--jobs",       (folder_ / "jobs").string(),
                                          "--state",      (folder_ / "state").string(),
                                          "--listen",     "none",
                                          "--max-active", std::to_string(max_active_)};
  start_program(words, folder_ / "log", pid_);
  for (;;) {
    try {
      ask();
      return;
    } catch (const std::exception&) {
      // Not there yet; or never.
    }
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = 0;
      throw std::runtime_error("rota serve has ended: " + text_of_file(folder_ / "log"));
    }
    wait();
    std::this_thread::sleep_for(50ms);
  }
}

int own_daemon::wait_for_end() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void own_daemon::kill_hard() {
  ::kill(pid_, SIGKILL);
  wait_for_end();
}

int own_daemon::end() {
  ::kill(pid_, SIGTERM);
  return wait_for_end();
}

own_daemon::load own_daemon::ask() const {
  const auto status = job_client{folder_ / "state" / "rota.sock"}.get("/api/v1/status");
  return {status.at("jobs").get<std::uint64_t>(), status.at("active").get<std::uint64_t>(),
          status.at("waiting").get<std::uint64_t>()};
}

}  // namespace rota::app
