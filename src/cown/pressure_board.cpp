#include "cown/pressure_board.h"

#include <rota/base/assert.h>
#include <rota/cown/pressure.h>

#include <algorithm>
#include <array>
#include <coroutine>
#include <utility>
#include <vector>

namespace rota::detail {

namespace {

void count(sync::cell<std::uint32_t>& n, int change) noexcept {
  n.set(n.get() + static_cast<std::uint32_t>(change));
}

// How many there are, for who looks. An explorer has nobody who looks.
real_sync::atomic<std::uint64_t> overloaded_cowns{0};
real_sync::atomic<std::uint64_t> muted_cowns{0};

// What becomes of a cown, for who looks. Under the lock.
void note(trace_kind kind, const cown_base& c) noexcept {
  if constexpr (sync::is_explored) return;
  auto& count =
      kind == trace_kind::mute || kind == trace_kind::unmute ? muted_cowns : overloaded_cowns;
  const bool begins = kind == trace_kind::mute || kind == trace_kind::overload;
  const std::uint64_t before = count.load(real_sync::memory_order_relaxed);
  count.store(begins ? before + 1 : before - 1, real_sync::memory_order_relaxed);
  const worker* const w = worker::here();
  if (!w || !w->trace()) [[likely]]
    return;
  w->trace()->add({.at = trace_time(), .subject = &c, .kind = kind});
}

constexpr std::size_t everybody = ~std::size_t{0};

// Cowns that something is yet to be done with. Few, mostly, so that no memory is asked for.
class todo_list {
 public:
  explicit todo_list(cown_base& first) noexcept { few_[count_++] = &first; }

  void add(cown_base& c) {
    if (count_ < few_.size())
      few_[count_++] = &c;
    else
      many_.push_back(&c);
  }

  // The next, or null.
  cown_base* take() noexcept {
    if (!many_.empty()) {
      cown_base* const c = many_.back();
      many_.pop_back();
      return c;
    }
    return count_ == 0 ? nullptr : few_[--count_];
  }

 private:
  std::array<cown_base*, 16> few_;
  std::size_t count_ = 0;
  std::vector<cown_base*> many_;
};

}  // namespace

class pressure_board::locked {
 public:
  locked(pressure_board& board, dispatch& d) noexcept : board_(board), dispatch_(d) {
    board_.lock_.lock();
    dispatch_.locked = true;
  }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;
  ~locked() {
    dispatch_.locked = false;
    board_.lock_.unlock();
  }

