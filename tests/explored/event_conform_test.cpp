// rota::detail::handler_schedule is its model: threads trigger, take and finish handlers, and after
// every step of every schedule what the schedule holds is mapped to a state of `scheduler_built`
// (specs/scheduler_built), which has to have a step there. A broken promise shows as a mismatch,
// with both sides and the schedule.
//
// The mapping:
//   handlers          phase_, again_; events and what the run has consumed are the test's, under
//   the
//                     lock that a handler's source has
//   run_queue, group_queue, holder   as they are
//   wait_set          the buckets; the order of the triggers is a ghost
//   runners           what take() and finish_and_take() have given, seen by runs_ in the step that
//                     takes the lock. Of those that run nothing `idle_` are idle; which, is a
//                     ghost, since permits to go on are taken by whoever is faster
//   putters           what they have put and not yet triggered
// Nothing is hidden.

#include <rota/event/core.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "event/schedule.h"
#include "support/follow.h"
#include "support/inspect.h"
#include "support/stress.h"
#include "verify/models/scheduler_built.h"

namespace rota::explore::test {
namespace {

using rota::handler_class;
using rota::handler_counters;
using rota::detail::aftermath;
using rota::detail::handler;
using rota::detail::handler_group;
using rota::detail::handler_schedule;
using rota::detail::inspect;
using rota::detail::run_end;
using rota::detail::spin_guard;
using rota::detail::spin_lock;
using built = verify::scheduler_built;
using number = built::number;

constexpr unsigned most_handlers = 3;
constexpr unsigned most_runners = 2;
constexpr unsigned most_putters = 2;

struct shape {
  std::string name;
  std::array<int, 3> classes = {1, 1, 1};  // handlers of each
  int grouped = 0;
  int async = 0;
  int calls = 0;
  int budget = 1;
  std::vector<std::vector<unsigned>> puts = {};  // to which handlers each putter puts
};

// Where events wait, as in the sources of include/rota/event: who finds none there triggers.
class counted_events final : public handler {
 public:
  explicit counted_events(handler_class c) : handler(c, "") {}
  run_end run() noexcept override { return run_end::done; }
  void close() noexcept override {}
  bool has_events() const noexcept override { return pending > 0; }
  handler_counters counters() const override { return {}; }

  spin_lock lock;
  // Guarded by lock.
  number pending = 0;
  bool consumed = false;
  bool more = false;

  // Of a run that goes on by itself.
  atomic<std::uint32_t> resumed{0};
  built::place at_group = built::place::inside;
  number calls = 0;

  // What was seen last: a ghost.
  std::uint64_t runs = 0;
};

// A number of permits, to be waited for.
class permits {
 public:
  void release(unsigned n) {
    if (n == 0) return;
    count_.fetch_add(n, memory_order_relaxed);
    futex_wake(count_, static_cast<int>(n));
  }
  void acquire() {
    for (;;) {
      std::uint32_t n = count_.load(memory_order_relaxed);
      if (n == 0)
        futex_wait(count_, 0);
      else if (count_.compare_exchange_strong(n, n - 1, memory_order_relaxed, memory_order_relaxed))
        return;
    }
  }

 private:
  atomic<std::uint32_t> count_{0};
};

// Threads: the one that starts the others, runners, putters, and the one that does detached runs.
class program : public followed {
 public:
  explicit program(const shape& s) : shape_(s) {
    unsigned n = 0;
    for (unsigned c = 0; c < 3; ++c)
      for (int i = 0; i < s.classes[c]; ++i, ++n) {
        handlers_[n] = new counted_events(static_cast<handler_class>(c + 1));
        if (n < static_cast<unsigned>(s.grouped))
          handlers_[n]->set_group(rota::detail::counted_ptr<handler_group>::to(group_));
      }
    count_ = n;
    for (const auto& p : s.puts) total_ += static_cast<unsigned>(p.size());
    inspect::set_idle(schedule_, most_runners);
  }
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program() {
    for (unsigned i = 0; i < count_; ++i) handlers_[i]->drop_ref();
    group_.drop_ref();
  }

