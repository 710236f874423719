// Tries one change after the other, those that leave out most first, and keeps each after which the
// program still fails, until no change helps. A change is made in the tree, which is printed and
// read again: what comes out is a program with all that belongs to it, or it is not taken. Each
// change that is kept makes the text shorter, or smaller in its alphabetical order, so there is an
// end.

#include <rota/coop/fuzz.h>
#include <rota/coop/parse.h>
#include <rota/coop/print.h>

#include <algorithm>
#include <utility>

namespace rota::coop {

namespace {

// --- where changes are made ---------------------------------------------------------------------

// Calls visit(block, index) for each statement, the outer before the inner; stops when it returns
// true.
template <class Visit>
bool each_place(block& b, const Visit& visit) {
  for (std::size_t i = 0; i < b.statements.size(); ++i)
    if (visit(b, i) || each_place(b.statements[i].body, visit)) return true;
  return false;
}

template <class Visit>
void each_place(syntax_tree& tree, const Visit& visit) {
  for (procedure& p : tree.procedures)
    if (each_place(p.body, visit)) return;
  each_place(tree.main, visit);
}

std::size_t count_statements(syntax_tree& tree) {
  std::size_t n = 0;
  each_place(tree, [&](block&, std::size_t) { return ++n, false; });
  return n;
}

// Changes the statement of that number, in the order of each_place; tells whether it could.
template <class Change>
bool at_statement(syntax_tree& tree, std::size_t number, const Change& change) {
  bool changed = false;
  each_place(tree, [&](block& b, std::size_t i) {
    if (number-- != 0) return false;
    changed = change(b, i);
    return true;
  });
  return changed;
}

// --- expressions --------------------------------------------------------------------------------

std::uint32_t arity_of(operation what) {
  switch (what) {
    case operation::integer:
    case operation::boolean:
    case operation::variable:
      return 0;
    case operation::not_:
    case operation::negate:
      return 1;
    default:
      return 2;
  }
}

// Where the part whose root is n begins.
std::uint32_t begin_of(const syntax_tree& tree, std::uint32_t n) {
  std::uint32_t wanted = 1;
  for (;; --n) {
    wanted += arity_of(tree.nodes[n].what);
    if (--wanted == 0) return n;
  }
}

// Puts other nodes in the place of a part. Where left operands end is not kept up: the tree is
// printed, which does not ask for it.
void replace_part(syntax_tree& tree, expression& whole, expression part,
                  const std::vector<expression_node>& by) {
  const auto begin = static_cast<std::uint32_t>(tree.nodes.size());
  const auto copy = [&](std::uint32_t from, std::uint32_t to) {
    for (; from != to; ++from) {
      const expression_node node = tree.nodes[from];
      tree.nodes.push_back(node);
    }
  };
  copy(whole.begin, part.begin);
  tree.nodes.insert(tree.nodes.end(), by.begin(), by.end());
  copy(part.end, whole.end);
  whole = {begin, static_cast<std::uint32_t>(tree.nodes.size())};
}

// What a part can become: an operand of it, or a small constant.
std::vector<std::vector<expression_node>> smaller_parts(const syntax_tree& tree, expression part) {
  std::vector<std::vector<expression_node>> all;
  const auto nodes = [&](std::uint32_t from, std::uint32_t to) {
    return std::vector(tree.nodes.begin() + from, tree.nodes.begin() + to);
  };
  const std::uint32_t arity = arity_of(tree.nodes[part.end - 1].what);
  if (arity > 0) {
    const std::uint32_t right = begin_of(tree, part.end - 2);
    all.push_back(nodes(right, part.end - 1));
    if (arity == 2) all.push_back(nodes(part.begin, right));
  }
  for (std::int64_t n : {0, 1})
    all.push_back({{.what = operation::integer, .at = {}, .number = n}});
  all.push_back({{.what = operation::boolean, .at = {}, .number = 1}});
  return all;
}

// --- changes ------------------------------------------------------------------------------------

class shrinker {
 public:
  shrinker(const syntax_tree& tree, const std::function<bool(const syntax_tree&)>& still_fails)
      : still_fails_(still_fails), text_(source_of(tree)), tree_(parse(text_).tree) {}

  syntax_tree run() {
    bool again = true;
    while (again) {
      const std::string before = text_;
      drop_procedures();
      drop_statements();
      unwrap_blocks();
      simplify_statements();
      simplify_expressions();
      merge_names();
      again = text_ != before;
    }
    return std::move(tree_);
  }

 private:
  // Takes the changed tree if that is progress.
  bool take(const syntax_tree& changed) {
    const std::string text = source_of(changed);
    if (std::pair(text.size(), text) >= std::pair(text_.size(), text_)) return false;
    parsed again = parse(text);
    if (!again || !still_fails_(again.tree)) return false;
    text_ = text;
    tree_ = std::move(again.tree);
    return true;
  }

