// Random programs for the tests of the explorer, small enough to try every execution of them.
#ifndef ROTA_TESTS_EXPLORE_RANDOM_PROGRAMS_H
#define ROTA_TESTS_EXPLORE_RANDOM_PROGRAMS_H

#include <rota/base/rng.h>

#include <cstdint>
#include <initializer_list>

#include "explore/programs.h"

namespace rota::test {

// What a program may contain besides loads, stores and updates of orders up to acq_rel.
struct flavour {
  const char* name = "";
  bool fences = false;  // release and acquire fences
  bool sc_fences = false;
  bool sc_accesses = false;
  bool light_heavy = false;
  bool plain = false;
  bool blocking = false;  // mutex, futex and loops with pauses
  unsigned most_accesses = 9;
};

class random_program {
 public:
  random_program(std::uint64_t seed, const flavour& f) : random_(seed), flavour_(f) {}

  program next() {
    program p;
    const std::uint64_t threads = random_.below(3) == 0 ? 2 : 3;
    distinct_ = random_.below(2) == 0;
    stored_ = 0;
    unsigned left = flavour_.most_accesses;
    for (std::uint64_t t = 0; t < threads; ++t) {
      auto& thread = p.threads.emplace_back();
      const std::uint64_t wanted = 1 + random_.below(3);
      for (std::uint64_t i = 0; i < wanted && left > 0; ++i, --left) add(thread);
    }
    p.finals = {0, 1};
    return p;
  }

 private:
  void add(std::vector<instruction>& to) {
    instruction i;
    i.location = static_cast<unsigned>(random_.below(2));
    if (flavour_.plain && random_.below(4) == 0) {
      i.what = random_.below(2) ? kind::plain_write : kind::plain_read;
      to.push_back(i);
      return;
    }
    if (flavour_.blocking && random_.below(3) == 0) return add_blocking(to, i);
    if (any_fence() && random_.below(4) == 0) {
      add_fence(to, i);
      return;
    }
    const std::uint64_t what = random_.below(16);
    if (what < 6) {
      i.what = kind::load;
      i.order = one_of({std::memory_order_relaxed, std::memory_order_acquire});
    } else if (what < 12) {
      i.what = kind::store;
      i.order = one_of({std::memory_order_relaxed, std::memory_order_release});
    } else {
      i.what = what < 13 ? kind::exchange : what < 14 ? kind::add : kind::compare;
      i.order = one_of({std::memory_order_relaxed, std::memory_order_acquire,
                        std::memory_order_release, std::memory_order_acq_rel});
      i.expected = static_cast<unsigned>(random_.below(3));
      if (i.what == kind::compare)
        i.failure = one_of({std::memory_order_relaxed, std::memory_order_acquire});
    }
    i.value = i.what == kind::add ? 1
              : distinct_         ? ++stored_
                                  : 1 + static_cast<unsigned>(random_.below(2));
    to.push_back(i);
  }

  bool any_fence() const noexcept {
    return flavour_.fences || flavour_.sc_fences || flavour_.light_heavy;
  }

  void add_fence(std::vector<instruction>& to, instruction i) {
    i.what = kind::fence;
    for (;;) {
      const std::uint64_t which = random_.below(3);
      if (which == 0 && flavour_.fences) {
        constexpr std::array orders{std::memory_order_acquire, std::memory_order_release,
                                    std::memory_order_acq_rel};
        i.order = orders[random_.below(orders.size())];
      } else if (which == 1 && flavour_.sc_fences) {
        i.order = std::memory_order_seq_cst;
      } else if (which == 2 && flavour_.light_heavy) {
        i.what = random_.below(2) ? kind::light : kind::heavy;
      } else {
        continue;
      }
      to.push_back(i);
      return;
    }
  }

  void add_blocking(std::vector<instruction>& to, instruction i) {
    const std::uint64_t which = random_.below(5);
    if (which < 2) {
      i.what = kind::lock;
      to.push_back(i);
      instruction inner;
      inner.location = i.location;
      inner.what = random_.below(2) ? kind::load : kind::store;
      inner.value = 1;
      to.push_back(inner);
      i.what = kind::unlock;
    } else if (which == 2) {
      i.what = kind::wait;
    } else if (which == 3) {
      // Whoever wakes has mostly changed the word.
      instruction change = i;
      change.what = kind::store;
      change.value = 1;
      change.order = std::memory_order_release;
      if (random_.below(4) != 0) to.push_back(change);
      i.what = kind::wake;
    } else {
      i.what = kind::spin;
      i.order = one_of({std::memory_order_relaxed, std::memory_order_acquire});
    }
    to.push_back(i);
  }

  std::memory_order one_of(std::initializer_list<std::memory_order> orders) {
    if (flavour_.sc_accesses && random_.below(2) == 0) return std::memory_order_seq_cst;
    return orders.begin()[random_.below(orders.size())];
  }

  rota::detail::rng random_;
  const flavour flavour_;
  bool distinct_ = false;
  unsigned stored_ = 0;
};

}  // namespace rota::test

#endif