  void run() {
    const auto putters = static_cast<unsigned>(shape_.puts.size());
    std::array<thread, most_threads> threads;
    unsigned n = 0;
    for (unsigned r = 0; r < most_runners; ++r) threads[n++] = thread([this] { serve(); });
    for (unsigned p = 0; p < putters; ++p) threads[n++] = thread([this, p] { put(p); });
    if (shape_.async) threads[n++] = thread([this] { go_on(); });
    for (unsigned p = 0; p < putters; ++p) threads[most_runners + p].join();
    // The last event is consumed, and its run ended, before anybody is sent home.
    for (std::uint32_t left; (left = ended_.load(memory_order_relaxed)) < total_;)
      futex_wait(ended_, left);
    stop_.store(1, memory_order_relaxed);
    to_run_.release(most_runners);
    to_go_on_.release(1);
    for (unsigned i = 0; i < n; ++i)
      if (threads[i].joinable()) threads[i].join();
  }

  // --- what a step did ---

  void took(unsigned t, const stand& before) {
    const std::uint32_t was = std::exchange(locked_, inspect::locked(schedule_).peek());
    if (t == 0 || was != 0 || !before.at(standing::update, &inspect::locked(schedule_))) return;
    if (t <= most_runners)
      runner_took(t - 1);
    else if (t - 1 - most_runners < shape_.puts.size())
      putter_took(t - 1 - most_runners);
    else
      detached_took();
    for (unsigned i = 0; i < count_; ++i) {
      counted_events& h = *handlers_[i];
      if (h.at_group == built::place::returning && inspect::has_group(h))
        h.at_group = built::place::inside;
      if (inspect::phase_of(h) != inspect::handler_phase::running || runs_of(i) != h.runs)
        h.consumed = h.more = false;
      h.runs = runs_of(i);
    }
    note_triggers();
    note_wakes();
  }

  built::state mapped() const {
    built::state s;
    for (unsigned i = 0; i < count_; ++i) {
      const counted_events& h = *handlers_[i];
      built::handler& to = s.handlers[i];
      to.at = static_cast<built::phase>(inspect::phase_of(h));
      to.pending = h.pending;
      to.again = inspect::again(h);
      to.consumed = h.consumed;
      to.more = h.more;
      to.group = h.at_group;
      to.calls = h.calls;
    }
    s.wait_set = order_;
    inspect::each_queued(schedule_, [&](const handler& h) { s.run_queue.append(index_of(h)); });
    inspect::each_grouped(group_, [&](const handler& h) { s.group_queue.append(index_of(h)); });
    if (const handler* h = inspect::holder(group_)) s.holder = index_of(*h);
    for (unsigned r = 0; r < most_runners; ++r) s.runners[label_[r]] = runners_[r];
    for (unsigned p = 0; p < shape_.puts.size(); ++p) s.putters[p].target = targets_[p];
    return s;
  }

  std::string name_of(unsigned t) const {
    if (t == 0) return "main";
    if (t <= most_runners) return "runner " + std::to_string(t - 1);
    t -= 1 + most_runners;
    return t < shape_.puts.size() ? "putter " + std::to_string(t) : "a detached run";
  }

 private:
  enum class intent : std::uint8_t { finish, leave, enter };

  number index_of(const handler& h) const {
    return static_cast<number>(std::find(handlers_.begin(), handlers_.end(), &h) -
                               handlers_.begin());
  }
  std::uint64_t runs_of(unsigned i) const { return inspect::runs(*handlers_[i]); }
  bool is_async(unsigned i) const { return i + static_cast<unsigned>(shape_.async) >= count_; }

  // --- the ghosts ---

  void runner_took(unsigned r) {
    using enum built::mode;
    // Somebody else was meant by the one who woke us: runners are interchangeable.
    if (runners_[r].at == idle)
      for (unsigned other = 0; other < most_runners; ++other)
        if (runners_[other].at == woken) {
          std::swap(label_[r], label_[other]);
          std::swap(runners_[r], runners_[other]);
          break;
        }
    runners_[r] = {idle, built::none};
    for (unsigned i = 0; i < count_; ++i)
      if (runs_of(i) != handlers_[i]->runs)
        runners_[r] = is_async(i) ? built::runner{woken, built::none}
                                  : built::runner{running, static_cast<number>(i)};
  }

