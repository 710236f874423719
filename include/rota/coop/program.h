// A program made ready to run under one of the semantics.
//
//   const program p = compile(parse(text).tree, semantics::lagc_sched);
//
// A continuation K(s) is the index of one instruction: sequences are flat and nothing is called, so
// what is left to do is determined by the statement it begins with. A variable is a slot of the
// globals, or the one parameter that a task has.
//
// Threads: instructions do not change once compiled; anyone may read them.
#ifndef ROTA_COOP_PROGRAM_H
#define ROTA_COOP_PROGRAM_H

#include <rota/coop/source.h>
#include <rota/coop/syntax.h>
#include <rota/coop/value.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rota::coop {

// The deterministic schedulers of Lagc and Sos, and the relations that they choose from.
enum class semantics : std::uint8_t { lagc_sched, sos_sched, lagc, sos };

// As on the command line and in traces: "lagc-sched".
std::string_view name_of(semantics how) noexcept;
std::optional<semantics> semantics_named(std::string_view name) noexcept;

constexpr bool is_sos(semantics how) noexcept {
  return how == semantics::sos || how == semantics::sos_sched;
}
constexpr bool is_scheduler(semantics how) noexcept {
  return how == semantics::lagc_sched || how == semantics::sos_sched;
}
// Sos is there for coopwhile only.
constexpr bool exists(semantics how, language l) noexcept {
  return !is_sos(how) || l == language::coopwhile;
}

// A continuation: the index of its first instruction. The empty one is 0.
using continuation = std::uint32_t;
inline constexpr continuation empty_continuation = 0;

// A slot of the globals, or one of these.
using variable = std::uint32_t;
inline constexpr variable own_parameter = 0xFFFFFFFF;
inline constexpr variable no_variable = 0xFFFFFFFE;

// One operation of a machine with a stack of values.
struct machine_operation {
  enum class code : std::uint8_t {
    constant,
    load,       // the variable `slot`
    unary,      // not_, negate
    binary,     // all but or_, and_
    or_else,    // leaves true and goes on at `jump` if the value is true, else drops it
    and_then,   // leaves false and goes on at `jump` if the value is false, else drops it
    to_boolean  // what || and && make of their right side
  };

  code what = code::constant;
  operation apply = operation::integer;
  variable slot = no_variable;
  std::uint32_t jump = 0;
  value constant = {};
  position at = {};       // of the operator
  position left_at = {};  // of its operands, or of the only one
  position right_at = {};
};

// Operations [begin, end) of the program; needs `depth` values at most.
struct expression_code {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t depth = 0;
};

struct instruction {
  statement_kind head = statement_kind::end;
  position at = {};                        // none of `end` and of the return of main
  continuation next = empty_continuation;  // what is left after it
  continuation body = empty_continuation;  // the same of if and while, when the condition holds
  expression_code expression = {};
  variable target = no_variable;  // of :=, spawn and await
  position target_at = {};
  std::uint32_t procedure = 0;  // of spawn
  std::uint32_t reads_begin =
      0;  // of guard and await: the globals whose change may end the waiting
  std::uint32_t reads_end = 0;
};

struct procedure_code {
  std::string name;
  std::string parameter;
  position at;
  continuation body = empty_continuation;
};

class program {
 public:
  coop::language language() const noexcept { return language_; }
  coop::semantics semantics() const noexcept { return semantics_; }
  // In ascending order of their bytes.
  const std::vector<std::string>& globals() const noexcept { return globals_; }
  const std::vector<procedure_code>& procedures() const noexcept { return procedures_; }
  continuation main() const noexcept { return main_; }

  const instruction& at(continuation k) const noexcept { return instructions_[k]; }
  const std::vector<instruction>& instructions() const noexcept { return instructions_; }
  const machine_operation* operations() const noexcept { return operations_.data(); }
  std::span<const variable> reads(const instruction& i) const noexcept {
    return std::span(reads_).subspan(i.reads_begin, i.reads_end - i.reads_begin);
  }

 private:
  friend class compiler;
  friend program relation_of(const program& scheduled);

  coop::language language_ = language::coopwhile;
  coop::semantics semantics_ = semantics::lagc_sched;
  std::vector<std::string> globals_;
  std::vector<procedure_code> procedures_;
  continuation main_ = empty_continuation;
  std::vector<instruction> instructions_;
  std::vector<machine_operation> operations_;
  std::vector<variable> reads_;
};

// The tree has no errors, and the semantics exists for its language.
program compile(const syntax_tree& tree, semantics how);

// The same program under the relation that its scheduler chooses from; continuations and variables
// are the same.
program relation_of(const program& scheduled);

// A statement that starts with await, suspend or, in coopwhile, a guard.
inline bool is_suspended(const program& p, continuation k) noexcept {
  const statement_kind head = p.at(k).head;
  return head == statement_kind::await || head == statement_kind::suspend ||
         (head == statement_kind::guard && p.language() == language::coopwhile);
}

}  // namespace rota::coop

#endif
