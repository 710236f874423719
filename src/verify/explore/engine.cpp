// A schedule: its threads, whose turn it is, and what happens where nobody can go on.

#include "verify/explore/engine.h"

#include <algorithm>
#include <exception>
#include <stdexcept>

namespace rota::explore::detail {

bool exploring = false;
engine* active = nullptr;

namespace {

// A spinner that has looked so often while nothing changed looks for nothing.
constexpr unsigned idle_looks = 4;

void begin_thread() { active->thread_main(); }

std::string what_of(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& x) {
    return x.what();
  } catch (...) {
    return "something that is no std::exception";
  }
}

// All steps of the heap depend on each other: which block is the newest free one?
step of_heap() noexcept {
  step s;
  s.what = step::kind::memory;
  s.writes = true;
  s.object = 0xC000'0000;
  return s;
}

}  // namespace

bool dependent(const step& a, const step& b) noexcept {
  if (a.what == step::kind::time || b.what == step::kind::time) return true;
  if (a.object == b.object && a.object != step::nothing) {
    if (a.writes || b.writes || (a.sc && b.sc)) return true;
    if (a.what == step::kind::wake || b.what == step::kind::wake) return true;
  }
  if ((a.is_fence() && (b.is_fence() || b.sc)) || (b.is_fence() && a.sc)) return true;
  if ((a.what == step::kind::heavy && b.what == step::kind::light) ||
      (a.what == step::kind::light && b.what == step::kind::heavy))
    return true;
  return (a.what == step::kind::now && b.ticks) || (b.what == step::kind::now && a.ticks);
}

namespace {

// Comes before the heap is made, of which there is one.
const options& checked(const options& o) {
  if (active) throw std::logic_error("explore: a program that is explored cannot explore");
  return o;
}

}  // namespace

engine::engine(const options& o) : options_(checked(o)) {}
engine::~engine() { forget_program(); }

// Functions of the program that a schedule which was given up left here: what they hold is on the
// program's heap, which goes as a whole.
void engine::forget_program() noexcept {
  for (unsigned i = 0; i < count_; ++i) new (&threads_[i].body) std::function<void()>();
  new (&observer_) std::function<void()>();
}

// --- a schedule ---------------------------------------------------------------------------------

void engine::reset() {
  forget_program();
  for (unsigned i = 0; i < count_; ++i) {
    auto kept = std::move(threads_[i].fiber);
    threads_[i] = thread_state{};
    threads_[i].fiber = std::move(kept);
  }
  count_ = 0;
  running_ = nullptr;
  starting_ = sleeping_ = 0;
  step_ = 0;
  choices_.clear();
  failure_ = {};
  used_locations_ = used_cells_ = used_locks_ = 0;
  heap_.reset();
  sc_fenced_ = heavy_fenced_ = light_fenced_ = {};
  sc_time_ = 1;
  last_heavy_ = 0;
  sc_fence_step_ = 0;
  // Some time after the clock's own beginning, so that subtracting from it is safe.
  time_ = time_point{} + std::chrono::hours(1);
  clock_was_read_ = false;
  spurious_ = early_ = reuses_ = 0;
  freed_.clear();
  story_.clear();
}

engine::ending engine::run(const std::function<void()>& program, chooser& c, bool with_story) {
  reset();
  chooser_ = &c;
  with_story_ = with_story;
  active = this;
  thread_state& main = new_thread([&program] { program(); });
  main.name = "main";
  starting_ = 0;
  running_ = &main;
  fiber::change(outside_, *main.fiber);
  exploring = false;
  active = nullptr;
  if (ending_ == ending::ended && options_.leaks) {
    if (const heap::leak left = heap_.leaked(); left.blocks > 0) {
      failure_.kind = failure_kind::leak;
      failure_.message = std::to_string(left.blocks) + " blocks of " + std::to_string(left.bytes) +
                         " bytes are left, the first of " + std::to_string(left.first_size) +
                         " bytes";
      ending_ = ending::failed;
    }
  }
  return ending_;
}

void engine::leave(ending e) {
  ending_ = e;
  fiber::change(*running_->fiber, outside_);
  std::terminate();  // Nobody comes back.
}

void engine::fail(failure_kind kind, std::string what, const where_t& where) {
  exploring = false;
  const std::string at = short_place(where);
  if (with_story_) story_.add(running_->name, std::string(name_of(kind)) + ": " + what, where);
  failure_.kind = kind;
  failure_.message = at.empty() ? std::move(what) : at + ": " + what;
  leave(ending::failed);
}