  void putter_took(unsigned p) { targets_[p] = built::none; }

  void detached_took() {
    counted_events& h = *handlers_[doing_];
    switch (intent_) {
      case intent::leave:
        h.at_group = built::place::outside;
        ++h.calls;
        break;
      case intent::enter:
        h.at_group = inspect::has_group(h) ? built::place::inside : built::place::returning;
        break;
      case intent::finish:
        h.calls = 0;
        break;
    }
  }

  // The order of the triggers: what is there still, then what is new.
  void note_triggers() {
    built::sequence now;
    std::array<bool, most_handlers> is_there{};
    inspect::each_triggered(schedule_, [&](const handler& h) { is_there[index_of(h)] = true; });
    for (const number i : order_)
      if (std::exchange(is_there[i], false)) now.append(i);
    for (unsigned i = 0; i < count_; ++i)
      if (is_there[i]) now.append(i);
    order_ = now;
  }

  void note_wakes() {
    unsigned idle = 0;
    for (const built::runner& r : runners_) idle += r.at == built::mode::idle;
    for (built::runner& r : runners_)
      if (idle > inspect::idle(schedule_) && r.at == built::mode::idle) {
        r.at = built::mode::woken;
        --idle;
      }
  }

  // --- the threads ---

  void settle(aftermath& then) {
    while (handler* h = then.resumed.pop()) {
      inspect::forget_resumed(*h);
      auto& c = static_cast<counted_events&>(*h);
      c.resumed.store(1, memory_order_relaxed);
      futex_wake(c.resumed, 1);
    }
    to_run_.release(std::exchange(then.wakes, 0));
  }

  void put(unsigned p) {
    for (const unsigned i : shape_.puts[p]) {
      counted_events& h = *handlers_[i];
      {
        spin_guard guard{h.lock};
        if (h.pending++ == 0) targets_[p] = static_cast<number>(i);
      }
      if (targets_[p] == built::none) continue;
      h.add_ref();
      handler* list = &h;
      handler* kept = nullptr;
      aftermath then = schedule_.trigger(list, kept);
      check(list == nullptr, "nobody was removed");
      settle(then);
      kept->drop_ref();
    }
  }

  // How many events it took.
  unsigned consume(counted_events& h) {
    spin_guard guard{h.lock};
    const auto n = std::min<unsigned>(h.pending, static_cast<unsigned>(shape_.budget));
    h.pending = static_cast<number>(h.pending - n);
    h.consumed = true;
    h.more = h.pending > 0;
    return n;
  }
  void ended(unsigned events) {
    ended_.fetch_add(events, memory_order_relaxed);
    futex_wake(ended_, 1);
  }

  void serve() {
    for (;;) {
      to_run_.acquire();
      if (stop_.load(memory_order_relaxed)) return;
      aftermath then;
      handler* h = schedule_.take(then);
      settle(then);
      while (h) {
        if (is_async(index_of(*h))) {
          detached_.fetch_or(1u << index_of(*h), memory_order_relaxed);
          to_go_on_.release(1);
          h = schedule_.take(then);
          settle(then);
          continue;
        }
        auto& c = static_cast<counted_events&>(*h);
        const unsigned n = consume(c);
        const bool more = c.more;
        h = schedule_.finish_and_take(c, more, then);
        settle(then);
        ended(n);
      }
    }
  }

  // One detached run after the other.
  void go_on() {
    for (;;) {
      to_go_on_.acquire();
      if (stop_.load(memory_order_relaxed)) return;
      doing_ = static_cast<unsigned>(std::countr_zero(detached_.load(memory_order_relaxed)));
      detached_.fetch_and(~(1u << doing_), memory_order_relaxed);
      counted_events& h = *handlers_[doing_];
      const unsigned n = consume(h);
      aftermath then;
      for (int i = 0; i < shape_.calls && doing_ < static_cast<unsigned>(shape_.grouped); ++i) {
        intent_ = intent::leave;
        check(schedule_.leave_group(h, then), "it has the group");
        settle(then);
        h.resumed.store(0, memory_order_relaxed);
        intent_ = intent::enter;
        auto* const nobody = reinterpret_cast<rota::detail::activity*>(&h);
        if (!schedule_.enter_group(h, nobody, [] {}))
          while (h.resumed.load(memory_order_relaxed) == 0) futex_wait(h.resumed, 0);
      }
      intent_ = intent::finish;
      then = schedule_.finish(h, h.more);
      settle(then);
      ended(n);
    }
  }

