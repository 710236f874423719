// A program that needs the languages of an installed Rota.

#include <rota/coop/parse.h>
#include <rota/coop/run.h>

int main() {
  using namespace rota::coop;
  const parsed text = parse("m(x) { y := x + 1 } { spawn(m, 41, t); await t }");
  const outcome o = run(compile(text.tree, semantics::lagc_sched), {});
  return o.end == ending::done && o.state.back().second == value::integer(42) ? 0 : 1;
}
