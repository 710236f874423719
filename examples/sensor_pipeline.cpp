// Sensors, a filter, a fusion and a screen, as nodes joined by topics. The screen is slower than
// the rest and drops what it has no time for; everybody else loses nothing, and no queue grows: who
// is ahead waits.
#include <rota/rota.h>

#include <chrono>
#include <cstdio>
#include <utility>

using namespace std::chrono_literals;

struct reading {
  int number = 0;
  double meters = 0;
};

// What is known by now. A cown, so that whoever uses it has it alone.
struct position {
  double by_wheel = 0;
  double by_radio = 0;
  int readings = 0;
  double meters() const { return (by_wheel + by_radio) / 2; }
};

// A full queue makes who publishes wait.
const auto patient = rota::qos{}.with_depth(8).with_overflow(rota::overflow::block);
// The latest are worth more than the oldest.
const auto impatient = rota::qos{}.with_depth(2).with_overflow(rota::overflow::drop_oldest);

// Each tenth reading is nonsense.
rota::task<> sense(rota::publisher<reading> out) {
  for (int i = 1; i <= 100; ++i) {
    const reading r{i, i % 10 == 0 ? -1 : i * 0.5};
    co_await out.publish(r);
  }
}

rota::task<> program(rota::bus& bus) {
  rota::node filter{bus, "filter"};
  const auto clean = filter.advertise<reading>("/wheel/clean");
  // A coroutine: it has the next reading when this one is on its way.
  const auto pass_on = [clean](reading r) -> rota::task<> {
    if (r.meters >= 0) co_await clean.publish(r);
  };
  const auto filtered = filter.subscribe<reading>("/wheel/raw", patient, pass_on);

  const auto place = rota::make_cown<position>();
  rota::node fusion{bus, "fusion"};
  const auto places = fusion.advertise<double>("/position");
  // Behaviours: each is alone with the position, whatever node or task uses it besides.
  const auto by_wheel = [places](position& p, const reading& r) {
    p.by_wheel = r.meters;
    ++p.readings;
    places.publish(p.meters());  // does not wait for the screen
  };
  const auto by_radio = [places](position& p, const reading& r) {
    if (r.meters >= 0) p.by_radio = r.meters;
    ++p.readings;
    places.publish(p.meters());
  };
  fusion.subscribe<reading>("/wheel/clean", patient, rota::on(place, by_wheel));
  fusion.subscribe<reading>("/radio", patient, rota::on(place, by_radio));

  double shown = 0;  // before the node, whose handler uses it
  rota::node screen{bus, "screen"};
  const auto draw = [&shown](double meters) -> rota::task<> {
    co_await rota::sleep_for(1ms);  // slow, but no worker waits with it
    shown = meters;
  };
  const auto drawn = screen.subscribe<double>("/position", impatient, draw);

  rota::node sensors{bus, "sensors"};
  auto wheel = sense(sensors.advertise<reading>("/wheel/raw"));
  auto radio = sense(sensors.advertise<reading>("/radio"));
  co_await rota::when_all(std::move(wheel), std::move(radio));

  // What is in the queues is handled, in the order of the pipeline.
  co_await filter.drain();
  co_await fusion.drain();
  co_await screen.drain();

  const position end = co_await (rota::when(place) << [](position& p) { return p; });
  const auto seen = filtered.counters();
  const auto drawings = drawn.counters();
  std::printf("the filter got %d readings and lost %d\n", int(seen.events), int(seen.dropped));
  std::printf("the fusion got %d readings: %.2f m\n", end.readings, end.meters());
  std::printf("drawn or dropped: %d positions\n", int(drawings.events + drawings.dropped));
  std::printf("drawn last: %.2f m\n", shown);
}

int main() {
  rota::runtime rt;
  rota::bus bus{rt};
  rt.run(program(bus));
}
