// The pool: jobs, and who runs them. A job that is not run while a worker sleeps shows at a
// standstill: when nobody can go on and no time has passed, settle() returns and everything has to
// be done. A worker that is never woken shows as a lost wake-up when the pool stops.

#include "pool/pool.h"

#include <array>
#include <chrono>
#include <memory>

#include "explored/scenarios.h"
#include "explored/words.h"
#include "pool/test_job.h"

namespace {

using namespace std::chrono_literals;
using namespace rota::scenarios;
using rota::detail::job;
using rota::detail::pool;
using rota::detail::pool_hooks;
using rota::detail::worker;
using rota::test::detached;
using rota::test::give_way;
using rota::test::push_here;
using rota::test::ready_again;
using rota::test::ready_here;

// Nobody rests: who sleeps beside a queued job has lost a wake-up.
rota::options with(unsigned workers) {
  return rota::options{}.with_workers(workers).with_longest_rest(std::chrono::microseconds{0});
}

// Workers try a rest whenever they may.
constexpr auto longest_rest = 400us;
rota::options resting(unsigned workers) { return with(workers).with_longest_rest(longest_rest); }

// --- jobs ----------------------------------------------------------------------------------------

struct mark {
  explore::cell<int> ran{0};
};

void run_once(mark& m, word& ended) {
  explore::check(m.ran.get() == 0, "a job runs once");
  m.ran.set(1);
  count_up(ended);
}

detached simple(mark& m, word& ended) {
  run_once(m, ended);
  co_return;
}

// Does not end before as many others have begun.
detached meeting(word& arrived, std::uint32_t all_of_them, word& ended) {
  count_up(arrived);
  wait_until(arrived, all_of_them);
  count_up(ended);
  co_return;
}

// Posted one after the other by a thread that is no worker, to a pool that sleeps or just begins.
template <unsigned Workers, std::size_t Jobs, bool Asleep>
void posts() {
  std::array<mark, Jobs> marks{};
  word ended{0};
  pool p{with(Workers), pool_hooks{}};
  p.start();
  if (Asleep) explore::settle();
  for (mark& m : marks) p.post(simple(m, ended).job());
  explore::settle();
  explore::check(ended.peek() == Jobs, "no job is queued while everybody sleeps");
  p.stop();
  for (const mark& m : marks) explore::check(m.ran.get() == 1, "every job runs");
}

// By two threads at once.
void two_posters() {
  std::array<mark, 2> marks{};
  word ended{0};
  pool p{with(2), pool_hooks{}};
  p.start();
  explore::settle();
  together posters;
  for (mark& m : marks) posters.run([&] { p.post(simple(m, ended).job()); });
  posters.join();
  explore::settle();
  explore::check(ended.peek() == 2, "no job is queued while everybody sleeps");
}

// work_conserving: as many jobs as workers, each of which needs all the others to run at once.
template <unsigned Workers>
void posted_meeting() {
  word arrived{0};
  word ended{0};
  pool p{with(Workers), pool_hooks{}};
  p.start();
  explore::settle();
  for (unsigned i = 0; i < Workers; ++i) p.post(meeting(arrived, Workers, ended).job());
  explore::settle();
  explore::check(arrived.peek() == Workers, "no job is queued while a worker sleeps");
  wait_until(ended, Workers);
}

detached host(word& arrived, unsigned guests, word& ended) {
  for (unsigned i = 0; i < guests; ++i) push_here(meeting(arrived, guests + 1, ended).job());
  count_up(arrived);
  wait_until(arrived, guests + 1);
  count_up(ended);
  co_return;
}

// ... the others pushed by the first of them, so that they have to be stolen.
template <unsigned Workers, bool Asleep>
void pushed_meeting() {
  word arrived{0};
  word ended{0};
  pool p{with(Workers), pool_hooks{}};
  p.start();
  if (Asleep) explore::settle();
  p.post(host(arrived, Workers - 1, ended).job());
  explore::settle();
  explore::check(arrived.peek() == Workers, "no job is queued while a worker sleeps");
  wait_until(ended, Workers);
}

// ... and with one from outside while the others are on their way. If there is a lookout, its nap
// would end the wait; without one, everybody but those who meet sleeps for ever.
template <bool Lookout>
void mixed_meeting() {
  word arrived{0};
  word ended{0};
  mark m;
  word other{0};
  pool p{with(3), pool_hooks{}};
  p.start();
  if (Lookout)
    explore::settle();
  else
    explore::advance(1s);
  p.post(host(arrived, 2, ended).job());
  p.post(simple(m, other).job());
  explore::settle();
  explore::check(arrived.peek() == 3, "no job is queued while a worker sleeps");
  wait_until(ended, 3);
  wait_until(other, 1);
}

// A worker that looks for work, and finds some, while more comes in: the job for which nobody was
// woken, since somebody searched, is not left behind. With rests it may wait, but not for longer
// than these last.
template <bool Rests>
void surplus() {
  word arrived{0};
  word ended{0};
  pool p{Rests ? resting(2) : with(2), pool_hooks{}};
  p.start();
  together posters;
  posters.run([&] { p.post(meeting(arrived, 2, ended).job()); });
  p.post(meeting(arrived, 2, ended).job());
  posters.join();
  if (Rests)
    explore::advance(longest_rest);
  else
    explore::settle();
  explore::check(arrived.peek() == 2, "no job is queued while a worker sleeps");
  wait_until(ended, 2);
}

detached steps(word& ended, int left) {
  explore::cell<int> own{0};
  for (; left > 0; --left) {
    ++own.change();
    if (left % 2 == 0)
      co_await give_way{};
    else
      co_await ready_again{};
  }
  count_up(ended);
}

// Workers that rest give their jobs away, again and again. None is lost, none runs twice, and what
// they wrote goes with them. Long enough for looks.
void given_away() {
  word ended{0};
  pool p{resting(2), pool_hooks{}};
  p.start();
  for (int i = 0; i < 3; ++i) p.post(steps(ended, 40).job());
  wait_until(ended, 3);
}

// Jobs that give way wander between the workers; what they wrote goes with them.
void wandering() {
  word ended{0};
  pool p{with(2), pool_hooks{}};
  p.start();
  for (int i = 0; i < 2; ++i) p.post(steps(ended, 2).job());
  explore::settle();
  explore::check(ended.peek() == 2, "no job is queued while everybody sleeps");
}

// --- the next slot -------------------------------------------------------------------------------

detached follower(mark& m, word& ended) {
  run_once(m, ended);
  co_return;
}

detached leader(mark& m, word& ended) {
  m.ran.set(0);
  ready_here(follower(m, ended).job());
  wait_until(ended, 1);
  count_up(ended);
  co_return;
}

// A job in the next slot of a worker whose step goes on is taken by the lookout, within its naps.
template <unsigned Workers, bool Asleep>
void stuck() {
  mark m;
  word ended{0};
  pool p{with(Workers), pool_hooks{}};
  p.start();
  if (Asleep) explore::settle();
  const auto began = explore::now();
  p.post(leader(m, ended).job());
  wait_until(ended, 2);
  explore::check(explore::now() - began < 200ms, "the lookout naps no longer");
}

// Two such pairs, so that the lookout itself gets to work.
void stuck_twice() {
  std::array<mark, 2> m;
  std::array<word, 2> ended{};
  pool p{with(3), pool_hooks{}};
  p.start();
  explore::settle();
  for (unsigned i = 0; i < 2; ++i) p.post(leader(m[i], ended[i]).job());
  wait_until(ended[0], 2);
  wait_until(ended[1], 2);
}

// ... and the lookout gives its role up, since nobody ran, just when somebody begins to.
void stuck_resigns() {
  mark m;
  word ended{0};
  word never{0};
  pool p{with(2), pool_hooks{}};
  p.start();
  explore::futex_wait(never, 0, explore::now() + 10ms);
  p.post(leader(m, ended).job());
  wait_until(ended, 2);
}

detached late_leader(word& go, mark& m, word& ended) {
  wait_until(go, 1);
  m.ran.set(0);
  ready_here(follower(m, ended).job());
  wait_until(ended, 1);
  count_up(ended);
  co_return;
}

detached waits_for(word& ended, word& done) {
  wait_until(ended, 1);
  count_up(done);
  co_return;
}

// The lookout itself is called to work and finds a long job, while a next slot is filled behind
// another: somebody else has to become the lookout.
void stuck_without_lookout() {
  std::array<mark, 3> m;
  word go{0};
  word ended{0};
  word others{0};
  pool p{with(3), pool_hooks{}};
  p.start();
  p.post(late_leader(go, m[0], ended).job());
  explore::advance(2ms);
  p.post(simple(m[1], others).job());
  p.post(simple(m[2], others).job());
  count_up(go);
  p.post(waits_for(ended, others).job());
  wait_until(ended, 2);
  wait_until(others, 3);
}

// --- the end -------------------------------------------------------------------------------------

// Stops while workers begin, search or sleep.
template <unsigned Workers>
void stops() {
  pool p{Workers == 2 ? resting(2) : with(Workers), pool_hooks{}};
  p.start();
  if (explore::choose(2)) explore::settle();
  p.stop();
}

// Stops with a job on its way, which runs or stays.
void stops_with_job() {
  mark m;
  word ended{0};
  job* j = nullptr;
  {
    pool p{with(2), pool_hooks{}};
    p.start();
    j = simple(m, ended).job();
    p.post(j);
    p.stop();
  }
  if (m.ran.get() == 0) j->frame.destroy();
}

// The last task ends while the thread that posted it is still on its way out of post().
void visitors() {
  mark m;
  word ended{0};
  auto p = std::make_unique<pool>(with(2), pool_hooks{});
  p->start();
  explore::settle();
  together posters;
  posters.run([&home = *p, &m, &ended] { home.post(simple(m, ended).job()); });
  wait_until(ended, 1);
  p->stop();
  p->wait_for_visitors();
  p.reset();
}

// A standstill is reported if somebody waits for it, and nothing is on its way.
struct report {
  pool* home = nullptr;
  word quiet{0};
  word ended{0};
  std::uint32_t expected = 0;

