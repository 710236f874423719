// A pipeline whose last stage is slow. Nobody here waits, asks or counts: a stage that sends to one
// which is overloaded is muted, and those who send to it in turn, until the slow one has caught up.
// So its queue stays short, however much there is to do.
#include <rota/rota.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int source_count = 20;
constexpr int messages = 500;  // of each source

struct slow_stage {
  int done = 0;
  std::uint32_t longest_queue = 0;
  std::uint64_t work = 1;
};
using slow_cown = rota::cown_ptr<slow_stage>;

void handle(const slow_cown& me, slow_stage& s) {
  for (int i = 0; i < 5'000; ++i) s.work = s.work * 6364136223846793005u + 1;
  ++s.done;
  s.longest_queue = std::max(s.longest_queue, me.counters().pending);
}

// Sends one message and comes back for the next.
struct source {
  rota::cown_ptr<int> me;
  slow_cown to;

  void operator()(int& sent) {
    rota::when(to) << [to = to](slow_stage& s) { handle(to, s); };
    if (++sent < messages) rota::when(me) << *this;
  }
};

int main() {
  auto slow = rota::make_cown<slow_stage>();
  slow.set_threshold(10);  // a longer queue is an overloaded one

  rota::runtime rt;
  for (int i = 0; i < source_count; ++i) {
    auto s = rota::make_cown<int>(0);
    rota::when(rt, s) << source{s, slow};
  }
  rt.quiesce();

  const slow_stage& s = slow.unguarded();
  std::printf("%d messages handled\n", s.done);
  std::printf("the queue stayed short: %s\n", s.longest_queue <= 2 * source_count ? "yes" : "no");
}
