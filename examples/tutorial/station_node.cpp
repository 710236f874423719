// A weather station, step 4: whoever wants readings subscribes; whoever wants the highest asks.
#include <rota/rota.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

using namespace std::chrono_literals;

rota::task<> program(rota::bus& bus) {
  rota::node log{bus, "log"};
  int highest = -273;  // handlers of one node exclude each other: no lock
  log.subscribe<int>("/temperature", rota::qos{}.with_depth(8),
                     [&](const int& degrees) { highest = std::max(highest, degrees); });
  log.serve<std::string, int>("/highest", [&](const std::string&) { return highest; });

  rota::node station{bus, "station"};
  const auto temperature = station.advertise<int>("/temperature");
  for (int i = 0; i < 5; ++i) co_await temperature.publish(10 + i);

  const auto ask = station.client<std::string, int>("/highest");
  const std::string today = "today";
  const auto answer = co_await ask.call(today, 1s);
  if (answer)
    std::printf("the highest was %d\n", *answer);
  else
    std::printf("no answer: %s\n", answer.reason().c_str());

  const auto forecast = station.client<std::string, int>("/forecast");
  const auto none = co_await forecast.call(today, 1s);
  std::printf("the forecast: %s\n", none.reason().c_str());
}

int main() {
  rota::runtime rt;
  rota::bus bus{rt};
  rt.run(program(bus));
}
