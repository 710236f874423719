// Who runs next, without anybody who runs: the wait set, the run queue and the groups. A broken
// promise shows as another order, or as a handler that was passed too often.

#include "event/schedule.h"

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/stress.h"

namespace {

using rota::handler_class;
using rota::detail::aftermath;
using rota::detail::counted_ptr;
using rota::detail::handler;
using rota::detail::handler_group;
using rota::detail::handler_schedule;
using rota::detail::idle_watch;
using rota::detail::rng;
using rota::detail::run_end;

// A handler that does nothing; the test says when it runs and ends.
class still_handler final : public handler {
 public:
  still_handler(handler_class c, std::string name, int& alive)
      : handler(c, std::move(name)), alive_(alive) {
    ++alive_;
  }
  run_end run() noexcept override { return run_end::done; }
  void close() noexcept override {}
  bool has_events() const noexcept override { return events; }
  rota::handler_counters counters() const override { return {}; }

  bool events = false;

 private:
  ~still_handler() override { --alive_; }
  int& alive_;
};

class bench_of_handlers {
 public:
  ~bench_of_handlers() {
    for (still_handler* h : all) h->drop_ref();
    EXPECT_EQ(alive, 0);
  }

  still_handler& add(handler_class c = handler_class::subscriber, int priority = 0,
                     counted_ptr<handler_group> g = {}) {
    auto* h = new still_handler(c, "h" + std::to_string(all.size()), alive);
    h->set_priority(priority);
    h->set_group(std::move(g));
    schedule.enlist();
    all.push_back(h);
    return *h;
  }

  unsigned trigger(still_handler& h) {
    h.add_ref();
    handler* list = &h;  // a list of one
    handler* kept = nullptr;
    const aftermath then = schedule.trigger(list, kept);
    if (kept) kept->drop_ref();
    return settle(then, list);
  }
  handler* take() {
    aftermath then;
    handler* const h = schedule.take(then);
    wakes = settle(then, nullptr);
    return h;
  }
  handler* finish_and_take(handler& h, bool more = false) {
    aftermath then;
    handler* const next = schedule.finish_and_take(h, more, then);
    wakes = settle(then, nullptr);
    return next;
  }
  void finish(handler& h, bool more = false) { wakes = settle(schedule.finish(h, more), nullptr); }

  handler_schedule schedule;
  std::vector<still_handler*> all;
  unsigned wakes = 0;  // of the last step
  int alive = 0;

