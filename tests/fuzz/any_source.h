// What holds for any bytes given to rota::coop: they are errors, each with its place in them, or a
// program; and a program runs under every semantics as examine() wants it.
#ifndef ROTA_TESTS_FUZZ_ANY_SOURCE_H
#define ROTA_TESTS_FUZZ_ANY_SOURCE_H

#include <rota/coop/explore.h>
#include <rota/coop/fuzz.h>
#include <rota/coop/parse.h>
#include <rota/coop/trace.h>
#include <rota/coop/view.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

namespace rota::coop::test {

// One behind the end of the line is a place too: that of what is missing there.
inline bool is_inside(std::string_view source, position at) {
  if (at.line == 0 || at.column == 0) return false;
  for (std::uint32_t line = 1; line < at.line; ++line) {
    const std::size_t end = source.find('\n');
    if (end == source.npos) return false;
    source.remove_prefix(end + 1);
  }
  return at.column <= source.substr(0, source.find('\n')).size() + 1;
}

// Empty if all is well.
inline std::string wrong_with(const static_error& e, std::string_view source) {
  if (!is_inside(source, e.at)) return "an error outside of the text, at " + to_string(e.at);
  return e.message.empty() ? "an error without a message" : "";
}

inline std::string wrong_with(const syntax_tree& tree, std::string_view source) {
  constexpr std::uint64_t limit = 60;
  for (const disagreement& d : examine(tree, {.limit = limit, .seed = source.size()}).found)
    return std::string(name_of(d.mode)) + ' ' + std::string(name_of(d.how)) + ' ' + d.what + ": " +
           d.detail;
  // Traces and pages can be written of any run.
  for (semantics how : {semantics::lagc_sched, semantics::sos}) {
    if (!exists(how, tree.language)) continue;
    const program p = compile(tree, how);
    const run_options options{.limit = limit / 2};
    std::ostringstream out;
    trace_writer trace{out, p, options};
    run_view view{p, options, {"any", std::string(source)}};
    run_by_rules(p, rules_of(p), options, {&trace, &view});
    if (view.data().find('<') != std::string::npos) return "a page that can be left";
  }
  // All runs, or the first states of them, which end as their witnesses do.
  const program relation = compile(tree, semantics::lagc);
  const rule_table rules = rules_of(relation);
  const exploration all{relation, rules, {.max_states = 50}};
  for (const found_end& e : all.ends()) {
    const pick_list picks = all.witness(e).picks();
    const run_options options{.limit = e.what.steps + 1, .picks = &picks};
    if (run_by_rules(relation, rules, options).end != e.what.end) return "a false witness";
  }
  return "";
}

// Empty if all is well.
inline std::string wrong_with(std::string_view source) {
  const parsed p = parse(source);
  constexpr std::size_t enough = 1000;  // each is looked for from the start of the text
  for (std::size_t i = 0; i < std::min(p.errors.size(), enough); ++i) {
    if (std::string wrong = wrong_with(p.errors[i], source); !wrong.empty()) return wrong;
    if (i > 0 && p.errors[i].at < p.errors[i - 1].at) return "errors out of order";
  }
  return p ? wrong_with(p.tree, source) : "";
}

}  // namespace rota::coop::test

#endif
