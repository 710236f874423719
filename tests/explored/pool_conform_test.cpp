// `work_conserving`, step by step: programs with two and three workers run under the explorer, and
// after every step what the pool holds is mapped to the model `pool` (specs/pool), which has to
// have a step there. A broken promise shows as a divergence, with both sides and the schedule.
//
// The mapping, from what the pool holds:
//   where      the queue in which the job is found: injector, a ring, a next slot
//   hands      it was queued and is found nowhere: who took the step in which it vanished has it
//   runs,done  what the jobs themselves say
//   offered    the call that queued it has not returned
//   mode       the notifier's word and the bit in the idle set: prepared and in the set is drowsy,
//              parked and in the set asleep; out of the set, or notified, called. Who leaves the
//              set itself is awake
//   lookout    pool::lookout_
//   stop       waking from the flag on, done when the stopper waits for the threads
//
// Naps would hide a lost wake-up. Here no deadline comes by itself: what is queued at a standstill
// stays queued, and the test sees it.

#include <rota/verify/conform/refinement.h>
#include <rota/verify/explore/explore.h>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "pool/pool.h"
#include "support/inspect.h"
#include "support/stress.h"
#include "verify/models/pool.h"

namespace {

using namespace std::chrono_literals;
namespace explore = rota::explore;
using explore::strategy;
using rota::detail::inspect;
using rota::detail::job;
using rota::detail::worker;
using model = rota::verify::pool;
using follower = rota::verify::refinement<model>;

constexpr unsigned most_jobs = 4;  // of a program; the model has as many

// What a job does in its step: it makes others, then waits for the gate if there is one.
enum class by : std::uint8_t { push, ready };
struct child {
  unsigned job;
  by how;
};
struct plan {
  std::vector<child> children = {};
  bool gated = false;
};

class program;

// A job that can run more than once, so that the mistake of running it twice does no damage here.
class step_of {
 public:
  struct promise_type {
    step_of get_return_object() noexcept {
      return step_of{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::abort(); }
  };
  std::coroutine_handle<> frame() const noexcept { return frame_; }

 private:
  explicit step_of(std::coroutine_handle<> h) noexcept : frame_(h) {}
  std::coroutine_handle<> frame_;
};
step_of body(program& p, unsigned j);

// A pool with its jobs, and what is known of it. Made anew for every schedule.
class program {
 public:
  program(unsigned workers, const std::vector<plan>& plans, follower* follow)
      : plans_(plans),
        follow_(follow),
        pool_(rota::options{}.with_workers(workers).with_longest_rest(std::chrono::microseconds{0}),
              rota::detail::pool_hooks{}) {
    for (unsigned j = 0; j < plans_.size(); ++j) jobs_[j].frame = body(*this, j).frame();
    if (follow_) {
      show(follow_->begin(mapped()));
      explore::observe([this] { show(follow_->observe(mapped(), "")); });
    }
    pool_.start();
  }
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program() {
    pool_.stop();
    explore::observe({});
    for (unsigned j = 0; j < plans_.size(); ++j) jobs_[j].frame.destroy();
  }

  // --- what programs do ---

  void post(unsigned j) {
    queueing_[j] = true;
    pool_.post(&jobs_[j]);
    queueing_[j] = false;
  }

  // At a standstill: all but these have run, and nobody waits to be woken.
  void expect_done_but(std::initializer_list<unsigned> others) {
    explore::settle();
    for (unsigned j = 0; j < plans_.size(); ++j) {
      bool excepted = false;
      for (const unsigned k : others) excepted |= k == j;
      explore::check(done_[j] || excepted, "a job waits while a worker sleeps");
    }
    for (unsigned w = 0; w < pool_.size(); ++w)
      explore::check(explore::where_is(w + 1).what == explore::standing::asleep, "all sleep");
  }

  void open_gate() {
    gate_.store(1, std::memory_order_release);
    explore::futex_wake(gate_, 16);
  }

  void stop() { pool_.stop(); }

  // --- what jobs do ---

