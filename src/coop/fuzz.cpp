#include <rota/coop/fuzz.h>

#include <rota/base/rng.h>
#include <rota/coop/generate.h>
#include <rota/coop/parse.h>
#include <rota/coop/print.h>

#include <algorithm>
#include <utility>

namespace rota::coop {

namespace {

class fuzzer {
 public:
  explicit fuzzer(const fuzz_options& options) : options_(options) {}

  fuzz_report run() {
    for (std::uint64_t seed = options_.first; seed <= options_.last; ++seed) {
      for (language l : options_.languages) try_program(seed, l);
      if (options_.on_progress &&
          !options_.on_progress(seed, report_.counts, report_.findings.size())) {
        report_.stopped = true;
        break;
      }
      if (seed == options_.last) break;  // it may be the last number there is
    }
    return std::move(report_);
  }

 private:
  // Most runs are long enough to come to their end or to repeat themselves; some are cut anywhere.
  examine_options how_to_examine(std::uint64_t seed) const {
    rota::detail::rng rng{~seed};
    const std::uint64_t limit = rng.below(4) == 0 ? 1 + rng.below(200) : 300;
    return {.modes = options_.modes, .limit = limit, .seed = seed, .rules = options_.rules};
  }

  void try_program(std::uint64_t seed, language l) {
    const std::string text = random_program(seed, varied_knobs(seed, l));
    const parsed p = parse(text);
    if (!p) {
      const disagreement wrong{fuzz_mode::text, semantics::lagc_sched, "unreadable",
                               to_string(p.errors.front(), "generated")};
      add({seed, l, wrong, text, text, wrong});
      return;
    }
    const examine_options how = how_to_examine(seed);
    const examined e = examine(p.tree, how);
    report_.counts.add(e.counts);
    for (const disagreement& d : e.found)
      if (!is_known(d)) add(shrunk({seed, l, d, text, {}, {}}, p.tree, how));
  }

  bool is_known(const disagreement& d) {
    for (fuzz_finding& f : report_.findings) {
      if (!f.found.is_like(d)) continue;
      ++f.times;
      return true;
    }
    return false;
  }

  // Fails the same way: in the same comparison. What it says of the smaller one is reported too.
  static fuzz_finding shrunk(fuzz_finding f, const syntax_tree& tree, examine_options how) {
    how.modes = {f.found.mode};
    const auto still_fails = [&](const syntax_tree& smaller) {
      for (const disagreement& d : examine(smaller, how).found) {
        if (!d.is_like(f.found)) continue;
        f.left = d;
        return true;
      }
      return false;
    };
    f.shrunk = f.program;
    f.left = f.found;
    // Shrinking prints and reads; what is wrong with that shows in the program as it is.
    const parsed printed = parse(source_of(tree));
    if (!printed || !still_fails(printed.tree)) return f;
    f.shrunk = source_of(shrink(printed.tree, still_fails));
    still_fails(parse(f.shrunk).tree);  // for the positions in what it says
    return f;
  }

  void add(fuzz_finding f) { report_.findings.push_back(std::move(f)); }

  const fuzz_options& options_;
  fuzz_report report_;
};

}  // namespace

fuzz_report fuzz(const fuzz_options& options) { return fuzzer{options}.run(); }

}  // namespace rota::coop
