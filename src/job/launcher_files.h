// The directories of runs and logs, and what the file of a run says (runner_wire.h has its form).
#ifndef ROTA_SRC_JOB_LAUNCHER_FILES_H
#define ROTA_SRC_JOB_LAUNCHER_FILES_H

#include <rota/job/launcher.h>

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rota::job {

// An open file that is closed when nobody has it any more.
class owned_fd {
 public:
  owned_fd() noexcept = default;
  explicit owned_fd(int fd) noexcept : fd_(fd) {}
  owned_fd(owned_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  owned_fd& operator=(owned_fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~owned_fd();

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// "what: why", where why is errno's.
std::string system_message(std::string_view what, int error);

// Opens a directory that is ours alone, and makes it if need be. Throws std::runtime_error.
owned_fd open_private_directory(const std::string& path);

// The id of this boot.
std::string read_boot_id();

// A survey, and for a run under way its runner.
struct inspection {
  survey found;
  bool withdrawn = false;  // absent: there was an empty file, which nobody can use any more
  owned_fd runner;         // a pidfd; none if there are no more files to be had
};

// What lines of a run's file say. `over` lines count if they are whole.
struct file_contents {
  bool claimed = false;
  bool over = false;
  run_result result;
  std::string boot;
  std::int64_t program_boot_time_ns = 0;
};
file_contents read_contents(std::string_view text);

// Looks at the lock first and at the contents then, by runner_wire.h. `boot` is of now;
// `launched_boot` of the run's row, empty if it is this one.
inspection inspect_run(int runs, run_id id, const std::string& boot,
                       std::string_view launched_boot = {});

}  // namespace rota::job

#endif
