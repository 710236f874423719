// Local evaluation: what one task does next, by itself. Nothing here knows of queues, of other
// tasks or of who may run.
//
//   const local_step s = evaluate_statement(p, k, environment_of(c, f));
//
// Promised: nothing is changed; the step says what would be. Threads: anyone's.
#ifndef ROTA_COOP_LOCAL_H
#define ROTA_COOP_LOCAL_H

#include <rota/coop/program.h>
#include <rota/coop/value.h>

#include <cstdint>
#include <optional>

namespace rota::coop {

// The state as one task sees it.
struct environment {
  const value* globals = nullptr;
  const value* parameter = nullptr;

  const value& operator[](variable v) const noexcept {
    return v == own_parameter ? *parameter : globals[v];
  }
};

struct evaluated {
  value result;
  std::optional<failure> error;
};

evaluated evaluate(const program& p, expression_code e, environment state);

enum class local_outcome : std::uint8_t { blocked, failed, moved };

enum class local_effect : std::uint8_t {
  none,
  update,      // target := result
  call,        // spawn: `procedure` with `result`; its identifier goes to `target`, if any
  completion,  // return
  reaction     // await: of the task `result`. Whether it may be taken yet is not known here.
};

// The conditioned trace of a statement whose condition holds, with the names of new tasks left
// open.
struct local_step {
  local_outcome outcome = local_outcome::moved;
  local_effect effect = local_effect::none;
  continuation rest = empty_continuation;
  std::uint32_t procedure = 0;
  variable target = no_variable;
  value result;
  failure error;
};

// One step of the statement that k starts with; k is not empty. Blocked: no condition holds.
local_step evaluate_statement(const program& p, continuation k, environment state);

}  // namespace rota::coop

#endif
