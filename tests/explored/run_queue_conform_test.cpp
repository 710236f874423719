// rota::detail::run_queue is its model: after every step of every schedule the ring, and where the
// owner and the thieves stand, are mapped to a state of `run_queue` (specs/run_queue), which has to
// have a step there. A broken promise shows as a mismatch, with both sides and the schedule.
//
// The mapping; what a thread stands before is its place:
//   ring, head, tail, reading_from   the members of the same name
//   free_from   likewise, but while the owner resizes as it was before
//   lock        which thief has it. The owner's lock is no step of the model, where a resize is
//   one:
//               it is taken when the new slots are in place
//   o.h, o.job  ghosts: what pop() has read, as soon as it has read head_, since only the owner
//               writes slots; what make_room() has read
//   s           ghosts: what steal() has read, and how many slots
//   got         what pop() gave, and what is in the array that steal() writes to
// A thief may take the lock after the last job has gone, which is no step of the model: a lock in
// vain. Its thief counts as idle until there is a job, or it has seen that there is none.
//
// Hidden: EnoughRoom, which is part of the load before it; Pop, since a failed compare-exchange
// goes on to the next round; TryLock and ReadHead, if a job comes to a thief that has locked in
// vain. Locals that nobody reads any more are forgotten. Compare-exchanges do not fail for no
// reason here, as in the model.

#include <rota/queue/run_queue.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "support/follow.h"
#include "support/inspect.h"
#include "verify/models/run_queue.h"

namespace rota::explore::test {
namespace {

using rota::detail::inspect;
using rota::detail::job;
using model_queue = verify::run_queue;
using number = model_queue::number;
using owner_place = model_queue::owner_place;
using thief_place = model_queue::thief_place;

constexpr unsigned most_thieves = 2;
constexpr unsigned most_loot = 2;
constexpr unsigned owner = 0;  // thieves are threads 1, 2 ...

struct size {
  unsigned jobs = 3;  // pushed by the owner
  unsigned pops = 1;  // ... which it may do at any time
  unsigned thieves = 1;
  unsigned steals = 1;  // of each thief
  unsigned capacity = 2;
  unsigned preemptions = 0;  // at most so many; 0: every schedule
};

class program : public followed {
 public:
  explicit program(const size& s) : size_(s), queue_(true, s.capacity) {}

  void run() {
    std::array<thread, most_thieves> thieves;
    for (unsigned t = 0; t < size_.thieves; ++t) thieves[t] = thread([this, t] { steal(t); });
    push_and_pop();
    for (unsigned t = 0; t < size_.thieves; ++t) thieves[t].join();
  }

  // A thread took the step that it stood before.
  void took(unsigned t, const stand& before) {
    if (t == owner)
      owner_took(before);
    else
      thief_took(thieves_[t - 1], before);
    head_ = as_number(inspect::head(queue_).peek());
    tail_ = as_number(inspect::tail(queue_).peek());
    is_locked_ = inspect::locked(queue_).peek() != 0;
    if (!resizes_) free_from_ = as_number(inspect::free_from(queue_));
    for (unsigned i = 0; i < size_.thieves; ++i)
      if (thieves_[i].has_lock && !thieves_[i].has_looked && head_ < tail_)
        thieves_[i].is_in_vain = false;
  }

  model_queue::state mapped() const {
    model_queue::state s;
    s.ring.fill(model_queue::empty);
    s.size = as_number(inspect::size(queue_));
    for (unsigned i = 0; i < inspect::size(queue_); ++i)
      s.ring[i] = number_of(inspect::slots(queue_)[i].peek());
    s.head = head_;
    s.tail = tail_;
    s.reading_from = as_number(inspect::reading_from(queue_).peek());
    s.owner = place_of_owner();
    s.free_from =
        s.owner == owner_place::resize ? free_from_ : as_number(inspect::free_from(queue_));
    s.o.h = h_;
    s.o.job = job_;
    s.got[model_queue::owner_id] = got_;
    for (unsigned t = 0; t < size_.thieves; ++t) {
      const thief& me = thieves_[t];
      s.thief[t] = place_of_thief(t);
      if (me.has_lock && !me.is_in_vain) s.lock = as_number(t + 1);
      s.s[t] = {me.h, me.n, me.copied};
      s.got[1 + t] = me.got;
      for (number i = 0; i < me.copied; ++i)
        s.got[1 + t].append(number_of(me.out[static_cast<std::size_t>(i)]));
    }
    return s;
  }