  const shape shape_;
  handler_group& group_ = *new handler_group;
  handler_schedule schedule_;
  std::array<counted_events*, most_handlers> handlers_{};
  unsigned count_ = 0;
  unsigned total_ = 0;
  permits to_run_;
  permits to_go_on_;
  atomic<std::uint32_t> ended_{0};  // events whose runs have ended
  atomic<std::uint32_t> stop_{0};
  atomic<std::uint32_t> detached_{0};  // a bit a handler
  unsigned doing_ = 0;
  intent intent_ = intent::finish;

  // Ghosts.
  std::uint32_t locked_ = 0;
  built::sequence order_{};
  std::array<built::runner, most_runners> runners_{};
  std::array<unsigned, most_runners> label_{0, 1};
  std::array<number, most_putters> targets_{built::none, built::none};
};

built model_of(const shape& s) {
  built m;
  m.subscribers = s.classes[0];
  m.servers = s.classes[1];
  m.clients = s.classes[2];
  m.workers = most_runners;
  m.putters = most_putters;
  m.events = 4;
  m.budget = s.budget;
  m.grouped = s.grouped;
  m.async = s.async;
  m.calls = s.calls;
  return m;
}

// All steps of all schedules, if there is time for so many; otherwise schedules by chance.
enum class effort : std::uint8_t { all, some };

options how(effort e) {
  options o = every_step();
  o.max_seconds = rota::test::long_tests() ? 120 : 1.5;
  if (e == effort::all) {
    o.max_seconds = 60;
    return o;
  }
  o.how = strategy::random;
  o.merge_states = false;
  o.max_schedules = ~std::uint64_t{0};
  return o;
}

// Explores it; the actions of the model that were never taken.
std::string conforms(const shape& s, effort e = effort::some) {
  verify::refinement<built> follow{model_of(s)};
  const result r = explore::run(
      [&] {
        program p{s};
        const following each_step{follow, p};
        p.run();
      },
      how(e));
  EXPECT_FALSE(r.failed) << r.text();
  EXPECT_EQ(r.exhaustive, e == effort::all) << r.text();
  print(s.name, r, follow.counts());
  return follow.never_taken();
}

// `look_first` and `consume_more` are mutants'.

TEST(EventConform, OneHandlerInEverySchedule) {
  conforms({.name = "one handler", .classes = {1, 0, 0}, .puts = {{0, 0}}}, effort::all);
}

TEST(EventConform, ThreeHandlersTwoRunners) {
  conforms({.name = "three classes", .puts = {{2, 0, 1}, {1, 2, 0}}});
}

TEST(EventConform, Groups) {
  conforms({.name = "a group of two", .grouped = 2, .puts = {{0, 1, 2}, {1, 2, 0}}});
  conforms({.name = "a group of three", .grouped = 3, .puts = {{0, 1, 2}, {2, 0, 1}}});
}

TEST(EventConform, EventsAreLeftAndCome) {
  conforms({.name = "budget 1", .classes = {2, 0, 0}, .puts = {{0, 0, 1}, {0, 0}}});
  conforms({.name = "budget 2", .classes = {1, 0, 1}, .budget = 2, .puts = {{0, 0, 0}, {0, 1}}});
}

TEST(EventConform, DetachedRuns) {
  conforms({.name = "detached", .grouped = 2, .async = 2, .puts = {{0, 1, 2, 1}}});
  // One thread does the detached runs, so there is one that waits for its group.
  const shape calls{
      .name = "calls", .grouped = 3, .async = 1, .calls = 1, .puts = {{2, 0, 1, 2, 0}}};
  EXPECT_EQ(conforms(calls), "look_first consume_more");
}

}  // namespace
}  // namespace rota::explore::test
