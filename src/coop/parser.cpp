// One function for each line of the grammar. The first token that does not fit ends the reading: it
// is thrown as the error that it is, and parse() catches it.

#include <rota/coop/parse.h>

#include <array>
#include <string>
#include <unordered_map>
#include <utility>

#include "lexer.h"
#include "static_rules.h"

namespace rota::coop {

namespace {

struct binary_operator {
  std::string_view symbol;
  operation what;
};

class parser {
 public:
  explicit parser(const std::vector<token>& tokens) : next_(tokens.data()) {}

  syntax_tree program() {
    header();
    while (next_->kind == token_kind::identifier) tree_.procedures.push_back(procedure());
    if (!next_->is("{")) misfit("a procedure or the main block");
    tree_.main = block();
    if (next_->kind != token_kind::end) misfit("the end: the main block is the last");
    return std::move(tree_);
  }

 private:
  // Counts an open brace, bracket or operator for as long as it lives.
  class nested {
   public:
    nested(parser& p, const token& opening) : depth_(p.depth_) {
      if (depth_ == max_nesting)
        throw static_error{static_error_kind::nesting, opening.at,
                           "nested more than " + std::to_string(max_nesting) + " deep"};
      ++depth_;
    }
    ~nested() { --depth_; }
    nested(const nested&) = delete;
    nested& operator=(const nested&) = delete;

   private:
    unsigned& depth_;
  };

  void header() {
    if (!accept("language")) return;
    for (language l : {language::while_, language::spawn, language::guard, language::coopwhile}) {
      if (next_->text != name_of(l)) continue;
      tree_.language = l;
      ++next_;
      expect(";");
      return;
    }
    misfit("while, spawn, guard or coopwhile");
  }

  coop::procedure procedure() {
    coop::procedure p;
    p.name = name("the name of a procedure");
    expect("(");
    p.parameter = name("the name of the parameter");
    expect(")");
    p.body = block();
    return p;
  }

  coop::block block() {
    const token& opening = *next_;
    expect("{");
    const nested level{*this, opening};
    coop::block b;
    if (next_->is("}")) misfit("a statement; a block is not empty");
    do {
      b.statements.push_back(statement());
    } while (another_after(b.statements.back()));
    b.closing = next_->at;
    expect("}");
    return b;
  }

  // Reads what separates statements; tells whether there is another one in this block.
  bool another_after(const coop::statement& last) {
    const bool separated = accept(";");
    if (last.kind == statement_kind::guard) {
      if (!separated && !next_->is("}")) misfit("; after the guard");
      if (next_->is("}")) misfit("a statement for the guard to guard");
    }
    if (next_->is("}")) return false;
    const bool has_block = last.kind == statement_kind::if_ || last.kind == statement_kind::while_;
    if (!separated && !has_block) misfit("; or }");
    return true;
  }

  coop::statement statement() {
    coop::statement s;
    s.at = next_->at;
    if (next_->kind == token_kind::identifier) {
      s.kind = statement_kind::assign;
      s.target = name("a variable");
      expect(":=");
      s.value = expression();
    } else if (accept("skip")) {
      s.kind = statement_kind::skip;
    } else if (accept("if")) {
      s.kind = statement_kind::if_;
      s.value = expression();
      s.body = block();
    } else if (accept("while")) {
      s.kind = statement_kind::while_;
      s.value = expression();
      s.body = block();
    } else if (accept("spawn")) {
      s.kind = statement_kind::spawn;
      expect("(");
      s.procedure = name("the name of a procedure");
      expect(",");
      s.value = expression();
      if (accept(",")) s.target = name("a variable");
      expect(")");
    } else if (accept("suspend")) {
      s.kind = statement_kind::suspend;
    } else if (accept("await")) {
      s.kind = statement_kind::await;
      s.target = name("a variable");
    } else if (accept("::")) {
      s.kind = statement_kind::guard;
      s.value = expression();
    } else {
      misfit("a statement");
    }
    return s;
  }

  coop::expression expression() {
    const std::uint32_t begin = end_of_nodes();
    disjunction();
    return {begin, end_of_nodes()};
  }

