// Publishers, subscribers, clients, servers and timers at random, with handlers that come and go.
// Watched: that what was taken is handled once, by sums; that nobody runs who was removed, and two
// of a group never at once, by a note in plain memory that a second visitor would find (and
// ThreadSanitizer by the plain counter); that every call ends; and that nobody is passed more often
// than bus::statistics allows. A failure prints its seed; ROTA_TEST_SEED chooses the first.

#include <rota/base/rng.h>
#include <rota/rota.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "event/events.h"
#include "support/stress.h"

namespace {

using namespace std::chrono_literals;
using rota::call_result;
using rota::call_status;
using rota::cown_ptr;
using rota::handler_options;
using rota::make_cown;
using rota::node;
using rota::qos;
using rota::task;
using rota::detail::rng;

std::atomic<int> broken_rules{0};

// What a group, or a handler of none, keeps for itself.
class private_room {
 public:
  std::uint64_t visits = 0;  // plain: a race would lose some

  void enter() {
    if (inside_.exchange(1, std::memory_order_relaxed) != 0) ++broken_rules;
    ++visits;
  }
  void leave() {
    if (inside_.exchange(0, std::memory_order_relaxed) != 1) ++broken_rules;
  }

 private:
  std::atomic<int> inside_{0};  // relaxed, so that it orders nothing
};

struct event_world {
  static constexpr std::size_t nodes = 3;

  explicit event_world(rota::runtime& runtime) : rt(runtime), bus(rt) {
    for (std::size_t i = 0; i < nodes; ++i) {
      all[i] = std::make_unique<node>(bus, "n" + std::to_string(i));
      // These stay, so that sums can be checked: each message is for each of them.
      all[i]->subscribe<std::uint64_t>("/sum",
                                       qos{}.with_depth(8).with_overflow(rota::overflow::block),
                                       [this, i](const std::uint64_t& v) {
                                         room[i].enter();
                                         sum[i] += v;
                                         room[i].leave();
                                       });
      all[i]->serve<std::uint64_t, std::uint64_t>(
          "/next", [this, i](std::uint64_t v) -> task<std::uint64_t> {
            room[i].enter();
            ++served;
            room[i].leave();
            if (v % 3 == 0) co_await rota::suspend();
            co_return v + 1;
          });
      all[i]->every(300us, [this, i] {
        room[i].enter();
        ++ticks;
        room[i].leave();
      });
      out[i] = all[i]->advertise<std::uint64_t>("/sum");
      noise[i] = all[i]->advertise<std::uint64_t>("/noise");
      ask[i] = all[i]->client<std::uint64_t, std::uint64_t>("/next", 4);
    }
  }
  ~event_world() {
    for (auto& n : all) n.reset();
  }

  // A handler that is there for a while. What it refers to ends right after remove().
  void visit(rng& random) {
    const std::size_t i = random.below(nodes);
    node& n = *all[i];
    auto gone = std::make_unique<std::atomic<bool>>(false);
    std::atomic<bool>* const flag = gone.get();
    const auto look = [flag] {
      if (flag->load(std::memory_order_relaxed)) ++broken_rules;
    };
    const bool own = random.below(2) == 0;
    const auto options = own ? rota::test::alone() : handler_options{};
    private_room mine;
    private_room& where = own ? mine : room[i];
    cown_ptr<int> c = make_cown<int>(0);
    rota::registration r;
    const auto q = qos{}.with_depth(1 + random.below(4));
    switch (random.below(5)) {
      case 0:
        r = n.subscribe<std::uint64_t>("/noise", q, options, [look, &where](const std::uint64_t&) {
          look();
          where.enter();
          where.leave();
        });
        break;
      case 1:
        r = n.subscribe<std::uint64_t>("/noise", q, options,
                                       [look, &where](std::uint64_t) -> task<> {
                                         look();
                                         where.enter();
                                         where.leave();
                                         co_await rota::suspend();
                                         look();
                                       });
        break;
      case 2:
        r = n.subscribe<std::uint64_t>("/noise", q, options,
                                       rota::on(c, [look](int& x, const std::uint64_t&) {
                                         look();
                                         ++x;
                                       }));
        break;
      case 3:
        r = n.every(100us, options, [look, &where] {
          look();
          where.enter();
          where.leave();
        });
        break;
      default:
        // Asks a service of the same nodes from inside of a handler.
        r = n.subscribe<std::uint64_t>("/noise", q, options,
                                       [look, this, i](std::uint64_t v) -> task<> {
                                         look();
                                         auto answer = co_await ask[i].call(v, 10s);
                                         look();
                                         if (!answer || *answer != v + 1) ++broken_rules;
                                       });
    }
    const std::uint64_t wait = random.below(60);
    if (wait > 20) std::this_thread::sleep_for(std::chrono::microseconds(10 * wait));
    r.remove();
    *gone = true;
    ++visits;
  }

