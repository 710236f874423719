// rota::detail::fork_deque is its model: after every step of every schedule the deque, and where
// the owner and the thieves stand, are mapped to a state of `fork_deque` (specs/fork_deque), which
// has to have a step there. A broken promise shows as a mismatch, with both sides and the schedule.
//
// The mapping; what a thread stands before is its place:
//   ring, size, top, bottom   the members of the same name
//   old_top      likewise, but while the owner makes room as it was before
//   lock         who has it, up to the step that ends what it is for: a thief's until it has
//   stepped
//                back, or until it unlocks with its loot; the owner's until it has put bottom
//                right, or until it unlocks. What make_room() does under the lock is one step,
//                taken when the new slots are in place
//   b, x         ghosts: what pop() has read, once it has found what it looks for
//   t, limit     ghosts: top_ when the thief took the lock, bottom_ when it looked
//   takes        counted by the callers of pop(), pop_any() and steal()
// Nothing is hidden. Locals that nobody reads are forgotten: `saw`, and `limit` under the lock.

#include <rota/queue/fork_deque.h>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "support/follow.h"
#include "support/inspect.h"
#include "verify/models/fork_deque.h"

namespace rota::explore::test {
namespace {

using rota::detail::inspect;
using model_deque = verify::fork_deque;
using number = model_deque::number;
using owner_place = model_deque::owner_place;
using thief_place = model_deque::thief_place;

constexpr unsigned most_thieves = 2;
constexpr unsigned owner = 0;  // thieves are threads 1, 2 ...

struct size {
  unsigned elements = 3;  // pushed by the owner
  unsigned pops = 2;      // ... which it may do at any time
  unsigned thieves = 1;
  unsigned steals = 1;  // of each thief
  unsigned capacity = 1;
  unsigned preemptions = 0;  // at most so many; 0: every schedule
};

class program : public followed {
 public:
  explicit program(const size& s) : size_(s), deque_(s.capacity) {}

  void run() {
    std::array<thread, most_thieves> thieves;
    for (unsigned t = 0; t < size_.thieves; ++t) thieves[t] = thread([this] { steal(); });
    push_and_pop();
    for (unsigned t = 0; t < size_.thieves; ++t) thieves[t].join();
  }

  // A thread took the step that it stood before.
  void took(unsigned t, const stand& before) {
    if (t == owner)
      owner_took(before);
    else
      thief_took(thieves_[t - 1], before);
    top_ = as_number(inspect::top(deque_).peek());
    bottom_ = as_number(inspect::bottom(deque_).peek());
    is_locked_ = inspect::locked(deque_).peek() != 0;
    if (!has_lock_) old_top_ = as_number(inspect::old_top(deque_));
  }

  model_deque::state mapped() const {
    model_deque::state s;
    s.size = as_number(inspect::size(deque_));
    for (int i = 0; i < s.size; ++i) s.ring[static_cast<std::size_t>(i)] = element_at(i);
    s.top = top_;
    s.bottom = bottom_;
    s.owner = place_of_owner();
    s.pushed = as_number(pushed_ + (s.owner == owner_place::publish ? 1u : 0u));
    s.old_top = s.owner == owner_place::room ? old_top_ : as_number(inspect::old_top(deque_));
    if (s.owner >= owner_place::retreat) {
      s.b = b_;
      s.x = x_;
    }
    if (s.owner == owner_place::judge) s.lock = model_deque::owner_id;
    for (unsigned t = 0; t < size_.thieves; ++t) {
      s.thief[t] = place_of_thief(t);
      if (s.thief[t] == thief_place::look) s.limit[t] = thieves_[t].limit;
      if (s.thief[t] < thief_place::claim) continue;
      s.t[t] = thieves_[t].t;
      s.lock = as_number(t + 1);
    }
    s.takes = takes_;
    return s;
  }

  std::string name_of(unsigned t) const {
    return t == owner ? "the owner" : "thief " + std::to_string(t);
  }

 private:
  // Ghosts.
  struct thief {
    bool has_lock = false;
    bool has_stepped_back = false;
    number t = 0, limit = 0;
  };

  template <class T>
  static number as_number(T n) {
    return static_cast<number>(n);
  }
  // Elements are addresses of these, numbered from 1 on.
  void* element(unsigned n) { return &elements_[n - 1]; }
  number number_of(const void* p) const {
    return p ? as_number(static_cast<const char*>(p) - elements_.data() + 1) : model_deque::none;
  }
  number element_at(int i) const {
    return number_of(
        inspect::slots(deque_)[i & static_cast<int>(inspect::size(deque_) - 1)].peek());
  }

  void push_and_pop() {
    for (unsigned pops = size_.pops; pushed_ < size_.elements || pops > 0;) {
      pushes_ = pops == 0 || (pushed_ < size_.elements && choose(2) == 0);
      if (pushes_) {
        deque_.push(element(pushed_ + 1));
        ++pushed_;
      } else if (--pops == 0 && pushed_ > 0) {
        // The last one by name, as a task comes back to what it has pushed.
        void* const x = element(pushed_);
        if (deque_.pop(x)) take(x);
      } else {
        take(deque_.pop_any());
      }
    }
    pushes_ = false;
  }
  void steal() {
    for (unsigned i = 0; i < size_.steals; ++i) take(deque_.steal());
  }
  void take(const void* x) {
    if (x) ++takes_[static_cast<std::size_t>(number_of(x))];
  }

