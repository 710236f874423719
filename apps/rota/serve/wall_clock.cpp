#include "wall_clock.h"

#include <utility>

namespace rota::app {

clock_watch::clock_watch(loop& l, std::function<void()> f)
    : loop_(l), call_(std::move(f)), faked_(clock_is_faked()), poll_(l, [this] { look(); }) {
  loop_.watch(timer_.fd(), [this] { fired(); });
}

clock_watch::~clock_watch() { loop_.unwatch(timer_.fd()); }

void clock_watch::set(std::optional<instant> at) {
  at_ = at;
  arm();
}

void clock_watch::arm() {
  if (faked_) {
    seen_ = wall_now();
    poll_.after(job::wall_timer::look_every);
  } else {
    timer_.arm(at_);
  }
}

void clock_watch::fired() {
  if (!timer_.acknowledge()) return;
  if (clock_is_faked()) faked_ = true;
  call_();
  arm();
}

void clock_watch::look() {
  const instant now = wall_now();
  const bool back = now < seen_;
  seen_ = now;
  if (back || (at_ && now >= *at_)) call_();
  poll_.after(job::wall_timer::look_every);
}

}  // namespace rota::app
