#include <rota/coop/print.h>

#include <string_view>
#include <utility>
#include <vector>

namespace rota::coop {

namespace {

// How tightly an operator binds, and whether a left operand that binds as tightly needs brackets:
// comparisons do not chain.
struct binding {
  std::string_view symbol;
  int strength = 0;
  bool chains = true;
};

constexpr int strength_of_unary = 7;
constexpr int strength_of_leaf = 8;

binding binding_of(operation what) {
  switch (what) {
    case operation::or_:
      return {" || ", 1};
    case operation::and_:
      return {" && ", 2};
    case operation::equal:
      return {" == ", 3, false};
    case operation::unequal:
      return {" != ", 3, false};
    case operation::less:
      return {" < ", 4, false};
    case operation::less_equal:
      return {" <= ", 4, false};
    case operation::greater:
      return {" > ", 4, false};
    case operation::greater_equal:
      return {" >= ", 4, false};
    case operation::add:
      return {" + ", 5};
    case operation::subtract:
      return {" - ", 5};
    case operation::multiply:
      return {" * ", 6};
    case operation::divide:
      return {" / ", 6};
    case operation::remainder:
      return {" % ", 6};
    case operation::not_:
      return {"!", strength_of_unary};
    case operation::negate:
      return {"-", strength_of_unary};
    case operation::integer:
    case operation::boolean:
    case operation::variable:
      break;
  }
  return {"", strength_of_leaf};
}

class printer {
 public:
  explicit printer(const syntax_tree& tree) : tree_(tree) {}

  std::string program() {
    if (tree_.language != language::coopwhile) {
      text_ += "language ";
      text_ += name_of(tree_.language);
      text_ += ";\n";
    }
    for (const procedure& p : tree_.procedures) {
      name(p.name);
      text_ += '(';
      name(p.parameter);
      text_ += ") ";
      block(p.body, 0);
      text_ += '\n';
    }
    block(tree_.main, 0);
    text_ += '\n';
    return std::move(text_);
  }

 private:
  void name(const name_use& use) { text_ += tree_.names[use.name]; }

  void block(const coop::block& b, std::size_t depth) {
    text_ += "{\n";
    for (std::size_t i = 0; i < b.statements.size(); ++i) {
      text_.append(2 * (depth + 1), ' ');
      statement(b.statements[i], depth + 1);
      text_ += i + 1 < b.statements.size() ? ";\n" : "\n";
    }
    text_.append(2 * depth, ' ');
    text_ += '}';
  }

  void statement(const coop::statement& s, std::size_t depth) {
    switch (s.kind) {
      case statement_kind::assign:
        name(s.target);
        text_ += " := ";
        expression(s.value);
        break;
      case statement_kind::if_:
      case statement_kind::while_:
        text_ += name_of(s.kind);
        text_ += ' ';
        expression(s.value);
        text_ += ' ';
        block(s.body, depth);
        break;
      case statement_kind::spawn:
        text_ += "spawn(";
        name(s.procedure);
        text_ += ", ";
        expression(s.value);
        if (s.target) {
          text_ += ", ";
          name(s.target);
        }
        text_ += ')';
        break;
      case statement_kind::await:
        text_ += "await ";
        name(s.target);
        break;
      case statement_kind::guard:
        text_ += ":: ";
        expression(s.value);
        break;
      case statement_kind::skip:
      case statement_kind::suspend:
      case statement_kind::return_:
      case statement_kind::end:
        text_ += name_of(s.kind);
        break;
    }
  }

  struct operand {
    std::string text;
    int strength;
  };

  // The nodes are in the order of a stack machine. A long sum grows at its end, which is cheap.
  void expression(const coop::expression& e) {
    std::vector<operand> stack;
    for (std::uint32_t n = e.begin; n != e.end; ++n) {
      const expression_node& node = tree_.nodes[n];
      const binding b = binding_of(node.what);
      if (b.strength == strength_of_leaf) {
        stack.push_back({leaf(node), b.strength});
        continue;
      }
      operand right = std::move(stack.back());
      stack.pop_back();
      if (b.strength == strength_of_unary) {
        bracket(right, b.strength);
        stack.push_back({std::string(b.symbol) + right.text, b.strength});
        continue;
      }
      operand& left = stack.back();
      bracket(left, b.chains ? b.strength : b.strength + 1);
      bracket(right, b.strength + 1);
      left.text += b.symbol;
      left.text += right.text;
      left.strength = b.strength;
    }
    text_ += stack.back().text;
  }

  static void bracket(operand& o, int least) {
    if (o.strength < least) o.text = '(' + std::move(o.text) + ')';
  }

  std::string leaf(const expression_node& node) const {
    if (node.what == operation::integer) return std::to_string(node.number);
    if (node.what == operation::boolean) return node.number ? "true" : "false";
    return tree_.names[node.name];
  }

  const syntax_tree& tree_;
  std::string text_;
};

}  // namespace

std::string source_of(const syntax_tree& tree) { return printer{tree}.program(); }

}  // namespace rota::coop
