// The checks of single steps, one class each. They see the steps that a scheduler takes, in order,
// and complain about the first that is wrong.
#ifndef ROTA_SRC_COOP_STEP_CHECKS_H
#define ROTA_SRC_COOP_STEP_CHECKS_H

#include <rota/coop/check.h>
#include <rota/coop/configuration.h>
#include <rota/coop/program.h>
#include <rota/coop/rules.h>
#include <rota/coop/run.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rota::coop {

struct seen_step {
  std::uint64_t n = 0;  // from 1
  const derivation& what;
  const configuration& before;
  const configuration& after;
};

struct complaint {
  std::string expected;
  std::string found;
  task_id task = no_task;  // whom it is about, if not the one that the step acts on
  position at = {};        // likewise
};

using opinion = std::optional<complaint>;

class step_check {
 public:
  explicit step_check(check_kind kind) : kind_(kind) {}
  virtual ~step_check() = default;
  step_check(const step_check&) = delete;
  step_check& operator=(const step_check&) = delete;

  check_kind kind() const { return kind_; }

  // A step that is about to be taken; it is not, if there is a complaint.
  virtual opinion allow(const derivation&) { return {}; }
  virtual opinion step(const seen_step&) { return {}; }
  // The run ends in c. `failed` is the step that could not be evaluated, if that is why.
  virtual opinion end(const configuration&, const derivation* /*failed*/) { return {}; }

 private:
  check_kind kind_;
};

// Those that apply to the program's language and semantics, in the order of their kinds. Without
// determinism, which concerns what is possible rather than what is done. The program outlives them.
std::vector<std::unique_ptr<step_check>> step_checks(const program& p, const configuration& initial,
                                                     const check_options& options);

// "task 2".
std::string name_of_task(task_id f);

}  // namespace rota::coop

#endif
