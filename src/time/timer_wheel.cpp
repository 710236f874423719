// Invariant: a timer in level L agrees with now_ in all bits above that level, and its slot lies
// ahead of now_'s in it (in level 0: at now_ or ahead). So the lowest slot of the lowest occupied
// level comes first, and slots never wrap.

#include "time/timer_wheel.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace rota::detail {

void timer_wheel::place(timer& t) noexcept {
  // What is due already goes where advance() looks first; what is too far away falls more often.
  const std::uint64_t tick = std::clamp(t.tick, now_, now_ | horizon);
  const std::uint64_t differs = tick ^ now_;
  const unsigned level =
      differs < slots ? 0 : (static_cast<unsigned>(std::bit_width(differs)) - 1) / bits;
  const unsigned slot = static_cast<unsigned>(tick >> (bits * level)) % slots;
  t.slot = static_cast<std::uint16_t>(level * slots + slot);
  t.next = nullptr;
  list& in = lists_[t.slot];
  t.place = in.head ? in.end : &in.head;
  *t.place = &t;
  in.end = &t.next;
  occupied_[level] |= std::uint64_t{1} << slot;
}

void timer_wheel::add(timer& t) noexcept {
  place(t);
  ++count_;
}

void timer_wheel::remove(timer& t) noexcept {
  if (!t.place) return;
  list& in = lists_[t.slot];
  *t.place = t.next;
  if (t.next)
    t.next->place = t.place;
  else
    in.end = t.place;
  if (!in.head) occupied_[t.slot / slots] &= ~(std::uint64_t{1} << (t.slot % slots));
  t.place = nullptr;
  t.next = nullptr;
  --count_;
}

std::uint64_t timer_wheel::slot_begin(unsigned level, unsigned slot) const noexcept {
  const unsigned shift = bits * level;
  const std::uint64_t above = shift + bits >= 64 ? 0 : (now_ >> (shift + bits)) << (shift + bits);
  return above | (std::uint64_t{slot} << shift);
}

bool timer_wheel::first_slot(unsigned& level, unsigned& slot) const noexcept {
  for (level = 0; level < levels; ++level) {
    if (occupied_[level] == 0) continue;
    slot = static_cast<unsigned>(std::countr_zero(occupied_[level]));
    return true;
  }
  return false;
}

std::uint64_t timer_wheel::next() const noexcept {
  unsigned level = 0;
  unsigned slot = 0;
  if (!first_slot(level, slot)) return never;
  if (level == 0) return slot_begin(0, slot);
  // The earliest of the slot, if that is quickly found: else where the slot begins.
  std::uint64_t earliest = never;
  int looked_at = 0;
  for (const timer* t = lists_[level * slots + slot].head; t; t = t->next) {
    if (++looked_at > 16) return slot_begin(level, slot);
    earliest = std::min(earliest, t->tick);
  }
  return earliest;
}

timer* timer_wheel::advance(std::uint64_t to, std::size_t limit) noexcept {
  timer* due = nullptr;
  timer** last = &due;
  unsigned level = 0;
  unsigned slot = 0;
  while (limit > 0 && first_slot(level, slot)) {
    const std::uint64_t begin = slot_begin(level, slot);
    if (begin > to) break;
    now_ = std::max(now_, begin);
    timer*& head = lists_[level * slots + slot].head;
    if (level > 0) {
      timer* t = std::exchange(head, nullptr);
      occupied_[level] &= ~(std::uint64_t{1} << slot);
      while (t) place(*std::exchange(t, t->next));
      continue;
    }
    *last = head;
    for (; head && limit > 0; --limit, --count_) {
      last = &head->next;
      head->place = nullptr;
      head = head->next;
    }
    *last = nullptr;
    if (head)
      head->place = &head;
    else
      occupied_[0] &= ~(std::uint64_t{1} << slot);
  }
  if (limit > 0) now_ = std::max(now_, to);
  return due;
}

}  // namespace rota::detail
