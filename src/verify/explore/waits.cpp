// What threads wait for: locks, futexes, time. Each is a step of the schedule like any other; who
// cannot go on is left out of the candidates until another thread or the clock lets it.

#include <algorithm>
#include <array>

#include "verify/explore/engine.h"

namespace rota::explore::detail {

namespace {

// What a pause costs: long enough that searches of some microseconds end after a round.
constexpr auto pause_time = std::chrono::microseconds(1);

}  // namespace

// --- locks --------------------------------------------------------------------------------------

lock_state& engine::lock_at(const place& p, const void* object, const where_t& where) {
  // The first time it is used in this schedule.
  if (p.index >= used_locks_ || locks_[p.index].object != object) {
    if (used_locks_ == locks_.size()) locks_.emplace_back();
    p.index = used_locks_++;
    locks_[p.index] = {};
    locks_[p.index].object = object;
  }
  if (locks_[p.index].is_gone)
    fail(failure_kind::use_after_free, "a mutex is used that is gone", where);
  return locks_[p.index];
}

void engine::lock(const place& p, const void* object, const where_t& where) {
  lock_state& l = lock_at(p, object, where);
  if (l.holder == static_cast<int>(running_index()))
    fail(failure_kind::deadlock, "a thread locks a mutex that it holds", where);
  step s;
  s.what = step::kind::lock;
  s.writes = true;
  s.object = p.index | 0x8000'0000;
  announce(s, where);
  l.holder = static_cast<int>(running_index());
  running_->now.join(l.released);
  changed_something();
  if (with_story_) story_.add(running_->name, "locks a mutex", where);
  tell(s);
}

bool engine::try_lock(const place& p, const void* object, const where_t& where) {
  lock_state& l = lock_at(p, object, where);
  step s;
  s.what = step::kind::unlock;  // Always possible, and others depend on it.
  s.writes = true;
  s.object = p.index | 0x8000'0000;
  announce(s, where);
  const bool got = l.holder < 0;
  if (got) {
    l.holder = static_cast<int>(running_index());
    running_->now.join(l.released);
    changed_something();
  }
  if (with_story_)
    story_.add(running_->name, got ? "locks a mutex" : "finds a mutex locked", where);
  tell(s);
  return got;
}

void engine::unlock(const place& p, const void* object, const where_t& where) {
  lock_state& l = lock_at(p, object, where);
  step s;
  s.what = step::kind::unlock;
  s.writes = true;
  s.object = p.index | 0x8000'0000;
  announce(s, where);
  if (l.holder != static_cast<int>(running_index()))
    fail(failure_kind::misuse, "a thread unlocks a mutex that it does not hold", where);
  l.holder = -1;
  l.released = running_->now;
  changed_something();
  if (with_story_) story_.add(running_->name, "unlocks a mutex", where);
  tell(s);
}

void engine::destroy_lock(const place& p, const void* object) {
  if (p.index >= used_locks_ || locks_[p.index].object != object) return;
  lock_state& l = locks_[p.index];
  if (l.holder >= 0) fail(failure_kind::misuse, "a mutex is destroyed that is held", {});
  l.is_gone = true;
}

// --- futex --------------------------------------------------------------------------------------

void engine::futex_wait(const place& p, const void* object, std::uint64_t first,
                        std::uint64_t expected, time_point deadline, const where_t& where) {
  location& l = at(p, object, first, where);
  step s;
  s.what = step::kind::wait;
  s.object = p.index;
  announce(s, where);
  thread_state& t = *running_;
  // The kernel reads the newest value, on the processor of this thread.
  const std::uint64_t value = l.messages.back().value;
  read_message(l, l.messages.size() - 1, std::memory_order_relaxed);
  if (value != expected || (deadline != time_point::max() && deadline <= time_)) {
    if (with_story_)
      story_.add(t.name, "does not sleep: " + describe(l, where) + " is " + std::to_string(value),
                 where);
    tell(s);
    return;
  }
  if (with_story_) story_.add(t.name, "falls asleep on " + describe(l, where), where);
  tell(s);
  t.is = thread_state::asleep;
  t.pending.what = step::kind::asleep;
  t.futex = p.index;
  t.deadline = deadline;
  t.asleep_since = step_;
  change_turn();
  t.is_woken = false;
}

void engine::wake_thread(thread_state& t) {
  t.is = thread_state::ready;
  t.pending = {};
  t.is_woken = true;
  t.futex = step::nothing;
  t.deadline = time_point::max();
  t.not_before = step_;
  starting_ |= bit(index_of(t));
}

void engine::futex_wake(const place& p, const void* object, int count, const where_t& where) {
  // Only the address counts: the word may be gone, as for the kernel.
  if (!is_known(p, object)) return;
  const std::uint32_t index = p.index;
  step s;
  s.what = step::kind::wake;
  s.object = index;
  announce(s, where);
  int woken = 0;
  for (; woken < count; ++woken) {
    std::array<std::uint8_t, most_threads> waiting{};
    unsigned n = 0;
    for (unsigned i = 0; i < count_; ++i)
      if (threads_[i].is == thread_state::asleep && threads_[i].futex == index)
        waiting[n++] = static_cast<std::uint8_t>(i);
    if (n == 0) break;
    thread_state& t = threads_[waiting[value(n)]];
    if (with_story_) story_.add(running_->name, "wakes " + t.name, where);
    wake_thread(t);
    changed_something();
  }
  if (with_story_ && woken == 0) story_.add(running_->name, "wakes nobody", where);
  tell(s);
}

// --- time ---------------------------------------------------------------------------------------

time_point engine::next_deadline() const noexcept {
  time_point next = time_point::max();
  for (unsigned i = 0; i < count_; ++i)
    if (threads_[i].is == thread_state::asleep) next = std::min(next, threads_[i].deadline);
  return next;
}

// Goes to the next deadline. False if there is none.
bool engine::pass_time() {
  const time_point next = next_deadline();
  if (next == time_point::max()) return false;
  time_ = std::max(time_, next);
  ++step_;
  sleeping_ = 0;
  changed_something();
  for (unsigned i = 0; i < count_; ++i) {
    thread_state& t = threads_[i];
    if (t.is != thread_state::asleep || t.deadline > time_) continue;
    if (with_story_) story_.add(t.name, "wakes up: its deadline has come", t.where);
    wake_thread(t);
  }
  return true;
}

time_point engine::now(const where_t& where) {
  step s;
  s.what = step::kind::now;
  announce(s, where);
  clock_was_read_ = true;
  tell(s);
  return time_;
}

void engine::advance(std::chrono::nanoseconds by) {
  const time_point until = time_ + by;
  settle();
  // Deadlines on the way come one after the other, and what they start runs first.
  while (next_deadline() <= until) {
    pass_time();
    settle();
  }
  time_ = std::max(time_, until);
}

void engine::settle() {
  step s;
  s.what = step::kind::time;
  announce(s, {});
  // Whoever sees that all others rest sees what they did.
  for (unsigned i = 0; i < count_; ++i) running_->now.join(threads_[i].now);
  tell(s);
}

void engine::pause() {
  thread_state& t = *running_;
  time_ += pause_time;
  t.waits = true;
  t.paused_at = t.now.seen.known[index_of(t)];
  if (!t.has_paused) ++t.idle_pauses;
  t.has_paused = true;
}

}  // namespace rota::explore::detail
