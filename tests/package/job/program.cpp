// A program that schedules a function with an installed Rota.

#include <rota/job/scheduler.h>
#include <rota/rota.h>

#include <chrono>

int main() {
  using namespace std::chrono_literals;
  if (!rota::schedule::parse("@daily").next(rota::instant{})) return 1;
  rota::runtime rt;
  rota::async_event ran;
  rota::scheduler jobs{rt};
  jobs.add("soon", rota::every(10ms), [&] { ran.set(); });
  rt.run([](rota::async_event& e) -> rota::task<> { co_await e.wait(); }(ran));
}
