// Jobs inside of a program: functions that run when they are due, by the rules that `rota serve`
// has for programs. The clock is set by hand here, so that a night takes no time.
#include <rota/job/scheduler.h>
#include <rota/rota.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>

using namespace std::chrono_literals;

// Reads a clock that the program sets.
struct clock_by_hand {
  std::atomic<std::int64_t> ms;
  rota::instant now() const { return rota::instant{std::chrono::milliseconds{ms.load()}}; }
};

int main() {
  rota::runtime rt;
  clock_by_hand clock{rota::parse_instant("2026-03-28T22:00:00Z")->time_since_epoch().count()};

  rota::scheduler_options options;
  options.max_active = 1;  // one after the other
  options.clock = [&] { return clock.now(); };
  rota::channel<std::string> said{16};
  rota::scheduler jobs{rt, options};

  // In Paris 02:30 does not exist that night: the clocks go from 02:00 to 03:00.
  rota::schedule::context paris;
  paris.zone = rota::time_zone::find("Europe/Paris").value();
  jobs.add("backup", rota::schedule::parse("30 2 * * *", paris),
           [&](const rota::job::run& r) -> rota::task<> {
             co_await said.send("backup, due at " + rota::to_text(r.scheduled, paris.zone));
           });

  rota::job::rules after_backup;
  after_backup.after = {{"backup", rota::job::dependency_on::success}};
  after_backup.retry.count = 1;
  jobs.add("upload", rota::schedule{}, after_backup, [&](const rota::job::run& r) -> rota::task<> {
    co_await said.send("upload, attempt " + std::to_string(r.attempt));
    if (r.attempt == 1) throw std::runtime_error("the network is down");
  });

  // The night passes, and the program was asleep until five.
  clock.ms += std::chrono::milliseconds{7h}.count();
  jobs.clock_changed();

  rt.run([](rota::channel<std::string>& all, rota::scheduler& s, clock_by_hand& c) -> rota::task<> {
    for (int i = 0; i < 3; ++i) {
      std::puts((co_await all.receive())->c_str());
      if (i == 1) {  // the second attempt comes after a while
        while (s.waiting().empty()) co_await rota::sleep_for(1ms);
        c.ms += std::chrono::milliseconds{1min}.count();
        s.clock_changed();
      }
    }
  }(said, jobs, clock));
}
