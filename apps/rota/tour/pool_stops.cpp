// no_lost_wakeup: a thread outside sends one message at a time to a task whose worker sleeps, is
// about to, or has just woken. Broken, a message waits for a worker that sleeps on: nothing happens
// any more.
//
// work_conserving: as many tasks as there are workers, each of which holds its worker until all of
// them run at once, which they can only if every sleeper is woken; a fork-join sum; and an idle
// pool that uses no CPU. Broken, a task is queued while a worker sleeps and the others wait for it.

#include <rota/rota.h>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>

#include "../check_output.h"
#include "stops.h"

namespace rota::app {

namespace {

using namespace std::chrono_literals;

// --- no_lost_wakeup -----------------------------------------------------------------------------

task<void> count_messages(channel<int>& in, std::atomic<std::uint64_t>& received) {
  while (const auto message = co_await in.receive())
    received.fetch_add(1, std::memory_order_release);
}

// Waits for each message to arrive, then for another while, so that it meets the worker at every
// point of its way to sleep.
std::uint64_t send_one_by_one(const stage& s, channel<int>& to,
                              const std::atomic<std::uint64_t>& received) {
  std::uint64_t sent = 0;
  for (; s.goes_on(sent, 500); ++sent) {
    while (!to.try_send(1)) std::this_thread::yield();
    while (received.load(std::memory_order_acquire) <= sent) std::this_thread::yield();
    if (sent % 16 == 0)
      std::this_thread::sleep_for(100us);
    else
      for (std::uint64_t i = 0; i < sent % 97 * 20; ++i) asm volatile("" ::: "memory");
  }
  to.close();
  return sent;
}

// --- work_conserving ----------------------------------------------------------------------------

// Begins, and keeps its worker until all others have begun too.
task<void> meet(std::atomic<unsigned>& here, unsigned all) {
  here.fetch_add(1, std::memory_order_relaxed);
  while (here.load(std::memory_order_relaxed) < all) std::this_thread::yield();
  co_return;
}

task<void> meet_all(unsigned all) {
  std::atomic<unsigned> here = 0;
  task_group group;
  for (unsigned i = 0; i < all; ++i) group.spawn(meet(here, all));
  co_await group.join();
}

task<std::uint64_t> sum_of(const std::uint32_t* begin, const std::uint32_t* end) {
  if (end - begin <= 2048) co_return std::accumulate(begin, end, std::uint64_t{0});
  const std::uint32_t* middle = begin + (end - begin) / 2;
  fork_scope forks;
  std::uint64_t left = 0;
  co_await forks.fork(left, sum_of(begin, middle));
  const std::uint64_t right = co_await sum_of(middle, end);
  co_await forks.join();
  co_return left + right;
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::string milliseconds_text(double seconds) {
  return grouped(static_cast<std::uint64_t>(seconds * 1e3 + 0.5)) + " ms";
}

struct conserving_run {
  std::atomic<std::uint64_t> meetings = 0;
  std::atomic<std::uint64_t> sums = 0;
  std::atomic<std::uint64_t> wrong = 0;
  double sum_seconds = 0;
};

void meet_and_sum(const stage& s, runtime& rt, conserving_run& run) {
  for (; s.goes_on(run.meetings, 50, 0.4); ++run.meetings) {
    rt.run(meet_all(rt.workers()));
    if (run.meetings % 8 == 0) std::this_thread::sleep_for(1ms);  // until everybody sleeps
  }
  std::vector<std::uint32_t> numbers(s.is_quick() ? 1 << 20 : 1 << 23);
  std::iota(numbers.begin(), numbers.end(), 0u);
  const std::uint64_t n = numbers.size();
  const auto begin = stage::clock::now();
  for (; s.goes_on(run.sums, 3, 0.9); ++run.sums)
    if (rt.run(sum_of(numbers.data(), numbers.data() + n)) != n * (n - 1) / 2) ++run.wrong;
  run.sum_seconds = std::chrono::duration<double>(stage::clock::now() - begin).count();
}

}  // namespace

findings show_wake_ups(stage& s) {
  runtime rt{options{}.with_workers(2)};
  channel<int> in{1};
  std::atomic<std::uint64_t> received = 0;
  std::uint64_t sent = 0;
  s.watch(
      [&] {
        std::thread sender(
            [&, expected = outside{rt}] { sent = send_one_by_one(s, in, received); });
        rt.run(count_messages(in, received));
        sender.join();
      },
      [&] {
        return view{received, grouped(received) + " messages from another thread, workers fell " +
                                  "asleep " + grouped(rt.statistics().parks) + " times"};
      });
  return {{"no_lost_wakeup", received == sent,
           grouped(sent) + " messages to workers that fell asleep " +
               grouped(rt.statistics().parks) + " times: " + grouped(received) + " arrived"}};
}

findings show_fork_join(stage& s) {
  // At least two, also where there is one processor: somebody has to be woken.
  runtime rt{options{}.with_workers(std::max(2u, std::thread::hardware_concurrency()))};
  conserving_run run;
  s.watch([&] { meet_and_sum(s, rt, run); },
          [&] {
            return view{run.meetings + run.sums,
                        "all " + std::to_string(rt.workers()) + " workers met " +
                            grouped(run.meetings) + " times; " + grouped(run.sums) + " sums, " +
                            grouped(rt.statistics().forks_taken) + " forks taken over"};
          });
  const auto idle = s.is_quick() ? 300ms : 700ms;
  s.show("and now nothing to do");
  const double before = cpu_seconds();
  std::this_thread::sleep_for(idle);
  const double used = cpu_seconds() - before;
  const double seconds = std::chrono::duration<double>(idle).count();
  // Nothing at all, if nobody looks; a worker that spins would use as much as it is given.
  const bool rests = used < 0.2 * seconds;
  return {{"work_conserving", run.wrong == 0 && rests,
           "all " + std::to_string(rt.workers()) + " workers woken and met " +
               grouped(run.meetings) + " times; " + grouped(run.sums) + " fork-join sums, " +
               (run.wrong == 0 ? "all right" : grouped(run.wrong) + " WRONG") + ", " +
               milliseconds_text(run.sum_seconds / static_cast<double>(run.sums)) + " each; idle " +
               "for " + milliseconds_text(seconds) + ": " + milliseconds_text(used) + " of CPU"}};
}

}  // namespace rota::app
