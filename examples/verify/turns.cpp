// A scheduler of three tasks as a model: one runs, the others queue, and who runs may give way. As
// a queue it lets everybody run again and again; as a stack it does not.
#include <rota/verify/checker/check.h>
#include <rota/verify/checker/model.h>
#include <rota/verify/checker/report.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace verify = rota::verify;

struct turns {
  static constexpr std::uint8_t tasks = 3;
  static constexpr std::uint8_t nobody = tasks;

  struct state {
    std::uint8_t queue[tasks] = {0, 1, 2};
    std::uint8_t length = tasks;
    std::uint8_t running = nobody;
  };

  bool newest_first = false;  // the mistake

  enum act { take, give_way };

  // Both must not be put off for ever: a worker that can take takes, and who runs gives way.
  std::vector<verify::action> actions() const {
    return {{"take", 1, "worker", verify::fairness::weak},
            {"give_way", tasks, "task", verify::fairness::weak}};
  }

  template <class Emit>
  void initial(Emit emit) const {
    emit(state{});
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    state t = s;
    if (s.running != nobody) {
      t.queue[t.length++] = s.running;
      t.running = nobody;
      emit(give_way, s.running, t);
    } else if (s.length > 0) {
      const std::uint8_t at = newest_first ? static_cast<std::uint8_t>(s.length - 1) : 0;
      t.running = s.queue[at];
      --t.length;
      for (std::uint8_t i = at; i < t.length; ++i) t.queue[i] = s.queue[i + 1];
      t.queue[t.length] = 0;  // equal states have equal bytes
      emit(take, 0, t);
    }
  }

  template <class P>
  void properties(P& p) const {
    p.invariant("NobodyLost",
                [](const state& s) { return s.length + (s.running != nobody) == tasks; });
    p.deadlock_free();
    p.leads_to(
        "GetsItsTurn", {"task 0", "task 1", "task 2"},
        [](const state& s, unsigned i) { return s.running != i; },
        [](const state& s, unsigned i) { return s.running == i; });
  }

  template <class F>
  void fields(const state& s, F f) const {
    std::string queue;
    for (std::uint8_t i = 0; i < s.length; ++i) queue += std::to_string(s.queue[i]);
    f("queue", "<" + queue + ">");
    f("running", s.running == nobody ? std::string("nobody") : std::to_string(s.running));
  }
};

void check(const char* title, bool newest_first) {
  turns model;
  model.newest_first = newest_first;
  const verify::typed_system system{model};
  const auto result = verify::check(system, {.workers = 1});
  std::cout << title << ": " << result.distinct << " states\n";
  for (const auto& p : result.properties) {
    std::cout << "  " << title_of(system, p) << ' ' << name_of(p.result) << '\n';
    if (p.result == verify::verdict::violated) write_trace(std::cout, system, p);
  }
}

int main() {
  check("a queue", false);
  check("a stack", true);
}