  std::string name_of(unsigned t) const {
    return t == owner ? "the owner" : "thief " + std::to_string(t);
  }

 private:
  struct thief {
    std::array<job*, most_loot> out{};
    model_queue::sequence got{};

    // Ghosts.
    bool has_lock = false;
    bool has_looked = false;  // at the tail, under the lock
    bool is_in_vain = true;   // there was no job since it took the lock
    bool pins = false;        // rather than unpins, with its next store
    number h = 0, n = 0, copied = 0;
  };

  template <class T>
  static number as_number(T n) {
    return static_cast<number>(n);
  }
  number number_of(const job* j) const {
    return j ? as_number(j - jobs_.data()) : model_queue::empty;
  }

  void push_and_pop() {
    unsigned pushed = 0;
    for (unsigned pops = size_.pops; pushed < size_.jobs || pops > 0;) {
      pushes_ = pops == 0 || (pushed < size_.jobs && choose(2) == 0);
      if (pushes_) {
        queue_.push(&jobs_[pushed++]);
      } else {
        --pops;
        if (const job* j = queue_.pop()) got_.append(number_of(j));
      }
    }
    pushes_ = false;
  }

  void steal(unsigned t) {
    thief& me = thieves_[t];
    for (unsigned i = 0; i < size_.steals; ++i) {
      const std::size_t n = queue_.steal(me.out.data(), most_loot);
      for (std::size_t k = 0; k < n; ++k) me.got.append(number_of(me.out[k]));
    }
  }

  const void* head() const { return &inspect::head(queue_); }
  const void* tail() const { return &inspect::tail(queue_); }
  const void* reading_from() const { return &inspect::reading_from(queue_); }
  const void* lock() const { return &inspect::locked(queue_); }
  bool is_slot(const void* p) const {
    for (unsigned i = 0; i < inspect::size(queue_); ++i)
      if (p == &inspect::slots(queue_)[i]) return true;
    return false;
  }
  bool head_moved() const { return as_number(inspect::head(queue_).peek()) != head_; }

  void owner_took(const stand& before) {
    // What the step has read is what was there before it.
    const bool pops = pops_;
    pops_ = false;
    if (before.at(standing::update, lock()) && !is_locked_) resizes_ = true;
    if (before.at(standing::store, lock())) resizes_ = false;
    const bool reads_head = before.at(standing::load, head());
    if (called_push_) {
      if (reads_head && !resizes_) h_ = head_;
    } else if (reads_head || (before.at(standing::update, head()) && !head_moved())) {
      pops_ = head_ != tail_;
      h_ = head_;
      job_ = number_of(
          inspect::slots(queue_)[static_cast<std::uint64_t>(head_) % inspect::size(queue_)].peek());
    } else {
      pops_ = pops && before.what == standing::load;
    }
    called_push_ = pushes_;
  }

  owner_place place_of_owner() const {
    if (!pushes_) return pops_ ? owner_place::pop : owner_place::idle;
    const stand& me = stood[owner];
    const bool loads = me.what == standing::load;
    if (me.at(standing::store, tail())) return owner_place::tail;
    if (me.at(standing::store, lock())) return owner_place::slot;
    if (me.what == standing::store)
      return is_slot(me.object) ? owner_place::slot : owner_place::resize;
    if (resizes_ || me.object == lock()) return owner_place::resize;
    if (loads && me.object == head()) return owner_place::head;
    if (loads && me.object == reading_from()) return owner_place::reading;
    return owner_place::idle;
  }

  void thief_took(thief& me, const stand& before) const {
    if (!me.has_lock) {
      if (before.at(standing::update, lock()) && !is_locked_) me.has_lock = true;
    } else if (before.at(standing::load, head())) {
      me.h = head_;
    } else if (before.at(standing::load, tail())) {
      me.has_looked = true;
      me.pins = tail_ > me.h;
      if (me.pins) me.n = as_number(std::min<int>((tail_ - me.h + 1) / 2, most_loot));
    } else if (before.at(standing::store, reading_from())) {
      me.pins = false;
    } else if (before.at(standing::update, head())) {
      if (!head_moved()) me.h = head_;
    } else if (before.at(standing::store, lock())) {
      me.has_lock = me.has_looked = me.pins = false;
      me.is_in_vain = true;
      me.h = me.n = me.copied = 0;
      me.out = {};
    } else if (before.what == standing::load) {
      ++me.copied;
    }
  }

