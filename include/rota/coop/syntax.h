// What a program says: the syntax tree of While, Spawn, Guard and CoopWhile.
//
// Blocks are trees of statements. An expression is a stretch of one array of nodes, operands before
// their operator, so that a sum of a million terms is as harmless as a short one: nobody walks it
// by recursion.
//
//   const syntax_tree tree = parse(text).tree;   // parse.h
//
// Threads: as any value.
#ifndef ROTA_COOP_SYNTAX_H
#define ROTA_COOP_SYNTAX_H

#include <rota/coop/source.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rota::coop {

enum class language : std::uint8_t { while_, spawn, guard, coopwhile };

// As the header of a program spells it.
std::string_view name_of(language l) noexcept;

// A name where it stands: an index into syntax_tree::names.
struct name_use {
  std::uint32_t name = 0;
  position at;

  explicit operator bool() const noexcept { return static_cast<bool>(at); }
};

enum class operation : std::uint8_t {
  integer,  // leaves
  boolean,
  variable,
  not_,  // of the node before it
  negate,
  or_,  // of `left` and the node before it
  and_,
  equal,
  unequal,
  less,
  less_equal,
  greater,
  greater_equal,
  add,
  subtract,
  multiply,
  divide,
  remainder,
};

struct expression_node {
  operation what = operation::integer;
  position at;              // of the leaf or the operator
  std::uint32_t left = 0;   // of a binary operator: where its left operand ends, that is, its root
  std::uint32_t name = 0;   // of a variable
  std::int64_t number = 0;  // of an integer; 0 or 1 of a Boolean
};

// Nodes [begin, end); the root is the last.
struct expression {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// The last two cannot be written: what is left at the end of a procedure, and nothing.
enum class statement_kind : std::uint8_t {
  skip,
  assign,
  if_,
  while_,
  spawn,
  suspend,
  await,
  guard,
  return_,
  end,
};

// As traces spell the head of a continuation.
std::string_view name_of(statement_kind kind) noexcept;

struct statement;

struct block {
  std::vector<statement> statements;
  position closing;  // its brace
};

struct statement {
  statement_kind kind = statement_kind::skip;
  position at;
  name_use target;     // of :=, spawn (if it has one) and await
  name_use procedure;  // of spawn
  expression value;    // the right side, argument or condition
  block body;          // of if and while
};

struct procedure {
  name_use name;
  name_use parameter;
  block body;
};

struct syntax_tree {
  coop::language language = language::coopwhile;
  std::vector<procedure> procedures;
  block main;
  std::vector<std::string> names;
  std::vector<expression_node> nodes;
};

}  // namespace rota::coop

#endif
