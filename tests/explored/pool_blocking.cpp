// The threads of calls that block. A call that is not run shows as a wait that does not end.

#include <array>
#include <chrono>

#include "explored/scenarios.h"
#include "explored/words.h"
#include "pool/blocking_pool.h"

namespace {

using namespace std::chrono_literals;
using namespace rota::scenarios;
using rota::detail::blocking_call;
using rota::detail::blocking_pool;

struct call : blocking_call {
  explore::cell<int> ran{0};
  word* ended = nullptr;
  word* gate = nullptr;
  std::uint32_t opens_at = 0;

  call() {
    run = [](blocking_call& c) noexcept {
      auto& self = static_cast<call&>(c);
      explore::check(self.ran.get() == 0, "a call runs once");
      self.ran.set(1);
      if (self.gate) wait_until(*self.gate, self.opens_at);
      count_up(*self.ended);
    };
  }
};

template <unsigned Limit, std::size_t Calls>
void blocking() {
  std::array<call, Calls> calls{};
  word ended{0};
  {
    blocking_pool p(Limit);
    together others;
    others.run([&] {
      calls[0].ended = &ended;
      p.submit(calls[0]);
    });
    for (std::size_t i = 1; i < Calls; ++i) {
      calls[i].ended = &ended;
      p.submit(calls[i]);
    }
    others.join();
    wait_until(ended, Calls);
  }
  for (const call& c : calls) explore::check(c.ran.get() == 1, "every call runs");
}

// A call comes while the thread that would run it has waited long enough and leaves.
void blocking_leaves() {
  std::array<call, 2> calls{};
  word ended{0};
  for (call& c : calls) c.ended = &ended;
  blocking_pool p(2);
  p.submit(calls[0]);
  wait_until(ended, 1);
  explore::settle();
  p.submit(calls[1]);
  wait_until(ended, 2);
}

// A thread that waits is woken for a call: it does not run only when the wait is over.
void blocking_wakes() {
  std::array<call, 2> calls{};
  word ended{0};
  for (call& c : calls) c.ended = &ended;
  blocking_pool p(1);
  p.submit(calls[0]);
  explore::settle();
  p.submit(calls[1]);
  explore::settle();
  explore::check(ended.peek() == 2, "no call waits while a thread sleeps");
}

// After that, with no thread left, one is made.
void blocking_again() {
  std::array<call, 2> calls{};
  word ended{0};
  for (call& c : calls) c.ended = &ended;
  blocking_pool p(1);
  p.submit(calls[0]);
  wait_until(ended, 1);
  explore::advance(6s);
  p.submit(calls[1]);
  wait_until(ended, 2);
}

const add blocking_pools{{
    {"pool.blocking_1", "two calls, one thread", blocking<1, 2>, bounded(2, 2)},
    {"pool.blocking_2", "three calls, two threads", blocking<2, 3>, pct(3, 1)},
    {"pool.blocking_leaves", "a call comes when a thread leaves", blocking_leaves, bounded(2, 2)},
    {"pool.blocking_wakes", "a call wakes a thread", blocking_wakes, no_early(all(2))},
    {"pool.blocking_again", "a call comes after the threads have left", blocking_again, all(2)},
}};

}  // namespace
