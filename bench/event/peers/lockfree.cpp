// Boost.Lockfree: a ring for one sender and one receiver, a queue for several senders. Who finds it
// full or empty gives its core away and looks again; it never sleeps.
#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#include <memory>
#include <thread>
#include <utility>

#include "../threads.h"

namespace {

template <class T>
class ring_link {
 public:
  explicit ring_link(std::size_t depth) : queue_(std::make_unique<queue>(depth)) {}

  class sender {
   public:
    explicit sender(ring_link& to) : to_(to.queue_.get()) {}
    void send(T value) {
      while (!to_->push(value)) std::this_thread::yield();
    }

   private:
    boost::lockfree::spsc_queue<T>* to_;
  };
  sender sender_of() { return sender{*this}; }

  T receive() {
    T value{};
    while (!queue_->pop(value)) std::this_thread::yield();
    return value;
  }

 private:
  using queue = boost::lockfree::spsc_queue<T>;
  std::unique_ptr<queue> queue_;
};

// The queue takes only what can be copied byte by byte, so a pointer goes in a box of its own.
template <class T>
class queue_link {
  static constexpr bool is_boxed = !std::is_trivial_v<T>;
  using slot = std::conditional_t<is_boxed, T*, T>;
  using queue = boost::lockfree::queue<slot, boost::lockfree::fixed_sized<true>>;

 public:
  explicit queue_link(std::size_t depth) : queue_(std::make_unique<queue>(depth)) {}

  class sender {
   public:
    explicit sender(queue_link& to) : to_(to.queue_.get()) {}
    void send(T value) {
      slot s;
      if constexpr (is_boxed)
        s = new T(std::move(value));
      else
        s = value;
      while (!to_->bounded_push(s)) std::this_thread::yield();
    }

   private:
    queue* to_;
  };
  sender sender_of() { return sender{*this}; }

  T receive() {
    slot s{};
    while (!queue_->pop(s)) std::this_thread::yield();
    if constexpr (is_boxed) {
      const std::unique_ptr<T> box{s};
      return std::move(*box);
    } else {
      return s;
    }
  }

 private:
  std::unique_ptr<queue> queue_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_threads<ring_link, queue_link>("lockfree", argc, argv);
}