  static void said(void* context, std::uint64_t departures) {
    auto& self = *static_cast<report*>(context);
    if (!self.home->is_quiet(departures)) return;
    explore::check(self.ended.load(std::memory_order_relaxed) == self.expected,
                   "who says that nothing can run sees that all has run");
    self.quiet.store(1, std::memory_order_release);
    explore::futex_wake(self.quiet, 1);
  }
};

pool_hooks hooks_of(report& r) {
  pool_hooks hooks;
  hooks.quiet = &report::said;
  hooks.context = &r;
  return hooks;
}

template <unsigned Workers, bool Outside, bool Rests = false>
void standstill() {
  report r;
  r.expected = 1;
  mark m;
  pool p{Rests ? resting(Workers) : with(Workers), hooks_of(r)};
  r.home = &p;
  p.start();
  together others;
  if (Outside) {
    p.expect_outside(1);
    others.run([&] {
      p.post(simple(m, r.ended).job());
      p.expect_outside(-1);
    });
    p.await_quiet(1);
  } else {
    p.post(simple(m, r.ended).job());
    p.await_quiet(1);
  }
  wait_until(r.quiet, 1);
  others.join();
  p.await_quiet(-1);
}

// One timer of worker 0, with one job.
class one_timer : public rota::detail::timer_driver {
 public:
  explicit one_timer(job* j) : job_(j) {}

