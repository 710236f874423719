// The daemon's end of one rota-runner: starts it, sends requests without waiting, reads answers.
//
// Promised: when answers end (is_lost), no runner that this server has forked can still make a
// claim. Each runner holds the server's end of the socket until it has said what became of it, so
// the end of the socket is the end of all of them. What was not answered until then may be sent to
// another server.
#ifndef ROTA_SRC_JOB_LAUNCHER_SERVER_H
#define ROTA_SRC_JOB_LAUNCHER_SERVER_H

#include <rota/job/run.h>

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "job/launcher_files.h"
#include "job/runner_wire.h"

namespace rota::job {

class runner_server {
 public:
  struct settings {
    std::string program;
    int runs = -1;
    int logs = -1;
    int lock = -1;
    std::uint64_t open_files = 1024;  // the limit that programs get
  };

  // Throws std::runtime_error.
  explicit runner_server(const settings& s);
  // Waits until the server has left: it starts what it was sent, and runners are not waited for.
  ~runner_server();
  runner_server(const runner_server&) = delete;
  runner_server& operator=(const runner_server&) = delete;

  int socket() const noexcept { return socket_.get(); }
  pid_t pid() const noexcept { return pid_; }
  int pidfd() const noexcept { return pidfd_.get(); }  // readable when the server has ended

  // Puts a request behind those that wait, and sends what can be sent.
  void send(run_id id, std::string request);
  void flush();
  bool has_unsent() const noexcept { return !unsent_.empty(); }
  // What is unsent can go when the socket has room. Else it waits for files or memory, of which
  // nobody tells: flush() now and then.
  bool waits_for_room() const noexcept { return full_ && has_unsent(); }
  bool withdraw(run_id id);  // takes back a request that was not sent

  // The server is gone, and all its answers are read.
  bool is_lost() const noexcept { return lost_; }

  // Calls `f` for each answer that is there, with its pidfd if it has one.
  void receive(const std::function<void(const wire::answer&, owned_fd)>& f);

 private:
  bool send_one(const std::string& request);

  owned_fd socket_;
  pid_t pid_ = -1;
  owned_fd pidfd_;
  bool lost_ = false;
  bool full_ = false;  // the last send found no room
  std::deque<std::pair<run_id, std::string>> unsent_;
};

}  // namespace rota::job

#endif
