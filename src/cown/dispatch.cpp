#include "cown/dispatch.h"

#include <rota/base/assert.h>

#include <memory>
#include <utility>
#include <vector>

#include "cown/cown_side.h"
#include "cown/pressure_board.h"
#include "cown/pump_state.h"

namespace rota::detail {

// --- queues -------------------------------------------------------------------------------------

// A behaviour that waits is in one queue, which keeps that cown alive. Those that it has yet to
// come to need a pointer each; as long as nobody waits, the sender's own are enough. True: they had
// theirs already.
inline bool dispatch::hold_rest(behaviour& b, std::uint32_t from) noexcept {
  if (b.is(behaviour::holding)) return true;
  for (slot *s = b.slots() + from, *end = b.slots() + b.count; s != end; ++s) s->cown().add_ref();
  b.set(behaviour::holding);
  return false;
}

[[gnu::always_inline]] inline bool dispatch::enqueue(behaviour& b, std::uint32_t i) noexcept {
  if (b.slots()[i].is_read()) [[unlikely]]
    return enqueue_reader(b, i);
  return enqueue_writer(b, i, worker_);
}

[[gnu::always_inline]] inline bool dispatch::enqueue_writer(behaviour& b, std::uint32_t i,
                                                            const worker* w) noexcept {
  slot& s = b.slots()[i];
  cown_base& c = s.cown();
  // acquire: shows what the last holder did with the value. release: whoever comes behind us
  // sees our slot.
  slot* const before = c.tail_.exchange(&s, sync::memory_order_acq_rel);
  if (!before) {
    // A queue that is not empty has a pointer to its cown. Ours becomes that, if we hold one.
    if (b.is(behaviour::holding))
      c.one_came();
    else
      c.refs_.fetch_add(cown_base::one_sent + 1, sync::memory_order_relaxed);
    // acquire: what readers read comes before what we write.
    if (c.readers_.load(sync::memory_order_acquire) == 0) [[likely]]
      return true;
    return wait_for_readers(b, i);
  }
  // The queue cannot become empty before we are linked. After that, b is somebody else's.
  if (hold_rest(b, i + 1))
    c.refs_.fetch_add(cown_base::one_sent - 1, sync::memory_order_relaxed);
  else
    count_one(c, w);
  link(*before, s.writer_name());
  return false;
}

// Counts a message that its sender has put behind another. `w` is the worker here, or null.
inline void dispatch::count_one(cown_base& c, const worker* w) noexcept {
  if (is_ours(w, c))
    c.one_came();
  else
    c.refs_.fetch_add(cown_base::one_sent, sync::memory_order_relaxed);
}

// Whether the behaviour that runs here holds c for writing. Only its first two cowns are looked at:
// more would take longer than what it saves.
inline bool dispatch::is_ours(const worker* w, const cown_base& c) noexcept {
  job* j = nullptr;
  if (w) [[likely]]
    j = w->current();
  else if (const stand_in* const here = stand_in::current())
    j = here->running();
  if (!j || !(j->state_.load(sync::memory_order_relaxed) & job::is_behaviour)) return false;
  behaviour& sender = static_cast<behaviour&>(*j);
  slot* const s = sender.slots();
  if (sender.count > 0 && s[0].is_writer_of(c)) return !s[0].is_released();
  return sender.count > 1 && s[1].is_writer_of(c) && !s[1].is_released();
}

// Takes the place behind another. After that the behaviour is somebody else's.
inline void dispatch::link(slot& before, std::uintptr_t name) noexcept {
  // release: who gives us the cown sees the behaviour.
  before.next.store(name, sync::memory_order_release);
}

// First in the queue, but readers who are in no queue any more still read.
bool dispatch::wait_for_readers(behaviour& b, std::uint32_t i) noexcept {
  slot& s = b.slots()[i];
  cown_base& c = s.cown();
  hold_rest(b, i + 1);
  c.side().next_writer.set(&s);
  // release: the last reader sees next_writer. acquire: as in enqueue().
  if (c.readers_.fetch_add(1, sync::memory_order_acq_rel) != 0) return false;
  // They ended meanwhile. New ones line up behind us.
  c.readers_.store(0, sync::memory_order_relaxed);
  return true;
}

// Each reader has a pointer of its own: readers leave in any order, and the queue's goes with the
// last of it, which need not be the last to read.
bool dispatch::enqueue_reader(behaviour& b, std::uint32_t i) noexcept {
  slot& s = b.slots()[i];
  cown_base& c = s.cown();
  const std::uint64_t own = b.is(behaviour::holding) ? 0 : 1;
  s.next.store(slot::waiting, sync::memory_order_relaxed);
  slot* const before = c.tail_.exchange(&s, sync::memory_order_acq_rel);
  if (!before) {
    c.refs_.fetch_add(cown_base::one_sent + own + 1, sync::memory_order_relaxed);
    c.readers_.fetch_add(2, sync::memory_order_relaxed);
    open(s, true);
    return true;
  }
  hold_rest(b, i + 1);
  c.refs_.fetch_add(cown_base::one_sent + own, sync::memory_order_relaxed);
  if (!before->is_read()) {
    link(*before, s.name());
    return false;
  }
  // acquire: what the last writer wrote, by way of the reader before us.
  if (before->next.exchange(s.name(), sync::memory_order_acq_rel) == slot::waiting) return false;
  // It reads, so we may as well.
  c.readers_.fetch_add(2, sync::memory_order_relaxed);
  open(s, true);
  return true;
}

// A reader, counted already, has the cown: then so have the readers right behind it. Each is lined
// up after it was opened: as a member of a batch it may run at once, on another thread.
void dispatch::open(slot& s, bool is_ours) noexcept {
  slot* reader = &s;
  for (;;) {
    std::uintptr_t behind = slot::waiting;
    // release: who links itself behind us from now on reads what we may read.
    if (reader->next.compare_exchange_strong(behind, 0, sync::memory_order_release,
                                             sync::memory_order_acquire))
      behind = 0;
    if (behind & slot::name_reads) reader->cown().readers_.fetch_add(2, sync::memory_order_relaxed);
    if (reader != &s || !is_ours) given(*reader);
    if (!(behind & slot::name_reads)) return;
    reader = &slot::named(behind);
  }
}

// Somebody has taken the place behind us, and is about to say so.
std::uintptr_t dispatch::next_of(slot& s) noexcept {
  for (;;) {
    if (const std::uintptr_t next = s.next.load(sync::memory_order_acquire)) return next;
    sync::pause();
  }
}

[[gnu::always_inline]] inline void dispatch::release(slot& s) noexcept {
  if (s.is_read()) [[unlikely]]
    return release_reader(s);
  cown_base& c = s.cown();
  // acquire: shows the behaviour behind us.
  std::uintptr_t next = s.next.load(sync::memory_order_acquire);
  if (!next) {
    slot* last = &s;
    // release: the next holder sees what we did with the value. seq_cst: see went_idle().
    if (c.tail_.compare_exchange_strong(last, nullptr, sync::memory_order_seq_cst,
                                        sync::memory_order_relaxed)) {
      if (c.is_high()) [[unlikely]]
        pressure_board::get().went_idle(*this, c);
      return drop(c);
    }
    next = next_of(s);
  }
  give(c, slot::named(next));
}

void dispatch::release_reader(slot& s) noexcept {
  cown_base& c = s.cown();
  bool emptied = false;
  std::uintptr_t next = s.next.load(sync::memory_order_acquire);
  if (!next) {
    slot* last = &s;
    emptied = c.tail_.compare_exchange_strong(last, nullptr, sync::memory_order_release,
                                              sync::memory_order_relaxed);
    if (!emptied) next = next_of(s);
  }
  std::uint32_t change = 0u - 2;
  if (next && !(next & slot::name_reads)) {
    c.side().next_writer.set(&slot::named(next));
    change = 0u - 1;
  }
  // release: what we read comes before what the writer writes. acquire: shows the writer.
  // seq_cst: see went_idle().
  const std::uint32_t left = c.readers_.fetch_add(change, sync::memory_order_seq_cst) + change;
  if (left == 1) {
    c.readers_.store(0, sync::memory_order_relaxed);
    given(*c.side().next_writer.get());
  } else if (left == 0 && c.is_high()) [[unlikely]] {
    pressure_board::get().went_idle(*this, c);
  }
  drop(c);
  if (emptied) drop(c);
}

inline void dispatch::give(cown_base& c, slot& s) noexcept {
  if (!s.is_read()) [[likely]]
    return given(s);
  c.readers_.fetch_add(2, sync::memory_order_relaxed);
  open(s, false);
}

inline void dispatch::given(slot& s) noexcept {
  slot* const first = s.first();
  behaviour& b = *(reinterpret_cast<behaviour*>(first) - 1);
  if (b.is(behaviour::member)) [[unlikely]] {
    if (&s != &b.last()) s.cown().one_left(!s.is_read());
    // acq_rel: the last cown comes with all of them.
    if (b.left.fetch_sub(1, sync::memory_order_acq_rel) != 1) return;
  } else {
    b.left.store(static_cast<std::uint32_t>(&s - first), sync::memory_order_relaxed);
  }
  b.link = nullptr;
  if (first_)
    last_->link = &b;
  else
    first_ = &b;
  last_ = &b;
}

bool dispatch::line_up(behaviour& b, std::uint32_t i) noexcept { return enqueue(b, i); }
void dispatch::give_on(slot& s) noexcept { release(s); }

// --- steps --------------------------------------------------------------------------------------

// Mostly the first cown is somebody else's, and nothing is left to do.
[[gnu::always_inline]] inline void dispatch::send(pool& home, behaviour& b) noexcept {
  worker* const w = worker_of(home);
  if (w) [[likely]]
    w->count_message();
  if (b.count == 0) return dispatch{home, w}.ready(b);
  const slot& first = b.slots()[0];
  // The lines of the other cowns are left to those who use them, unless something may be the
  // matter.
  if (first.is_read() || pressure_board::is_alert() || cown_access::has_pinned() ||
      is_long(home, first.cown())) [[unlikely]]
    return send_closely(home, w, b);
  if (enqueue_writer(b, 0, w)) begin(home, w, b);
}

[[gnu::noinline]] void dispatch::begin(pool& home, worker* w, behaviour& b) noexcept {
  dispatch d{home, w};
  d.go_on(b, 0);
  d.finish();
}

[[gnu::noinline]] void dispatch::send_closely(pool& home, worker* w, behaviour& b) noexcept {
  bool special = false;
  for (std::uint32_t i = 0; i < b.count; ++i) {
    const cown_base& c = b.slots()[i].cown();
    special |= c.is(cown_base::high | cown_base::low | cown_base::pinned) || is_long(home, c);
  }
  dispatch d{home, w};
  if (special && d.asks_board(b) ? pressure_board::get().send(d, b) : d.enqueue(b, 0))
    d.go_on(b, 0);
  d.finish();
}

bool dispatch::asks_board(behaviour& b) noexcept {
  for (std::uint32_t i = 0; i < b.count; ++i)
    if (b.slots()[i].cown().is(cown_base::pinned)) b.set(behaviour::on_pump);
  return sender_can_be_muted(home_);
}

// Only senders that have cowns are muted, and each only once.
[[gnu::noinline]] bool dispatch::sender_can_be_muted(const pool& home) noexcept {
  const behaviour* const sender = running_behaviour();
  return sender && !sender->mutor && sender->count != 0 && home.mutes_senders();
}

[[gnu::always_inline]] inline void dispatch::go_on(behaviour& b, std::uint32_t i) noexcept {
  for (; i + 1 < b.count; ++i)
    if (!pass_on(b, i)) return;
  prerun(b);
}

// The message leaves the queue of slot i, which it holds from now on, for the next.
[[gnu::always_inline]] inline bool dispatch::pass_on(behaviour& b, std::uint32_t i) noexcept {
  slot& s = b.slots()[i];
  cown_base& c = s.cown();
  const bool overloaded = is_long(home_, c);
  c.one_left(!s.is_read());
  if (b.is(behaviour::mixed)) [[unlikely]]
    return pressure_board::get().pass_on(*this, b, i, overloaded);
  // release: the board may follow it.
  c.blocker_.store(&b.slots()[i + 1].cown(), sync::memory_order_release);
  if (overloaded || (pressure_board::is_alert_now() && pressure_board::look_at(c))) [[unlikely]]
    return pressure_board::get().pass_on(*this, b, i, overloaded);
  return enqueue(b, i + 1);
}

[[gnu::always_inline]] inline void dispatch::prerun(behaviour& b) noexcept {
  const cown_base& last = b.last().cown();
  bool special = false;
  if (b.count == 1) {
    special = !keeps_priority(home_, last);
  } else {
    slot* const end = &b.last();
    for (slot* s = b.slots(); s != end; ++s)
      s->cown().blocker_.store(nullptr, sync::memory_order_relaxed);
    special = b.is(behaviour::listed) || is_long(home_, last);
    if (pressure_board::is_alert_now()) [[unlikely]] {
      special |= last.is(cown_base::pressing);
      for (slot* s = b.slots(); s != end; ++s) special |= pressure_board::look_at(s->cown()) != 0;
    }
  }
  bool has_freed = false;
  if (special) [[unlikely]]
    has_freed = pressure_board::get().prerun(*this, b);
  // Whoever was freed goes first: then the queue shows whether there is room for more.
  ready(b, !has_freed);
}

[[gnu::always_inline]] inline void dispatch::ready(behaviour& b, bool goes_first) noexcept {
  if (home_.drops_behaviours()) [[unlikely]]
    b.set(behaviour::is_dropped);
  if (b.is(behaviour::on_pump)) [[unlikely]]
    if (put_on_pump(b)) return;
  // Next on this worker, if it may: what the cowns hold is in its cache.
  if (worker_ && goes_first) [[likely]]
    worker_->ready(&b);
  else if (worker_)
    worker_->push(&b);
  else
    home_.post(&b);
}

// A behaviour that needs a pump which is gone ends without having run.
bool dispatch::put_on_pump(behaviour& b) noexcept {
  for (std::uint32_t i = 0; i < b.count; ++i)
    if (pump_state* p = pressure_board::pump_of(b.slots()[i].cown()); p && p->put(b)) return true;
  b.set(behaviour::is_dropped);
  return false;
}

[[gnu::always_inline]] inline void dispatch::complete(behaviour& b) noexcept {
  const std::uint32_t count = b.count;
  if (count == 0) return b.free();
  slot* const slots = b.slots();
  slot* const end = slots + count;
  slot& last = slots[count - 1];
  if (!last.is_released()) last.cown().one_left(!last.is_read());
  for (slot* s = slots; s != end; ++s)
    will_write(reinterpret_cast<void*>(s->next.load(sync::memory_order_relaxed)));
  bool special = b.mutor != nullptr;
  // Either who waits for admission sees that there is room, or we see it.
  if (pressure_board::is_alert_now()) [[unlikely]]
    for (slot* s = slots; s != end; ++s) {
      const std::uintptr_t next = s->next.load(sync::memory_order_relaxed);
      if (next == slot::released) continue;
      // The priority of a cown has to be looked at when its queue becomes empty.
      const bool goes_on = next && !s->is_read();
      special |= s->cown().is(goes_on ? cown_base::awaited : cown_base::pressing);
    }
  if (special) [[unlikely]] {
    pressure_board::get().complete(*this, b);
  } else {
    for (slot* s = slots; s != end; ++s)
      if (!s->is_released()) [[likely]]
        release(*s);
    b.free();
  }
  finish();
}

void dispatch::release_early(behaviour& b, slot& s) noexcept {
  cown_base& c = s.cown();
  if (&s == &b.last()) c.one_left(!s.is_read());
  sync::light_fence();
  if (c.is(cown_base::pressing)) [[unlikely]]
    pressure_board::get().release_early(*this, s);
  else
    release(s);
  s.set_released();
  finish();
}

// The batch has all cowns. In the queue of each, its members take the batch's place.
void dispatch::hand_down(behaviour& whole, behaviour* const* members, std::size_t count) noexcept {
  for (std::uint32_t i = 0; i < whole.count; ++i) {
    slot& place = whole.slots()[i];
    cown_base& c = place.cown();
    slot* first = nullptr;
    slot* last = nullptr;
    std::uint32_t heirs = 0;
    std::uint32_t readers = 0;
    for (std::size_t m = 0; m < count; ++m) {
      slot* const s = members[m]->find(c);
      if (!s) continue;
      // A member that reads what the batch reads has it at once.
      s->next.store(s->is_read() && !place.is_read() ? slot::waiting : 0,
                    sync::memory_order_relaxed);
      if (last)
        last->next.store(s->name(), sync::memory_order_relaxed);
      else
        first = s;
      last = s;
      ++heirs;
      readers += s->is_read() ? 1 : 0;
    }
    // Readers have a pointer of their own; the batch's, if it reads, passes to the first.
    c.refs_.fetch_add(heirs * cown_base::one_sent + readers - (place.is_read() ? 1 : 0),
                      sync::memory_order_relaxed);
    if (i + 1 == whole.count) c.one_left(!place.is_read());
    if (place.is_read()) c.readers_.fetch_add(2 * (heirs - 1), sync::memory_order_relaxed);
    std::uintptr_t behind = place.next.load(sync::memory_order_acquire);
    if (!behind) {
      slot* tail = &place;
      if (!c.tail_.compare_exchange_strong(tail, last, sync::memory_order_release,
                                           sync::memory_order_relaxed))
        behind = next_of(place);
    }
    if (behind) last->next.store(behind, sync::memory_order_release);
    if (!place.is_read()) {
      give(c, *first);
      continue;
    }
    for (slot* s = first; s;) {
      // Asked first: once it has all its cowns it may run, and end, on another thread.
      slot* const next =
          s == last ? nullptr : &slot::named(s->next.load(sync::memory_order_relaxed));
      given(*s);
      s = next;
    }
  }
  for (std::size_t m = 0; m < count; ++m)
    if (members[m]->count == 0) ready(*members[m]);
  whole.free();
  finish();
}

void dispatch::let_go_on() noexcept {
  while (behaviour* b = first_) {
    first_ = static_cast<behaviour*>(b->link);
    if (b->is(behaviour::member))
      prerun(*b);
    else
      go_on(*b, b->left.load(sync::memory_order_relaxed));
  }
  if (ended_ || dropped_) [[unlikely]]
    clean_up();
}

void dispatch::clean_up() noexcept {
  while (behaviour* b = ended_) {
    ended_ = static_cast<behaviour*>(b->link);
    if (b->mutor) b->mutor->drop_ref();
    b->free();
  }
  if (!dropped_) return;
  const std::unique_ptr<std::vector<cown_base*>> all{std::exchange(dropped_, nullptr)};
  for (cown_base* c : *all) c->drop_ref();
}

void dispatch::drop(cown_base& c) noexcept {
  if (locked)
    drop_later(c);
  else
    c.drop_ref();
}

// --- one cown -----------------------------------------------------------------------------------

// The same steps, in one go, for behaviours with one cown whose priority stays as it is.

// Whether the cown has the priority that it should have when its next message begins, and nobody is
// to be freed: then the board need not be asked. Between the marks all stays as it is.
[[gnu::always_inline]] inline bool dispatch::keeps_priority(const pool& home,
                                                            const cown_base& c) noexcept {
  const std::uint32_t state = c.state_.load(sync::memory_order_relaxed);
  const std::uint32_t pressing = state & cown_base::pressing;
  if (!pressing) [[likely]]
    return !is_long(home, c, state);
  if (pressing != cown_base::high) return false;
  return state & cown_base::strained ? is_long(home, c, state) : keeps_ease(c, state);
}

[[gnu::noinline]] bool dispatch::keeps_ease(const cown_base& c, std::uint32_t state) noexcept {
  const std::uint32_t threshold = state >> cown_base::threshold_shift;
  const std::int32_t load = c.load();
  return load > cown_base::mark(threshold, true) && load <= cown_base::mark(threshold, false) &&
         !c.is_turn_over();
}

[[gnu::always_inline]] inline void dispatch::start_one(pool& home, worker* w, behaviour& b,
                                                       cown_base& c) noexcept {
  if (!w || home.drops_behaviours() || b.is(behaviour::on_pump) || !keeps_priority(home, c))
      [[unlikely]]
    return prerun_alone(home, b);
  w->ready(&b);
}

[[gnu::noinline]] void dispatch::prerun_alone(pool& home, behaviour& b) noexcept {
  dispatch d{home};
  d.prerun(b);
  d.finish();
}

[[gnu::noinline]] void dispatch::give_alone(pool& home, cown_base& c, slot& next) noexcept {
  dispatch d{home};
  d.give(c, next);
  d.finish();
}

[[gnu::noinline]] void dispatch::empty_high(pool& home, cown_base& c) noexcept {
  dispatch d{home};
  pressure_board::get().went_idle(d, c);
  d.finish();
}

[[gnu::noinline]] void dispatch::send_pressed(pool& home, worker* w, behaviour& b) noexcept {
  if (w) w->count_message();
  dispatch d{home, w};
  if (pressure_board::get().send(d, b)) d.go_on(b, 0);
  d.finish();
}

[[gnu::noinline]] void dispatch::complete_pressed(pool& home, worker* w, behaviour& b) noexcept {
  dispatch d{home, w};
  b.slots()[0].cown().one_left(true);
  pressure_board::get().complete(d, b);
  d.finish();
}

[[gnu::always_inline]] inline bool dispatch::send_one(pool& home, behaviour& b) noexcept {
  slot& s = b.slots()[0];
  cown_base& c = s.cown();
  const std::uint32_t state = c.state_.load(sync::memory_order_relaxed);
  if (s.is_read() || (state & cown_base::pinned)) [[unlikely]]
    return false;
  worker* const w = worker_of(home);
  if (((state & cown_base::strained) || is_long(home, c, state)) && sender_can_be_muted(home))
      [[unlikely]]
    return send_pressed(home, w, b), true;
  if (w) w->count_message();
  if (enqueue_writer(b, 0, w)) start_one(home, w, b, c);
  return true;
}

[[gnu::always_inline]] inline bool dispatch::complete_one(pool& home, worker* w,
                                                          behaviour& b) noexcept {
  slot& s = b.slots()[0];
  cown_base& c = s.cown();
  std::uintptr_t next = s.next.load(sync::memory_order_acquire);
  // As in complete(). Who waits for admission is looked for below.
  if (s.is_read() || next == slot::released) [[unlikely]]
    return false;
  if (b.mutor || (!next && c.is(cown_base::high | cown_base::low))) [[unlikely]]
    return complete_pressed(home, w, b), true;
  c.one_left(true);
  // Either who waits for admission sees that there is room, or we see it.
  sync::light_fence();
  if (c.is(cown_base::awaited)) [[unlikely]]
    pressure_board::get().let_in(c);
  if (!next) {
    slot* last = &s;
    if (c.tail_.compare_exchange_strong(last, nullptr, sync::memory_order_seq_cst,
                                        sync::memory_order_relaxed)) {
      b.free();
      if (c.is_high()) [[unlikely]]
        empty_high(home, c);
      c.drop_ref();
      return true;
    }
    next = next_of(s);
  }
  b.free();
  slot& n = slot::named(next);
  // Whoever comes after it was perhaps made by another core: it may as well be on its way.
  if (const std::uintptr_t behind = n.next.load(sync::memory_order_relaxed))
    will_write(reinterpret_cast<void*>(behind));
  if (!(next & slot::name_reads) && n.is_first()) [[likely]] {
    behaviour& heir = *(reinterpret_cast<behaviour*>(&n) - 1);
    if (heir.count == 1 && !heir.is(behaviour::member)) [[likely]] {
      start_one(home, w, heir, c);
      return true;
    }
  }
  give_alone(home, c, n);
  return true;
}

void send(behaviour& b, pool& home) noexcept { dispatch::send(home, b); }

void send_one(behaviour& b, pool& home) noexcept {
  if (!dispatch::send_one(home, b)) [[unlikely]]
    send(b, home);
}

void complete(behaviour& b) noexcept {
  const dispatch::stage at = dispatch::stop_running(b);
  dispatch{at.home, at.here}.complete(b);
}

void complete_one(behaviour& b) noexcept {
  const dispatch::stage at = dispatch::stop_running(b);
  if (!dispatch::complete_one(at.home, at.here, b)) [[unlikely]]
    complete(b);
}

}  // namespace rota::detail
