// The queues. A job that is lost or taken twice fails a check at the end; one that is not published
// is a data race on its payload, since who takes a job writes into it.

#include <rota/base/spin_lock.h>
#include <rota/queue/fork_deque.h>
#include <rota/queue/inbox.h>
#include <rota/queue/run_queue.h>

#include <array>
#include <memory>

#include "explored/scenarios.h"

namespace {

using namespace rota::scenarios;
using rota::detail::fork_deque;
using rota::detail::inbox;
using rota::detail::job;
using rota::detail::run_queue;
using rota::detail::spin_guard;
using rota::detail::spin_lock;

constexpr int fresh = 1;
constexpr int taken = 2;

struct item : job {
  explore::cell<int> payload{0};
  unsigned number = 0;  // within what its putter puts
};

void take(item& i) {
  explore::check(i.payload.get() == fresh, "an item is taken once");
  i.payload.set(taken);
}

template <std::size_t N>
class items {
 public:
  explicit items(unsigned each = N) {
    for (unsigned i = 0; i < N; ++i) all_[i].number = i % each;
  }
  item& fill(std::size_t i) {
    all_[i].payload.set(fresh);
    return all_[i];
  }
  unsigned putter(const item& i, unsigned each) const {
    return static_cast<unsigned>(&i - all_.data()) / each;
  }
  // When everybody has ended.
  void check_all_taken() const {
    for (const item& i : all_) explore::check(i.payload.get() == taken, "no item is lost");
  }

 private:
  std::array<item, N> all_;
};

// --- inbox --------------------------------------------------------------------------------------

// Putters with some items each, takers with two looks each; what they leave is taken at the end.
template <unsigned Putters, unsigned Each, unsigned Takers>
void mail() {
  items<Putters * Each> all_items(Each);
  inbox box;
  // Who takes twice sees the items of each putter in their order.
  const auto take_all = [&](std::array<unsigned, Putters>& next) {
    for (job* j = box.take_all(); j;) {
      auto& i = static_cast<item&>(*j);
      j = j->link;
      take(i);
      unsigned& expected = next[all_items.putter(i, Each)];
      explore::check(i.number >= expected, "what one putter puts comes out in that order");
      expected = i.number + 1;
    }
  };
  together threads;
  for (unsigned p = 0; p < Putters; ++p)
    threads.run([&, p] {
      for (unsigned k = 0; k < Each; ++k) box.put(&all_items.fill(p * Each + k));
    });
  for (unsigned t = 1; t < Takers; ++t)
    threads.run([&] {
      std::array<unsigned, Putters> next{};
      take_all(next);
      take_all(next);
    });
  std::array<unsigned, Putters> next{};
  take_all(next);
  take_all(next);
  threads.join();
  take_all(next);
  all_items.check_all_taken();
}

// --- run_queue ----------------------------------------------------------------------------------

// What the owner does is a string: + pushes, - pops. Thieves take what they can get, `Visits`
// times.
struct shape {
  std::size_t capacity;
  const char* owner;
  unsigned thieves;
  unsigned visits;
};

// The order of what one thread took: first in, first out.
class in_order {
 public:
  void operator()(job* j) {
    explore::check(j != nullptr, "what is taken was put there");
    auto& i = static_cast<item&>(*j);
    take(i);
    explore::check(i.number >= next_, "jobs leave in the order in which they came");
    next_ = i.number + 1;
  }