  bool fire(worker& w, unsigned of, explore::time_point now) override {
    if (of != 0 || now < at || !is_set_.load(std::memory_order_relaxed)) return false;
    if (taken_.exchange(1, std::memory_order_relaxed) != 0) return false;
    is_set_.store(0, std::memory_order_release);
    w.push(job_);
    return true;
  }
  explore::time_point next(unsigned of) const noexcept override {
    return of == 0 && is_set_.load(std::memory_order_acquire) ? at : explore::time_point::max();
  }

  static inline explore::time_point at;
  static inline job* made_for;

 private:
  job* job_;
  word is_set_{1};
  word taken_{0};
};

// Nothing stands still while a timer is set, or has just gone off.
template <unsigned Workers>
void standstill_timer() {
  report r;
  r.expected = 1;
  mark m;
  pool p{with(Workers), hooks_of(r)};
  r.home = &p;
  one_timer::at = explore::now() + 1ms;
  one_timer::made_for = simple(m, r.ended).job();
  p.timers_or([](pool&) -> std::unique_ptr<rota::detail::timer_driver> {
    return std::make_unique<one_timer>(one_timer::made_for);
  });
  p.start();
  p.await_quiet(1);
  wait_until(r.quiet, 1);
  p.await_quiet(-1);
}

// The pool ends when nothing is expected from outside any more, and the thread that said so is
// still on its way out of expect_outside().
void visitors_outside() {
  report r;
  auto p = std::make_unique<pool>(with(1), hooks_of(r));
  r.home = p.get();
  p->start();
  p->expect_outside(1);
  together others;
  others.run([&home = *p] { home.expect_outside(-1); });
  p->await_quiet(1);
  wait_until(r.quiet, 1);
  p->await_quiet(-1);
  p->stop();
  p->wait_for_visitors();
  p.reset();
}

const add pools{{
    {"pool.stops_1", "one worker stops at any time", stops<1>, all()},
    {"pool.stops_2", "two workers stop at any time", stops<2>, bounded(2, 2)},
    {"pool.stops_3", "three workers stop at any time", stops<3>, pct(3, 2)},
    {"pool.stops_with_job", "a pool stops with a job on its way", stops_with_job, pct(3, 2)},

    {"pool.post_1", "a job for one worker that sleeps", posts<1, 1, true>, no_early(all())},
    {"pool.post_2", "two jobs for two workers that sleep", posts<2, 2, true>,
     no_early(bounded(2, 2))},
    {"pool.post_begin", "a job for two workers that begin", posts<2, 1, false>,
     no_early(pct(3, 1))},
    {"pool.post_3", "three jobs for three workers", posts<3, 3, true>, no_early(pct(3, 1))},
    {"pool.posters", "two posters, two workers", two_posters, no_early(pct(3, 1))},
    {"pool.wandering", "jobs give way on two workers", wandering, no_early(pct(3, 1))},

    {"pool.meeting_2", "two posted jobs need two workers", posted_meeting<2>,
     no_early(bounded(2, 2))},
    {"pool.meeting_3", "three posted jobs need three workers", posted_meeting<3>,
     no_early(pct(3, 1))},
    {"pool.meeting_pushed_2", "a pushed job needs the other worker", pushed_meeting<2, true>,
     no_early(pct(3, 1))},
    {"pool.meeting_pushed_3", "two pushed jobs need two thieves", pushed_meeting<3, true>,
     no_early(pct(3, 1))},
    // Of four workers that begin two search at most: a third steals several without being counted.
    {"pool.meeting_pushed_4", "three pushed jobs need three thieves", pushed_meeting<4, false>,
     no_early(pct(3, 3))},
    // What producers left to a searcher that enters the idle set, sees work and leaves the set by
    // itself: it takes one job, and has to look for more.
    {"pool.meeting_mixed", "two pushed jobs, and one from outside", mixed_meeting<true>,
     no_early(pct(3, 1))},
    {"pool.meeting_unwatched", "... with no lookout", mixed_meeting<false>, no_early(pct(3, 1))},
    {"pool.surplus", "jobs come while workers begin", surplus<false>, no_early(pct(3, 1))},
    {"pool.rests", "the same, but workers rest", surplus<true>, no_early(pct(3, 1))},
    {"pool.rests_give_away", "who rests gives its jobs away", given_away, no_early(pct(3, 1))},

    {"pool.stuck_2", "the lookout takes what is stuck", stuck<2, true>, pct(3, 1)},
    {"pool.stuck_begin", "... while the workers begin", stuck<2, false>, pct(3, 1)},
    {"pool.stuck_3", "... with three workers", stuck<3, true>, pct(3, 1)},
    {"pool.stuck_twice", "... two of them", stuck_twice, pct(3, 1)},
    {"pool.stuck_resigns", "... and the lookout resigns", stuck_resigns, pct(3, 3)},
    {"pool.stuck_unseen", "... and the lookout is called to work", stuck_without_lookout,
     pct(3, 3)},

    {"pool.visitors", "a pool ends under the one who posted", visitors, pct(3, 1)},
    {"pool.visitors_outside", "... or under one who was expected", visitors_outside, pct(3, 1)},
    {"pool.standstill", "a standstill is reported", standstill<2, false>, pct(3, 1)},
    {"pool.standstill_outside_1", "... after the last from outside", standstill<1, true>,
     pct(3, 3)},
    {"pool.standstill_outside_2", "... with two workers", standstill<2, true>, pct(3, 1)},
    {"pool.standstill_rests", "... that workers rest before", standstill<2, true, true>, pct(3, 1)},
    {"pool.standstill_timer_1", "... after a timer", standstill_timer<1>, pct(3, 1)},
    {"pool.standstill_timer_2", "... with two workers", standstill_timer<2>, pct(3, 1)},
}};

}  // namespace
