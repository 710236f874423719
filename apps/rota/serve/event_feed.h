// What happens, for those who watch: server-sent events.
//
//   feed.publish("alice", "run_over", R"({"kind": ...})");
//   response r{.type = "text/event-stream", .stream = feed.open(caller, last_id)};
//
// The feed keeps the last few thousand events, and a watcher is a place in them: whoever is too
// slow finds its place gone, is told so (`event: lost`), and goes on with what is new. So a watcher
// costs nothing, however slow it is, and one that was cut off goes on where it was.
#ifndef ROTA_APPS_SERVE_EVENT_FEED_H
#define ROTA_APPS_SERVE_EVENT_FEED_H

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "gate.h"
#include "http.h"

namespace rota::app {

class event_feed {
 public:
  static constexpr std::size_t kept = 4096;

  // `owner` is whose job it is about; empty: everybody's business. `write` gives one line; it is
  // called when somebody wants to read it, once, and mostly nobody does.
  void publish(std::string owner, std::function<std::string()> write);

  // From the event after `last` on, if it is still there; without, from now on.
  std::shared_ptr<body_stream> open(caller who, std::optional<std::uint64_t> last);

  std::size_t watchers() const { return watchers_.size(); }

 private:
  class watcher;
  struct event {
    std::string owner;
    std::function<std::string()> write;  // none once `data` is there
    std::string data;
  };

  std::uint64_t first_ = 1;  // id of events_.front()
  std::deque<event> events_;
  std::set<watcher*> watchers_;
};

}  // namespace rota::app

#endif