  void run(unsigned j) {
    const unsigned me = worker::here()->index();
    runs_[j] = static_cast<std::uint8_t>(runs_[j] | model::bit(me));
    for (const child& c : plans_[j].children) {
      queueing_[c.job] = true;
      if (c.how == by::push)
        worker::here()->push(&jobs_[c.job]);
      else
        worker::here()->ready(&jobs_[c.job]);
      queueing_[c.job] = false;
    }
    // A step of its own, in which it may be seen running.
    gate_.load(std::memory_order_relaxed);
    while (plans_[j].gated && gate_.load(std::memory_order_acquire) == 0)
      explore::futex_wait(gate_, 0);
    runs_[j] = static_cast<std::uint8_t>(runs_[j] & ~model::bit(me));
    done_[j] = true;
  }

 private:
  void show(bool conforms) {
    if (!conforms) explore::fail(explore::failure_kind::mismatch, follow_->diverged()->text);
  }

  unsigned index_of(const job* j) const { return static_cast<unsigned>(j - jobs_.data()); }

  model::state mapped() {
    model::state s;
    // Threads are begun in order, after the one that the program begins with.
    const unsigned stepper = explore::this_thread_index() - 1;
    map_jobs(s, stepper);
    for (unsigned w = 0; w < pool_.size(); ++w) s.workers[w] = mode_of(w, stepper);
    const unsigned lookout = inspect::lookout(pool_);
    s.lookout = lookout < pool_.size() ? static_cast<model::number>(lookout + 1) : model::nobody;
    if (inspect::is_stopping(pool_)) {
      const bool woke_all = explore::where_is(0).what == explore::standing::join;
      s.stop = woke_all || last_.stop == model::stopping::done ? model::stopping::done
                                                               : model::stopping::waking;
    }
    last_ = s;
    return s;
  }

  void map_jobs(model::state& s, unsigned stepper) {
    std::array<bool, most_jobs> found{};
    const auto find = [&](const job* j, std::uint8_t where) {
      const unsigned i = index_of(j);
      if (found[i])
        explore::fail(explore::failure_kind::mismatch,
                      "job " + std::to_string(i + 1) + " is queued twice");
      found[i] = true;
      s.where[i] = where;
    };
    inspect::each_posted(pool_, [&](const job* j) { find(j, model::injector); });
    for (unsigned w = 0; w < pool_.size(); ++w) {
      inspect::each_in_ring(pool_.at(w), [&](const job* j) { find(j, model::ring_of(w)); });
      if (const job* j = inspect::in_slot(pool_.at(w))) find(j, model::slot_of(w));
    }
    for (unsigned j = 0; j < plans_.size(); ++j) {
      s.runs[j] = runs_[j];
      s.done[j] = done_[j];
      const bool was_away = last_.where[j] == model::away;
      s.offered[j] = queueing_[j] && (found[j] || !was_away);
      if (found[j] || was_away) continue;
      s.where[j] = model::out;
      if (runs_[j] || done_[j]) continue;
      s.hands[j] = last_.hands[j];
      if (s.hands[j] == 0 && stepper < pool_.size()) s.hands[j] = model::bit(stepper);
    }
  }

  model::mode mode_of(unsigned w, unsigned stepper) {
    using enum model::mode;
    using ticket = inspect::ticket;
    if (explore::where_is(w + 1).what == explore::standing::finished) return gone;
    const bool in_set = inspect::is_idle(pool_, w);
    const model::mode was = last_.workers[w];
    switch (inspect::ticket_of(pool_.at(w))) {
      case ticket::running:
        return awake;
      case ticket::notified:
        // Notified before it entered the set, it goes on as if it had no ticket.
        return was == awake ? awake : called;
      case ticket::parked:
        return in_set ? asleep : called;
      case ticket::prepared:
        break;
    }
    if (in_set) return drowsy;
    // Not in the set yet, or out of it again: by itself, or because it was chosen.
    return was == called || (was == drowsy && stepper != w) ? called : awake;
  }

