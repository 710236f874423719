// A weather station, step 3: sensors that are too fast for the archive.
#include <rota/rota.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

struct archive {
  int readings = 0;
  int highest = -273;
  std::uint32_t longest_queue = 0;
};
using archive_cown = rota::cown_ptr<archive>;

// Runs when it has the archive, alone with it. There is no lock.
void store(const archive_cown& to, int degrees) {
  rota::when(to) << [to, degrees](archive& a) {
    ++a.readings;
    a.highest = std::max(a.highest, degrees);
    a.longest_queue = std::max(a.longest_queue, to.counters().pending);
  };
}

// Measures and stores a thousand times, as fast as it may.
struct sensor {
  rota::cown_ptr<int> me;
  archive_cown to;

  void operator()(int& count) {
    store(to, count % 20);
    if (++count < 1000) rota::when(me) << *this;
  }
};

int main() {
  auto kept = rota::make_cown<archive>();
  kept.set_threshold(10);  // with more in its queue it is overloaded, and senders are muted

  rota::runtime rt;
  for (int i = 0; i < 20; ++i) {
    auto me = rota::make_cown<int>(0);
    rota::when(rt, me) << sensor{me, kept};
  }
  rt.quiesce();  // until nothing is left to do

  const archive& a = kept.unguarded();
  std::printf("%d readings, the highest %d\n", a.readings, a.highest);
  std::printf("never more than 50 in the queue: %s\n", a.longest_queue <= 50 ? "yes" : "no");
}
