// What the daemon says in its log: a line an event, with the time.
#ifndef ROTA_APPS_SERVE_EVENT_LOG_H
#define ROTA_APPS_SERVE_EVENT_LOG_H

#include <rota/cron/time_zone.h>
#include <rota/job/engine.h>

#include <string>

namespace rota::app {

class event_log {
 public:
  // To a file, or to standard output if there is none. Throws std::system_error.
  event_log(std::string file, time_zone zone);
  ~event_log();
  event_log(const event_log&) = delete;
  event_log& operator=(const event_log&) = delete;

  // A time, then the text; of a text of several lines, each.
  void write(const std::string& text);
  // What there is to say of it; most of all of starts and ends.
  void write(const job::engine_event& e);

  // The file was moved away, and there is to be a new one.
  void reopen();

 private:
  std::string file_;
  time_zone zone_;
  int fd_;
};

}  // namespace rota::app

#endif
