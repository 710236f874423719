// Text is appended piece by piece, one draw after the other: the operands of a + may be evaluated
// in any order, which would make the program depend on the compiler.

#include <rota/coop/generate.h>

#include <rota/base/rng.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace rota::coop {

namespace {

class generator {
 public:
  generator(std::uint64_t seed, const generator_options& knobs) : rng_(seed), knobs_(knobs) {}

  std::string program() {
    add({"language ", name_of(knobs_.in), ";\n"});
    if (knobs_.in != language::while_)
      procedures_ = 1 + below(std::max<std::uint32_t>(knobs_.procedures, 1));
    // What a procedure is given is settled first, so that all its calls can keep to it.
    for (std::uint64_t i = 0; i < procedures_; ++i)
      takes_task_.push_back(chance(2) && knobs_.in == language::coopwhile);
    for (std::uint64_t i = 0; i < procedures_; ++i) procedure(i);
    main();
    return std::move(text_);
  }

 private:
  // --- chance -----------------------------------------------------------------------------------

  std::uint64_t below(std::uint64_t n) { return rng_.below(n); }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }
  bool risk(std::uint64_t one_in) { return chance(one_in) && knobs_.risky; }
  std::string_view pick(std::initializer_list<std::string_view> from) {
    return from.begin()[below(from.size())];
  }

  // --- text -------------------------------------------------------------------------------------

  void add(std::string_view text) { text_ += text; }
  void add(std::initializer_list<std::string_view> texts) {
    for (std::string_view text : texts) text_ += text;
  }
  void number(std::uint64_t below_this) { add(std::to_string(below(below_this))); }
  void line(std::uint32_t depth) { text_.append(2 * depth, ' '); }

  // --- the program ------------------------------------------------------------------------------

  void procedure(std::uint64_t i) {
    parameter_is_task_ = takes_task_[i];
    // Sometimes it hides a global.
    parameter_ = !chance(6) ? "p" : parameter_is_task_ ? "t" : "a";
    add({"m", std::to_string(i), "(", parameter_, ") {\n"});
    if (knobs_.settled) add("  skip;\n");
    sequence(1);
    add("}\n");
  }

  // Every global is assigned, so that every name is bound.
  void main() {
    parameter_ = {};
    parameter_is_task_ = false;
    add("{\n  a := ");
    number(3);
    add(";\n  if false { b := 0; c := 0; t := 0; u := 0 }\n");
    // A task to wait for in most of them.
    for (std::string_view name : {"t", "u"})
      if (knobs_.in == language::coopwhile && !risk(4)) first_spawn(name);
    for (std::uint64_t i = below(4); procedures_ > 0 && i > 0; --i) first_spawn({});
    sequence(1);
    add("}\n");
  }

  void first_spawn(std::string_view target) {
    add("  ");
    spawn(target);
    add(";\n");
  }

  void sequence(std::uint32_t depth) {
    statement_kind last = statement_kind::end;
    for (std::uint64_t i = 1 + below(std::max<std::uint32_t>(knobs_.statements, 1)); i > 0; --i) {
      last = any_kind(depth);
      line(depth);
      statement(last, depth);
      add(";\n");
    }
    if (last != statement_kind::guard) return;
    line(depth);
    add("skip\n");  // a guard has something to guard
  }

  statement_kind any_kind(std::uint32_t depth) {
    for (;;) {
      const statement_kind kind = any_kind();
      if (is_possible(kind, depth)) return kind;
    }
  }

  statement_kind any_kind() {
    switch (below(12)) {
      case 0:
        return statement_kind::skip;
      case 1:
      case 2:
      case 3:
        return statement_kind::assign;
      case 4:
        return statement_kind::if_;
      case 5:
        return statement_kind::while_;
      case 6:
        return chance(3) ? statement_kind::assign : statement_kind::spawn;
      case 7:
      case 8:
        return statement_kind::suspend;
      case 9:
      case 10:
        return statement_kind::await;
      default:
        return statement_kind::guard;
    }
  }

  bool is_possible(statement_kind kind, std::uint32_t depth) const {
    const bool cooperative = knobs_.in == language::coopwhile;
    switch (kind) {
      case statement_kind::if_:
      case statement_kind::while_:
        return depth < knobs_.depth;
      case statement_kind::spawn:
        return procedures_ > 0 && (parameter_.empty() || knobs_.nested_spawns);
      case statement_kind::suspend:
        return cooperative;
      case statement_kind::await:
        return cooperative && knobs_.awaits;
      case statement_kind::guard:
        return (cooperative || knobs_.in == language::guard) && knobs_.guards;
      default:
        return true;
    }
  }