// --- threads ------------------------------------------------------------------------------------

thread_state& engine::new_thread(std::function<void()> body) {
  if (count_ == most_threads)
    fail(failure_kind::misuse,
         "more than " + std::to_string(most_threads) + " threads in one schedule", {});
  const unsigned index = count_++;
  thread_state& t = threads_[index];
  if (t.fiber)
    t.fiber->reset();
  else
    t.fiber = std::make_unique<fiber>(index, &begin_thread);
  t.body = std::move(body);
  t.name = "thread " + std::to_string(index);
  starting_ |= bit(index);
  return t;
}

void engine::thread_main() {
  thread_state& self = *running_;
  leave_no_traces();
  exploring = true;
  try {
    self.body();
    self.body = nullptr;
  } catch (...) {
    exploring = false;
    fail(failure_kind::exception,
         "an exception left the thread: " + what_of(std::current_exception()), {});
  }
  exploring = false;
  self.is = thread_state::finished;
  changed_something();
  if (with_story_) story_.add(self.name, "ends", {});
  change_turn();
  std::terminate();  // Nobody wakes who has ended.
}

unsigned engine::start_thread(std::function<void()> body, const where_t& where) {
  announce({}, where);
  thread_state& t = new_thread(std::move(body));
  t.now = running_->now;
  t.not_before = step_;
  changed_something();
  const unsigned index = index_of(t);
  if (with_story_) story_.add(running_->name, "starts " + t.name, where);
  tell({});
  return index;
}

void engine::join_thread(unsigned index, const where_t& where) {
  if (index >= count_) fail(failure_kind::misuse, "join() of a thread that is not joinable", where);
  running_->awaited = index;
  step s;
  s.what = step::kind::join;
  announce(s, where);
  running_->now.join(threads_[index].now);
  if (with_story_) story_.add(running_->name, "joins " + threads_[index].name, where);
  tell(s);
}

