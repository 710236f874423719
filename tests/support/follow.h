// Follows a program step by step: after every step of the explored schedule what its objects hold
// is mapped to a state of a model, which must have a step there. Only in programs that link
// rota_explored.
//
//   struct program : followed {
//     void took(unsigned thread, const stand& before);  // a thread took the step it stood before
//     state mapped() const;                             // from the objects, `stood` and ghosts
//     std::string name_of(unsigned thread) const;
//   };
//   auto result = explore::run([&] {
//     program p;
//     const following each_step{follow, p};
//     p.run();
//   }, every_step());
//
// Every state and every step: schedules that meet in a state are run on once, but no step is left
// out because it commutes with another one, since the model may tell the two orders apart.
//
// Under interleavings only (memory::sc). What the specs say of store buffers then never shows; weak
// memory is the business of other tests.
//
// Ghosts live in the program, so that schedules whose ghosts differ do not meet.
#ifndef ROTA_TESTS_SUPPORT_FOLLOW_H
#define ROTA_TESTS_SUPPORT_FOLLOW_H

#include <rota/verify/conform/refinement.h>
#include <rota/verify/explore/explore.h>

#include <array>
#include <cstdio>
#include <string>
#include <utility>

namespace rota::explore::test {

// Where a thread stands, without how many steps it took: that would keep schedules from meeting.
struct stand {
  standing::kind what = standing::running;
  const void* object = nullptr;

  static stand of(unsigned thread) {
    const standing s = where_is(thread);
    return {s.what, s.object};
  }

  // Whether it is about to do this with that object.
  bool at(standing::kind k, const void* o) const { return what == k && object == o; }
};

// What every followed program has: where its threads stood when they were last looked at.
struct followed {
  static constexpr unsigned most_threads = 5;

  std::array<stand, most_threads> stood{};
  bool began = false;
};

inline const char* text_of(standing::kind k) {
  static constexpr std::array names = {"a step",
                                       "a load",
                                       "a store",
                                       "an update",
                                       "a fence",
                                       "a lock",
                                       "an unlock",
                                       "a futex wait",
                                       "a wake-up",
                                       "a wake-up",
                                       "a futex wake",
                                       "a join",
                                       "a look at the clock",
                                       "memory",
                                       "its end"};
  return names[k];
}

// Every step of every schedule.
inline options every_step(unsigned spurious = 0) {
  options o;
  o.memory = memory::sc;
  o.merge_states = true;
  o.reduce = false;
  o.cell_steps = true;
  o.spurious = spurious;
  o.max_seconds = 60;
  return o;
}

// All schedules in which a thread that could go on loses its turn at most so often.
inline options few_preemptions(unsigned most) {
  options o = every_step();
  o.how = strategy::bounded;
  o.merge_states = false;
  o.preemptions = most;
  return o;
}

// Looks after every step, as long as it lives: shorter than the program's objects.
class following {
 public:
  template <class Model, class Program>
  following(verify::refinement<Model>& follow, Program& p) {
    observe([&follow, &p] { look(follow, p); });
  }
  following(const following&) = delete;
  following& operator=(const following&) = delete;
  ~following() { observe({}); }

 private:
  template <class Model, class Program>
  static void look(verify::refinement<Model>& follow, Program& p) {
    const unsigned thread = this_thread_index();
    const stand before = p.stood[thread];
    for (unsigned i = 0; i < p.stood.size(); ++i) p.stood[i] = stand::of(i);
    p.took(thread, before);
    if (!std::exchange(p.began, true))
      follow.begin(p.mapped());
    else
      follow.observe(p.mapped(), p.name_of(thread) + " took " + text_of(before.what));
    if (follow.diverged()) fail(failure_kind::mismatch, follow.diverged()->text);
  }
};

// What a run covered, for people.
inline void print(const std::string& what, const result& r,
                  const verify::refinement_counts& counts) {
  std::printf("%s: %llu schedules, %llu met, %llu steps; %llu of the model, %.1f s\n", what.c_str(),
              static_cast<unsigned long long>(r.schedules),
              static_cast<unsigned long long>(r.pruned), static_cast<unsigned long long>(r.steps),
              static_cast<unsigned long long>(counts.steps), r.seconds);
}

}  // namespace rota::explore::test

#endif
