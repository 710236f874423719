// Five that are known to be right, with the orders that they are known to need: each is proven for
// a few threads, and each is broken by weakening one order.

#include <rota/verify/explore/explore.h>

#include <array>
#include <functional>
#include <iostream>

namespace explore = rota::explore;
using std::memory_order_acquire, std::memory_order_relaxed, std::memory_order_release;

// --- double-checked initialisation: the first to come makes it, later ones do not even lock ---

void double_checked_init(std::memory_order look) {
  explore::cell<int> answer{0};
  explore::atomic<explore::cell<int>*> made{nullptr};
  explore::mutex making;
  const auto get = [&] {
    auto* known = made.load(look);
    if (known) return known->get();
    making.lock();
    known = made.load(memory_order_relaxed);
    if (!known) {
      answer.set(42);
      known = &answer;
      made.store(known, memory_order_release);
    }
    making.unlock();
    return known->get();
  };
  explore::thread a([&] { explore::check(get() == 42, "made when it is seen"); });
  explore::thread b([&] { explore::check(get() == 42, "made when it is seen"); });
  explore::check(get() == 42, "made when it is seen");
  a.join();
  b.join();
}

// --- a seqlock: readers take no lock, and read again if somebody wrote meanwhile ---

void seqlock(std::memory_order before_second_look) {
  explore::atomic<unsigned> sequence{0};
  explore::atomic<int> x{0};
  explore::atomic<int> y{0};
  explore::thread writer([&] {
    for (int i = 1; i <= 2; ++i) {
      const unsigned s = sequence.load(memory_order_relaxed);
      sequence.store(s + 1, memory_order_relaxed);
      explore::atomic_thread_fence(memory_order_release);
      x.store(i, memory_order_relaxed);
      y.store(i, memory_order_relaxed);
      sequence.store(s + 2, memory_order_release);
    }
  });
  const unsigned before = sequence.load(memory_order_acquire);
  const int seen_x = x.load(memory_order_relaxed);
  const int seen_y = y.load(memory_order_relaxed);
  explore::atomic_thread_fence(before_second_look);
  const unsigned after = sequence.load(memory_order_relaxed);
  if (before == after && before % 2 == 0) explore::check(seen_x == seen_y, "both of one write");
  writer.join();
}

// --- locks: each thread counts once, and the lock is all that orders them ---

template <class Lock>
void count_under(Lock& lock, int threads) {
  explore::cell<int> count{0};
  const auto enter = [&] {
    typename Lock::ticket mine;
    lock.lock(mine);
    count.set(count.get() + 1);
    lock.unlock(mine);
  };
  std::array<explore::thread, 2> others;
  for (int i = 0; i + 1 < threads; ++i)
    others[static_cast<std::size_t>(i)] = explore::thread(enter);
  enter();
  for (auto& t : others)
    if (t.joinable()) t.join();
  explore::check(count.get() == threads, "all have counted");
}

// First come, first served: draw a number, wait until it is called.
class ticket_lock {
 public:
  using ticket = unsigned;

  explicit ticket_lock(std::memory_order call) : call_(call) {}

  void lock(ticket& mine) {
    mine = drawn_.fetch_add(1, memory_order_relaxed);
    while (called_.load(memory_order_acquire) != mine) explore::pause();
  }
  void unlock(ticket& mine) { called_.store(mine + 1, call_); }

 private:
  const std::memory_order call_;
  explore::atomic<unsigned> drawn_{0};
  explore::atomic<unsigned> called_{0};
};

// A queue of waiters, each of which spins on a flag of its own (Mellor-Crummey and Scott).
class mcs_lock {
 public:
  struct ticket {
    explore::atomic<ticket*> next{nullptr};
    explore::atomic<bool> waits{true};
  };

  explicit mcs_lock(std::memory_order hand_over) : hand_over_(hand_over) {}

  void lock(ticket& mine) {
    ticket* before = last_.exchange(&mine, std::memory_order_acq_rel);
    if (!before) return;
    before->next.store(&mine, memory_order_release);
    while (mine.waits.load(memory_order_acquire)) explore::pause();
  }
  void unlock(ticket& mine) {
    ticket* next = mine.next.load(memory_order_acquire);
    if (!next) {
      ticket* expected = &mine;
      if (last_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel)) return;
      // Somebody has taken a place behind us and is about to say so.
      while (!(next = mine.next.load(memory_order_acquire))) explore::pause();
    }
    next->waits.store(false, hand_over_);
  }

 private:
  const std::memory_order hand_over_;
  explore::atomic<ticket*> last_{nullptr};
};

// A flag that is exchanged until it was down.
class spin_lock {
 public:
  struct ticket {};

  explicit spin_lock(std::memory_order leave) : leave_(leave) {}

  void lock(ticket&) {
    while (held_.exchange(true, memory_order_acquire))
      while (held_.load(memory_order_relaxed)) explore::pause();
  }
  void unlock(ticket&) { held_.store(false, leave_); }

 private:
  const std::memory_order leave_;
  explore::atomic<bool> held_{false};
};

// --- all of them ---

void try_out(const char* name, std::function<void(std::memory_order)> program,
             std::memory_order right) {
  const auto proven = explore::run([&] { program(right); });
  std::cout << name << ": ";
  if (proven.failed)
    std::cout << proven.failure->message << "\n" << proven.failure->schedule;
  else
    std::cout << (proven.exhaustive ? "proven" : "not proven") << ", " << proven.schedules
              << " schedules\n";
  const auto broken = explore::run([&] { program(memory_order_relaxed); });
  std::cout << "  with one order relaxed: "
            << (broken.failed ? name_of(broken.failure->kind) : "NOT FOUND") << "\n";
}

template <class Lock>
void try_lock(const char* name, int threads) {
  try_out(
      name,
      [threads](std::memory_order o) {
        Lock lock(o);
        count_under(lock, threads);
      },
      memory_order_release);
}

int main() {
  try_out("double-checked init, 3 threads", double_checked_init, memory_order_acquire);
  try_out("seqlock, 2 writes", seqlock, memory_order_acquire);
  try_lock<spin_lock>("spin lock, 2 threads", 2);
  try_lock<ticket_lock>("ticket lock, 3 threads", 3);
  try_lock<mcs_lock>("MCS lock, 2 threads", 2);
}
