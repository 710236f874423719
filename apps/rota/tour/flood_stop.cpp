// bounded_queues: twenty cowns send to one that is slow, twice at the same time, with backpressure
// and without. Broken, the queue of the first grows like that of the second, or a sender that was
// muted does not run again.

#include <rota/rota.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "../check_output.h"
#include "stops.h"

namespace rota::app {

namespace {

constexpr std::uint64_t sources = 20;
constexpr std::uint64_t overload_threshold = 50;
constexpr std::uint64_t queue_bound = 2 * sources + overload_threshold;  // docs/guarantees.md
constexpr std::uint64_t enough_to_see = 20 * queue_bound;
constexpr std::uint64_t most_queued = 200'000;  // memory is finite
constexpr int send_work = 4'000;                // steps of some nanoseconds
constexpr int handle_work = 8'000;

std::uint64_t worked(std::uint64_t x, int steps) {
  for (int i = 0; i < steps; ++i) {
    x = x * 6364136223846793005u + 1;
    asm volatile("" : "+r"(x));  // otherwise the compiler makes one step of several
  }
  return x;
}

struct slow_receiver {
  std::uint64_t work = 1;
};

struct flood {
  explicit flood(const stage& s, bool backpressure)
      : watched(s), rt(options{}.with_workers(2).with_backpressure(backpressure)) {
    receiver.set_threshold(overload_threshold);
  }

  const stage& watched;
  cown_ptr<slow_receiver> receiver = make_cown<slow_receiver>();
  std::vector<std::atomic<std::uint64_t>> sent_by =
      std::vector<std::atomic<std::uint64_t>>(sources);
  std::atomic<std::uint64_t> handled = 0;
  std::atomic<std::uint64_t> longest = 0;
  std::atomic<bool> over = false;
  runtime rt;  // ends first

  std::uint64_t sent() const {
    std::uint64_t sum = 0;
    for (const auto& s : sent_by) sum += s.load(std::memory_order_relaxed);
    return sum;
  }
  std::uint64_t queued() const { return receiver.counters().pending; }

  void handle(slow_receiver& r) {
    longest = std::max<std::uint64_t>(longest, receiver.counters().pending);
    // What is left when all is over is done at once.
    if (!over) r.work = worked(r.work, handle_work);
    handled.fetch_add(1, std::memory_order_relaxed);
  }
};

// Sends one message and comes back for the next.
struct flood_source {
  flood* to;
  cown_ptr<std::uint64_t> me;
  std::size_t number;

  void operator()(std::uint64_t& work) {
    work = worked(work, send_work);
    when(to->receiver) << [f = to](slow_receiver& r) { f->handle(r); };
    to->sent_by[number].fetch_add(1, std::memory_order_relaxed);
    if (!to->over && to->queued() < most_queued) when(me) << *this;
  }
};

void open_gates(flood& f) {
  for (std::size_t i = 0; i < sources; ++i) {
    const auto me = make_cown<std::uint64_t>(1u);
    when(f.rt, me) << flood_source{&f, me, i};
  }
}

// A queue as a bar, in powers of two: three for two '='.
std::string drawn(std::uint64_t length) {
  constexpr std::size_t most = 12;  // 2^18 is beyond most_queued
  const auto full = static_cast<std::size_t>(std::log2(static_cast<double>(length) + 1) * 2 / 3);
  std::string text(std::min(full, most), '=');
  text.resize(most, ' ');
  return text + " " + grouped(length);
}

// The queue without backpressure is let grow until it can be told from the other.
void flood_both(const stage& s, flood& with, flood& without) {
  open_gates(with);
  open_gates(without);
  const auto all_have_sent = [&] {
    return std::all_of(with.sent_by.begin(), with.sent_by.end(),
                       [](const auto& sent) { return sent >= 20; });
  };
  while (!without.over || !with.over) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!s.goes_on(without.longest, enough_to_see)) without.over = true;
    if (!s.goes_on(all_have_sent(), 1) && without.over) with.over = true;
  }
  with.rt.quiesce();
  without.rt.quiesce();
}

}  // namespace

findings show_flood(stage& s) {
  flood with{s, true};
  flood without{s, false};
  s.watch([&] { flood_both(s, with, without); },
          [&] {
            const std::uint64_t on = with.queued();
            const std::uint64_t off = without.queued();
            return view{with.handled + without.handled,
                        "queue: with " + drawn(on) + ", without " + drawn(off)};
          });
  const bool all_handled = with.handled == with.sent();
  return {{"bounded_queues", with.longest <= queue_bound && all_handled,
           grouped(with.sent()) + " messages of 20 senders to a slow cown: its queue was at most " +
               grouped(with.longest) + " long, bound " + grouped(queue_bound) + "; " +
               (all_handled ? "all handled" : "NOT all handled") + "; without backpressure " +
               grouped(without.longest)}};
}

}  // namespace rota::app