  thief_place place_of_thief(unsigned t) const {
    const stand& me = stood[1 + t];
    if (!thieves_[t].has_lock || thieves_[t].is_in_vain) return thief_place::idle;
    if (me.at(standing::load, head())) return thief_place::head;
    if (me.at(standing::load, tail())) return thief_place::tail;
    if (me.at(standing::store, reading_from()))
      return thieves_[t].pins ? thief_place::pin : thief_place::unpin;
    if (me.at(standing::update, head())) return thief_place::claim;
    return me.at(standing::store, lock()) ? thief_place::unlock : thief_place::copy;
  }

  const size size_;
  rota::detail::run_queue queue_;
  std::array<job, 4> jobs_{};
  model_queue::sequence got_{};
  std::array<thief, most_thieves> thieves_{};

  // Ghosts: what the owner does, ...
  bool pushes_ = false;       // rather than pops
  bool called_push_ = false;  // ... and did when it was last looked at
  bool pops_ = false;         // it has read head_ and found a job
  bool resizes_ = false;      // it has the lock
  number h_ = 0;
  number job_ = model_queue::empty;
  // ... and what the queue held when it was last looked at.
  number head_ = 0;
  number tail_ = 0;
  number free_from_ = 0;
  bool is_locked_ = false;
};

void forget_the_dead(model_queue::state& s) {
  using enum owner_place;
  if (s.owner != reading && s.owner != pop) s.o.h = 0;
  if (s.owner != pop) s.o.job = model_queue::empty;
  s.o.reading = model_queue::nobody;
  for (unsigned t = 0; t < s.thief.size(); ++t) {
    const bool claims = s.thief[t] == thief_place::pin || s.thief[t] == thief_place::claim;
    const bool copies = s.thief[t] == thief_place::copy;
    if (!claims && !copies && s.thief[t] != thief_place::tail) s.s[t].h = 0;
    if (!claims && !copies) s.s[t].n = 0;
    if (!copies) s.s[t].copied = 0;
  }
}

// Explores it; the actions of the model that were never taken.
std::string conforms(const size& s) {
  model_queue model;
  model.jobs = static_cast<int>(s.jobs);
  model.thieves = static_cast<int>(s.thieves);
  model.capacity = static_cast<int>(s.capacity);
  model.loot = most_loot;
  verify::refinement<model_queue> follow{model,
                                         {.hidden = {model_queue::EnoughRoom, model_queue::Pop,
                                                     model_queue::TryLock, model_queue::ReadHead},
                                          .forget = forget_the_dead}};
  const result r = explore::run(
      [&] {
        program p{s};
        const following each_step{follow, p};
        p.run();
      },
      s.preemptions ? few_preemptions(s.preemptions) : every_step());
  EXPECT_FALSE(r.failed) << r.text();
  EXPECT_EQ(r.exhaustive, s.preemptions == 0) << r.text();
  print(std::to_string(s.jobs) + " jobs, " + std::to_string(s.pops) + " pops, " +
            std::to_string(s.thieves) + " x " + std::to_string(s.steals) + " steals, capacity " +
            std::to_string(s.capacity),
        r, follow.counts());
  return follow.never_taken();
}

// `Finished` changes nothing, so it never shows.

TEST(RunQueueConform, OneThief) {
  conforms({.jobs = 3, .pops = 1, .steals = 1, .capacity = 2});
  EXPECT_EQ(conforms({.jobs = 4, .pops = 2, .steals = 2, .capacity = 2}), "Finished");
}

TEST(RunQueueConform, OneThiefAndASmallRing) {
  EXPECT_EQ(conforms({.jobs = 3, .pops = 2, .steals = 2, .capacity = 1}), "Finished");
}

TEST(RunQueueConform, TwoThieves) {
  conforms({.jobs = 3, .pops = 1, .thieves = 2, .steals = 1, .capacity = 2});
}

// Too many schedules to run them all.
TEST(RunQueueConform, MoreWithFewPreemptions) {
  conforms({.jobs = 4, .pops = 2, .thieves = 2, .steals = 2, .capacity = 2, .preemptions = 2});
  conforms({.jobs = 4, .pops = 2, .thieves = 2, .steals = 2, .capacity = 1, .preemptions = 2});
}

}  // namespace
}  // namespace rota::explore::test
