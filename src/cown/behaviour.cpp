#include <rota/base/assert.h>
#include <rota/cown/core.h>
#include <rota/cown/when.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cown/cown_side.h"
#include "cown/dispatch.h"
#include "cown/pressure_board.h"
#include "pool/pool.h"
#include "pool/worker.h"
#include "task/activity.h"
#include "task/runtime_state.h"

namespace rota::detail {

// --- cowns --------------------------------------------------------------------------------------

void cown_base::end() noexcept {
  // acquire: the board may have made it, which has no pointer of its own.
  if (cown_side* s = side_.load(sync::memory_order_acquire)) {
    {
      spin_guard guard{s->lock};
      s->cown = nullptr;
    }
    cown_access::drop_weak(*s);
  }
  type_->destroy(*this);
}

cown_side& cown_base::side() {
  if (cown_side* s = side_.load(sync::memory_order_acquire)) return *s;
  auto fresh = std::make_unique<cown_side>(*this);
  cown_side* there = nullptr;
  // release: whoever finds it finds it made.
  if (side_.compare_exchange_strong(there, fresh.get(), sync::memory_order_release,
                                    sync::memory_order_acquire))
    return *fresh.release();
  return *there;
}

cown_side* cown_access::make_weak(cown_base& c) {
  cown_side& s = c.side();
  add_weak(s);
  return &s;
}

void cown_access::add_weak(cown_side& s) noexcept {
  s.refs.fetch_add(1, sync::memory_order_relaxed);
}

void cown_access::drop_weak(cown_side& s) noexcept {
  if (s.refs.fetch_sub(1, sync::memory_order_acq_rel) == 1) delete &s;
}

cown_base* cown_access::lock(cown_side& s) noexcept {
  // Under the lock the memory of the cown stays, also if the last pointer to it is gone.
  spin_guard guard{s.lock};
  if (!s.cown) return nullptr;
  std::uint64_t refs = s.cown->refs_.load(sync::memory_order_relaxed);
  // relaxed: a pointer shows nothing of the value. That is for behaviours, who come by the queue.
  while (static_cast<std::uint32_t>(refs) != 0)
    if (s.cown->refs_.compare_exchange_weak(refs, refs + 1, sync::memory_order_relaxed,
                                            sync::memory_order_relaxed))
      return s.cown;
  return nullptr;
}

void cown_access::set_threshold(cown_base& c, std::uint32_t threshold) noexcept {
  pressure_board::get().set_threshold(c, threshold);
}

void cown_access::pin(cown_base& c, std::shared_ptr<pump_state> to) {
  pressure_board::get().pin(c, std::move(to));
}

// --- behaviours ---------------------------------------------------------------------------------

slot* behaviour::find(const cown_base& c) noexcept {
  slot* const end = slots() + count;
  slot* const found = std::lower_bound(
      slots(), end, &c, [](const slot& s, const cown_base* to) { return &s.cown() < to; });
  return found != end && &found->cown() == &c ? found : nullptr;
}

namespace {

// The workers that this thread belongs to, or null.
pool* find_home() noexcept {
  if (const stand_in* here = stand_in::current()) return &here->home();
  worker* const w = worker::here();
  return w ? &w->home() : nullptr;
}

}  // namespace

pool& home_here() {
  pool* const home = find_home();
  if (!home)
    throw std::logic_error(
        "when() on a thread that is none of a runtime's: name the runtime first, as in "
        "when(runtime, cown)");
  return *home;
}

pool& home_of(runtime_state& r) noexcept { return r.workers(); }

behaviour* running_behaviour() noexcept {
  job* j = nullptr;
  if (const stand_in* here = stand_in::current()) {
    j = here->running();
  } else if (worker* w = worker::here()) {
    j = w->current();
  }
  if (!j) return nullptr;
  if (j->state_.load(sync::memory_order_relaxed) & job::is_behaviour)
    return static_cast<behaviour*>(j);
  const extras* const e = activity::root_of(static_cast<activity&>(*j)).existing_extras();
  return e ? static_cast<behaviour*>(e->behaviour) : nullptr;
}

void begin_behaviour(behaviour& b) {
  activity::root_of(*current_activity()).get_extras().behaviour = &b;
}

void end_behaviour() noexcept {
  // Not when the runtime ends and destroys what could not be stopped.
  if (stand_in::current() || !worker::here()) return;
  activity::root_of(*current_activity()).existing_extras()->behaviour = nullptr;
}

listener listener_here() noexcept {
  pool* const home = find_home();
  return home ? static_cast<runtime_state*>(home->context())->on_unobserved() : nullptr;
}

void report_unobserved(std::exception_ptr error, const char* name, const listener& who) noexcept {
  runtime_state::report_unobserved(error, std::string("behaviour ") + name, who.lock().get());
}

void release_early(behaviour& b, cown_base& c) {
  slot* const s = b.find(c);
  if (!s)
    throw std::logic_error("release(): the cown is none of those that the running behaviour holds");
  if (!s->is_released()) dispatch{*find_home()}.release_early(b, *s);
}

void hand_down(behaviour& whole, behaviour* const* members, std::size_t count) noexcept {
  dispatch{dispatch::stop_running(whole).home}.hand_down(whole, members, count);
}

bool has_room(const cown_base& c) noexcept { return pressure_board::has_room(c); }

// --- requests -----------------------------------------------------------------------------------

void null_cown(std::size_t which, std::size_t of) {
  throw std::invalid_argument("when(): cown " + std::to_string(which) + " of " +
                              std::to_string(of) + " is null: make_cown() makes one");
}

std::size_t unique_words(std::uintptr_t* words, std::size_t count) noexcept {
  std::sort(words, words + count);
  // Of two for the same cown the one for writing comes first, and stays.
  return static_cast<std::size_t>(
      std::unique(words, words + count,
                  [](std::uintptr_t a, std::uintptr_t b) { return (a ^ b) <= slot::low_bits; }) -
      words);
}

std::size_t unique_words(std::uintptr_t* words, std::size_t count, std::uint8_t* places) noexcept {
  // By insertion: they are few, as somebody has written each of them down.
  std::array<std::uint8_t, 255> from;
  from[0] = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const std::uintptr_t word = words[i];
    std::size_t at = i;
    for (; at > 0 && words[at - 1] > word; --at) {
      words[at] = words[at - 1];
      from[at] = from[at - 1];
    }
    words[at] = word;
    from[at] = static_cast<std::uint8_t>(i);
  }
  std::size_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if ((words[i] ^ words[last]) > slot::low_bits) words[++last] = words[i];
    places[from[i]] = static_cast<std::uint8_t>(last);
  }
  return last + 1;
}

