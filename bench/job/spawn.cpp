// How long until the last of N programs that are due at one instant has started?
//
//   job_spawn [--rounds 7] [--only posix_spawn|launcher] [--runner PATH] [--directory DIR] [N...]
//
// The limit is a loop over posix_spawn when a timer goes off, which keeps nothing: no claim, no
// log, no status. Against it the launcher, which keeps all three, without a ledger. Both start the
// same program, which says when it began; the rounds alternate. Printed are best and median of the
// time from the instant to the last start, and to the last end that is known.
#include <spawn.h>

#include <rota/job/process_launcher.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace job = rota::job;

std::int64_t now_ns() {
  timespec t = {};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// When the programs began, each in its slot of a file.
class slots {
 public:
  explicit slots(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }

  void clear(std::size_t n) {
    const std::string zeros(n * 8, '\0');
    const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (::write(file, zeros.data(), zeros.size()) < 0) std::abort();
    ::close(file);
  }
  std::int64_t last(std::size_t n) const {
    std::vector<std::int64_t> times(n);
    const int file = ::open(path_.c_str(), O_RDONLY);
    if (::read(file, times.data(), n * 8) != static_cast<ssize_t>(n * 8)) std::abort();
    ::close(file);
    if (std::find(times.begin(), times.end(), 0) != times.end()) {
      std::fprintf(stderr, "a program was not started\n");
      std::exit(1);
    }
    return *std::max_element(times.begin(), times.end());
  }

 private:
  std::string path_;
};

// Waits for an instant that is a little ahead, as a scheduler does, and says when it was.
std::int64_t wait_for_instant() {
  const std::int64_t due = now_ns() + 50'000'000;
  const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  itimerspec when = {};
  when.it_value = {.tv_sec = static_cast<time_t>(due / 1'000'000'000),
                   .tv_nsec = static_cast<long>(due % 1'000'000'000)};
  ::timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, nullptr);
  std::uint64_t count = 0;
  if (::read(timer, &count, sizeof(count)) < 0) std::abort();
  ::close(timer);
  return due;
}

struct times {
  std::int64_t start = 0;
  std::int64_t end = 0;
};

times run_bare(const std::string& program, slots& s, std::size_t n) {
  s.clear(n);
  std::string path = s.path();
  std::string name = program;
  char* environment[] = {nullptr};
  std::vector<pid_t> pids(n);
  const std::int64_t due = wait_for_instant();
  for (std::size_t i = 0; i < n; ++i) {
    std::string slot = std::to_string(i);
    char* arguments[] = {name.data(), path.data(), slot.data(), nullptr};
    if (::posix_spawn(&pids[i], program.c_str(), nullptr, nullptr, arguments, environment) != 0)
      std::abort();
  }
  for (const pid_t pid : pids) ::waitpid(pid, nullptr, 0);
  const std::int64_t end = now_ns();
  return {s.last(n) - due, end - due};
}

times run_launcher(job::process_launcher& l, job::run_id& next, const std::string& program,
                   slots& s, std::size_t n) {
  s.clear(n);
  std::vector<job::definition> jobs(n);
  auto rules = std::make_shared<job::rules>();
  auto surroundings = std::make_shared<job::surroundings>();
  surroundings->directory = "/";
  for (std::size_t i = 0; i < n; ++i) {
    jobs[i].name = "job" + std::to_string(i);
    jobs[i].rules = rules;
    jobs[i].surroundings = surroundings;
    jobs[i].command.argv = {program, s.path(), std::to_string(i)};
  }
  std::vector<job::run_id> over;
  l.listen({.on_started = [](job::run_id, pid_t, rota::instant) {},
            .on_over =
                [&](job::run_id id, const job::run_result& r) {
                  if (r.outcome != job::outcome::success) {
                    std::fprintf(stderr, "run %lld: %s\n", static_cast<long long>(id),
                                 r.note.c_str());
                    std::exit(1);
                  }
                  over.push_back(id);
                }});
  const std::int64_t due = wait_for_instant();
  for (std::size_t i = 0; i < n; ++i) {
    job::run r;
    r.id = next++;
    r.job = jobs[i].name;
    l.start(r, jobs[i]);
  }
  while (over.size() < n) {
    pollfd p = {l.fd(), POLLIN, 0};
    ::poll(&p, 1, -1);
    l.handle();
  }
  const std::int64_t end = now_ns();
  return {s.last(n) - due, end - due};
}

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

void print(const char* name, std::vector<times>& all, double& best) {
  const auto by_start = [](const times& a, const times& b) { return a.start < b.start; };
  std::sort(all.begin(), all.end(), by_start);
  best = ms(all.front().start);
  std::printf(
      "  %-12s last start: best %8.1f ms, median %8.1f ms; last end with the best %8.1f ms\n", name,
      best, ms(all[all.size() / 2].start), ms(all.front().end));
}

}  // namespace

int main(int argc, char** argv) {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string runner = (here.parent_path() / "bin" / "rota-runner").string();
  std::string directory = "/tmp/rota_spawn_" + std::to_string(::getpid());
  std::string only;
  int rounds = 7;
  std::vector<std::size_t> sizes;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--rounds" && i + 1 < argc)
      rounds = std::atoi(argv[++i]);
    else if (a == "--only" && i + 1 < argc)
      only = argv[++i];
    else if (a == "--runner" && i + 1 < argc)
      runner = argv[++i];
    else if (a == "--directory" && i + 1 < argc)
      directory = argv[++i];
    else
      sizes.push_back(std::strtoul(a.c_str(), nullptr, 10));
  }
  if (sizes.empty()) sizes = {100, 1'000};
  directory = std::filesystem::absolute(directory).string();
  std::filesystem::create_directories(directory);
  {
    const std::string program = (here / "job_stamp").string();
    slots s{directory + "/slots"};
    job::run_id next = 1;
    job::process_launcher l{
        {.runner = runner, .runs = directory + "/runs", .logs = directory + "/logs"}};
    for (const std::size_t n : sizes) {
      std::vector<times> bare;
      std::vector<times> launched;
      for (int round = 0; round < rounds; ++round) {
        if (only != "launcher") bare.push_back(run_bare(program, s, n));
        if (only != "posix_spawn") launched.push_back(run_launcher(l, next, program, s, n));
      }
      double best_bare = 0;
      double best_launched = 0;
      std::printf("%zu programs due at one instant, %d rounds\n", n, rounds);
      if (!bare.empty()) print("posix_spawn", bare, best_bare);
      if (!launched.empty()) print("launcher", launched, best_launched);
      if (only.empty()) std::printf("  ratio of the best: %.2f\n", best_launched / best_bare);
    }
  }
  std::filesystem::remove_all(directory);
  return 0;
}