  const void* top() const { return &inspect::top(deque_); }
  const void* bottom() const { return &inspect::bottom(deque_); }
  const void* lock() const { return &inspect::locked(deque_); }
  bool is_slot(const void* p) const {
    for (int i = 0; i < inspect::size(deque_); ++i)
      if (p == &inspect::slots(deque_)[i]) return true;
    return false;
  }

  // What a step has read is what was there before it.
  void owner_took(const stand& before) {
    if (before.at(standing::load, bottom())) {
      b_ = as_number(bottom_ - 1);
      x_ = b_ >= 0 ? element_at(b_) : model_deque::none;
    }
    if (before.at(standing::update, lock()) && !is_locked_) has_lock_ = true;
    if (before.at(standing::store, lock())) has_lock_ = is_settled_ = false;
    if (before.at(standing::store, bottom()) && has_lock_) is_settled_ = true;
  }

  owner_place place_of_owner() const {
    const stand& me = stood[owner];
    const bool stores = me.what == standing::store;
    if (pushes_) {
      if (stores && me.object == bottom()) return owner_place::publish;
      if (stores && (me.object == lock() || is_slot(me.object))) return owner_place::slot;
      return has_lock_ || me.object == lock() ? owner_place::room : owner_place::idle;
    }
    if (has_lock_) return is_settled_ ? owner_place::idle : owner_place::judge;
    if (me.object == lock()) return owner_place::settle;
    if (me.at(standing::load, top())) return owner_place::compare;
    return me.at(standing::update, bottom()) ? owner_place::retreat : owner_place::idle;
  }

  void thief_took(thief& me, const stand& before) const {
    if (before.at(standing::load, bottom()) && !me.has_lock) me.limit = bottom_;
    if (before.at(standing::load, top()) && !me.has_lock) me.limit = 0;
    if (before.at(standing::update, lock()) && !is_locked_) {
      me.has_lock = true;
      me.t = top_;
    }
    if (before.at(standing::store, top())) me.has_stepped_back = true;
    if (before.at(standing::store, lock())) me = {};
  }

  thief_place place_of_thief(unsigned t) const {
    const stand& me = stood[1 + t];
    const bool loads = me.what == standing::load;
    if (!thieves_[t].has_lock) {
      if (me.object == lock()) return thief_place::lock;
      return loads && me.object == top() ? thief_place::look : thief_place::idle;
    }
    if (thieves_[t].has_stepped_back) return thief_place::idle;
    if (me.at(standing::store, top())) return thief_place::back;
    if (me.object == top()) return thief_place::claim;
    return loads && me.object == bottom() ? thief_place::compare : thief_place::unlock;
  }

  const size size_;
  rota::detail::fork_deque deque_;
  std::array<char, model_deque::most_elements> elements_{};
  std::array<number, model_deque::most_elements + 1> takes_{};
  unsigned pushed_ = 0;

  // Ghosts: what they do, ...
  std::array<thief, most_thieves> thieves_{};
  bool pushes_ = false;      // the owner, rather than pops
  bool has_lock_ = false;    // the owner
  bool is_settled_ = false;  // the owner has lost, and has put bottom right
  number b_ = 0, x_ = model_deque::none;
  // ... and what the deque held when it was last looked at.
  number top_ = 0, bottom_ = 0, old_top_ = 0;
  bool is_locked_ = false;
};

// Explores it; the actions of the model that were never taken.
std::string conforms(const size& s) {
  model_deque model;
  model.elements = static_cast<int>(s.elements);
  model.thieves = static_cast<int>(s.thieves);
  model.capacity = static_cast<int>(s.capacity);
  verify::refinement<model_deque> follow{model, {.forget = [](model_deque::state& m) {
                                           m.saw = 0;
                                           for (unsigned t = 0; t < m.limit.size(); ++t)
                                             if (m.thief[t] != thief_place::look) m.limit[t] = 0;
                                         }}};
  const result r = explore::run(
      [&] {
        program p{s};
        const following each_step{follow, p};
        p.run();
      },
      s.preemptions ? few_preemptions(s.preemptions) : every_step());
  EXPECT_FALSE(r.failed) << r.text();
  EXPECT_EQ(r.exhaustive, s.preemptions == 0) << r.text();
  print(std::to_string(s.elements) + " elements, " + std::to_string(s.pops) + " pops, " +
            std::to_string(s.thieves) + " x " + std::to_string(s.steals) + " steals, capacity " +
            std::to_string(s.capacity),
        r, follow.counts());
  return follow.never_taken();
}

// `Finished` changes nothing, so it never shows.

TEST(ForkDequeConform, OneThief) {
  conforms({.elements = 3, .pops = 2, .steals = 1});
  EXPECT_EQ(conforms({.elements = 4, .pops = 3, .steals = 2}), "Finished");
}

TEST(ForkDequeConform, OneThiefAndALargerRing) {
  EXPECT_EQ(conforms({.elements = 4, .pops = 3, .steals = 2, .capacity = 2}), "Finished");
}

TEST(ForkDequeConform, TwoThieves) {
  EXPECT_EQ(conforms({.elements = 3, .pops = 2, .thieves = 2, .steals = 1}), "Finished");
}

// Too many schedules to run them all.
TEST(ForkDequeConform, MoreWithFewPreemptions) {
  conforms({.elements = 4, .pops = 3, .thieves = 2, .steals = 2, .preemptions = 2});
  conforms({.elements = 4, .pops = 3, .thieves = 2, .steals = 2, .capacity = 2, .preemptions = 2});
}

}  // namespace
}  // namespace rota::explore::test