void fill_slots(behaviour& b, const std::uintptr_t* words, std::size_t count) noexcept {
  b.count = static_cast<std::uint32_t>(count);
  std::uintptr_t any = 0;
  for (std::size_t i = 0; i < count; ++i) {
    b.slots()[i].set(words[i], i);
    any |= words[i];
  }
  if ((any & slot::reads) && count > 1) b.set(behaviour::mixed);
}

void check_pumps(const std::uintptr_t* words, std::size_t count) {
  const pump_state* only = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const pump_state* const p =
        pressure_board::pump_of(*reinterpret_cast<const cown_base*>(words[i] & ~slot::low_bits));
    if (p && only && p != only)
      throw std::invalid_argument(
          "when(): the cowns belong to two pumps, and a behaviour can run "
          "in one only");
    if (p) only = p;
  }
}

}  // namespace rota::detail

namespace rota {

using detail::behaviour;

namespace {

// The behaviour of a batch itself: takes all cowns that its members need, and hands them down.
struct batch_body {
  std::vector<behaviour*> members;

  static batch_body& in(behaviour& b) noexcept {
    return *reinterpret_cast<batch_body*>(b.slots() + b.count);
  }
  static void run(void* frame) {
    behaviour& b = behaviour::resumed(frame);
    if (b.says("of a batch")) return;
    b.begin();
    batch_body& self = in(b);
    const std::vector<behaviour*> members = std::move(self.members);
    self.~batch_body();
    detail::hand_down(b, members.data(), members.size());
  }
};

}  // namespace

void batch::send() {
  if (!state_) return;
  // Before the members run, so that who reports an exception knows the runtime.
  state_->drop();
  send_members();
}

when_result<void> batch::with_result() {
  ROTA_CHECK(state_, "a batch is sent twice, or is empty");
  when_result<void> handle{state_};
  send_members();
  return handle;
}

void batch::send_members() {
  detail::batch_state* const state = std::exchange(state_, nullptr);
  state->members = static_cast<std::uint32_t>(members_.size());
  std::vector<std::uintptr_t> words;
  for (behaviour* m : members_) {
    m->set(behaviour::member);
    m->left.store(m->count, sync::memory_order_relaxed);
    for (std::uint32_t i = 0; i < m->count; ++i) {
      const detail::slot& s = m->slots()[i];
      if (detail::cown_access::is_pinned(s.cown())) m->set(behaviour::on_pump);
      words.push_back(reinterpret_cast<std::uintptr_t>(&s.cown()) |
                      (s.word.get() & detail::slot::reads));
    }
  }
  const std::size_t n = detail::unique_words(words.data(), words.size());
  behaviour& b = *behaviour::make(&batch_body::run, behaviour::bytes(n) + sizeof(batch_body),
                                  static_cast<std::uint32_t>(n));
  detail::fill_slots(b, words.data(), n);
  ::new (static_cast<void*>(&batch_body::in(b))) batch_body{std::move(members_)};
  detail::send(b, *home_);
}

}  // namespace rota
