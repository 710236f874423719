#include <rota/coop/program.h>

#include <algorithm>
#include <utility>

#include "static_rules.h"

namespace rota::coop {

std::string_view name_of(semantics how) noexcept {
  switch (how) {
    case semantics::lagc_sched:
      return "lagc-sched";
    case semantics::sos_sched:
      return "sos-sched";
    case semantics::lagc:
      return "lagc";
    case semantics::sos:
      break;
  }
  return "sos";
}

std::optional<semantics> semantics_named(std::string_view name) noexcept {
  for (semantics how :
       {semantics::lagc_sched, semantics::sos_sched, semantics::lagc, semantics::sos})
    if (name_of(how) == name) return how;
  return std::nullopt;
}

// Compiles from the rear, so that what is left after a statement is there before it.
class compiler {
 public:
  compiler(const syntax_tree& tree, semantics how) : tree_(tree), slots_(tree.names.size()) {
    made_.language_ = tree.language;
    made_.semantics_ = how;
    made_.instructions_.emplace_back();  // the empty continuation
    for (std::uint32_t name : globals_of(tree)) {
      slots_[name] = static_cast<variable>(made_.globals_.size());
      made_.globals_.push_back(tree.names[name]);
    }
  }

  program compile() {
    procedure_of_.resize(tree_.names.size());
    for (std::uint32_t i = 0; i < tree_.procedures.size(); ++i)
      procedure_of_[tree_.procedures[i].name.name] = i;
    for (const procedure& p : tree_.procedures) {
      parameter_ = p.parameter.name;
      const continuation body = add(p.body, end_of_body(p.body));
      made_.procedures_.push_back(
          {tree_.names[p.name.name], tree_.names[p.parameter.name], p.name.at, body});
    }
    parameter_ = std::nullopt;
    made_.main_ = add(tree_.main, is_sos(made_.semantics_) ? add_return({}) : empty_continuation);
    return std::move(made_);
  }

 private:
  // `return` is appended in coopwhile only; it stands at the closing brace.
  continuation end_of_body(const block& body) {
    return tree_.language == language::coopwhile ? add_return(body.closing) : empty_continuation;
  }

  continuation add_return(position at) { return add({.head = statement_kind::return_, .at = at}); }

  continuation add(const block& b, continuation rest) {
    for (auto s = b.statements.rbegin(); s != b.statements.rend(); ++s) rest = add(*s, rest);
    return rest;
  }

  continuation add(const statement& s, continuation rest) {
    instruction i{.head = s.kind, .at = s.at, .next = rest};
    i.expression = add(s.value);
    if (s.target) {
      i.target = slot_of(s.target.name);
      i.target_at = s.target.at;
    }
    if (s.kind == statement_kind::spawn) i.procedure = procedure_of_[s.procedure.name];
    if (s.kind == statement_kind::guard || s.kind == statement_kind::await) add_reads(i);
    const continuation here = add(i);
    // The body of a loop is followed by the loop, that of an if by what follows the if.
    const continuation body = add(s.body, s.kind == statement_kind::while_ ? here : rest);
    made_.instructions_[here].body = body;
    return here;
  }

  continuation add(const instruction& i) {
    made_.instructions_.push_back(i);
    return static_cast<continuation>(made_.instructions_.size() - 1);
  }

  // The nodes are in the order of a stack machine. What is to be added is a jump behind the left
  // side of each || and &&.
  expression_code add(expression e) {
    expression_code code{end_of_operations(), 0, 0};
    jumps_.clear();
    for (std::uint32_t n = e.begin; n != e.end; ++n)
      if (is_lazy(tree_.nodes[n].what)) jumps_.push_back({tree_.nodes[n].left, n});
    std::sort(jumps_.begin(), jumps_.end(), [](auto a, auto b) { return a.after < b.after; });
    auto jump = jumps_.begin();
    lands_.assign(e.end - e.begin, 0);
    std::uint32_t depth = 0;
    for (std::uint32_t n = e.begin; n != e.end; ++n) {
      add(n, e.begin, depth);
      code.depth = std::max(code.depth, depth);
      if (jump == jumps_.end() || jump->after != n) continue;
      const bool is_or = tree_.nodes[jump->of].what == operation::or_;
      lands_[jump->of - e.begin] = end_of_operations();
      made_.operations_.push_back(
          {.what = is_or ? machine_operation::code::or_else : machine_operation::code::and_then,
           .left_at = tree_.nodes[n].at});
      --depth;
      ++jump;
    }
    code.end = end_of_operations();
    return code;
  }

  void add(std::uint32_t n, std::uint32_t begin, std::uint32_t& depth) {
    using code = machine_operation::code;
    const expression_node& node = tree_.nodes[n];
    machine_operation made{.at = node.at};
    switch (node.what) {
      case operation::integer:
        made.constant = value::integer(node.number);
        ++depth;
        break;
      case operation::boolean:
        made.constant = value::boolean(node.number != 0);
        ++depth;
        break;
      case operation::variable:
        made.what = code::load;
        made.slot = slot_of(node.name);
        ++depth;
        break;
      case operation::not_:
      case operation::negate:
        made.what = code::unary;
        made.left_at = tree_.nodes[n - 1].at;
        break;
      case operation::or_:
      case operation::and_:
        made.what = code::to_boolean;
        made.left_at = tree_.nodes[n - 1].at;
        made_.operations_[lands_[n - begin]].jump = end_of_operations() + 1;
        break;
      default:
        made.what = code::binary;
        made.left_at = tree_.nodes[node.left].at;
        made.right_at = tree_.nodes[n - 1].at;
        --depth;
        break;
    }
    made.apply = node.what;
    made_.operations_.push_back(made);
  }

  static bool is_lazy(operation what) { return what == operation::or_ || what == operation::and_; }

  std::uint32_t end_of_operations() const {
    return static_cast<std::uint32_t>(made_.operations_.size());
  }

  // A parameter is no global: nobody else can change it.
  void add_reads(instruction& i) {
    auto& all = made_.reads_;
    i.reads_begin = static_cast<std::uint32_t>(all.size());
    if (i.target < no_variable) all.push_back(i.target);
    for (std::uint32_t o = i.expression.begin; o != i.expression.end; ++o)
      if (const machine_operation& load = made_.operations_[o];
          load.what == machine_operation::code::load && load.slot != own_parameter)
        all.push_back(load.slot);
    std::sort(all.begin() + i.reads_begin, all.end());
    all.erase(std::unique(all.begin() + i.reads_begin, all.end()), all.end());
    i.reads_end = static_cast<std::uint32_t>(all.size());
  }

  variable slot_of(std::uint32_t name) const {
    return name == parameter_ ? own_parameter : slots_[name];
  }

  struct lazy_side {
    std::uint32_t after;  // the node behind which it stands
    std::uint32_t of;     // the operator
  };

  const syntax_tree& tree_;
  std::vector<variable> slots_;              // of names, as globals
  std::vector<std::uint32_t> procedure_of_;  // of names
  std::optional<std::uint32_t> parameter_;   // of the procedure that is being compiled
  std::vector<lazy_side> jumps_;             // of the expression that is being compiled
  std::vector<std::uint32_t> lands_;         // for its operators: the jump that lands behind it
  program made_;
};

program compile(const syntax_tree& tree, semantics how) { return compiler{tree, how}.compile(); }

program relation_of(const program& scheduled) {
  program p = scheduled;
  p.semantics_ = is_sos(p.semantics()) ? semantics::sos : semantics::lagc;
  return p;
}

}  // namespace rota::coop
