// `rota coop run --runner`: a program on the tasks of Rota, and what its log is worth.
#ifndef ROTA_APPS_COOP_RUNNER_H
#define ROTA_APPS_COOP_RUNNER_H

#include <rota/coop/log.h>
#include <rota/coop/program.h>
#include <rota/coop/run.h>
#include <rota/coop/runner.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rota::app {

// What the command line asks for.
struct runner_words {
  std::string order;  // "strict" or "fair"; empty for no runner
  std::uint32_t workers = 1;
  std::string awaits = "handle";  // or "guard"
};

// Throws bad_input if there is no such runner.
coop::runner_options options_of(const runner_words& words, std::uint64_t limit);

// What a log was held against, and whether it stood the test.
struct log_verdict {
  enum class kind : std::uint8_t { exact, admissible, overwritten, wrong };

  kind is = kind::wrong;
  std::string text;  // for people
};

// "exact".
std::string_view name_of(log_verdict::kind k) noexcept;

struct judged_run {
  coop::outcome end;
  log_verdict verdict;
};

judged_run run_and_judge(const coop::program& p, const coop::runner_options& options,
                         coop::log_sink* log);

}  // namespace rota::app

#endif
