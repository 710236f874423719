#include "cown/dispatch.h"

#include <rota/base/assert.h>
#include <rota/cown/pump.h>

#include "cown/cown_side.h"
#include "cown/pressure_board.h"

namespace rota::detail {

// --- queues -------------------------------------------------------------------------------------

// A behaviour that waits is in one queue, which keeps that cown alive. Those that it has yet to
// come to need a pointer each; as long as nobody waits, the sender's own are enough.
void dispatch::hold_rest(behaviour& b, std::uint32_t from) noexcept {
  if (b.is(behaviour::holding)) return;
  for (std::uint32_t i = from; i < b.count; ++i) b.slots()[i].cown().add_ref();
  b.set(behaviour::holding);
}

bool dispatch::enqueue(behaviour& b, std::uint32_t i) noexcept {
  slot& s = b.slots()[i];
  if (s.is_read()) [[unlikely]]
    return enqueue_reader(b, i);
  cown_base& c = s.cown();
  // acquire: shows what the last holder did with the value. release: whoever comes behind us
  // sees our slot.
  slot* const before = c.tail_.exchange(&s, sync::memory_order_acq_rel);
  if (!before) {
    // A queue that is not empty has a pointer to its cown. Ours becomes that, if we hold one.
    c.refs_.fetch_add(cown_base::one_sent + (b.is(behaviour::holding) ? 0 : 1),
                      sync::memory_order_relaxed);
    // acquire: what readers read comes before what we write.
    if (c.readers_.load(sync::memory_order_acquire) == 0) [[likely]]
      return true;
    return wait_for_readers(b, i);
  }
  // The queue cannot become empty before we are linked. After that, b is somebody else's.
  const bool held = b.is(behaviour::holding);
  hold_rest(b, i + 1);
  c.refs_.fetch_add(cown_base::one_sent - (held ? 1 : 0), sync::memory_order_relaxed);
  // release: who gives us the cown sees the behaviour.
  before->next.store(&s, sync::memory_order_release);
  return false;
}

// First in the queue, but readers who are in no queue any more still read.
bool dispatch::wait_for_readers(behaviour& b, std::uint32_t i) noexcept {
  slot& s = b.slots()[i];
  cown_base& c = s.cown();
  hold_rest(b, i + 1);
  c.side().next_writer = &s;
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
  s.next.store(slot::waiting(), sync::memory_order_relaxed);
  slot* const before = c.tail_.exchange(&s, sync::memory_order_acq_rel);
  if (!before) {
    c.refs_.fetch_add(cown_base::one_sent + own + 1, sync::memory_order_relaxed);
    c.readers_.fetch_add(2, sync::memory_order_relaxed);
    open(s, false);
    return true;
  }
  hold_rest(b, i + 1);
  c.refs_.fetch_add(cown_base::one_sent + own, sync::memory_order_relaxed);
  if (!before->is_read()) {
    before->next.store(&s, sync::memory_order_release);
    return false;
  }
  // acquire: what the last writer wrote, by way of the reader before us.
  if (before->next.exchange(&s, sync::memory_order_acq_rel) == slot::waiting()) return false;
  // It reads, so we may as well.
  c.readers_.fetch_add(2, sync::memory_order_relaxed);
  open(s, false);
  return true;
}

// A reader, counted already, has the cown: then so have the readers right behind it. A reader is
// told last, since a member of a batch may run as soon as it is: others give it its other cowns.
void dispatch::open(slot& s, bool tell) noexcept {
  for (slot* reader = &s;;) {
    slot* behind = slot::waiting();
    // release: who links itself behind us from now on reads what we may read.
    const bool is_last = reader->next.compare_exchange_strong(
        behind, nullptr, sync::memory_order_release, sync::memory_order_acquire);
    const bool goes_on = !is_last && behind && behind->is_read();
    if (goes_on) behind->cown().readers_.fetch_add(2, sync::memory_order_relaxed);
    if (tell) given(*reader);
    if (!goes_on) return;
    tell = true;
    reader = behind;
  }
}

// Somebody has taken the place behind us, and is about to say so.
slot* dispatch::next_of(slot& s) noexcept {
  for (;;) {
    if (slot* next = s.next.load(sync::memory_order_acquire)) return next;
    sync::pause();
  }
}

void dispatch::release(slot& s) noexcept {
  if (s.is_read()) [[unlikely]]
    return release_reader(s);
  cown_base& c = s.cown();
  // acquire: shows the behaviour behind us.
  slot* next = s.next.load(sync::memory_order_acquire);
  if (!next) {
    slot* last = &s;
    // release: the next holder sees what we did with the value.
    if (c.tail_.compare_exchange_strong(last, nullptr, sync::memory_order_release,
                                        sync::memory_order_relaxed))
      return drop(c);
    next = next_of(s);
  }
  give(c, *next);
}

void dispatch::release_reader(slot& s) noexcept {
  cown_base& c = s.cown();
  bool emptied = false;
  slot* next = s.next.load(sync::memory_order_acquire);
  if (!next) {
    slot* last = &s;
    emptied = c.tail_.compare_exchange_strong(last, nullptr, sync::memory_order_release,
                                              sync::memory_order_relaxed);
    if (!emptied) next = next_of(s);
  }
  std::uint32_t change = 0u - 2;
  if (next && !next->is_read()) {
    c.side().next_writer = next;
    change = 0u - 1;
  }
  // release: what we read comes before what the writer writes. acquire: shows the writer.
  if (c.readers_.fetch_add(change, sync::memory_order_acq_rel) + change == 1) {
    c.readers_.store(0, sync::memory_order_relaxed);
    given(*c.side().next_writer);
  }
  drop(c);
  if (emptied) drop(c);
}

inline void dispatch::give(cown_base& c, slot& s) noexcept {
  if (!s.is_read()) [[likely]]
    return given(s);
  c.readers_.fetch_add(2, sync::memory_order_relaxed);
  open(s, true);
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
  if (last_)
    last_->link = &b;
  else
    first_ = &b;
  last_ = &b;
}

// --- steps --------------------------------------------------------------------------------------

void dispatch::send(behaviour& b) noexcept {
  if (b.count == 0) return ready(b);
  bool special = false;
  for (std::uint32_t i = 0; i < b.count; ++i)
    special |= b.slots()[i].cown().is(cown_base::high | cown_base::low | cown_base::pinned);
  if (special ? pressure_board::get().send(*this, b) : enqueue(b, 0)) go_on(b, 0);
  finish();
}

void dispatch::go_on(behaviour& b, std::uint32_t i) noexcept {
  for (; i + 1 < b.count; ++i)
    if (!pass_on(b, i)) return;
  prerun(b);
}

// The message leaves the queue of slot i, which it holds from now on, for the next.
bool dispatch::pass_on(behaviour& b, std::uint32_t i) noexcept {
  slot& s = b.slots()[i];
  cown_base& c = s.cown();
  const bool overloaded = is_long(c);
  c.one_left(!s.is_read());
  if (b.is(behaviour::mixed)) [[unlikely]]
    return pressure_board::get().pass_on(*this, b, i, overloaded);
  // release: the board may follow it.
  c.blocker_.store(&b.slots()[i + 1].cown(), sync::memory_order_release);
  // Either the board, which raises c and then looks for its blocker, sees it, or we see that c is
  // raised.
  sync::light_fence();
  if (c.is(cown_base::pressing) || overloaded) [[unlikely]]
    return pressure_board::get().pass_on(*this, b, i, overloaded);
  return enqueue(b, i + 1);
}

void dispatch::prerun(behaviour& b) noexcept {
  const std::uint32_t last = b.count - 1;
  for (std::uint32_t i = 0; i < last; ++i)
    b.slots()[i].cown().blocker_.store(nullptr, sync::memory_order_relaxed);
  // Either the board sees no blocker any more, or we see that a cown of ours is raised, and wait
  // until it has done with what it found.
  sync::light_fence();
  bool special = b.is(behaviour::listed) || is_long(b.last().cown());
  for (std::uint32_t i = 0; i <= last; ++i) special |= b.slots()[i].cown().is(cown_base::pressing);
  if (special) [[unlikely]]
    pressure_board::get().prerun(*this, b);
  ready(b);
}

void dispatch::ready(behaviour& b) noexcept {
  if (home_.drops_behaviours()) [[unlikely]]
    b.set(behaviour::is_dropped);
  if (b.is(behaviour::on_pump)) [[unlikely]]
    return put_on_pump(b);
  if (worker_)
    worker_->push(&b);
  else
    home_.post(&b);
}

void dispatch::put_on_pump(behaviour& b) noexcept {
  for (std::uint32_t i = 0; i < b.count; ++i)
    if (pump* p = pressure_board::pump_of(b.slots()[i].cown())) return p->put(b);
}

void dispatch::complete(behaviour& b) noexcept {
  if (b.count == 0) return b.free();
  slot& last = b.last();
  if (!last.is_released()) last.cown().one_left(!last.is_read());
  // Either who waits for admission sees that there is room, or we see it.
  sync::light_fence();
  bool special = b.mutor != nullptr;
  for (std::uint32_t i = 0; i < b.count; ++i) {
    const slot& s = b.slots()[i];
    special |= !s.is_released() && s.cown().is(cown_base::pressing);
  }
  if (special) [[unlikely]] {
    pressure_board::get().complete(*this, b);
  } else {
    for (std::uint32_t i = 0; i < b.count; ++i)
      if (!b.slots()[i].is_released()) release(b.slots()[i]);
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
  s.word |= slot::released;
  finish();
}

// The batch has all cowns. In the queue of each, its members take the batch's place.
void dispatch::hand_down(behaviour& batch, behaviour* const* members, std::size_t count) noexcept {
  for (std::uint32_t i = 0; i < batch.count; ++i) {
    slot& place = batch.slots()[i];
    cown_base& c = place.cown();
    slot* first = nullptr;
    slot* last = nullptr;
    std::uint32_t heirs = 0;
    std::uint32_t readers = 0;
    for (std::size_t m = 0; m < count; ++m) {
      slot* const s = members[m]->find(c);
      if (!s) continue;
      // A member that reads what the batch reads has it at once.
      s->next.store(s->is_read() && !place.is_read() ? slot::waiting() : nullptr,
                    sync::memory_order_relaxed);
      if (last)
        last->next.store(s, sync::memory_order_relaxed);
      else
        first = s;
      last = s;
      ++heirs;
      readers += s->is_read() ? 1 : 0;
    }
    // Readers have a pointer of their own; the batch's, if it reads, passes to the first.
    c.refs_.fetch_add(heirs * cown_base::one_sent + readers - (place.is_read() ? 1 : 0),
                      sync::memory_order_relaxed);
    if (i + 1 == batch.count) c.one_left(!place.is_read());
    if (place.is_read()) c.readers_.fetch_add(2 * (heirs - 1), sync::memory_order_relaxed);
    slot* behind = place.next.load(sync::memory_order_acquire);
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
    for (slot* s = first;; s = s->next.load(sync::memory_order_relaxed)) {
      const bool is_last = s == last;
      given(*s);
      if (is_last) break;
    }
  }
  for (std::size_t m = 0; m < count; ++m)
    if (members[m]->count == 0) ready(*members[m]);
  batch.free();
  finish();
}

void dispatch::finish() noexcept {
  while (behaviour* b = first_) {
    first_ = static_cast<behaviour*>(b->link);
    if (!first_) last_ = nullptr;
    b->link = nullptr;
    if (b->is(behaviour::member))
      prerun(*b);
    else
      go_on(*b, b->left.load(sync::memory_order_relaxed));
  }
  while (!ended_.empty()) {
    behaviour* b = ended_.back();
    ended_.pop_back();
    if (b->mutor) b->mutor->drop_ref();
    b->free();
  }
  while (!dropped_.empty()) {
    cown_base* c = dropped_.back();
    dropped_.pop_back();
    c->drop_ref();
  }
}

void dispatch::drop(cown_base& c) noexcept {
  if (locked)
    drop_later(c);
  else
    c.drop_ref();
}

}  // namespace rota::detail
