// A bounded queue as one writes it by hand: a mutex and two condition variables, no batches.
#include <mutex>

#include <condition_variable>
#include <queue>
#include <utility>

#include "../threads.h"

namespace {

template <class T>
class mutex_link {
 public:
  explicit mutex_link(std::size_t depth) : depth_(depth) {}

  class sender {
   public:
    explicit sender(mutex_link& to) : to_(&to) {}
    void send(T value) { to_->put(std::move(value)); }

   private:
    mutex_link* to_;
  };
  sender sender_of() { return sender{*this}; }

  T receive() {
    std::unique_lock lock{mutex_};
    filled_.wait(lock, [&] { return !queue_.empty(); });
    T value = std::move(queue_.front());
    queue_.pop();
    lock.unlock();
    room_.notify_one();
    return value;
  }

 private:
  void put(T value) {
    std::unique_lock lock{mutex_};
    room_.wait(lock, [&] { return queue_.size() < depth_; });
    queue_.push(std::move(value));
    lock.unlock();
    filled_.notify_one();
  }

  const std::size_t depth_;
  std::mutex mutex_;
  std::condition_variable filled_, room_;
  std::queue<T> queue_;  // guarded by mutex_
};

}  // namespace

int main(int argc, char** argv) { return bench::run_threads<mutex_link>("mutex", argc, argv); }
