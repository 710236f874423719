#include "loop.h"

#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstdint>
#include <map>
#include <system_error>

namespace rota::app {

namespace asio = boost::asio;

struct loop::state {
  // A descriptor that is watched. It is shared with the wait under way, which may outlive the
  // watch.
  struct watched : std::enable_shared_from_this<watched> {
    watched(state& s, int fd, std::function<void()> f)
        : owner(s), descriptor(s.context, fd), call(std::move(f)) {}

    void wait() {
      descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                            [self = shared_from_this()](const boost::system::error_code& error) {
                              if (error || self->over) return;
                              self->owner.guarded(self->call);
                              if (!self->over) self->wait();
                            });
    }

    state& owner;
    asio::posix::stream_descriptor descriptor;
    std::function<void()> call;
    bool over = false;
  };

  void guarded(const std::function<void()>& f) {
    try {
      f();
    } catch (const std::exception& error) {
      if (!complain) throw;
      complain(error);
    }
  }

  std::function<void(const std::exception&)> complain;
  asio::io_context context{1};
  std::map<int, std::shared_ptr<watched>> watches;
};

loop::loop() : state_(std::make_unique<state>()) {}

loop::~loop() {
  while (!state_->watches.empty()) unwatch(state_->watches.begin()->first);
}

void loop::watch(int fd, std::function<void()> f) {
  auto w = std::make_shared<state::watched>(*state_, fd, std::move(f));
  state_->watches[fd] = w;
  w->wait();
}

void loop::unwatch(int fd) {
  const auto found = state_->watches.find(fd);
  if (found == state_->watches.end()) return;
  found->second->over = true;
  found->second->descriptor.release();
  state_->watches.erase(found);
}

void loop::post(std::function<void()> f) {
  asio::post(state_->context, [s = state_.get(), call = std::move(f)] { s->guarded(call); });
}

void loop::on_error(std::function<void(const std::exception&)> f) {
  state_->complain = std::move(f);
}

void loop::complain(const std::exception& error) {
  if (state_->complain) state_->complain(error);
}

void loop::run() {
  const auto busy = asio::make_work_guard(state_->context);
  // What other users of the context throw comes out here; the rest of what is due still is.
  while (!state_->context.stopped()) state_->guarded([this] { state_->context.run(); });
}

void loop::stop() { state_->context.stop(); }

asio::io_context& loop::context() { return state_->context; }

timer::timer(loop& l, std::function<void()> f)
    : loop_(l), fd_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
  loop_.watch(fd_, [this, call = std::move(f)] {
    std::uint64_t times = 0;
    if (::read(fd_, &times, sizeof times) == sizeof times) call();
  });
}

timer::~timer() {
  loop_.unwatch(fd_);
  ::close(fd_);
}

void timer::after(std::chrono::milliseconds d) { arm(std::max(d, std::chrono::milliseconds(1))); }

void timer::stop() { arm(std::chrono::milliseconds(0)); }

void timer::arm(std::chrono::milliseconds d) {
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(d.count() / 1000);
  when.it_value.tv_nsec = static_cast<long>(d.count() % 1000 * 1'000'000);
  // The kernel's own, since a library that fakes the clock has one too.
  ::syscall(SYS_timerfd_settime, fd_, 0, &when, nullptr);
}

}  // namespace rota::app