  // With all calls of it. What they assigned is still assigned, or names would be unbound.
  void drop_procedures() {
    for (std::size_t i = tree_.procedures.size(); i > 0; --i) {
      syntax_tree changed = tree_;
      const std::uint32_t name = changed.procedures[i - 1].name.name;
      changed.procedures.erase(changed.procedures.begin() + static_cast<std::ptrdiff_t>(i - 1));
      for (procedure& p : changed.procedures) drop_calls(p.body, name);
      drop_calls(changed.main, name);
      take(changed);
    }
  }

  static void drop_calls(block& b, std::uint32_t name) {
    for (statement& s : b.statements) {
      drop_calls(s.body, name);
      if (s.kind != statement_kind::spawn || s.procedure.name != name) continue;
      s.kind = s.target ? statement_kind::assign : statement_kind::skip;
    }
  }

  // Several in a row first; from the rear, since what stands there depends on what comes before.
  void drop_statements() {
    for (std::size_t many : {8u, 4u, 2u, 1u}) {
      for (std::size_t n = count_statements(tree_); n > 0; --n) {
        syntax_tree changed = tree_;
        if (at_statement(changed, n - 1, [&](block& b, std::size_t i) {
              const std::size_t count = std::min(many, b.statements.size() - i);
              if (count < many) return false;
              const auto at = b.statements.begin() + static_cast<std::ptrdiff_t>(i);
              b.statements.erase(at, at + static_cast<std::ptrdiff_t>(count));
              // A block is not empty, and a guard not the last in it.
              if (b.statements.empty() || b.statements.back().kind == statement_kind::guard)
                b.statements.emplace_back();
              return true;
            }))
          take(changed);
      }
    }
  }

  // The body alone, or once instead of again and again.
  void unwrap_blocks() {
    for (std::size_t n = count_statements(tree_); n > 0; --n) {
      try_at(n - 1, [](block& b, std::size_t i) {
        const block body = b.statements[i].body;
        if (body.statements.empty()) return false;
        const auto at = b.statements.begin() + static_cast<std::ptrdiff_t>(i);
        b.statements.insert(b.statements.erase(at), body.statements.begin(), body.statements.end());
        return true;
      });
      try_at(n - 1, [](block& b, std::size_t i) {
        if (b.statements[i].kind != statement_kind::while_) return false;
        b.statements[i].kind = statement_kind::if_;
        return true;
      });
    }
  }

  void simplify_statements() {
    for (std::size_t n = count_statements(tree_); n > 0; --n) {
      try_at(n - 1, [](block& b, std::size_t i) {
        b.statements[i] = {};  // skip
        return true;
      });
      try_at(n - 1, [](block& b, std::size_t i) {
        if (b.statements[i].kind != statement_kind::spawn) return false;
        b.statements[i].target = {};
        return true;
      });
      try_at(n - 1, [](block& b, std::size_t i) {
        b.statements[i] = {};
        b.statements[i].kind = statement_kind::suspend;
        return true;
      });
    }
  }

  template <class Change>
  bool try_at(std::size_t number, const Change& change) {
    syntax_tree changed = tree_;
    return at_statement(changed, number, change) && take(changed);
  }

  void simplify_expressions() {
    for (std::size_t n = count_statements(tree_); n > 0; --n)
      while (simplify_expression(n - 1)) {
      }
  }

  // One change to the expression of a statement, the whole of it first.
  bool simplify_expression(std::size_t number) {
    expression whole;
    at_statement(tree_, number, [&](block& b, std::size_t i) {
      whole = b.statements[i].value;
      return true;
    });
    for (std::uint32_t root = whole.end; root > whole.begin; --root) {
      const expression part{begin_of(tree_, root - 1), root};
      for (const auto& by : smaller_parts(tree_, part)) {
        syntax_tree changed = tree_;
        at_statement(changed, number, [&](block& b, std::size_t i) {
          replace_part(changed, b.statements[i].value, part, by);
          return true;
        });
        if (take(changed)) return true;
      }
    }
    return false;
  }

  // The same name for two variables, if that does no harm.
  void merge_names() {
    const auto is_procedure = [&](std::size_t name) {
      return std::any_of(tree_.procedures.begin(), tree_.procedures.end(),
                         [&](const procedure& p) { return p.name.name == name; });
    };
    for (std::size_t from = 0; from < tree_.names.size(); ++from) {
      for (std::size_t to = 0; to < tree_.names.size(); ++to) {
        if (from == to || is_procedure(from) || is_procedure(to)) continue;
        syntax_tree changed = tree_;
        changed.names[from] = changed.names[to];
        if (take(changed)) break;
      }
    }
  }

  const std::function<bool(const syntax_tree&)>& still_fails_;
  std::string text_;
  syntax_tree tree_;
};

}  // namespace

syntax_tree shrink(const syntax_tree& tree,
                   const std::function<bool(const syntax_tree&)>& still_fails) {
  return shrinker{tree, still_fails}.run();
}

}  // namespace rota::coop