  // A task that publishes and asks.
  task<> work(std::uint64_t seed, int steps) {
    rng random{seed};
    for (int k = 0; k < steps; ++k) {
      const std::size_t i = random.below(nodes);
      const std::uint64_t v = random.below(1000);
      switch (random.below(4)) {
        case 0: {
          published += v;
          co_await out[i].publish(v);
          break;
        }
        case 1:
          noise[i].publish(v);
          break;
        case 2: {
          const auto limit =
              random.below(8) == 0 ? std::chrono::nanoseconds(5us) : std::chrono::nanoseconds(30s);
          auto r = co_await ask[i].call(v, limit);
          count(r, v);
          break;
        }
        default:
          ++asked;
          ask[i].call(v, 30s, [this, i, v](const call_result<std::uint64_t>& r) {
            room[i].enter();
            count(r, v);
            room[i].leave();
            ++answered;
          });
      }
      ++progress;
    }
  }
  void count(const call_result<std::uint64_t>& r, std::uint64_t v) {
    if (r ? *r != v + 1 : r.status() != call_status::timeout) ++broken_rules;
  }

  rota::runtime& rt;
  std::array<private_room, nodes> room;
  std::array<std::atomic<std::uint64_t>, nodes> sum{};
  std::atomic<std::uint64_t> published{0};
  std::atomic<std::uint64_t> served{0};
  std::atomic<std::uint64_t> asked{0};
  std::atomic<std::uint64_t> answered{0};
  std::atomic<std::uint64_t> ticks{0};
  std::atomic<std::uint64_t> visits{0};
  std::atomic<std::uint64_t> progress{0};
  rota::bus bus;
  std::array<std::unique_ptr<node>, nodes> all;
  std::array<rota::publisher<std::uint64_t>, nodes> out;
  std::array<rota::publisher<std::uint64_t>, nodes> noise;
  std::array<rota::client<std::uint64_t, std::uint64_t>, nodes> ask;
};

void stress_events(unsigned workers, unsigned threads, std::uint64_t rounds) {
  const std::uint64_t seed = rota::test::seed() * 1000 + workers * 10 + threads;
  SCOPED_TRACE("seed " + std::to_string(rota::test::seed()));
  broken_rules = 0;
  rota::runtime rt{rota::test::with_workers(workers)};
  event_world w{rt};
  const rota::test::watchdog dog{"messages and calls go on",
                                 [&] { return w.progress + w.visits + w.answered; },
                                 [&] { std::fprintf(stderr, "%s\n", rt.dump().c_str()); }};
  constexpr int tasks = 6;
  const auto steps = static_cast<int>(rounds);
  const auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 0; i < tasks; ++i) g.spawn(w.work(seed + static_cast<unsigned>(i), steps));
    co_await g.join();
  };
  std::atomic<bool> ends{false};
  std::vector<std::thread> visitors;
  for (unsigned t = 0; t < threads; ++t)
    visitors.emplace_back([&, t] {
      rng random{seed * 100 + t};
      while (!ends) w.visit(random);
    });
  rt.run(program());
  ends = true;
  for (auto& v : visitors) v.join();
  EXPECT_TRUE(rota::test::wait_for([&] {
    return w.answered == w.asked && w.sum[0] == w.published && w.sum[1] == w.published &&
           w.sum[2] == w.published;
  })) << "published "
      << w.published << ", sums " << w.sum[0] << " " << w.sum[1] << " " << w.sum[2] << ", asked "
      << w.asked << ", answered " << w.answered;
  EXPECT_EQ(broken_rules, 0);
  const auto s = w.bus.statistics();
  EXPECT_LE(s.max_passed, s.bound);
  EXPECT_EQ(s.handlers, 4 * event_world::nodes) << "three handlers and the answers of each node";
  std::printf("%llu runs, %llu steps, passed %llu of %llu, %llu handlers came and went\n",
              static_cast<unsigned long long>(s.runs), static_cast<unsigned long long>(s.steps),
              static_cast<unsigned long long>(s.max_passed),
              static_cast<unsigned long long>(s.bound), static_cast<unsigned long long>(w.visits));
}

// First on one worker, which checks the test itself.
TEST(event_stress, one_worker) { stress_events(1, 0, rota::test::rounds(15'000, 1'000'000)); }
TEST(event_stress, one_worker_and_handlers_that_come_and_go) {
  stress_events(1, 1, rota::test::rounds(15'000, 1'000'000));
}
TEST(event_stress, two_workers) { stress_events(2, 2, rota::test::rounds(30'000, 5'000'000)); }
TEST(event_stress, four_workers) { stress_events(4, 2, rota::test::rounds(30'000, 5'000'000)); }

}  // namespace
