// What the events of a run say about its tasks, noted by the checker itself: the trace as far as
// well-formedness and shape need it.
#ifndef ROTA_SRC_COOP_TRACE_HISTORY_H
#define ROTA_SRC_COOP_TRACE_HISTORY_H

#include <rota/coop/configuration.h>
#include <rota/coop/program.h>
#include <rota/coop/rules.h>

#include <cstddef>
#include <vector>

#include "step_checks.h"

namespace rota::coop {

class trace_history {
 public:
  // How far a task has come. Main has no events and is live from the start.
  struct life {
    call called_as;
    bool started = false;
    bool completed = false;
    bool gone = false;  // removed from the configuration by the rule for that
  };

  explicit trace_history(const program& p) : program_(p) { lives_.push_back({{}, true}); }

  // Notes what a step says, and says what must not be there. What is noted of a wrong event is of
  // no further use.
  opinion add(const derivation& d);

  const std::vector<life>& lives() const { return lives_; }
  // The last event is the call of this task.
  task_id pending() const { return pending_; }
  // spawn, guard: calls without reaction.
  std::size_t open() const { return open_.size(); }

 private:
  opinion add(const event& e);
  opinion add_call(const event& e);
  opinion add_call_reaction(const event& e);
  opinion add_completion(const event& e);
  opinion add_completion_reaction(const event& e) const;
  opinion add_done();
  // The life of a task that is named, has been called, and is not main.
  life* find(task_id f);

  const program& program_;
  std::vector<life> lives_;  // by task
  std::vector<call> open_;
  task_id pending_ = no_task;
};

}  // namespace rota::coop

#endif
