#include "static_rules.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace rota::coop {

namespace {

using scope = std::optional<std::uint32_t>;  // the parameter, inside a procedure

// Calls visit(statement, scope) for every statement of the program. Blocks nest no deeper than the
// parser lets them.
template <class Visit>
void each_statement(const block& b, const scope& parameter, const Visit& visit) {
  for (const statement& s : b.statements) {
    visit(s, parameter);
    each_statement(s.body, parameter, visit);
  }
}

template <class Visit>
void each_statement(const syntax_tree& tree, const Visit& visit) {
  for (const procedure& p : tree.procedures) each_statement(p.body, p.parameter.name, visit);
  each_statement(tree.main, std::nullopt, visit);
}

bool assigns(const statement& s) {
  return s.target && (s.kind == statement_kind::assign || s.kind == statement_kind::spawn);
}

// Whether a name is that of a global.
std::vector<bool> global_names(const syntax_tree& tree) {
  std::vector<bool> global(tree.names.size());
  each_statement(tree, [&](const statement& s, const scope& parameter) {
    if (assigns(s) && s.target.name != parameter) global[s.target.name] = true;
  });
  return global;
}

class checker {
 public:
  explicit checker(const syntax_tree& tree)
      : tree_(tree), global_(global_names(tree)), declared_(tree.names.size()) {}

  std::vector<static_error> check() {
    for (const procedure& p : tree_.procedures) declare(p);
    each_statement(tree_, [this](const statement& s, const scope& parameter) {
      check_language(s);
      if (s.kind == statement_kind::spawn && !declared_[s.procedure.name])
        complain(static_error_kind::unknown_procedure, s.procedure.at,
                 "there is no procedure " + tree_.names[s.procedure.name]);
      for (std::uint32_t i = s.value.begin; i != s.value.end; ++i)
        if (const expression_node& node = tree_.nodes[i]; node.what == operation::variable)
          check_read({node.name, node.at}, parameter);
      if (s.kind == statement_kind::await) check_read(s.target, parameter);
    });
    std::sort(errors_.begin(), errors_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.at, a.kind) < std::pair(b.at, b.kind);
    });
    return std::move(errors_);
  }

 private:
  void declare(const procedure& p) {
    if (declared_[p.name.name])
      complain(static_error_kind::duplicate_procedure, p.name.at,
               "there is a procedure " + tree_.names[p.name.name] + " already");
    declared_[p.name.name] = true;
    if (tree_.language == language::while_) need("a procedure", p.name.at, "spawn");
  }

  void check_language(const statement& s) {
    const language l = tree_.language;
    if (l == language::coopwhile) return;
    switch (s.kind) {
      case statement_kind::spawn:
        if (l == language::while_) need("spawn", s.at, "spawn");
        if (s.target) need("a third argument", s.target.at, "coopwhile");
        break;
      case statement_kind::suspend:
      case statement_kind::await:
        need(name_of(s.kind), s.at, "coopwhile");
        break;
      case statement_kind::guard:
        if (l != language::guard) need("a guard", s.at, "guard or coopwhile");
        break;
      default:
        break;
    }
  }

  void need(std::string_view what, position at, std::string_view wanted) {
    complain(static_error_kind::language, at,
             std::string(what) + " needs the language " + std::string(wanted) + ", this is " +
                 std::string(name_of(tree_.language)));
  }

  void check_read(name_use use, const scope& parameter) {
    if (use.name == parameter || global_[use.name]) return;
    complain(static_error_kind::unbound_variable, use.at,
             tree_.names[use.name] + " is assigned nowhere and is no parameter here");
  }

  void complain(static_error_kind kind, position at, std::string message) {
    errors_.push_back({kind, at, std::move(message)});
  }

  const syntax_tree& tree_;
  std::vector<bool> global_;
  std::vector<bool> declared_;
  std::vector<static_error> errors_;
};

}  // namespace

std::vector<static_error> broken_static_rules(const syntax_tree& tree) {
  return checker{tree}.check();
}

std::vector<std::uint32_t> globals_of(const syntax_tree& tree) {
  const std::vector<bool> global = global_names(tree);
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < global.size(); ++i)
    if (global[i]) found.push_back(i);
  std::sort(found.begin(), found.end(),
            [&](auto a, auto b) { return tree.names[a] < tree.names[b]; });
  return found;
}

}  // namespace rota::coop
