// What do handlers cost that have nothing to do? A third each are subscriptions of topics of their
// own, subscriptions of one topic, and timers with long periods. Two seconds: CPU time of the
// process, and memory of each.
//
//   event_idle [--n N] [--ms N]      ends with status 1 if the CPU time is more than 1 % of one
//   core
#include <rota/rota.h>

#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "../duel.h"

namespace {

using namespace std::chrono_literals;

// Microseconds, of all threads, user and system.
long cpu_us() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1'000'000 + u.ru_utime.tv_usec +
         u.ru_stime.tv_usec;
}

// Bytes that were allocated and not freed; resident memory counts what is touched.
struct memory {
  std::int64_t allocated = static_cast<std::int64_t>(mallinfo2().uordblks + mallinfo2().hblkhd);
  std::int64_t resident = bench::resident_bytes();
};

void say(const char* what, const memory& before, int n) {
  const memory now;
  std::printf("| bytes per %s | %.0f allocated, %.0f resident |\n", what,
              static_cast<double>(now.allocated - before.allocated) / n,
              static_cast<double>(now.resident - before.resident) / n);
}

int argument(int argc, char** argv, const char* name, int otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return std::atoi(argv[i + 1]);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const int third = argument(argc, argv, "--n", 10'000) / 3;
  const int rest_ms = argument(argc, argv, "--ms", 2000);
  mallopt(M_ARENA_MAX, 1);
  rota::runtime rt{rota::options{}.with_workers(2)};
  rota::bus bus{rt};
  rota::node node{bus, "idle"};
  std::printf("| idle | |\n| --- | --- |\n");
  std::uint64_t handled = 0;
  const memory before_topics;
  for (int i = 0; i < third; ++i)
    node.subscribe<int>("/topic" + std::to_string(i), rota::qos{}, [&](int) { ++handled; });
  say("idle subscription, each of a topic of its own", before_topics, third);
  const memory before_shared;
  for (int i = 0; i < third; ++i) node.subscribe<int>("/one", rota::qos{}, [&](int) { ++handled; });
  say("idle subscription, all of one topic", before_shared, third);
  const memory before_timers;
  for (int i = 0; i < third; ++i) node.every(1h, [&] { ++handled; });
  rt.run([]() -> rota::task<void> { co_return; }());
  std::this_thread::sleep_for(100ms);  // the tasks of the timers have begun to sleep
  say("timer", before_timers, third);
  const long before = cpu_us();
  std::this_thread::sleep_for(std::chrono::milliseconds{rest_ms});
  const long used = cpu_us() - before;
  std::printf("| CPU of %d idle handlers in %d ms | %ld us |\n", 3 * third, rest_ms, used);
  if (handled != 0) return 1;
  // A bit of it is the sleep of this thread.
  return used > rest_ms * 10 + 500 ? 1 : 0;
}
