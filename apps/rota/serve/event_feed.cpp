#include "event_feed.h"

#include <utility>
#include <vector>

namespace rota::app {

class event_feed::watcher final : public body_stream {
 public:
  watcher(event_feed& f, caller who, std::uint64_t next)
      : feed_(f), who_(std::move(who)), next_(next) {
    feed_.watchers_.insert(this);
  }
  ~watcher() override { feed_.watchers_.erase(this); }

  bool read(std::string& to, std::size_t most) override {
    if (!greeted_) {
      greeted_ = true;
      to += "retry: 2000\n\n";
    }
    const std::uint64_t end = feed_.first_ + feed_.events_.size();
    // An id of a daemon before this one says nothing here.
    if (next_ < feed_.first_ || next_ > end) {
      next_ = end;
      to += "id: " + std::to_string(end - 1) + "\nevent: lost\ndata: {}\n\n";
    }
    for (; next_ < end && to.size() < most; ++next_) {
      event& e = feed_.events_[next_ - feed_.first_];
      if (!e.owner.empty() && !who_.may(e.owner)) continue;
      if (const auto write = std::exchange(e.write, nullptr)) e.data = write();
      to += "id: " + std::to_string(next_) + "\nevent: change\ndata: " + e.data + "\n\n";
    }
    return true;
  }

  std::string sign_of_life() override { return ":\n\n"; }

 private:
  event_feed& feed_;
  caller who_;
  std::uint64_t next_;
  bool greeted_ = false;
};

void event_feed::publish(std::string owner, std::function<std::string()> write) {
  events_.push_back({std::move(owner), std::move(write), {}});
  if (events_.size() > kept) {
    events_.pop_front();
    ++first_;
  }
  // A watcher may end while it is told.
  std::vector<watcher*> all(watchers_.begin(), watchers_.end());
  for (watcher* w : all) {
    if (!watchers_.contains(w) || !w->on_more) continue;
    const auto call = w->on_more;
    call();
  }
}

std::shared_ptr<body_stream> event_feed::open(caller who, std::optional<std::uint64_t> last) {
  const std::uint64_t next = last ? *last + 1 : first_ + events_.size();
  return std::make_shared<watcher>(*this, std::move(who), next);
}

}  // namespace rota::app
