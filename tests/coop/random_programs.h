// Random programs in each of the languages: all statements, nested spawns, guards that starve,
// deadlocks, endless loops, errors. The same seed makes the same program.
#ifndef ROTA_TESTS_COOP_RANDOM_PROGRAMS_H
#define ROTA_TESTS_COOP_RANDOM_PROGRAMS_H

#include <rota/base/rng.h>
#include <rota/coop/syntax.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rota::coop::test {

class random_program {
 public:
  random_program(std::uint64_t seed, language l) : rng_(seed), language_(l) {}

  std::string text() {
    std::string all = "language " + std::string(name_of(language_)) + ";\n";
    procedures_ = language_ == language::while_ ? 0 : 1 + below(4);
    for (std::uint64_t i = 0; i < procedures_; ++i) {
      parameter_ = chance(6) ? "a" : "p";  // the former hides a global
      all += 'm' + std::to_string(i) + '(' + parameter_ + ") {\n" + sequence(1) + "}\n";
    }
    parameter_.clear();
    // Every global is assigned, so that every name is bound.
    all += "{\n  a := " + std::to_string(below(3)) +
           ";\n  if false { b := 0; c := 0; t := 0; u := 0 }\n";
    for (std::uint64_t i = below(4); procedures_ > 0 && i > 0; --i) all += spawn() + ";\n";
    return all + sequence(1) + "}\n";
  }

 private:
  std::uint64_t below(std::uint64_t n) { return rng_.below(n); }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }

  std::string pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  // Mostly numbers; sometimes where tasks are kept.
  std::string number_variable() {
    if (!parameter_.empty() && chance(3)) return parameter_;
    if (chance(25)) return pick({"t", "u"});
    return pick({"a", "b", "c"});
  }
  std::string task_variable() {
    if (!parameter_.empty() && chance(3)) return parameter_;
    if (chance(30)) return "a";
    return pick({"t", "u"});
  }

  std::string operand(int depth) {
    if (depth > 2 || chance(2)) return chance(2) ? number_variable() : std::to_string(below(4));
    if (chance(8)) return "(" + task_variable() + " == " + task_variable() + ")";
    if (chance(6)) return pick({"!", "-"}) + operand(depth + 1);
    const std::string op =
        chance(12) ? pick({"/", "%"})
                   : pick({"+", "-", "*", "<", "<=", ">", ">=", "==", "!=", "&&", "||"});
    return "(" + operand(depth + 1) + " " + op + " " + operand(depth + 1) + ")";
  }

  // Numbers stay small enough not to overflow at once.
  std::string expression() {
    return chance(3) ? operand(0)
                     : number_variable() + pick({" + ", " - "}) + std::to_string(below(3));
  }

  std::string condition() {
    if (chance(6)) return pick({"true", "false"});
    return number_variable() + pick({" < ", " > ", " == ", " != ", " <= "}) +
           (chance(2) ? number_variable() : std::to_string(below(4)));
  }

  std::string spawn() {
    const std::string call = "spawn(m" + std::to_string(below(procedures_)) + ", " +
                             (chance(4) ? task_variable() : expression());
    const bool named = language_ == language::coopwhile && !chance(3);
    return call + (named ? ", " + task_variable() + ")" : ")");
  }

  std::string statement(int depth) {
    const bool cooperative = language_ == language::coopwhile;
    for (;;) {
      switch (below(12)) {
        case 0:
          return "skip";
        case 1:
        case 2:
        case 3:
          return number_variable() + " := " + expression();
        case 4:
          if (depth < 3) return "if " + condition() + " {\n" + sequence(depth + 1) + "}";
          break;
        case 5:
          if (depth < 3) return "while " + condition() + " {\n" + sequence(depth + 1) + "}";
          break;
        case 6:
          if (procedures_ > 0 && !chance(3)) return spawn();
          break;
        case 7:
        case 8:
          if (cooperative) return "suspend";
          break;
        case 9:
        case 10:
          if (cooperative) return "await " + task_variable();
          break;
        default:
          if (cooperative || language_ == language::guard) return ":: " + condition();
          break;
      }
    }
  }

  std::string sequence(int depth) {
    std::string all;
    std::string last;
    for (std::uint64_t i = 1 + below(4); i > 0; --i) {
      last = statement(depth);
      all += last + ";\n";
    }
    // A guard has something to guard.
    return last.starts_with("::") ? all + "skip\n" : all;
  }

  rota::detail::rng rng_;
  language language_;
  std::uint64_t procedures_ = 0;
  std::string parameter_;
};

inline std::string random_program_text(std::uint64_t seed, language l) {
  return random_program{seed, l}.text();
}

}  // namespace rota::coop::test

#endif