 private:
  unsigned next_ = 0;
};

constexpr std::size_t most_pushes = 6;

void run_fair(const shape& s) {
  items<most_pushes> all_items;
  run_queue queue(true, s.capacity);
  together threads;
  for (unsigned t = 0; t < s.thieves; ++t)
    threads.run([&] {
      in_order takes;
      std::array<job*, 4> loot{};
      for (unsigned v = 0; v < s.visits; ++v)
        for (std::size_t n = queue.steal(loot.data(), loot.size()), i = 0; i < n; ++i)
          takes(loot[i]);
    });
  in_order takes;
  std::size_t pushed = 0;
  for (const char* c = s.owner; *c; ++c) {
    if (*c == '+')
      queue.push(&all_items.fill(pushed++));
    else if (job* j = queue.pop())
      takes(j);
  }
  threads.join();
  while (job* j = queue.pop()) takes(j);
  explore::check(queue.empty(), "the queue is empty after the last pop");
  for (; pushed < most_pushes; ++pushed) take(all_items.fill(pushed));  // never pushed
  all_items.check_all_taken();
}

auto fair(const shape& s) {
  return [s] { run_fair(s); };
}

// --- fork_deque ---------------------------------------------------------------------------------

// The owner's string: + pushes, - pops what it pushed last, as a join does, * pops whatever is
// there.
void run_forks(const shape& s) {
  items<most_pushes> all_items;
  fork_deque deque(s.capacity);
  together threads;
  for (unsigned t = 0; t < s.thieves; ++t)
    threads.run([&] {
      in_order takes;
      for (unsigned v = 0; v < s.visits; ++v)
        if (void* x = deque.steal()) takes(static_cast<item*>(x));
    });
  std::array<item*, most_pushes> mine{};
  std::size_t depth = 0;
  std::size_t pushed = 0;
  for (const char* c = s.owner; *c; ++c) {
    if (*c == '+') {
      mine[depth] = &all_items.fill(pushed++);
      deque.push(static_cast<void*>(mine[depth++]));
    } else if (*c == '-') {
      item* last = mine[--depth];
      if (deque.pop(static_cast<void*>(last))) take(*last);
    } else if (void* x = deque.pop_any()) {
      take(*static_cast<item*>(x));
    }
  }
  threads.join();
  while (void* x = deque.pop_any()) take(*static_cast<item*>(x));
  explore::check(deque.empty(), "the deque is empty after the last pop");
  for (; pushed < most_pushes; ++pushed) take(all_items.fill(pushed));
  all_items.check_all_taken();
}

auto forks(const shape& s) {
  return [s] { run_forks(s); };
}

// --- spin_lock ----------------------------------------------------------------------------------

template <unsigned Threads>
void lock() {
  spin_lock mutex;
  explore::cell<unsigned> count{0};
  explore::cell<unsigned> tried{0};
  together threads;
  for (unsigned t = 1; t < Threads; ++t)
    threads.run([&] {
      const spin_guard guard{mutex};
      ++count.change();
    });
  if (mutex.try_lock()) {
    ++tried.change();
    ++count.change();
    mutex.unlock();
  }
  {
    const spin_guard guard{mutex};
    ++count.change();
  }
  threads.join();
  explore::check(count.get() == Threads + tried.get(), "the lock excludes");
}

constexpr shape one_slot{.capacity = 1, .owner = "++-", .thieves = 1, .visits = 2};
constexpr shape wraps{.capacity = 2, .owner = "++-+-+", .thieves = 1, .visits = 2};
constexpr shape wraps_often{.capacity = 2, .owner = "+-+-+-+-+", .thieves = 1, .visits = 3};
constexpr shape grows{.capacity = 2, .owner = "++++-", .thieves = 1, .visits = 2};
constexpr shape four{.capacity = 4, .owner = "++++-+-+", .thieves = 1, .visits = 2};
constexpr shape last_one{.capacity = 2, .owner = "+-", .thieves = 1, .visits = 1};
constexpr shape two_thieves{.capacity = 2, .owner = "++-+", .thieves = 2, .visits = 1};
constexpr shape two_thieves_grow{.capacity = 1, .owner = "+++-", .thieves = 2, .visits = 2};

constexpr shape fork_last{.capacity = 2, .owner = "+-", .thieves = 1, .visits = 1};
constexpr shape fork_twice{.capacity = 2, .owner = "+-+-", .thieves = 1, .visits = 2};
constexpr shape fork_nested{.capacity = 2, .owner = "++--", .thieves = 1, .visits = 2};
constexpr shape fork_any{.capacity = 2, .owner = "++**", .thieves = 1, .visits = 2};
constexpr shape fork_grows{.capacity = 1, .owner = "+++-", .thieves = 1, .visits = 2};
constexpr shape fork_wraps{.capacity = 2, .owner = "++-+-+", .thieves = 1, .visits = 2};
constexpr shape fork_two{.capacity = 2, .owner = "++--", .thieves = 2, .visits = 1};
constexpr shape fork_two_grow{.capacity = 1, .owner = "++-+-", .thieves = 2, .visits = 2};

const add queue{{
    {"queue.inbox_1", "one putter, one taker", mail<1, 2, 1>, all()},
    {"queue.inbox_2", "two putters, one taker", mail<2, 1, 1>, all()},
    {"queue.inbox_2_2", "two putters, two takers", mail<2, 1, 2>, all()},
    {"queue.inbox_order", "two putters of two, two takers", mail<2, 2, 2>, bounded(4, 2)},
    {"queue.inbox_3", "three putters, two takers", mail<3, 1, 2>, all()},

    {"queue.run_last", "owner and thief want the last job", fair(last_one), all()},
    {"queue.run_slot_1", "a ring of one slot, which grows", fair(one_slot), all()},
    {"queue.run_wraps", "a ring of two slots goes round", fair(wraps), all()},
    {"queue.run_wraps_often", "... several times", fair(wraps_often), bounded(3, 2)},
    {"queue.run_grows", "a ring of two slots grows under a thief", fair(grows), all()},
    {"queue.run_four", "a ring of four slots", fair(four), bounded(3, 2)},
    {"queue.run_thieves", "two thieves", fair(two_thieves), all()},
    {"queue.run_thieves_grow", "two thieves while it grows", fair(two_thieves_grow), bounded(3, 2)},

    {"queue.fork_last", "owner and thief want the last element", forks(fork_last), all()},
    {"queue.fork_twice", "... and again", forks(fork_twice), all()},
    {"queue.fork_nested", "two joins", forks(fork_nested), all()},
    {"queue.fork_any", "two pops of anything", forks(fork_any), all()},
    {"queue.fork_grows", "a deque of one slot grows under a thief", forks(fork_grows), all()},
    {"queue.fork_wraps", "a deque of two slots goes round", forks(fork_wraps), all()},
    {"queue.fork_thieves", "two thieves", forks(fork_two), all()},
    {"queue.fork_thieves_grow", "two thieves while it grows", forks(fork_two_grow), bounded(3, 2)},

    {"queue.spin_1", "one other wants the lock", lock<2>, all()},
    {"queue.spin_2", "two others want the lock", lock<3>, all()},
}};

}  // namespace