  void disjunction() {
    conjunction();
    while (next_->is("||")) binary(operation::or_, &parser::conjunction);
  }

  void conjunction() {
    equality();
    while (next_->is("&&")) binary(operation::and_, &parser::equality);
  }

  // Comparisons do not chain: a second one is left to whoever expects something else.
  void equality() {
    relation();
    one_of(std::array{binary_operator{"==", operation::equal},
                      binary_operator{"!=", operation::unequal}},
           &parser::relation);
  }

  void relation() {
    sum();
    one_of(std::array{binary_operator{"<", operation::less},
                      binary_operator{"<=", operation::less_equal},
                      binary_operator{">", operation::greater},
                      binary_operator{">=", operation::greater_equal}},
           &parser::sum);
  }

  void sum() {
    product();
    while (one_of(
        std::array{binary_operator{"+", operation::add}, binary_operator{"-", operation::subtract}},
        &parser::product)) {
    }
  }

  void product() {
    unary();
    while (one_of(std::array{binary_operator{"*", operation::multiply},
                             binary_operator{"/", operation::divide},
                             binary_operator{"%", operation::remainder}},
                  &parser::unary)) {
    }
  }

  void unary() {
    if (!next_->is("!") && !next_->is("-")) return primary();
    const token& sign = *next_++;
    const nested level{*this, sign};
    unary();
    add({.what = sign.text == "!" ? operation::not_ : operation::negate, .at = sign.at});
  }

  void primary() {
    const token& t = *next_;
    if (t.kind == token_kind::integer) {
      ++next_;
      add({.what = operation::integer, .at = t.at, .number = t.number});
    } else if (t.is("true") || t.is("false")) {
      ++next_;
      add({.what = operation::boolean, .at = t.at, .number = t.text == "true"});
    } else if (t.kind == token_kind::identifier) {
      const name_use use = name("a variable");
      add({.what = operation::variable, .at = t.at, .name = use.name});
    } else if (accept("(")) {
      const nested level{*this, t};
      disjunction();
      expect(")");
    } else {
      misfit("an expression");
    }
  }

  template <std::size_t N>
  bool one_of(const std::array<binary_operator, N>& operators, void (parser::*operand)()) {
    for (const binary_operator& o : operators) {
      if (!next_->is(o.symbol)) continue;
      binary(o.what, operand);
      return true;
    }
    return false;
  }

  void binary(operation what, void (parser::*operand)()) {
    const position at = next_++->at;
    const std::uint32_t left = end_of_nodes() - 1;
    (this->*operand)();
    add({.what = what, .at = at, .left = left});
  }

  void add(expression_node node) { tree_.nodes.push_back(node); }
  std::uint32_t end_of_nodes() const { return static_cast<std::uint32_t>(tree_.nodes.size()); }

  name_use name(const char* expected) {
    if (next_->kind != token_kind::identifier) misfit(expected);
    const auto [at, is_new] =
        known_.try_emplace(next_->text, static_cast<std::uint32_t>(tree_.names.size()));
    if (is_new) tree_.names.emplace_back(next_->text);
    return {at->second, next_++->at};
  }

  bool accept(std::string_view word) {
    if (!next_->is(word)) return false;
    ++next_;
    return true;
  }

  void expect(std::string_view word) {
    if (!accept(word)) misfit(word);
  }

  [[noreturn]] void misfit(std::string_view expected) const {
    const std::string found =
        next_->kind == token_kind::end ? "the end" : "'" + std::string(next_->text) + "'";
    throw static_error{static_error_kind::syntax, next_->at,
                       "found " + found + ", expected " + std::string(expected)};
  }

  const token* next_;
  unsigned depth_ = 0;
  syntax_tree tree_;
  std::unordered_map<std::string_view, std::uint32_t> known_;
};

}  // namespace

parsed parse(std::string_view source) {
  tokens read = read_tokens(source);
  if (!read.errors.empty()) return {{}, std::move(read.errors)};
  try {
    parsed p{parser{read.all}.program(), {}};
    p.errors = broken_static_rules(p.tree);
    return p;
  } catch (const static_error& first) {
    return {{}, {first}};
  }
}

}  // namespace rota::coop
