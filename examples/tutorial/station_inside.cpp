// A weather station, step 6: it runs until Ctrl-C, and can be looked at meanwhile.
//
//   build/station               says what its tasks are at, and ends
//   build/station station.sock  opens a door there, and stays
#include <rota/rota.h>

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <exception>

using namespace std::chrono_literals;

rota::task<> report(rota::channel<int>& in) {
  rota::this_task::set_name("report");
  while (auto degrees = co_await in.receive())
    if (*degrees > 100) std::puts("the roof burns");
}

rota::task<> a_while() { co_await rota::sleep_for(50ms); }

int main(int argc, char** argv) {
  sigset_t interrupt;  // blocked before there are threads, so that it comes to us
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigaddset(&interrupt, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);

  rota::channel<int> readings{4};
  rota::runtime rt{rota::options{}.with_workers(2)};
  rota::bus bus{rt};
  auto reporter = rt.spawn(report(readings));

  int now = 10;
  rota::node station{bus, "station"};
  const auto temperature = station.advertise<int>("/temperature");
  station.serve<int, int>("/above", [&now](const int& least) { return now - least; });
  station.every(10ms, [&] { temperature.publish(now = now < 30 ? now + 1 : 10); });

  if (argc < 2) {
    rt.run(a_while());
    std::fputs(rt.dump().c_str(), stdout);
    return 0;
  }
  try {
    const rota::inspector door{bus, argv[1]};
    int which = 0;
    sigwait(&interrupt, &which);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
