#include <rota/event/inspector.h>

#include <rota/base/sync.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <list>
#include <stdexcept>
#include <utility>
#include <vector>

#include "event/bus_state.h"
#include "event/inspector_errands.h"
#include "event/inspector_socket.h"
#include "event/inspector_text.h"

namespace rota {

using namespace std::chrono_literals;
using detail::descriptor;
using detail::json_text;

namespace {

json_text complaint(std::string_view why) {
  json_text j;
  j.begin_object().field("error", why).end_object();
  return j;
}

// One connection: a request at a time, the next when it was answered.
class inspector_client {
 public:
  inspector_client(descriptor d, detail::inspected& on) : socket_(std::move(d)), on_(on) {
    ++on.clients;
  }
  inspector_client(const inspector_client&) = delete;
  inspector_client& operator=(const inspector_client&) = delete;
  ~inspector_client() { --on_.clients; }

  int get() const noexcept { return socket_.get(); }

  // What to wait for. While a request is under way, or its answer waits, nobody reads on: what else
  // the client sends waits in its socket.
  short events() const noexcept {
    short e = 0;
    if (!doing_ && !is_over_ && out_.has_room()) e |= POLLIN;
    if (!out_.empty()) e |= POLLOUT;
    return e;
  }
  sync::time_point next(sync::time_point now) const {
    return doing_ ? doing_->next(now) : sync::time_point::max();
  }

  // Does what there is to be done. False if the client is done with, or has left.
  bool serve(short happened, sync::time_point now) {
    if (happened & (POLLERR | POLLHUP | POLLNVAL)) return false;
    if ((happened & POLLIN) && !receive()) return false;
    if (doing_) work(now);
    for (;;) {
      if (!send()) return false;
      if (doing_ || !out_.has_room() || !next_line()) break;
      begin(now);
    }
    return !is_over_ || doing_ || !out_.empty() || !in_.empty();
  }

  // No more is to come; as much of that as the socket takes.
  void farewell(std::string_view why) {
    doing_.reset();
    json_text j;
    j.begin_object().field("end", why).end_object();
    out_.line(std::move(j));
    send();
  }

 private:
  static constexpr std::size_t words_at_most = std::size_t{64} << 10;
  std::size_t longest_line() const noexcept { return words_at_most + 2 * on_.options.max_message; }

  bool receive() {
    char some[std::size_t{64} << 10];
    const auto n = ::recv(get(), some, sizeof some, 0);
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (n == 0) {
      is_over_ = true;
      if (!in_.empty()) in_ += '\n';  // the last line may do without
      return true;
    }
    in_.append(some, static_cast<std::size_t>(n));
    return true;
  }

  // Whether there is a line, which is in line_ then. Of one that is too long the rest is skipped.
  bool next_line() {
    const std::size_t end = in_.find('\n', looked_at_);
    if (end == std::string::npos) {
      if (in_.size() > longest_line()) skips_ = true;
      if (skips_) in_ = {};
      looked_at_ = in_.size();
      return false;
    }
    line_ = in_.substr(0, end);
    in_.erase(0, end + 1);
    if (in_.empty()) in_.shrink_to_fit();
    looked_at_ = 0;
    return true;
  }

  void begin(sync::time_point now) {
    try {
      if (std::exchange(skips_, false) || line_.size() > longest_line())
        throw detail::bad_request("a request of more than " + std::to_string(longest_line()) +
                                  " characters");
      const auto words = detail::words_of(line_);
      if (words.empty()) return;
      doing_ = begin_request(on_, words, out_);
    } catch (const std::exception& wrong) {
      out_.line(complaint(wrong.what()));
    }
    line_ = {};
    if (doing_) work(now);
  }

  void work(sync::time_point now) {
    try {
      if (!doing_->work(now, out_)) doing_.reset();
    } catch (const std::exception& wrong) {  // what the codec of a type threw, or no memory
      doing_.reset();
      out_.line(complaint(wrong.what()));
    }
  }

  bool send() {
    while (!out_.empty()) {
      const std::string_view some = out_.waiting();
      const auto n = ::send(get(), some.data(), some.size(), MSG_NOSIGNAL);
      if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
      out_.sent(static_cast<std::size_t>(n));
    }
    return true;
  }

