// A robot that can be looked at while it runs. By itself it walks a few steps and ends:
//
//   ./inspected
//
// With a path it opens a door there, and walks until Ctrl-C. From another terminal:
//
//   export ROTA_SOCKET=robot.sock
//   ./inspected $ROTA_SOCKET
//   rota graph
//   rota topic echo /pose --count 3
//   rota topic hz /pose
//   rota topic pub /goal '{"x": 4, "y": 3}'
//   rota service call /distance '{"x": 1, "y": 1}'
#include <rota/rota.h>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

// What goes through the door is described: its fields have names.
struct point {
  double x = 0;
  double y = 0;
};
template <class V>
void describe(V& v, point& p) {
  v.type("robot/point");
  v.field("x", p.x);
  v.field("y", p.y);
}

struct pose {
  point at;
  float heading = 0;
  std::uint32_t step = 0;
  std::vector<std::string> tags;
};
template <class V>
void describe(V& v, pose& p) {
  v.type("robot/pose");
  v.field("at", p.at);
  v.field("heading", p.heading);
  v.field("step", p.step);
  v.field("tags", p.tags);
}

// Not described, so it stays inside.
struct heartbeat {};

class robot {
 public:
  explicit robot(rota::bus& bus) : node_(bus, "robot") {
    node_.subscribe<point>("/goal", rota::qos{}.with_depth(4),
                           [this](const point& p) { goal_ = p; });
    node_.subscribe<std::vector<std::byte>>("/image", {}, [](const std::vector<std::byte>&) {});
    node_.serve<point, double>("/distance", [this](const point& p) { return distance(p); });
    // In a group of its own, so that the robot walks on meanwhile.
    node_.serve<std::chrono::milliseconds, bool>(
        "/rest", rota::handler_options{}.with_group(rota::group{}),
        [](std::chrono::milliseconds time) -> rota::task<bool> {
          if (time < 0ms) throw std::invalid_argument("nobody can rest for less than no time");
          co_await rota::sleep_for(time);
          co_return true;
        });
  }

  // Its handlers use what goes before the node does.
  ~robot() { node_.stop(); }
  robot(const robot&) = delete;
  robot& operator=(const robot&) = delete;

  // One step of a tenth towards the goal.
  pose walk() {
    const double left = distance(goal_);
    if (left > 0) {
      const double part = std::min(1.0, 0.1 / left);
      now_.heading = static_cast<float>(std::atan2(goal_.y - now_.at.y, goal_.x - now_.at.x));
      now_.at.x += part * (goal_.x - now_.at.x);
      now_.at.y += part * (goal_.y - now_.at.y);
    }
    ++now_.step;
    now_.tags = {left > 0 ? "walking" : "there"};
    poses_.publish(now_);
    beats_.publish(heartbeat{});
    return now_;
  }

  // Until it is removed, as a handler of the node: no two of its handlers run at once.
  rota::registration walk_every(std::chrono::milliseconds period) {
    return node_.every(period, [this] { walk(); });
  }

 private:
  double distance(const point& p) const { return std::hypot(p.x - now_.at.x, p.y - now_.at.y); }

  pose now_;
  point goal_{1, 0};
  rota::node node_;
  rota::publisher<pose> poses_ = node_.advertise<pose>("/pose", rota::qos{}.with_late_joiner());
  rota::publisher<heartbeat> beats_ = node_.advertise<heartbeat>("/heartbeat");
};

void walk_until_interrupted(rota::bus& bus, const std::string& path, const sigset_t& interrupts) {
  robot one{bus};
  one.walk_every(10ms);
  const rota::inspector door{bus, path};
  std::printf("open: rota graph --socket %s\n", path.c_str());
  std::fflush(stdout);
  int which = 0;
  sigwait(&interrupts, &which);
}

int main(int argc, char** argv) {
  // Before there are threads, which then leave these signals to us.
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  sigaddset(&interrupts, SIGTERM);
  if (argc > 1) pthread_sigmask(SIG_BLOCK, &interrupts, nullptr);

  rota::runtime rt;
  rota::bus bus{rt};
  try {
    if (argc > 1) {
      walk_until_interrupted(bus, argv[1], interrupts);
      return 0;
    }
    robot one{bus};
    for (int i = 0; i < 3; ++i) {
      const pose p = one.walk();
      std::printf("step %u: %.1f, %.1f\n", p.step, p.at.x, p.at.y);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
