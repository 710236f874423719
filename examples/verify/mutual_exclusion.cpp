// Checks a protocol of one's own: two processes want into a critical section, and only one may be
// there. docs/checking.md goes through it line by line.

#include <rota/verify/checker/check.h>
#include <rota/verify/checker/model.h>
#include <rota/verify/checker/report.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace verify = rota::verify;

struct mutual_exclusion {
  enum place : std::uint8_t { idle, wants, looks, inside };

  struct state {
    place at[2] = {idle, idle};
    bool flag[2] = {false, false};  // "I want in"
    std::uint8_t turn = 0;          // who gives way
  };

  bool polite = false;  // Peterson's idea: say "after you" before looking

  enum act { ask, offer, enter, leave };

  std::vector<verify::action> actions() const {
    const auto weak = verify::fairness::weak;
    return {{"ask", 2},  // nobody has to want in
            {"offer", 2, "process", weak},
            {"enter", 2, "process", weak},
            {"leave", 2, "process", weak}};
  }

  template <class Emit>
  void initial(Emit emit) const {
    emit(state{});
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    for (std::uint8_t i = 0; i < 2; ++i) {
      const auto other = static_cast<std::uint8_t>(1 - i);
      state t = s;
      switch (s.at[i]) {
        case idle:
          t.at[i] = wants;
          t.flag[i] = true;
          emit(ask, i, t);
          break;
        case wants:
          t.at[i] = looks;
          if (polite) t.turn = other;
          emit(offer, i, t);
          break;
        case looks:
          if (s.flag[other] && !(polite && s.turn == i)) break;  // waits
          t.at[i] = inside;
          emit(enter, i, t);
          break;
        case inside:
          t.at[i] = idle;
          t.flag[i] = false;
          emit(leave, i, t);
          break;
      }
    }
  }

  template <class P>
  void properties(P& p) const {
    p.invariant("MutualExclusion",
                [](const state& s) { return !(s.at[0] == inside && s.at[1] == inside); });
    p.deadlock_free();
    p.leads_to(
        "GetsIn", {"process 0", "process 1"},
        [](const state& s, unsigned i) { return s.at[i] == wants; },
        [](const state& s, unsigned i) { return s.at[i] == inside; });
  }

  template <class F>
  void fields(const state& s, F f) const {
    const char* names[] = {"idle", "wants", "looks", "inside"};
    f("process 0", names[s.at[0]]);
    f("process 1", names[s.at[1]]);
    f("flags", std::to_string(s.flag[0]) + std::to_string(s.flag[1]));
    if (polite) f("turn", s.turn);
  }
};

void check(const char* title, bool polite) {
  mutual_exclusion model;
  model.polite = polite;
  const verify::typed_system system{model};
  const auto result = verify::check(system, {.workers = 1});
  std::cout << title << ": " << result.distinct << " states\n";
  for (const auto& p : result.properties) {
    std::cout << "  " << title_of(system, p) << ' ' << name_of(p.result) << '\n';
    if (p.result == verify::verdict::violated) write_trace(std::cout, system, p);
  }
}

int main() {
  check("flags alone", false);
  check("flags and a turn", true);
}
