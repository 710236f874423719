// How a check is shown: a counterexample as text, a page with all of them, a drawing of all
// states.
//
//   for (const auto& p : result.properties)
//     if (p.result == verdict::violated) write_trace(std::cout, system, p);
//
// Threads: anyone's, each with a stream of its own.
#ifndef ROTA_VERIFY_CHECKER_REPORT_H
#define ROTA_VERIFY_CHECKER_REPORT_H

#include <rota/verify/checker/check.h>

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace rota::verify {

std::string_view name_of(verdict v) noexcept;   // holds, violated, unknown
std::string_view name_of(fairness f) noexcept;  // none, weak, strong
std::string_view name_of(outcome o) noexcept;   // complete, violation, stopped, ...

// The name of a property, with the instance if it has several: "starvation_free (client 0)".
std::string title_of(const system& s, const property_result& p);

// The variables of each state of a counterexample that differ from the state before; all of them
// for the first.
std::vector<std::vector<field>> changes(const system& s, const trace& t);

// A counterexample, one step a line: its number, the action, what changed. Lines are broken at
// `width`.
void write_trace(std::ostream& out, const system& s, const property_result& p,
                 std::size_t width = 100);

// What stands on top of a page.
struct page_head {
  std::string model;
  std::string settings;  // "Workers=2, Clients=1"
  std::string summary;   // a sentence about what was searched
};

// A self-contained page: verdicts, and for each violated property its path with states as columns,
// changes marked and the loop visible.
void write_html(std::ostream& out, const page_head& head, const system& s,
                const std::vector<property_result>& properties);

// All states and steps for Graphviz. Initial states have a double border; states that violate one
// of the invariants are red, those without a step are filled. False, and nothing is written, if
// there are more states than `most`.
bool write_dot(std::ostream& out, const system& s, std::size_t most = 2'000);

}  // namespace rota::verify

#endif