 private:
  pressure_board& board_;
  dispatch& dispatch_;
};

pressure_board& pressure_board::get() noexcept {
  static pressure_board board;
  return board;
}

namespace {

// Read-modify-writes, since look_at() is one. seq_cst: see went_idle().
void add(sync::atomic<std::uint32_t>& state, std::uint32_t bits) noexcept {
  state.fetch_or(bits, sync::memory_order_seq_cst);
}

// relaxed: a bit that is gone says nothing else. What look_at() has released goes on through this.
void take(sync::atomic<std::uint32_t>& state, std::uint32_t bits) noexcept {
  state.fetch_and(~bits, sync::memory_order_relaxed);
}

// The same for a cown whose behaviour has ended and holds it still: nobody else looks at it without
// the lock.
void change_held(sync::atomic<std::uint32_t>& state, std::uint32_t adds,
                 std::uint32_t takes) noexcept {
  const std::uint32_t now = state.load(sync::memory_order_relaxed);
  state.store((now | adds) & ~takes, sync::memory_order_relaxed);
}

}  // namespace

// --- the steps ----------------------------------------------------------------------------------

bool pressure_board::send(dispatch& d, behaviour& b) noexcept {
  const locked guard{*this, d};
  cown_base* mutor = nullptr;
  for (std::uint32_t i = 0; i < b.count; ++i) {
    cown_base& c = b.slots()[i].cown();
    bool overloaded = d.is_long(c);
    if (overloaded && !c.is(cown_base::high | cown_base::low)) {
      // Found here rather than when it runs next: until then others might send for long. Messages
      // leave c without the lock, and the last of them may have done so unaware of this: so we look
      // again, before anybody else gets priority. is_idle() comes first: it shows who has left.
      set_high(c);
      overloaded = !is_idle(c) &&
                   dispatch::is_newly_long(d.home(), c, c.state_.load(sync::memory_order_relaxed));
      if (overloaded)
        raise(d, c);
      else
        set_normal(c);
    }
    const bool mutes = c.is(cown_base::low) ||
                       (c.is(cown_base::high) && (overloaded || c.side().pressure.get() != 0));
    if (mutes && !mutor) mutor = &c;
  }
  if (mutor) name_mutor(*running_behaviour(), b, *mutor);
  return d.line_up(b, 0);
}

// Unless a sender cannot be muted or is among the receivers. Cowns that the sender only reads are
// left out of it: others read them too.
void pressure_board::name_mutor(behaviour& sender, behaviour& b, cown_base& mutor) noexcept {
  for (std::uint32_t i = 0; i < sender.count; ++i) {
    const slot& s = sender.slots()[i];
    if (s.is_read() || s.is_released()) continue;
    if (!can_be_muted(s.cown()) || b.has(s.cown())) return;
  }
  mutor.add_ref();
  sender.mutor = &mutor;
}

bool pressure_board::pass_on(dispatch& d, behaviour& b, std::uint32_t i, bool overloaded) noexcept {
  const locked guard{*this, d};
  slot& s = b.slots()[i];
  cown_base& c = s.cown();
  cown_base& next = b.slots()[i + 1].cown();
  if (s.is_read()) {
    c.side().readers.push_back({&b, &next, false});
    b.set(behaviour::listed);
  } else {
    c.blocker_.store(&next, sync::memory_order_release);
  }
  if (overloaded || c.is(cown_base::high)) raise(d, c);
  admit(c);
  return d.line_up(b, i + 1);
}

bool pressure_board::prerun(dispatch& d, behaviour& b) noexcept {
  const locked guard{*this, d};
  forget_urges(b);
  const bool freed = settle_to_run(d, b.last().cown());
  for (std::uint32_t i = 0; i < b.count; ++i) admit(b.slots()[i].cown());
  return freed;
}

void pressure_board::end_urge(cown_side& side) noexcept {
  cown_base* const to = side.urges.get();
  if (!to) return;
  side.urges.set(nullptr);
  count(to->side().urged, -1);
}

// The behaviour waits no more, so nothing is urged for it.
void pressure_board::forget_urges(behaviour& b) noexcept {
  for (std::uint32_t i = 0; i + 1 < b.count; ++i) {
    slot& s = b.slots()[i];
    cown_side* const side = s.cown().side_.load(sync::memory_order_acquire);
    if (!side) continue;
    if (!s.is_read()) {
      end_urge(*side);
      continue;
    }
    const auto mine = std::find_if(side->readers.begin(), side->readers.end(),
                                   [&](const cown_side::reader& r) { return r.who == &b; });
    if (mine == side->readers.end()) continue;
    if (mine->urges) count(mine->waits_for->side().urged, -1);
    side->readers.erase(mine);
  }
  b.clear(behaviour::listed);
}

void pressure_board::complete(dispatch& d, behaviour& b) noexcept {
  const locked guard{*this, d};
  const bool stays = mute(b);
  for (std::uint32_t i = 0; i < b.count; ++i) {
    slot& s = b.slots()[i];
    cown_base& c = s.cown();
    if (s.is_released() || c.is(cown_base::low)) continue;
    leave(d, s);
  }
  if (!stays) d.free_later(b);
}

void pressure_board::release_early(dispatch& d, slot& s) noexcept {
  const locked guard{*this, d};
  leave(d, s);
}

// A behaviour that has run gives one of its cowns back.
void pressure_board::leave(dispatch& d, slot& s) {
  cown_base& c = s.cown();
  if (!s.is_read() && c.tail_.load(sync::memory_order_relaxed) == &s) settle(d, c);
  admit(c);
  release(d, s);
}

void pressure_board::went_idle(dispatch& d, cown_base& c) noexcept {
  if (d.locked) return settle_if_idle(d, c);
  const locked guard{*this, d};
  settle_if_idle(d, c);
}

// Of who leaves, and then looks at the priority, and who gives priority, and then looks here, at
// least one sees what the other did. Both loads, since one of them shows that the last has left,
// and with it what it did before.
bool pressure_board::is_idle(const cown_base& c) noexcept {
  const slot* const last = c.tail_.load(sync::memory_order_seq_cst);
  const std::uint32_t readers = c.readers_.load(sync::memory_order_seq_cst);
  return !last && readers == 0;
}

void pressure_board::settle_if_idle(dispatch& d, cown_base& c) {
  // Somebody may have come meanwhile, who settles it then.
  if (!is_idle(c)) return;
  settle(d, c);
  admit(c);
}

// A cown that is normal, or has high priority for nothing but its own load.
bool pressure_board::can_be_muted(const cown_base& c) noexcept {
  if (!c.is(cown_base::high)) return true;
  const cown_side* const side = c.side_.load(sync::memory_order_acquire);
  return !side || (side->pressure.get() == 0 && side->urged.get() == 0);
}

// Whether `mutor` waits, over any number of others, for c.
bool pressure_board::waits_for(const cown_base& mutor, const cown_base& c) noexcept {
  const cown_base* m = &mutor;
  while (m != &c && m->is(cown_base::low))
    m = behaviour::of(*m->side_.load(sync::memory_order_acquire)->muted_at.get()).mutor;
  return m == &c;
}

// Mutes the cowns of a behaviour that has named a mutor, if that is not normal again. True: the
// behaviour stays as the token of those that are muted.
bool pressure_board::mute(behaviour& b) noexcept {
  if (!b.mutor || !b.mutor->is(cown_base::high | cown_base::low)) return false;
  std::uint32_t muted = 0;
  for (std::uint32_t i = 0; i < b.count; ++i) {
    slot& s = b.slots()[i];
    cown_base& c = s.cown();
    if (s.is_read() || s.is_released() || !can_be_muted(c) || waits_for(*b.mutor, c)) continue;
    // The next member of our batch holds other cowns while it waits for this one. It came in our
    // place, so nobody has to be waited for to see it.
    const std::uintptr_t next = s.next.load(sync::memory_order_acquire);
    if (next && behaviour::of(slot::named(next)).is(behaviour::member)) continue;
    set_normal(c);
    change_held(c.state_, cown_base::low | cown_base::strained, 0);
    note(trace_kind::mute, c);
    c.side().muted_at.set(&s);
    ++muted;
  }
  if (muted == 0) return false;
  b.left.store(muted, sync::memory_order_relaxed);
  b.mutor->side().muted.add(b);
  return true;
}

// --- priority -----------------------------------------------------------------------------------

// Gives high priority to a cown and to all that it waits for.
void pressure_board::raise(dispatch& d, cown_base& first) {
  todo_list todo{first};
  while (cown_base* const next = todo.take()) {
    cown_base& c = *next;
    if (!c.is(cown_base::high)) {
      const bool muted = c.is(cown_base::low);
      set_high(c);
      if (muted) unmute(d, *c.side().muted_at.get());
    }
    cown_side& side = c.side();
    const auto urge = [&](cown_base& to) {
      count(to.side().urged, +1);
      todo.add(to);
    };
    // acquire: shows the cown there. It lives: its message cannot run without coming here.
    cown_base* const to = c.blocker_.load(sync::memory_order_acquire);
    if (to && side.urges.get() != to) {
      ROTA_ASSERT(!side.urges.get(), "a cown urges two others");
      side.urges.set(to);
      urge(*to);
    }
    for (cown_side::reader& r : side.readers)
      if (!r.urges) {
        r.urges = true;
        urge(*r.waits_for);
      }
  }
}

// True: nobody was alert before, and perhaps not everybody is. A heavy fence has to follow.
bool pressure_board::count_alarm() noexcept {
  const std::size_t before = alarms_.load(sync::memory_order_relaxed);
  alarms_.store(before + 1, sync::memory_order_relaxed);
  if (before != 0 || alert_.load(sync::memory_order_relaxed)) return false;
  alert_.store(true, sync::memory_order_relaxed);
  return true;
}

void pressure_board::count_calm() noexcept {
  const std::size_t left = alarms_.load(sync::memory_order_relaxed) - 1;
  alarms_.store(left, sync::memory_order_relaxed);
  if (left != 0) return;
  const unsigned calms = calms_.load(sync::memory_order_relaxed) + 1;
  calms_.store(calms % calms_until_rest, sync::memory_order_relaxed);
  if (calms == calms_until_rest) alert_.store(false, sync::memory_order_relaxed);
}

void pressure_board::set_high(cown_base& c) {
  if (c.is(cown_base::high)) return;
  // Whoever has not seen the alert has written where it goes: we see that.
  if (count_alarm()) sync::heavy_fence();
  if (c.is(cown_base::low)) note(trace_kind::unmute, c);
  add(c.state_, cown_base::high | cown_base::strained);
  take(c.state_, cown_base::low);
  note(trace_kind::overload, c);
}

void pressure_board::set_normal(cown_base& c) noexcept {
  if (!c.is(cown_base::high)) return;
  end_ease(c);
  take(c.state_, cown_base::high | cown_base::strained);
  note(trace_kind::relief, c);
  count_calm();
}

// What a cown is after a message has begun to run there, or the last one has left.
void pressure_board::settle(dispatch& d, cown_base& c) {
  const cown_side* const side = c.side_.load(sync::memory_order_acquire);
  const bool overloaded = d.is_long(c) || (side && side->pressure.get() != 0);
  if (overloaded || (side && side->urged.get() != 0)) {
    // Nobody holds c who might go on to another, so there is nothing to pass on.
    set_high(c);
    return;
  }
  set_normal(c);
  free_muted(d, c, everybody);
}

// What a cown is when a message begins to run there. If it has caught up, and has high priority for
// nothing but its own load, it frees the oldest of whom it has muted: one, and more while that does
// not fill the queue. All at once would be muted again, each for a single message. For the others
// it stays high, so that it comes here again. True: some are free.
bool pressure_board::settle_to_run(dispatch& d, cown_base& c) {
  cown_side* const side = c.side_.load(sync::memory_order_acquire);
  if (!c.is(cown_base::high) || !side || side->muted.empty() || side->pressure.get() != 0 ||
      side->urged.get() != 0) {
    settle(d, c);
    return false;
  }
  const std::int32_t load = c.load();
  if (load > cown_base::mark(c.threshold(), false)) end_ease(c);
  if (load > cown_base::mark(c.threshold(), true)) {
    if (c.is(cown_base::strained) || !c.is_turn_over()) return false;
    side->batch = 1;
  }
  free_muted(d, c, side->batch);
  if (side->muted.empty()) {
    set_normal(c);
  } else {
    side->batch *= 2;
    take(c.state_, cown_base::strained);
  }
  return true;
}

// The queue is too long again, or nobody is left to be freed.
void pressure_board::end_ease(cown_base& c) noexcept {
  if (!cown_base::is_eased(c.state_.load(sync::memory_order_relaxed))) return;
  add(c.state_, cown_base::strained);
  c.side().batch = 1;
}

// --- muting -------------------------------------------------------------------------------------

// Frees so many of whom a cown has muted, the oldest first, and all whom these have muted, for they
// are normal now; but whose queue is too long has to do with that first.
void pressure_board::free_muted(dispatch& d, cown_base& first, std::size_t most) {
  todo_list todo{first};
  while (cown_base* const next = todo.take()) {
    cown_side* const side = next->side_.load(sync::memory_order_acquire);
    if (!side || side->muted.empty()) continue;
    // Each token has a pointer to its mutor. They go together.
    std::size_t n = std::min(next == &first ? most : everybody, side->muted.size());
    next->refs_.fetch_sub(n - 1, sync::memory_order_relaxed);
    d.drop_later(*next);
    for (; n > 0; --n) {
      behaviour* const token = side->muted.first();
      side->muted.remove(*token);
      token->mutor = nullptr;
      for (std::uint32_t i = 0; i < token->count; ++i) {
        slot& s = token->slots()[i];
        // Those that it holds and has not muted are about to be released by complete().
        if (s.is_released() || !s.cown().is(cown_base::low)) continue;
        cown_base& c = s.cown();
        const bool is_long = d.is_long(c);
        change_held(c.state_, 0, cown_base::low | cown_base::strained);
        note(trace_kind::unmute, c);
        if (is_long)
          set_high(c);
        else
          todo.add(c);
        // If its queue is empty, nobody comes by who could do it later.
        admit(c);
        release(d, s);
      }
      d.free_later(*token);
    }
  }
}

// Frees one cown, which has got high priority.
void pressure_board::unmute(dispatch& d, slot& s) {
  behaviour& token = behaviour::of(s);
  release(d, s);
  const std::uint32_t left = token.left.load(sync::memory_order_relaxed) - 1;
  token.left.store(left, sync::memory_order_relaxed);
  if (left != 0) return;
  cown_side& mutor = token.mutor->side();
  mutor.muted.remove(token);
  if (mutor.muted.empty()) end_ease(*token.mutor);
  d.free_later(token);
}

// Notes it too: the cown of a slot that is released may be gone.
void pressure_board::release(dispatch& d, slot& s) noexcept {
  d.give_on(s);
  s.set_released();
}

// --- from outside -------------------------------------------------------------------------------

void pressure_board::press(dispatch& d, cown_base& c, pressure_source& source) {
  const locked guard{*this, d};
  source = {&d.home(), &c, sources_.load(sync::memory_order_relaxed)};
  sources_.store(&source, sync::memory_order_relaxed);
  c.add_ref();
  // Who has put pressure is expected to take it away.
  d.home().expect_outside(+1);
  count(c.side().pressure, +1);
  end_ease(c);
  raise(d, c);
}

void pressure_board::relieve(pressure_source& source) noexcept {
  // Its runtime may have ended, and the pressure with it.
  std::unique_lock held{lock_};
  if (!source.cown) return;
  dispatch d{*source.home};
  d.locked = true;
  take_off(d, source);
  d.locked = false;
  held.unlock();
  d.finish();
  d.home().expect_outside(-1);
}

void pressure_board::relieve_all(dispatch& d) noexcept {
  const locked guard{*this, d};
  pressure_source* next = sources_.load(sync::memory_order_relaxed);
  while (pressure_source* source = next) {
    next = source->next;
    if (source->home != &d.home()) continue;
    take_off(d, *source);
    d.home().expect_outside(-1);
  }
}

void pressure_board::take_off(dispatch& d, pressure_source& source) noexcept {
  if (pressure_source* s = sources_.load(sync::memory_order_relaxed); s == &source) {
    sources_.store(source.next, sync::memory_order_relaxed);
  } else {
    while (s->next != &source) s = s->next;
    s->next = source.next;
  }
  cown_base& c = *std::exchange(source.cown, nullptr);
  d.drop_later(c);
  cown_side& side = c.side();
  count(side.pressure, -1);
  calm(d, c);
}

// The reason why a cown has high priority may be gone.
void pressure_board::calm(dispatch& d, cown_base& c) {
  settle(d, c);
  if (c.is(cown_base::high)) return;
  cown_side& side = c.side();
  end_urge(side);
  for (cown_side::reader& r : side.readers)
    if (std::exchange(r.urges, false)) count(r.waits_for->side().urged, -1);
  admit(c);
}

bool pressure_board::has_room(const cown_base& c) noexcept {
  return !c.is(cown_base::strained) &&
         c.load() < std::max(1, cown_base::mark(c.threshold(), false));
}

void pressure_board::set_threshold(cown_base& c, std::uint32_t threshold) noexcept {
  std::lock_guard guard{lock_};
  const std::uint32_t change = std::min(threshold, cown_base::most_threshold) - c.threshold();
  // A read-modify-write, as in take().
  c.state_.fetch_add(change << cown_base::threshold_shift, sync::memory_order_relaxed);
}

void pressure_board::set_awaited(cown_base& c) noexcept {
  if (c.is(cown_base::awaited)) return;
  add(c.state_, cown_base::awaited);
  count_alarm();
}

void pressure_board::end_awaited(cown_base& c) noexcept {
  if (!c.is(cown_base::awaited)) return;
  take(c.state_, cown_base::awaited);
  count_calm();
}

bool pressure_board::await_room(cown_base& c, std::coroutine_handle<> leaf,
                                void* awaiter) noexcept {
  std::lock_guard guard{lock_};
  set_awaited(c);
  // Either a message that leaves sees that we wait, or we see that it has left.
  sync::heavy_fence();
  cown_side& side = c.side();
  if (!has_room(c) && begin_wait(side.admission, leaf, wait_kind::admission, awaiter)) return true;
  if (side.admission.empty()) end_awaited(c);
  return false;
}

void pressure_board::leave_room(cown_base& c) noexcept {
  std::lock_guard guard{lock_};
  cown_side& side = c.side();
  end_wait(side.admission);
  if (side.admission.empty()) end_awaited(c);
}

void pressure_board::let_in(cown_base& c) noexcept {
  std::lock_guard guard{lock_};
  admit(c);
}

// Lets in as many as there is room for; all, if the queue is empty, since then nobody comes by here
// again who could let in the rest.
void pressure_board::admit(cown_base& c) noexcept {
  if (!c.is(cown_base::awaited) || c.is(cown_base::strained)) return;
  cown_side& side = c.side();
  const std::int32_t load = c.load();
  const std::int32_t limit = cown_base::mark(c.threshold(), false);
  for (std::int32_t n = load; load <= 0 || n < limit; ++n) {
    activity* const next = claim_first(side.admission);
    if (!next) break;
    make_ready(*next);
  }
  if (side.admission.empty()) end_awaited(c);
}

void pressure_board::pin(cown_base& c, std::shared_ptr<pump_state> to) {
  std::lock_guard guard{lock_};
  c.side().pinned_to = std::move(to);
  cown_access::has_pinned_.store(true, sync::memory_order_relaxed);
  add(c.state_, cown_base::pinned);
}

pump_state* pressure_board::pump_of(const cown_base& c) noexcept {
  if (!c.is(cown_base::pinned)) return nullptr;
  return c.side_.load(sync::memory_order_acquire)->pinned_to.get();
}

}  // namespace rota::detail

namespace rota {

pressure_counts count_pressure() noexcept {
  return {detail::overloaded_cowns.load(real_sync::memory_order_relaxed),
          detail::muted_cowns.load(real_sync::memory_order_relaxed)};
}

}  // namespace rota