 private:
  static unsigned settle(aftermath then, handler* removed) {
    then.settle();
    if (removed) removed->drop_ref();
    return then.wakes;
  }
};

// The order in which all that is queued is run, one at a time.
std::vector<handler*> order_of(bench_of_handlers& b) {
  std::vector<handler*> order;
  for (handler* h = b.take(); h; h = b.finish_and_take(*h)) order.push_back(h);
  return order;
}
using in_order = std::vector<handler*>;

// --- order --------------------------------------------------------------------------------------

TEST(event_schedule, handlers_of_a_batch_run_by_class_then_priority_then_time) {
  bench_of_handlers b;
  auto& client = b.add(handler_class::client);
  auto& server = b.add(handler_class::server);
  auto& low = b.add(handler_class::subscriber, -1);
  auto& first = b.add(handler_class::subscriber);
  auto& second = b.add(handler_class::subscriber);
  auto& high = b.add(handler_class::subscriber, 1);
  auto& timer = b.add(handler_class::timer, -1);
  for (still_handler* h : {&client, &low, &first, &second, &server, &high, &timer}) b.trigger(*h);
  EXPECT_EQ(order_of(b), (in_order{&timer, &high, &first, &second, &low, &server, &client}));
}

TEST(event_schedule, a_later_batch_runs_later_whatever_its_class) {
  bench_of_handlers b;
  auto& client = b.add(handler_class::client, -1);
  auto& server = b.add(handler_class::server);
  auto& timer = b.add(handler_class::timer, 1);
  b.trigger(client);
  b.trigger(server);
  handler* const running = b.take();  // a step: the batch is queued
  EXPECT_EQ(running, &server);
  b.trigger(timer);
  EXPECT_EQ(b.finish_and_take(*running), &client);
  EXPECT_EQ(b.finish_and_take(client), &timer);
  EXPECT_EQ(b.finish_and_take(timer), nullptr);
  EXPECT_EQ(b.schedule.statistics().steps, 2u);
}

TEST(event_schedule, a_handler_with_more_events_goes_to_the_end) {
  bench_of_handlers b;
  auto& timer = b.add(handler_class::timer, 1);
  auto& client = b.add(handler_class::client);
  b.trigger(timer);
  b.trigger(client);
  EXPECT_EQ(b.take(), &timer);
  EXPECT_EQ(b.finish_and_take(timer, true), &client);
  EXPECT_EQ(b.finish_and_take(client, true), &timer);
  EXPECT_EQ(b.finish_and_take(timer), &client);
  EXPECT_EQ(b.finish_and_take(client), nullptr);
}

TEST(event_schedule, a_handler_that_is_triggered_while_it_runs_runs_once_more) {
  bench_of_handlers b;
  auto& h = b.add();
  b.trigger(h);
  EXPECT_EQ(b.take(), &h);
  EXPECT_EQ(b.trigger(h), 0u) << "nobody is woken for it";
  EXPECT_EQ(b.finish_and_take(h), &h);
  EXPECT_EQ(b.finish_and_take(h), nullptr);
  EXPECT_EQ(b.schedule.statistics().runs, 2u);
}

// --- groups -------------------------------------------------------------------------------------

TEST(event_schedule, a_group_runs_one_at_a_time_first_come_first_served) {
  bench_of_handlers b;
  const auto g = rota::detail::make_counted<handler_group>();
  auto& one = b.add(handler_class::subscriber, 0, g);
  auto& two = b.add(handler_class::subscriber, 0, g);
  auto& three = b.add(handler_class::subscriber, 0, g);
  auto& other = b.add(handler_class::client);
  for (still_handler* h : {&one, &two, &three, &other}) b.trigger(*h);
  EXPECT_EQ(b.take(), &one);
  EXPECT_EQ(b.take(), &other) << "two and three line up";
  EXPECT_EQ(b.take(), nullptr);
  EXPECT_EQ(b.finish_and_take(one), &two);
  EXPECT_EQ(b.take(), nullptr);
  EXPECT_EQ(b.finish_and_take(two), &three);
  EXPECT_EQ(b.finish_and_take(three), nullptr);
  EXPECT_EQ(b.finish_and_take(other), nullptr);
  EXPECT_EQ(b.schedule.statistics().queued, 0u);
}

TEST(event_schedule, who_is_handed_its_group_runs_before_the_rest_of_the_queue) {
  bench_of_handlers b;
  const auto g = rota::detail::make_counted<handler_group>();
  auto& one = b.add(handler_class::subscriber, 0, g);
  auto& two = b.add(handler_class::subscriber, 0, g);
  auto& busy = b.add(handler_class::server);
  auto& rest = b.add(handler_class::client);
  for (still_handler* h : {&one, &two, &busy, &rest}) b.trigger(*h);
  EXPECT_EQ(b.take(), &one);
  EXPECT_EQ(b.take(), &busy);  // two has lined up, and the rest is queued
  EXPECT_EQ(b.finish_and_take(one, true), &two);
  EXPECT_EQ(b.finish_and_take(busy), &rest);
  EXPECT_EQ(b.finish_and_take(two), &one) << "which was queued behind";
  EXPECT_EQ(b.finish_and_take(one), nullptr);
  EXPECT_EQ(b.finish_and_take(rest), nullptr);
}

TEST(event_schedule, who_leaves_its_group_lets_the_next_run_and_comes_back) {
  bench_of_handlers b;
  const auto g = rota::detail::make_counted<handler_group>();
  auto& one = b.add(handler_class::subscriber, 0, g);
  auto& two = b.add(handler_class::subscriber, 0, g);
  b.trigger(one);
  EXPECT_EQ(b.take(), &one);
  b.trigger(two);
  EXPECT_EQ(b.take(), nullptr);
  aftermath then;
  EXPECT_TRUE(b.schedule.leave_group(one, then));
  EXPECT_EQ(then.wakes, 1u) << "of the runner that found nothing";
  EXPECT_FALSE(b.schedule.leave_group(one, then)) << "it has none any more";
  EXPECT_EQ(b.take(), &two);
  bool waits = false;
  const auto begin = [&] { waits = true; };
  // Only ever compared: nobody is made ready here.
  alignas(16) char stands_for[16];
  auto* const who = reinterpret_cast<rota::detail::activity*>(stands_for);
  EXPECT_FALSE(b.schedule.enter_group(one, who, begin));
  EXPECT_TRUE(waits);
  b.trigger(two);  // is behind now
  aftermath after;
  EXPECT_EQ(b.schedule.finish_and_take(two, false, after), nullptr);
  EXPECT_EQ(after.resumed.pop(), &one) << "before those that begin";
  b.finish(one);
  EXPECT_EQ(b.take(), &two);
  EXPECT_EQ(b.finish_and_take(two), nullptr);
}

// --- removal ------------------------------------------------------------------------------------

TEST(event_schedule, a_removed_handler_is_skipped_wherever_it_is) {
  bench_of_handlers b;
  const auto g = rota::detail::make_counted<handler_group>();
  auto& triggered = b.add();
  auto& queued = b.add(handler_class::server);
  auto& holder = b.add(handler_class::timer, 0, g);
  auto& grouped = b.add(handler_class::timer, 0, g);
  auto& behind = b.add(handler_class::timer, 0, g);
  for (still_handler* h : {&queued, &holder, &grouped, &behind}) b.trigger(*h);
  EXPECT_EQ(b.take(), &holder);
  EXPECT_EQ(b.take(), &queued);  // the other two have lined up
  b.finish(queued, true);
  b.trigger(triggered);
  EXPECT_EQ(b.schedule.statistics().queued, 4u);
  b.schedule.remove(triggered);
  b.schedule.remove(queued);
  b.schedule.remove(grouped);
  EXPECT_EQ(b.schedule.statistics().handlers, 2u);
  EXPECT_EQ(b.take(), nullptr);
  EXPECT_EQ(b.finish_and_take(holder), &behind) << "its group is handed on";
  EXPECT_EQ(b.finish_and_take(behind), nullptr);
  b.trigger(triggered);  // somebody was about to
  EXPECT_EQ(b.take(), nullptr);
  EXPECT_EQ(b.schedule.statistics().queued, 0u);
}

TEST(event_schedule, what_is_removed_and_still_queued_at_the_end_is_let_go) {
  int alive = 0;
  {
    handler_schedule s;
    auto* h = new still_handler(handler_class::timer, "h", alive);
    s.enlist();
    h->add_ref();
    handler* list = h;
    handler* kept = nullptr;
    (void)s.trigger(list, kept);
    ASSERT_EQ(kept, h) << "it keeps its bus until the caller is done";
    kept->drop_ref();
    s.remove(*h);
    h->drop_ref();
    EXPECT_EQ(alive, 1);
    s.drop_removed().settle();
    EXPECT_EQ(alive, 0);
  }
}

TEST(event_schedule, a_watch_is_told_when_the_handler_has_nothing_to_do) {
  bench_of_handlers b;
  auto& h = b.add();
  idle_watch none{idle_watch::by::thread};
  EXPECT_FALSE(b.schedule.watch(h, none)) << "it has nothing to do";
  h.events = true;
  idle_watch one{idle_watch::by::thread};
  idle_watch two{idle_watch::by::thread};
  idle_watch taken_back{idle_watch::by::thread};
  EXPECT_TRUE(b.schedule.watch(h, one)) << "somebody is about to trigger it";
  b.trigger(h);
  EXPECT_TRUE(b.schedule.watch(h, taken_back));
  EXPECT_TRUE(b.schedule.watch(h, two));
  EXPECT_TRUE(b.schedule.unwatch(h, taken_back));
  EXPECT_FALSE(b.schedule.unwatch(h, taken_back));
  EXPECT_EQ(b.take(), &h);
  EXPECT_EQ(b.finish_and_take(h, true), &h);
  EXPECT_EQ(b.finish_and_take(h), nullptr);
  one.wait();  // both would wait for ever
  two.wait();
  EXPECT_FALSE(b.schedule.unwatch(h, one)) << "too late";
}

TEST(event_schedule, only_a_run_under_way_of_a_removed_handler_is_watched) {
  bench_of_handlers b;
  auto& h = b.add();
  auto& queued = b.add(handler_class::client);
  b.trigger(h);
  b.trigger(queued);
  EXPECT_EQ(b.take(), &h);
  b.schedule.remove(h);
  b.schedule.remove(queued);
  idle_watch w{idle_watch::by::thread};
  EXPECT_FALSE(b.schedule.watch(queued, w));
  EXPECT_TRUE(b.schedule.watch(h, w));
  EXPECT_EQ(b.finish_and_take(h, true), nullptr);
  w.wait();
}

// --- who is woken -------------------------------------------------------------------------------

TEST(event_schedule, as_many_runners_are_woken_as_are_idle_and_have_something_to_do) {
  bench_of_handlers b;
  std::vector<still_handler*> some;
  for (int i = 0; i < 4; ++i) some.push_back(&b.add());
  EXPECT_EQ(b.trigger(*some[0]), 0u) << "nobody is idle yet: who takes it will look first";
  EXPECT_EQ(b.take(), some[0]);
  EXPECT_EQ(b.take(), nullptr);  // two are idle
  EXPECT_EQ(b.take(), nullptr);
  EXPECT_EQ(b.trigger(*some[1]), 1u);
  EXPECT_EQ(b.trigger(*some[2]), 1u);
  EXPECT_EQ(b.trigger(*some[3]), 0u);
  EXPECT_EQ(b.take(), some[1]);
  EXPECT_EQ(b.take(), some[2]);
  EXPECT_EQ(b.finish_and_take(*some[0]), some[3]);
  EXPECT_EQ(b.finish_and_take(*some[1]), nullptr);
  b.finish(*some[2], true);  // one that went on without a runner
  EXPECT_EQ(b.wakes, 1u);
  EXPECT_EQ(b.take(), some[2]);
  b.finish(*some[2]);
  EXPECT_EQ(b.wakes, 0u);
  b.finish(*some[3]);
}

// --- starvation_free ----------------------------------------------------------------------------

// Random triggers, takes and ends, with a book of its own: how many runs of others began between
// the trigger of a handler and the moment at which it runs or lines up for its group, and how many
// of its group it waits for there.
class random_program {
 public:
  random_program(std::uint64_t seed, std::size_t handlers, std::size_t runners, std::size_t groups)
      : random_(seed), runners_(runners), book_(handlers) {
    std::vector<counted_ptr<handler_group>> all(groups);
    for (auto& g : all) g = rota::detail::make_counted<handler_group>();
    for (auto& l : book_) {
      const std::size_t pick = random_.below(groups + 1);
      l.group = pick < groups ? all[pick] : counted_ptr<handler_group>{};
      l.h = &bench_.add(static_cast<handler_class>(random_.below(4)),
                        static_cast<int>(random_.below(3)) - 1, l.group);
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    while (!running_.empty()) end(false);
    for (int i = 0; i < 1000 && take(); ++i)
      while (!running_.empty()) end(false);
    EXPECT_EQ(bench_.schedule.statistics().queued, 0u);
    EXPECT_LE(most_passed, book_.size() - 1 + runners_);
    EXPECT_EQ(bench_.schedule.statistics().max_passed, most_seen);
  }

  std::uint64_t most_passed = 0;  // by anybody, before it ran or lined up
  std::uint64_t most_seen = 0;    // what the schedule has counted: until it runs or lines up

 private:
  struct line {
    still_handler* h = nullptr;
    counted_ptr<handler_group> group;
    std::uint64_t since = 0;
    std::size_t running_then = 0;
    bool owned = false;  // triggered, queued or running
    bool again = false;
    bool runs = false;
  };

  void step() {
    switch (random_.below(3)) {
      case 0:
        return trigger();
      case 1:
        if (running_.size() < runners_) take();
        return;
      default:
        if (!running_.empty()) end(random_.below(3) == 0);
    }
  }
  void note_trigger(line& l) {
    l.owned = true;
    l.since = starts_;
    l.running_then = running_.size();
  }
  void trigger() {
    line& l = book_[random_.below(book_.size())];
    if (l.owned && !l.runs) return;  // a source does not trigger twice
    if (l.runs && l.again) return;
    bench_.trigger(*l.h);
    if (l.runs)
      l.again = true;
    else
      note_trigger(l);
  }
  bool take() {
    aftermath then;
    handler* const h = bench_.schedule.take(then);
    then.settle();
    return begin(h);
  }
  bool begin(handler* h) {
    if (!h) return false;
    line& l = *std::find_if(book_.begin(), book_.end(), [&](const line& x) { return x.h == h; });
    EXPECT_TRUE(l.owned && !l.runs);
    for (const line* other : running_)
      EXPECT_FALSE(l.group && other->group == l.group) << "two of a group at once";
    const std::uint64_t passed = starts_ - l.since;
    rota::handler_counters c;
    bench_.schedule.add_counters(*h, c);
    most_seen = std::max(most_seen, c.max_passed);
    // One without a group is passed as promised before it runs.
    if (!l.group) {
      most_passed = std::max(most_passed, passed);
      EXPECT_LE(passed, book_.size() - 1 + l.running_then);
    }
    ++starts_;
    l.runs = true;
    running_.push_back(&l);
    return true;
  }
  void end(bool more) {
    const std::size_t at = random_.below(running_.size());
    line& l = *running_[at];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
    l.runs = false;
    if (more || l.again)
      note_trigger(l);
    else
      l.owned = false;
    l.again = false;
    if (random_.below(2)) {
      bench_.finish(*l.h, more);
    } else {
      aftermath then;
      handler* const next = bench_.schedule.finish_and_take(*l.h, more, then);
      then.settle();
      begin(next);
    }
    for (const line& one : book_) {
      rota::handler_counters c;
      bench_.schedule.add_counters(*one.h, c);
      most_seen = std::max(most_seen, c.max_passed);
    }
  }

  rng random_;
  const std::size_t runners_;
  bench_of_handlers bench_;
  std::vector<line> book_;
  std::vector<line*> running_;
  std::uint64_t starts_ = 0;
};

TEST(event_schedule, a_triggered_handler_is_passed_once_by_each_other_at_most) {
  const std::uint64_t first = rota::test::seed() * 10'000;
  std::uint64_t most = 0;
  for (std::uint64_t seed = first; seed < first + 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::size_t handlers = 2 + seed % 7;
    const std::size_t runners = 1 + seed % 4;
    random_program p{seed, handlers, runners, seed % 3};
    p.run(400);
    EXPECT_LE(p.most_seen, handlers - 1) << "what is counted until it runs or lines up";
    most = std::max(most, p.most_seen);
    if (HasFailure()) return;
  }
  EXPECT_GE(most, 5u) << "the programs come nowhere near the bound";
}

// All of a group of g line up; each runs after at most g - 1 others of it.
TEST(event_schedule, a_handler_is_passed_in_its_group_once_by_each_other_at_most) {
  constexpr int g_size = 5;
  bench_of_handlers b;
  const auto g = rota::detail::make_counted<handler_group>();
  for (int i = 0; i < g_size; ++i) b.add(handler_class::subscriber, 0, g);
  rng random{rota::test::seed()};
  std::vector<int> waits(g_size, -1);  // runs of others since it was triggered
  const auto number = [&](handler* h) {
    return static_cast<std::size_t>(std::find(b.all.begin(), b.all.end(), h) - b.all.begin());
  };
  handler* running = nullptr;
  int most = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::size_t k = random.below(g_size);
    if (waits[k] < 0 && b.all[k] != running) {
      b.trigger(*b.all[k]);
      waits[k] = 0;
    }
    if (running && random.below(2)) {
      const bool more = random.below(2) == 0;
      const std::size_t self = number(running);
      if (more) waits[self] = 0;
      running = b.finish_and_take(*running, more);
    } else if (!running) {
      running = b.take();
    } else {
      b.take();  // another runner: whoever is triggered lines up
      continue;
    }
    if (!running) continue;
    const std::size_t now = number(running);
    most = std::max(most, waits[now]);
    for (std::size_t other = 0; other < g_size; ++other)
      if (other != now && waits[other] >= 0) ++waits[other];
    waits[now] = -1;
  }
  EXPECT_EQ(most, g_size - 1);
  if (running) b.finish(*running);
  while (handler* h = b.take()) b.finish(*h);
}

}  // namespace
