// When a nightly job runs while the clocks of Paris are changed, by our rule and by Debian's.
//
//   30 2 * * *   a fixed time: on the night of the gap right after it, on the night of the fold
//   once 0 * * * *    every hour of real time, whatever the clock on the wall shows

#include <rota/cron/schedule.h>

#include <cstdio>

namespace {

void show(const char* title, const rota::schedule& s, const char* from, int count) {
  std::printf("%s: %s\n", title, s.explain().c_str());
  auto t = s.next(*rota::parse_instant(from));
  for (; t && count > 0; t = s.next(*t), --count)
    std::printf("  %s  %s\n", rota::to_text(*t).c_str(), rota::to_text(*t, s.zone()).c_str());
}

// What is wrong is said with its place.
void show_error(const char* text) {
  try {
    (void)rota::schedule::parse(text);
  } catch (const rota::cron_error& e) {
    std::printf("%s\n%*s column %zu: %s\n", text, static_cast<int>(e.column()), "^", e.column(),
                e.what());
  }
}

}  // namespace

int main() {
  const auto nightly = rota::schedule::parse("CRON_TZ=Europe/Paris 30 2 * * *");
  show("over the gap", nightly, "2026-03-28T00:00:00Z", 3);
  show("over the fold", nightly, "2026-10-24T00:00:00Z", 3);

  const auto hourly = rota::schedule::parse("CRON_TZ=Europe/Paris 0 * * * *");
  show("hours of the fold", hourly, "2026-10-24T23:00:00Z", 4);

  // As Debian's cron: what the gap swallows runs once a minute, all in the minute after it.
  const auto zone = rota::time_zone::find("Europe/Paris");
  const auto debians =
      rota::schedule::parse("0,30 2 * * *", {.zone = *zone, .dst = rota::dst_rule::vixie});
  const auto first = debians.next(*rota::parse_instant("2026-03-29T00:00:00Z"));
  std::printf("Debian runs it %u times at %s\n", debians.times(*first),
              rota::to_text(*first).c_str());

  show_error("0 0 * * fri-mon");
}