  void statement(statement_kind kind, std::uint32_t depth) {
    switch (kind) {
      case statement_kind::assign:
        add({number_variable(), " := "});
        expression();
        break;
      case statement_kind::if_:
      case statement_kind::while_:
        add({name_of(kind), " "});
        condition();
        add(" {\n");
        sequence(depth + 1);
        line(depth);
        add("}");
        break;
      case statement_kind::spawn:
        spawn({});
        break;
      case statement_kind::suspend:
        add(knobs_.settled ? "suspend; skip" : "suspend");
        break;
      case statement_kind::await:
        add({"await ", task_variable()});
        break;
      case statement_kind::guard:
        add(":: ");
        condition();
        break;
      default:
        add("skip");
        break;
    }
  }

  void spawn(std::string_view target) {
    const std::uint64_t which = below(procedures_);
    add({"spawn(m", std::to_string(which), ", "});
    if (takes_task_[which] != risk(12))
      add(task_variable());
    else
      expression();
    if (!target.empty())
      add({", ", target});
    else if (knobs_.in == language::coopwhile && !chance(3))
      add({", ", task_variable()});
    add(")");
  }

  // --- expressions ------------------------------------------------------------------------------

  // Mostly numbers; sometimes where tasks are kept.
  std::string_view number_variable() {
    if (!parameter_.empty() && (parameter_is_task_ ? risk(20) : chance(3))) return parameter_;
    if (risk(25)) return pick({"t", "u"});
    return pick({"a", "b", "c"});
  }

  std::string_view task_variable() {
    if (!parameter_.empty() && (parameter_is_task_ ? chance(3) : risk(20))) return parameter_;
    if (risk(30)) return "a";
    return pick({"t", "u"});
  }

  // Numbers stay small enough not to overflow at once; huge ones do soon.
  void expression() {
    if (risk(40)) {
      add({number_variable(), pick({" * 9223372036854775807", " + 9223372036854775807",
                                    " - 9223372036854775807 - 3"})});
    } else if (chance(3)) {
      operand(0);
    } else {
      add({number_variable(), pick({" + ", " - "})});
      number(3);
    }
  }

  void operand(int depth) {
    if (depth > 2 || chance(2)) {
      if (chance(2))
        add(number_variable());
      else
        number(4);
    } else if (chance(8)) {
      const std::string_view left = task_variable();
      add({"(", left, pick({" == ", " != "})});
      add({task_variable(), ")"});
    } else if (chance(6)) {
      add(pick({"!", "-"}));
      operand(depth + 1);
    } else {
      add("(");
      operand(depth + 1);
      add(risk(12) ? pick({" / ", " % "})
                   : pick({" + ", " - ", " * ", " < ", " <= ", " > ",
                           " >= ", " == ", " != ", " && ", " || "}));
      operand(depth + 1);
      add(")");
    }
  }

  void condition() {
    if (chance(6)) return add(pick({"true", "false"}));
    const std::string_view left = number_variable();
    add({left, pick({" < ", " > ", " == ", " != ", " <= "})});
    if (chance(2))
      add(number_variable());
    else
      number(4);
  }

  rota::detail::rng rng_;
  generator_options knobs_;
  std::uint64_t procedures_ = 0;
  std::vector<bool> takes_task_;  // of the procedures: the argument is meant to be one
  std::string_view parameter_;    // of the procedure that is being made
  bool parameter_is_task_ = false;
  std::string text_;
};

}  // namespace

std::string random_program(std::uint64_t seed, const generator_options& knobs) {
  return generator{seed, knobs}.program();
}

generator_options varied_knobs(std::uint64_t seed, language in) {
  rota::detail::rng rng{seed ^ 0x6B6E6F6273u};  // other numbers than the program's
  const auto chance = [&](std::uint64_t one_in) { return rng.below(one_in) == 0; };
  generator_options knobs{.in = in};
  knobs.procedures = 1 + static_cast<std::uint32_t>(rng.below(5));
  knobs.statements = 2 + static_cast<std::uint32_t>(rng.below(5));
  knobs.depth = 1 + static_cast<std::uint32_t>(rng.below(4));
  knobs.nested_spawns = !chance(6);
  knobs.guards = !chance(4);
  knobs.awaits = !chance(6);
  knobs.risky = !chance(2);
  knobs.settled = chance(2);
  return knobs;
}

}  // namespace rota::coop
