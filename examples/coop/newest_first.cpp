// A scheduler of your own, held against the theory: one that keeps the newest task in front.
//
// A scheduler is a table of rules. This one is the fair scheduler's with one step replaced: after a
// task has given way by rule (24), the queue is sorted. check() runs a program by it and tells
// which of the promises are broken, and where.
#include <rota/coop/check.h>
#include <rota/coop/parse.h>

#include <algorithm>
#include <functional>
#include <iostream>

using namespace rota::coop;

// Example 1 of the paper.
constexpr const char* example_1 = R"(m(x) { while true { suspend; i := 1 } }
{
  spawn(m, 0, z);
  suspend;
  j := 2
}
)";

void give_way_to_the_newest(const program& p, configuration& c, const derivation& d) {
  take_step(p, c, d);
  std::sort(c.queue.begin(), c.queue.end(), std::greater<>{});
}

int main() {
  const program p = compile(parse(example_1).tree, semantics::lagc_sched);

  rule_table newest_first = rules_of(p);
  for (rule& r : newest_first)
    if (r.name == "24") r.take = give_way_to_the_newest;

  const check_report fair = check(p, rules_of(p), {});
  const check_report unfair = check(p, newest_first, {});
  std::cout << "the fair scheduler: " << fair.violations.size() << " violations\n";
  for (const violation& v : unfair.violations)
    std::cout << "newest first, step " << v.step << ": expected " << v.expected << ", found "
              << v.found << '\n';
}