  const std::vector<plan>& plans_;
  follower* const follow_;
  std::array<job, most_jobs> jobs_{};
  std::array<bool, most_jobs> queueing_{};
  std::array<std::uint8_t, most_jobs> runs_{};
  std::array<bool, most_jobs> done_{};
  explore::atomic<std::uint32_t> gate_{0};
  model::state last_{};
  rota::detail::pool pool_;
};

// A function of its own, since the body of a coroutine must not touch a thread-local.
[[gnu::noinline]] void run_step(program& p, unsigned j) { p.run(j); }

step_of body(program& p, unsigned j) {
  for (;;) {
    run_step(p, j);
    co_await std::suspend_always{};
  }
}

// --- the programs -------------------------------------------------------------------------------

struct scenario {
  const char* name;
  std::vector<plan> plans;
  void (*drive)(program&);
};

const std::vector<scenario>& scenarios() {
  static const std::vector<scenario> all = {
      // All sleep. The first job wakes a worker, which counts as a searcher from then on, so nobody
      // is woken for the others: who leaves with one of them has to look for the rest.
      {"a_burst",
       {{.gated = true}, {}, {}},
       [](program& p) {
         p.expect_done_but({0, 1, 2});
         p.post(0);
         p.post(1);
         p.post(2);
         p.expect_done_but({0});
         p.open_gate();
         p.expect_done_but({});
       }},
      // A job makes others and goes on for long: what it pushed is for the others at once, what is
      // in its next slot when the lookout has seen it stuck.
      {"a_long_step",
       {{.children = {{1, by::push}, {2, by::ready}}, .gated = true}, {}, {}},
       [](program& p) {
         p.expect_done_but({0, 1, 2});
         p.post(0);
         p.expect_done_but({0, 2});
         for (int naps = 0; naps < 3; ++naps) {
           explore::advance(100ms);
           explore::settle();
         }
         p.expect_done_but({0});
         p.open_gate();
         p.expect_done_but({});
       }},
      // More than one of a row can be taken at once.
      {"a_row",
       {{.children = {{1, by::push}, {2, by::push}, {3, by::push}}, .gated = true}, {}, {}, {}},
       [](program& p) {
         p.post(0);
         p.expect_done_but({0});
         p.open_gate();
         p.expect_done_but({});
       }},
      // Posters and workers begin together.
      {"two_posters",
       {{.children = {{2, by::ready}, {3, by::push}}}, {}, {}, {}},
       [](program& p) {
         explore::thread other([&p] { p.post(1); });
         p.post(0);
         other.join();
         p.expect_done_but({});
       }},
      // Whoever is on its way to sleep hears of the end.
      {"an_end",
       {{}},
       [](program& p) {
         p.post(0);
         p.stop();
       }},
  };
  return all;
}

explore::options with(strategy how, std::uint64_t schedules) {
  explore::options o;
  o.how = how;
  o.memory = explore::memory::sc;
  o.seed = rota::test::seed();
  o.preemptions = 1;
  o.max_schedules = rota::test::rounds(schedules, 20 * schedules);
  o.early_deadlines = 0;
  return o;
}

explore::result run(const scenario& s, unsigned workers, follower* follow,
                    const explore::options& o) {
  return explore::run(
      [&] {
        program p{workers, s.plans, follow};
        s.drive(p);
      },
      o);
}

class PoolConform : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Workers, PoolConform, ::testing::Values(2u, 3u));

TEST_P(PoolConform, EveryStepIsOneOfTheModel) {
  model m;
  m.workers = static_cast<int>(GetParam());
  m.jobs = most_jobs;
  // A call returns, the stopper waits, and a thread ends, without another step: these come together
  // with the step before them.
  follower follow{m, {.hidden = {model::EndOffer, model::StopEnds, model::Exit}}};
  for (const scenario& s : scenarios()) {
    for (const auto& o :
         {with(strategy::bounded, 2500), with(strategy::pct, 1000), with(strategy::random, 500)}) {
      const auto seen = run(s, GetParam(), &follow, o);
      ASSERT_FALSE(seen.failed) << s.name << ": " << seen.text();
    }
  }
  // The schedules end when the threads have, and do nothing after that.
  EXPECT_EQ(follow.never_taken(), "Standstill");
}

// The fences are nothing where memory is sequentially consistent. So the same programs run with
// that of C++ too, without a mapping, and have to have done everything at each standstill.
TEST_P(PoolConform, NothingWaitsAtAStandstillInWeakMemory) {
  for (const scenario& s : scenarios()) {
    for (auto o : {with(strategy::pct, 1000), with(strategy::random, 1000)}) {
      o.memory = explore::memory::weak;
      const auto seen = run(s, GetParam(), nullptr, o);
      ASSERT_FALSE(seen.failed) << s.name << ": " << seen.text();
    }
  }
}

}  // namespace
