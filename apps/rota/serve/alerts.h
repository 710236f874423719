// Tells people that a job fails, works again, or has not succeeded for too long: a web hook, a
// mail.
//
// The loop hands an alert over and goes on; tasks of a small runtime do what takes time, off the
// loop's thread. An alert that does not get through is tried again a few times; then it is given
// up, and the log says so.
//
// Promised: the web hooks of one job come one after the other, in the order of what happened, and
// so do its mails; a recovery is not told before its failure. Those of other jobs, and the other
// kind, do not wait for them. If too many wait, the oldest that waits of that job is dropped,
// counted and logged: what came last is what holds.
#ifndef ROTA_APPS_SERVE_ALERTS_H
#define ROTA_APPS_SERVE_ALERTS_H

#include <rota/job/definition.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loop.h"

namespace rota::app {

struct alert {
  std::string kind;  // "failed", "recovered", "absent"
  std::string job;
  std::string subject;  // one line for a person
  std::string text;     // more of it
  std::string json;     // what a web hook gets
  job::alerts to;
};

struct alert_options {
  std::string sendmail = "/usr/sbin/sendmail";
  std::vector<std::chrono::milliseconds> again{std::chrono::seconds(1), std::chrono::seconds(5),
                                               std::chrono::seconds(30)};
  std::size_t most = 1000;        // that wait or are under way
  std::size_t most_of_job = 100;  // likewise, of one job and one kind
};

enum class alert_end : std::uint8_t { sent, failed, dropped };

class alert_sender {
 public:
  // `done` is called on the loop's thread: what became of an alert, and a line for the log if it
  // did not get through.
  alert_sender(loop& l, alert_options o, std::function<void(alert_end, const std::string&)> done);
  // Gives up what is under way.
  ~alert_sender();
  alert_sender(const alert_sender&) = delete;
  alert_sender& operator=(const alert_sender&) = delete;

  void send(const alert& a);

  // Anything else that takes time: `work` on another thread, then `after` on the loop's, with what
  // went wrong, or nothing.
  void in_background(std::function<void()> work, std::function<void(const std::string&)> after);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// Both give what went wrong, or nothing, and end within a second once `stop` is set.
std::string post_web_hook(const std::string& url, const std::string& json,
                          const std::atomic<bool>& stop);
std::string send_mail(const std::string& sendmail, const std::string& message,
                      const std::atomic<bool>& stop);

}  // namespace rota::app

#endif
