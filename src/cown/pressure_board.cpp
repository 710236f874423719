#include "cown/pressure_board.h"

#include <rota/base/assert.h>
#include <rota/cown/pump.h>

#include <algorithm>
#include <coroutine>
#include <utility>
#include <vector>

namespace rota::detail {

namespace {

// The token of muted cowns is their behaviour, which has ended. Tokens are linked both ways.
behaviour* previous(const behaviour& token) noexcept {
  return static_cast<behaviour*>(token.frame.address());
}
void set_previous(behaviour& token, behaviour* to) noexcept {
  token.frame = std::coroutine_handle<>::from_address(to);
}

void add_token(cown_side& mutor, behaviour& token) noexcept {
  set_previous(token, nullptr);
  token.link = mutor.muted_first;
  if (mutor.muted_first) set_previous(*mutor.muted_first, &token);
  mutor.muted_first = &token;
}

void remove_token(cown_side& mutor, behaviour& token) noexcept {
  auto* const next = static_cast<behaviour*>(token.link);
  behaviour* const before = previous(token);
  if (before)
    before->link = next;
  else
    mutor.muted_first = next;
  if (next) set_previous(*next, before);
}

}  // namespace

class pressure_board::locked {
 public:
  locked(pressure_board& board, dispatch& d) noexcept : board_(board), dispatch_(d) {
    board_.mutex_.lock();
    dispatch_.locked = true;
  }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;
  ~locked() {
    dispatch_.locked = false;
    board_.mutex_.unlock();
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

void add(sync::atomic<std::uint16_t>& state, unsigned bits) noexcept {
  state.store(static_cast<std::uint16_t>(state.load(sync::memory_order_relaxed) | bits),
              sync::memory_order_relaxed);
}
void take(sync::atomic<std::uint16_t>& state, unsigned bits) noexcept {
  state.store(static_cast<std::uint16_t>(state.load(sync::memory_order_relaxed) & ~bits),
              sync::memory_order_relaxed);
}

}  // namespace

// --- the steps ----------------------------------------------------------------------------------

bool pressure_board::send(dispatch& d, behaviour& b) noexcept {
  const locked guard{*this, d};
  for (std::uint32_t i = 0; i < b.count; ++i)
    if (b.slots()[i].cown().is(cown_base::pinned)) b.set(behaviour::on_pump);
  if (behaviour* sender = running_behaviour(); sender && d.home().mutes_senders())
    name_mutor(*sender, b);
  return d.enqueue(b, 0);
}

// The least receiver that is overloaded or muted, unless one of the senders is not normal or is
// among the receivers. Cowns that the sender only reads are left out of it: others read them too.
void pressure_board::name_mutor(behaviour& sender, behaviour& b) noexcept {
  if (sender.mutor) return;
  for (std::uint32_t i = 0; i < sender.count; ++i) {
    const slot& s = sender.slots()[i];
    if (s.is_read() || s.is_released()) continue;
    if (s.cown().is(cown_base::high | cown_base::low) || b.find(s.cown())) return;
  }
  for (std::uint32_t i = 0; i < b.count; ++i) {
    cown_base& c = b.slots()[i].cown();
    const bool overloaded = c.load() > c.threshold_.load(sync::memory_order_relaxed);
    if (!c.is(cown_base::low) && !(c.is(cown_base::high) && (overloaded || c.side().pressure != 0)))
      continue;
    c.add_ref();
    sender.mutor = &c;
    return;
  }
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
  return d.enqueue(b, i + 1);
}

void pressure_board::prerun(dispatch& d, behaviour& b) noexcept {
  const locked guard{*this, d};
  forget_urges(b);
  settle(d, b.last().cown());
  for (std::uint32_t i = 0; i < b.count; ++i) admit(b.slots()[i].cown());
}

// The behaviour waits no more, so nothing is urged for it.
void pressure_board::forget_urges(behaviour& b) noexcept {
  for (std::uint32_t i = 0; i + 1 < b.count; ++i) {
    slot& s = b.slots()[i];
    cown_side* const side = s.cown().side_.load(sync::memory_order_acquire);
    if (!side) continue;
    if (!s.is_read()) {
      if (cown_base* to = std::exchange(side->urges, nullptr)) --to->side().urged;
      continue;
    }
    const auto mine = std::find_if(side->readers.begin(), side->readers.end(),
                                   [&](const cown_side::reader& r) { return r.who == &b; });
    if (mine == side->readers.end()) continue;
    if (mine->urges) --mine->waits_for->side().urged;
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

// A behaviour that has run gives one of its cowns back. It has left the queue before.
void pressure_board::leave(dispatch& d, slot& s) {
  cown_base& c = s.cown();
  // Readers leave in any order. Either another one sees that the cown is not normal, and comes
  // here, or we see that it has left.
  if (s.is_read() && c.load() != 0) sync::heavy_fence();
  if (c.load() == 0) settle(d, c);
  admit(c);
  release(d, s);
}

// Mutes the cowns of a behaviour that has named a mutor, if that is not normal again. True: the
// behaviour stays as the token of those that are muted.
bool pressure_board::mute(behaviour& b) noexcept {
  if (!b.mutor || !b.mutor->is(cown_base::high | cown_base::low)) return false;
  std::uint32_t muted = 0;
  for (std::uint32_t i = 0; i < b.count; ++i) {
    slot& s = b.slots()[i];
    cown_base& c = s.cown();
    if (s.is_read() || s.is_released() || c.is(cown_base::high | cown_base::low)) continue;
    // The next member of our batch holds other cowns while it waits for this one. It came in our
    // place, so nobody has to be waited for to see it.
    slot* const next = s.next.load(sync::memory_order_acquire);
    if (next && behaviour::of(*next).is(behaviour::member)) continue;
    add(c.state_, cown_base::low);
    c.side().muted_at = &s;
    ++muted;
  }
  if (muted == 0) return false;
  b.left.store(muted, sync::memory_order_relaxed);
  add_token(b.mutor->side(), b);
  return true;
}

// --- priority -----------------------------------------------------------------------------------

// Gives high priority to a cown and to all that it waits for.
void pressure_board::raise(dispatch& d, cown_base& first) {
  std::vector<cown_base*> todo{&first};
  while (!todo.empty()) {
    cown_base& c = *todo.back();
    todo.pop_back();
    if (!c.is(cown_base::high)) {
      const bool muted = c.is(cown_base::low);
      add(c.state_, cown_base::high);
      take(c.state_, cown_base::low);
      // Either the behaviour that holds c, on its way to the next, sees this, or we see where it
      // goes.
      sync::heavy_fence();
      if (muted) unmute(d, *c.side().muted_at);
    }
    cown_side& side = c.side();
    const auto urge = [&](cown_base& to) {
      ++to.side().urged;
      todo.push_back(&to);
    };
    // acquire: shows the cown there. It lives: its message cannot run without coming here.
    cown_base* const to = c.blocker_.load(sync::memory_order_acquire);
    if (to && side.urges != to) {
      ROTA_ASSERT(!side.urges, "a cown urges two others");
      side.urges = to;
      urge(*to);
    }
    for (cown_side::reader& r : side.readers)
      if (!r.urges) {
        r.urges = true;
        urge(*r.waits_for);
      }
  }
}

// What a cown is after a message has begun to run there, or the last one has left.
void pressure_board::settle(dispatch& d, cown_base& c) {
  const cown_side* const side = c.side_.load(sync::memory_order_acquire);
  const bool overloaded = d.is_long(c) || (side && side->pressure != 0);
  if (overloaded || (side && side->urged != 0)) {
    // Nobody holds c who might go on to another, so there is nothing to pass on.
    add(c.state_, cown_base::high);
    return;
  }
  take(c.state_, cown_base::high);
  free_muted(d, c);
}

// --- muting -------------------------------------------------------------------------------------

// Frees whom a cown has muted, and whom these have muted, for they are normal now.
void pressure_board::free_muted(dispatch& d, cown_base& first) {
  std::vector<cown_base*> todo{&first};
  while (!todo.empty()) {
    cown_side* const side = todo.back()->side_.load(sync::memory_order_acquire);
    todo.pop_back();
    while (behaviour* token = side ? side->muted_first : nullptr) {
      remove_token(*side, *token);
      for (std::uint32_t i = 0; i < token->count; ++i) {
        slot& s = token->slots()[i];
        if (s.is_released()) continue;
        take(s.cown().state_, cown_base::low);
        todo.push_back(&s.cown());
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
  remove_token(token.mutor->side(), token);
  d.free_later(token);
}

// Notes it too: the cown of a slot that is released may be gone.
void pressure_board::release(dispatch& d, slot& s) noexcept {
  s.word |= slot::released;
  d.release(s);
}

// --- from outside -------------------------------------------------------------------------------

void pressure_board::press(dispatch& d, cown_base& c) noexcept {
  const locked guard{*this, d};
  ++c.side().pressure;
  raise(d, c);
}

void pressure_board::relieve(dispatch& d, cown_base& c) noexcept {
  const locked guard{*this, d};
  cown_side& side = c.side();
  --side.pressure;
  settle(d, c);
  if (c.is(cown_base::high)) return;
  if (cown_base* to = std::exchange(side.urges, nullptr)) --to->side().urged;
  for (cown_side::reader& r : side.readers)
    if (std::exchange(r.urges, false)) --r.waits_for->side().urged;
  admit(c);
}

bool pressure_board::has_room(const cown_base& c) noexcept {
  return !c.is(cown_base::high | cown_base::low) &&
         c.load() < std::max(1u, c.threshold_.load(sync::memory_order_relaxed));
}

bool pressure_board::await_room(cown_base& c, std::coroutine_handle<> leaf,
                                void* awaiter) noexcept {
  std::lock_guard guard{mutex_};
  add(c.state_, cown_base::awaited);
  // Either a message that leaves sees that we wait, or we see that it has left.
  sync::heavy_fence();
  cown_side& side = c.side();
  if (!has_room(c) && begin_wait(side.admission, leaf, wait_kind::admission, awaiter)) return true;
  if (side.admission.empty()) take(c.state_, cown_base::awaited);
  return false;
}

void pressure_board::leave_room(cown_base& c) noexcept {
  std::lock_guard guard{mutex_};
  cown_side& side = c.side();
  end_wait(side.admission);
  if (side.admission.empty()) take(c.state_, cown_base::awaited);
}

// Lets in as many as there is room for; all, if the queue is empty, since then nobody comes by here
// again who could let in the rest.
void pressure_board::admit(cown_base& c) noexcept {
  if (!c.is(cown_base::awaited) || c.is(cown_base::high | cown_base::low)) return;
  cown_side& side = c.side();
  const std::uint32_t load = c.load();
  const std::uint32_t limit = c.threshold_.load(sync::memory_order_relaxed);
  for (std::uint32_t n = load; load == 0 || n < limit; ++n) {
    activity* const next = claim_first(side.admission);
    if (!next) break;
    make_ready(*next);
  }
  if (side.admission.empty()) take(c.state_, cown_base::awaited);
}

void pressure_board::pin(cown_base& c, pump& to) {
  std::lock_guard guard{mutex_};
  c.side().pinned_to = &to;
  add(c.state_, cown_base::pinned);
}

pump* pressure_board::pump_of(const cown_base& c) noexcept {
  if (!c.is(cown_base::pinned)) return nullptr;
  return c.side_.load(sync::memory_order_acquire)->pinned_to;
}

}  // namespace rota::detail
