// A node with a life: its parameters are a service and, for those who come later, a topic; a timer
// moves it; it is set up while it is on hold, started, and drained in the end. All its handlers
// share the group of the node, so they run one at a time, and its state needs no lock.
#include <rota/rota.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

using namespace std::chrono_literals;

struct parameters {
  double speed = 1;  // meters a step
};

// Says what is in it: for other processes, and for tools that show and send messages.
template <class V>
void describe(V& v, parameters& p) {
  v.type("robot/parameters");
  v.field("speed", p.speed);
}

class robot {
 public:
  explicit robot(rota::bus& bus) : node_(bus, "robot", rota::hold) {
    arrived_ = node_.advertise<double>("/robot/arrived");
    // The last ones are kept for whoever subscribes later.
    announced_ = node_.advertise<parameters>("/robot/parameters", rota::qos{}.with_late_joiner());
    announced_.publish(parameters_);
    node_.serve<parameters, std::string>("/robot/set_parameters",
                                         [this](const parameters& p) { return set(p); });
    node_.subscribe<double>("/robot/goal", rota::qos{}.with_depth(4),
                            [this](double meters) { goal_ = meters; });
    node_.every(1ms, [this] { step(); });
  }

  rota::node& node() { return node_; }

 private:
  // Empty if they are fine.
  std::string set(const parameters& p) {
    if (p.speed <= 0) return "a robot has to move: the speed must be above 0";
    parameters_ = p;
    announced_.publish(p);
    return "";
  }

  void step() {
    if (at_ == goal_) return;
    at_ = std::min(goal_, at_ + parameters_.speed);
    if (at_ == goal_) arrived_.publish(at_);
  }

  parameters parameters_;
  double at_ = 0;
  double goal_ = 0;
  rota::publisher<parameters> announced_;
  rota::publisher<double> arrived_;
  rota::node node_;  // the last: it ends first, and with it the handlers that use the rest
};

rota::task<> set_speed(rota::client<parameters, std::string> set, double speed) {
  const parameters wanted{speed};
  const auto r = co_await set.call(wanted, 10s);
  const std::string status{to_string(r.status())};
  std::printf("speed %g: %s\n", speed, (!r ? status : r->empty() ? "set" : *r).c_str());
}

rota::task<> program(rota::bus& bus) {
  rota::async_event arrived;
  rota::async_event told;
  double goal = 0;
  double speed = 0;
  robot r2{bus};
  rota::node console{bus, "console"};
  console.subscribe<double>("/robot/arrived", {}, [&](double meters) {
    goal = meters;
    arrived.set();
  });

  // On hold: what comes is kept.
  const auto goals = console.advertise<double>("/robot/goal");
  std::printf("goals that wait for the start: %zu\n", goals.publish(10).taken());
  r2.node().start();
  co_await arrived.wait();
  std::printf("arrived at %g\n", goal);

  const auto set = console.client<parameters, std::string>("/robot/set_parameters");
  co_await set_speed(set, 2.5);
  co_await set_speed(set, -1);

  // Who comes later is told at once.
  const auto late = rota::qos{}.with_late_joiner();
  console.subscribe<parameters>("/robot/parameters", late, [&](const parameters& p) {
    speed = p.speed;
    told.set();
  });
  co_await told.wait();
  std::printf("its speed is %g\n", speed);

  // Nothing new comes in, what is there is handled, then nothing runs any more.
  co_await r2.node().drain();
  std::printf("stopped: %s\n", r2.node().phase() == rota::node_phase::stopped ? "yes" : "no");
  co_await set_speed(set, 3);
}

int main() {
  rota::runtime rt;
  rota::bus bus{rt};
  rt.run(program(bus));
}
