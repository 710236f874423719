// What a message costs in memory: large ones use the blocks of those that have ended, whichever
// worker they end on, and what is left is given back. A broken promise shows as addresses that are
// ever new, as memory that stays, or as a message that is not aligned as its type asks for.

#include <rota/base/block_cache.h>
#include <rota/rota.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "event/events.h"
#include "support/stress.h"

namespace {

using namespace std::chrono_literals;
using rota::detail::reserved_for_blocks;
using rota::test::bus_world;

struct scan {
  scan() noexcept {}  // filled by nobody
  explicit scan(int n) noexcept : number(n) {}
  int number = 0;
  std::byte rest[1 << 20];
};

constexpr std::size_t scan_depth = 8;

rota::task<void> publish_scans(rota::publisher<scan> out, int count) {
  for (int i = 0; i < count; ++i) co_await out.publish(out.loan(i));
}

// How many different places `count` messages of a mebibyte have been at.
std::size_t places_of(bus_world& w, int count) {
  rota::node n{w.bus, "n"};
  std::set<const scan*> places;
  rota::async_event done;
  n.subscribe<scan>("/scan",
                    rota::qos{}.with_depth(scan_depth).with_overflow(rota::overflow::block),
                    [&, left = count](const scan& s) mutable {
                      places.insert(&s);
                      if (--left == 0) done.set();
                    });
  w.rt.run([](rota::publisher<scan> out, int c, rota::async_event& d) -> rota::task<void> {
    rota::spawn(publish_scans(std::move(out), c)).detach();
    co_await d.wait();
  }(n.advertise<scan>("/scan"), count, done));
  n.stop();
  return places.size();
}

class event_message : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, event_message, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(event_message, large_messages_use_the_memory_of_those_that_have_ended) {
  bus_world w{options()};
  const std::size_t places = places_of(w, 2000);
  // Under sanitizers blocks come from operator new, and go back to it. Otherwise: in the queue, in
  // the hands of the publisher and in those of the handler, who takes several.
  EXPECT_LE(places, rota::test::sanitized ? 2000 : 3 * scan_depth);
}

TEST_P(event_message, nothing_is_kept_when_the_last_runtime_has_ended) {
  {
    bus_world w{options()};
    places_of(w, 100);
    EXPECT_LE(reserved_for_blocks(), 3 * scan_depth * (sizeof(scan) + sizeof(scan) / 4));
    EXPECT_GE(reserved_for_blocks(), rota::test::sanitized ? 0 : sizeof(scan));
  }
  EXPECT_EQ(reserved_for_blocks(), 0u);
}

// It takes two looks, a second apart, by a worker that has run dry.
class event_message_idle : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, event_message_idle, ::testing::Values(0u, 2u));

TEST_P(event_message_idle, what_is_kept_and_not_used_is_given_back_by_a_worker_that_runs_dry) {
  bus_world w{options()};
  places_of(w, 100);
  EXPECT_TRUE(rota::test::wait_for([&] {
    w.rt.run([]() -> rota::task<void> { co_await rota::suspend(); }());
    return reserved_for_blocks() == 0;
  }));
  EXPECT_GT(places_of(w, 100), 0u);
}

template <std::size_t Alignment, std::size_t Size>
struct alignas(Alignment) aligned {
  std::byte bytes[Size];
};

template <class M>
void check_alignment() {
  std::vector<rota::loan<M>> loans;
  for (int again = 0; again < 2; ++again) {
    for (int i = 0; i < 5; ++i) {
      loans.emplace_back(std::in_place);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&*loans.back()) % alignof(M), 0u)
          << sizeof(M) << " bytes at " << alignof(M);
      loans.back()->bytes[0] = loans.back()->bytes[sizeof(M) - 1] = std::byte{1};
    }
    loans.clear();
  }
}

TEST(event_message_memory, messages_are_aligned_as_their_type_asks_for) {
  const rota::detail::block_keeper keeper;
  check_alignment<aligned<8, 8>>();
  check_alignment<aligned<16, 16>>();
  check_alignment<aligned<32, 64>>();
  check_alignment<aligned<64, 64>>();
  check_alignment<aligned<4096, 4096>>();
  check_alignment<aligned<16, 1 << 20>>();
  check_alignment<aligned<32, 1 << 20>>();
  check_alignment<aligned<64, 1 << 20>>();
  check_alignment<aligned<128, 1 << 20>>();
  check_alignment<aligned<4096, 1 << 20>>();
  check_alignment<aligned<64, 40 << 20>>();
}

struct unwilling {
  explicit unwilling(bool fails) {
    if (fails) throw std::runtime_error("not today");
  }
  std::byte rest[1 << 20];
};

TEST(event_message_memory, a_message_that_cannot_be_made_gives_its_memory_back) {
  const rota::detail::block_keeper keeper;
  for (int i = 0; i < 100; ++i)
    EXPECT_THROW((rota::loan<unwilling>{std::in_place, true}), std::runtime_error);
  EXPECT_LE(reserved_for_blocks(), 2 * sizeof(unwilling));
  const rota::loan<unwilling> made{std::in_place, false};
}

}  // namespace
