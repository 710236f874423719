// In which order behaviours run: what is promised, and what is not.
//
// Cowns have an order, that of their addresses. A behaviour is requested from the least of its
// cowns and goes on to the next as each becomes free; until it has come to a cown, that cown does
// not know of it.
#include <rota/rota.h>

#include <cstdio>
#include <string>
#include <utility>

using log_cown = rota::cown_ptr<std::string>;

// Takes what was written there.
std::string take(const log_cown& c) { return std::exchange(c.unguarded(), ""); }

int main() {
  auto a = rota::make_cown<std::string>();
  auto b = rota::make_cown<std::string>();
  if (b < a) std::swap(a, b);  // a is the lesser one
  rota::async_event go;
  rota::runtime rt;
  const auto keep_a_busy = [&] {
    go.reset();
    rota::when(rt, a) << [&](std::string&) -> rota::task<> { co_await go.wait(); };
    rt.quiesce();
  };

  // Promised: behaviours with the same least cown keep the order of their requests.
  rota::when(rt, a, b) << [](std::string&, std::string& log) { log += " first"; };
  rota::when(rt, a, b) << [](std::string&, std::string& log) { log += " second"; };
  rt.quiesce();
  std::printf("same least cown:%s\n", take(b).c_str());

  // Promised: who finds all its cowns idle overtakes nobody and is not overtaken.
  rota::when(rt, a, b) << [](std::string&, std::string& log) { log += " first"; };
  rota::when(rt, b) << [](std::string& log) { log += " second"; };
  rt.quiesce();
  std::printf("idle cowns:%s\n", take(b).c_str());

  // Not promised: the first waits at a, and b does not know of it yet.
  keep_a_busy();
  rota::when(rt, a, b) << [](std::string&, std::string& log) { log += " first"; };
  rota::when(rt, b) << [](std::string& log) { log += " second"; };
  rt.quiesce();  // as far as it goes
  go.set();
  rt.quiesce();
  std::printf("a was busy:%s\n", take(b).c_str());

  // A batch closes the gap: its members are requested at one moment, on all its cowns.
  keep_a_busy();
  (rota::when(rt, a, b) << [](std::string&, std::string& log) { log += " first"; }) +
      (rota::when(rt, b) << [](std::string& log) { log += " second"; });
  rt.quiesce();
  go.set();
  rt.quiesce();
  std::printf("a was busy, in a batch:%s\n", take(b).c_str());
}