standing engine::where_is(unsigned index) const {
  standing s;
  if (index >= count_) return s;
  const thread_state& t = threads_[index];
  s.times = t.steps;
  if (t.is == thread_state::finished) {
    s.what = standing::finished;
    return s;
  }
  const bool is_cell = t.pending.what == step::kind::read || t.pending.what == step::kind::write;
  if (is_cell)
    s.object = cells_[t.pending.object & 0x3FFF'FFFF].object;
  else if (t.pending.object != step::nothing && t.pending.what != step::kind::lock &&
           t.pending.what != step::kind::unlock)
    s.object = locations_[t.pending.object].object;
  switch (t.pending.what) {
    case step::kind::local:
      s.what = t.is_woken ? standing::woken : standing::running;
      break;
    case step::kind::load:
    case step::kind::read:
      s.what = standing::load;
      break;
    case step::kind::store:
    case step::kind::write:
      s.what = standing::store;
      break;
    case step::kind::update:
      s.what = standing::update;
      break;
    case step::kind::fence:
    case step::kind::light:
    case step::kind::heavy:
      s.what = standing::fence;
      break;
    case step::kind::lock:
      s.what = standing::lock;
      break;
    case step::kind::unlock:
      s.what = standing::unlock;
      break;
    case step::kind::wait:
      s.what = standing::wait;
      break;
    case step::kind::asleep:
      s.what = standing::asleep;
      break;
    case step::kind::wake:
      s.what = standing::wake;
      break;
    case step::kind::join:
      s.what = standing::join;
      break;
    case step::kind::now:
    case step::kind::time:
      s.what = standing::clock;
      break;
    case step::kind::memory:
      s.what = standing::memory;
      break;
  }
  return s;
}

// --- steps --------------------------------------------------------------------------------------

void engine::announce(const step& s, const where_t& where) {
  thread_state& t = *running_;
  t.pending = s;
  t.pending.ticks = t.has_paused;
  t.where = where;
  if (s.what != step::kind::local) change_turn();
  ++step_;
  ++t.steps;
  const unsigned i = index_of(t);
  t.now.seen.known[i] = ++t.now.before.known[i];
}

void engine::tell(const step& s) { tell(s, s.what == step::kind::local ? 0 : step_); }

void engine::tell(const step& s, std::uint32_t not_before) {
  thread_state& t = *running_;
  t.not_before = std::max(t.not_before, not_before);
  t.has_paused = false;
  t.waits = false;
  if (s.writes) {
    for (unsigned i = 0; i < count_; ++i) {
      if (&threads_[i] == &t || !threads_[i].waits) continue;
      threads_[i].waits = false;
      sleeping_ &= ~bit(i);
    }
  }
  step done = s;
  done.ticks = t.pending.ticks;
  for (thread_set left = sleeping_; left; left &= left - 1) {
    const auto i = static_cast<unsigned>(__builtin_ctz(left));
    if (dependent(threads_[i].pending, done)) sleeping_ &= ~bit(i);
  }
}

void engine::changed_something() noexcept {
  for (unsigned i = 0; i < count_; ++i) threads_[i].idle_pauses = 0;
}

void engine::change_turn() {
  thread_state& from = *running_;
  if (observer_) observer_();
  thread_state& to = pick();
  if (&to == &from) return;
  running_ = &to;
  fiber::change(*from.fiber, *to.fiber);
}

bool engine::is_enabled(const thread_state& t) const noexcept {
  if (t.is != thread_state::ready) return false;
  if (t.pending.what == step::kind::join) return threads_[t.awaited].is == thread_state::finished;
  if (t.pending.what == step::kind::lock) return locks_[t.pending.object & 0x7FFF'FFFF].holder < 0;
  return true;
}

turn engine::candidates() {
  turn c;
  const unsigned self = index_of(*running_);
  const auto add = [&](unsigned i) { c.candidates[c.count++] = static_cast<std::uint8_t>(i); };
  const auto round = [&](auto&& wanted) {
    for (unsigned k = 0; k < count_; ++k) {
      const unsigned i = (self + k) % count_;
      if (is_enabled(threads_[i]) && wanted(threads_[i])) add(i);
    }
  };
  round([](const thread_state& t) { return !t.waits && t.pending.what != step::kind::time; });
  c.goes_on = c.count > 0 && c.candidates[0] == self;
  if (c.count == 0) {
    const auto waits = [](const thread_state& t) {
      return t.waits && t.pending.what != step::kind::time;
    };
    // Those who have looked often enough leave the turn to those who have not.
    round([&](const thread_state& t) { return waits(t) && t.idle_pauses < idle_looks; });
    if (c.count == 0) round(waits);
    for (unsigned k = 0; k < c.count; ++k)
      if (threads_[c.candidates[k]].idle_pauses > 1) c.idle_spinners |= bit(c.candidates[k]);
  }
  if (c.count == 0) return c;
  bool deadlines = false;
  for (unsigned i = 0; i < count_; ++i) {
    if (threads_[i].is != thread_state::asleep) continue;
    if (spurious_ < options_.spurious) add(i);
    deadlines |= threads_[i].deadline != time_point::max();
  }
  if (deadlines && early_ < options_.early_deadlines) add(time_index);
  return c;
}

thread_state& engine::pick() {
  for (;;) {
    if (starting_) {
      const auto i = static_cast<unsigned>(__builtin_ctz(starting_));
      starting_ &= starting_ - 1;
      return threads_[i];
    }
    for (unsigned i = 0; i < count_; ++i)
      if (threads_[i].pending.what == step::kind::join && is_enabled(threads_[i]))
        return threads_[i];
    const turn c = candidates();
    if (c.count == 0) {
      // Who settles goes on when nobody else can.
      for (unsigned i = 0; i < count_; ++i)
        if (threads_[i].is == thread_state::ready && threads_[i].pending.what == step::kind::time)
          return threads_[i];
      if (pass_time()) continue;
      standstill();
    }
    if (c.idle_spinners && time_helps_spinners()) continue;
    if (step_ > options_.max_steps) return fair_turn();
    unsigned chosen = 0;
    if (c.count > 1 || sleeping_) {
      chosen = chooser_->thread(c, sleeping_);
      if (chosen == chooser::give_up) leave(ending::given_up);
      if (c.count > 1) choices_.push_back(static_cast<std::uint16_t>(chosen));
    }
    const unsigned i = c.candidates[chosen];
    if (i == time_index) {
      ++early_;
      pass_time();
      continue;
    }
    thread_state& t = threads_[i];
    if (t.is == thread_state::asleep) {
      ++spurious_;
      if (with_story_) story_.add(t.name, "wakes up for no reason", t.where);
      wake_thread(t);
      starting_ &= ~bit(i);
    }
    return t;
  }
}

// The schedule has become too long to go on as it is chosen: everybody in turn. Who has not ended
// after as many steps again never does.
thread_state& engine::fair_turn() {
  if (step_ > options_.max_steps * 2 + 1'000)
    fail(failure_kind::livelock,
         "no end after " + std::to_string(step_) + " steps, the last half of them in fair turns",
         {});
  const unsigned self = index_of(*running_);
  for (unsigned k = 1; k <= count_; ++k) {
    thread_state& t = threads_[(self + k) % count_];
    if (is_enabled(t) && t.pending.what != step::kind::time) return t;
  }
  return *running_;
}

// If everybody who could go on only looks again and again, time has to help. True if it passed.
bool engine::time_helps_spinners() {
  for (unsigned i = 0; i < count_; ++i)
    if (is_enabled(threads_[i]) && threads_[i].pending.what != step::kind::time &&
        threads_[i].idle_pauses < idle_looks)
      return false;
  if (pass_time()) return true;
  std::string who;
  for (unsigned i = 0; i < count_; ++i) {
    if (!is_enabled(threads_[i])) continue;
    if (!who.empty()) who += ", ";
    who += threads_[i].name + " (" + short_place(threads_[i].where) + ")";
  }
  fail(failure_kind::livelock, "these look again and again for what nobody will change: " + who,
       {});
}

void engine::standstill() {
  bool all_ended = true;
  bool sleeper = false;
  std::string who;
  for (unsigned i = 0; i < count_; ++i) {
    const thread_state& t = threads_[i];
    if (t.is == thread_state::finished) continue;
    all_ended = false;
    if (!who.empty()) who += "; ";
    who += t.name;
    if (t.is == thread_state::asleep) {
      sleeper = true;
      who += " sleeps in a futex since step " + std::to_string(t.asleep_since);
    } else if (t.pending.what == step::kind::join) {
      who += " joins " + threads_[t.awaited].name;
    } else if (t.pending.what == step::kind::lock) {
      const int holder = locks_[t.pending.object & 0x7FFF'FFFF].holder;
      who += " waits for a mutex that " +
             (holder >= 0 ? threads_[static_cast<unsigned>(holder)].name : std::string("nobody")) +
             " holds";
    }
    who += " (" + short_place(t.where) + ")";
  }
  if (all_ended) leave(ending::ended);
  fail(sleeper ? failure_kind::lost_wakeup : failure_kind::deadlock, who, {});
}

unsigned engine::value(unsigned count) {
  if (count < 2 || step_ > options_.max_steps) return 0;
  const unsigned chosen = chooser_->value(count);
  choices_.push_back(static_cast<std::uint16_t>(chosen));
  return chosen;
}

unsigned engine::choose(unsigned count) {
  announce({}, {});
  const unsigned chosen = value(count);
  tell({});
  return chosen;
}

// --- the rest -----------------------------------------------------------------------------------

void* engine::allocate(std::size_t size, std::size_t alignment) {
  if (options_.reuses == 0) return heap_.allocate(size, alignment);
  const step s = of_heap();
  announce(s, {});
  const auto fits = [&](const freed_block& b) {
    return b.size == size && reinterpret_cast<std::uintptr_t>(b.where) % alignment == 0;
  };
  const auto newest = std::find_if(freed_.rbegin(), freed_.rend(), fits);
  const bool may_reuse = newest != freed_.rend() && reuses_ < options_.reuses;
  void* p = nullptr;
  if (may_reuse && value(2) == 1) {
    ++reuses_;
    p = newest->where;
    heap_.reuse(p);
    running_->now.join(newest->when);
    freed_.erase(std::next(newest).base());
    if (with_story_) story_.add(running_->name, "is given memory that was freed", {});
  } else {
    p = heap_.allocate(size, alignment);
  }
  tell(s);
  return p;
}

void engine::free(void* p) {
  const step s = of_heap();
  if (options_.reuses != 0) announce(s, {});
  if (heap_.free(p) == heap::freed::twice)
    fail(failure_kind::use_after_free, "memory is freed twice", {});
  if (options_.reuses != 0) {
    freed_.push_back({p, heap_.size_of(p), running_->now});
    tell(s);
  }
}

void engine::note(std::string what, const where_t& where) {
  if (with_story_) story_.add(running_->name, std::move(what), where);
}

}  // namespace rota::explore::detail
