// A job daemon of the tour's own: this program as `rota serve`, in a folder that goes with it.
//
//   own_daemon d{2};
//   d.write_job("tick", "schedule = \"@every 1s\"\nshell = \"date\"\n");
//   d.start();
//   d.kill_hard();      // kill -9
//   d.start();          // on the same state
//   d.end();            // SIGTERM, and waits
//
// Nobody else's daemon is touched: it has its own state and socket, and listens on no port.
#ifndef ROTA_APPS_TOUR_OWN_DAEMON_H
#define ROTA_APPS_TOUR_OWN_DAEMON_H

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace rota::app {

class own_daemon {
 public:
  explicit own_daemon(std::uint32_t max_active);
  // Ends the daemon if need be, waits for programs that are under way, and removes the folder.
  ~own_daemon();
  own_daemon(const own_daemon&) = delete;
  own_daemon& operator=(const own_daemon&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::string ledger() const { return folder_ / "state" / "ledger.db"; }

  void write_job(const std::string& name, const std::string& toml) const;
  void remove_jobs() const;

  // Until it answers; `wait` is called meanwhile, a few times a second. Throws std::runtime_error
  // with what it said if it does not.
  void start(const std::function<void()>& wait);
  void kill_hard();
  // Its exit status.
  int end();

  // Jobs, runs that are under way, and those that are due and wait, as it says itself.
  struct load {
    std::uint64_t jobs = 0;
    std::uint64_t active = 0;
    std::uint64_t waiting = 0;
  };
  load ask() const;

 private:
  int wait_for_end();

  const std::uint32_t max_active_;
  std::filesystem::path folder_;
  pid_t pid_ = 0;  // 0: it does not run
};

}  // namespace rota::app

#endif