  const descriptor socket_;
  detail::inspected& on_;
  std::string in_;
  std::size_t looked_at_ = 0;  // of it, without finding the end of a line
  bool skips_ = false;         // the line is too long
  bool is_over_ = false;       // the client sends no more
  std::string line_;
  detail::outbox out_;
  std::unique_ptr<detail::errand> doing_;
};

}  // namespace

class inspector::state {
 public:
  state(rota::bus& on, std::string path, const inspector_options& o)
      : door_(std::move(path)),
        keep_(on.get()),
        on_{on, *keep_->way, o, std::make_shared<detail::poll_waker>(), sync::now()} {
    // Signals are the program's.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = sync::thread([this] { main(); });
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~state() {
    // relaxed: the wake-up and the join order the rest.
    stopping_.store(true, sync::memory_order_relaxed);
    on_.waker->wake();
    thread_.join();
  }

  const std::string& path() const noexcept { return door_.path(); }

 private:
  void main() noexcept {
    while (!stopping_.load(sync::memory_order_relaxed)) {
      try {
        step();
      } catch (...) {  // no memory: clients are what can be given up
        clients_.clear();
      }
    }
    try {
      for (inspector_client& c : clients_) c.farewell("the program has closed the door");
    } catch (...) {
      // No memory: without a word, then.
    }
    clients_.clear();
  }

  void step() {
    wait();
    if (polled_[0].revents) on_.waker->clear();
    const auto now = sync::now();
    std::size_t i = 2;
    for (auto c = clients_.begin(); c != clients_.end(); ++i)
      c = c->serve(polled_[i].revents, now) ? std::next(c) : clients_.erase(c);
    if (polled_[1].revents) let_in(now);
  }

  // Until a descriptor, a wake-up or the time says so.
  void wait() {
    const auto now = sync::now();
    const bool is_shut = now < shut_until_;
    auto until = is_shut ? shut_until_ : sync::time_point::max();
    polled_.clear();
    polled_.push_back({on_.waker->get(), POLLIN, 0});
    polled_.push_back({is_shut ? -1 : door_.get(), POLLIN, 0});
    for (const inspector_client& c : clients_) {
      polled_.push_back({c.get(), c.events(), 0});
      until = std::min(until, c.next(now));
    }
    timespec left{};
    if (until > now && until != sync::time_point::max()) {
      const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(until - now).count();
      left.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
      left.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    }
    const bool for_ever = until == sync::time_point::max();
    if (::ppoll(polled_.data(), polled_.size(), for_ever ? nullptr : &left, nullptr) < 0)
      for (pollfd& p : polled_) p.revents = 0;
  }

  void let_in(sync::time_point now) {
    bool is_short = false;
    while (descriptor d = door_.accept(is_short)) {
      if (clients_.size() >= on_.options.max_clients) forget_who_left();
      if (clients_.size() < on_.options.max_clients) {
        clients_.emplace_back(std::move(d), on_);
        continue;
      }
      const std::string full = std::move(complaint("there are " + std::to_string(clients_.size()) +
                                                   " clients already, which is the most"))
                                   .take() +
                               '\n';
      // A new socket has room for a line. If not, the client sees the end alone.
      [[maybe_unused]] const auto n = ::send(d.get(), full.data(), full.size(), MSG_NOSIGNAL);
    }
    if (is_short) shut_until_ = now + 100ms;
  }

  // Who has left since the last look makes room for who comes.
  void forget_who_left() {
    std::erase_if(clients_, [](const inspector_client& c) {
      pollfd p{c.get(), 0, 0};
      return ::poll(&p, 1, 0) > 0;
    });
  }

  detail::listening_socket door_;
  const detail::counted_ptr<bus::state> keep_;
  detail::inspected on_;
  sync::atomic<bool> stopping_{false};  // written by the destructor, read by the thread

  // All below: the thread's.
  std::list<inspector_client> clients_;
  std::vector<pollfd> polled_;
  sync::time_point shut_until_{};  // descriptors have run out: nobody is let in before

  sync::thread thread_;
};

inspector::inspector(rota::bus& on, std::string path, const inspector_options& o)
    : state_(std::make_unique<state>(on, std::move(path), o)) {}

inspector::~inspector() = default;

const std::string& inspector::path() const noexcept { return state_->path(); }

}  // namespace rota
