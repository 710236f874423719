#include "mapping.h"

#include <algorithm>
#include <array>

namespace rota::coop {

std::optional<mapped_rule> mapped(std::string_view rule) {
  struct pair {
    std::string_view scheduler;
    std::string_view relation;
  };
  static constexpr std::array all{
      pair{"2", "2"},
      // spawn, guard
      pair{"6", "4"},
      pair{"7", "5"},
      pair{"8", ""},
      pair{"10", ""},
      // coopwhile
      pair{"18", ""},
      pair{"19", "17"},
      pair{"20", "16"},
      pair{"21", ""},
      pair{"22", "16"},
      pair{"23", ""},
      pair{"24", ""},
      // Sos
      pair{"LOCAL", "LOCAL"},
      pair{"SPAWNSTART", "SPAWNSTART"},
      pair{"RETURN", "RETURN"},
      pair{"YIELDSUSPEND", "YIELDSUSPEND"},
      pair{"YIELDAWAIT", "YIELDAWAIT"},
      pair{"YIELDGUARD", "YIELDGUARD"},
      pair{"SCHEDULESIMPLE", "SCHEDULESIMPLE"},
      pair{"SCHEDULEAWAITDONE", "SCHEDULEAWAIT"},
      pair{"SCHEDULEGUARDDONE", "SCHEDULEGUARD"},
      pair{"SCHEDULEAWAITWAIT", ""},
      pair{"SCHEDULEGUARDWAIT", ""},
  };
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const pair& p) { return p.scheduler == rule; });
  if (at == all.end()) return std::nullopt;
  return mapped_rule{at->relation};
}

configuration mapped(const program& p, const configuration& c) {
  configuration m = c;
  if (is_sos(p.semantics())) {
    std::sort(m.queue.begin(), m.queue.end());
    return m;
  }
  m.pending = no_task;
  // In the relation a suspended task is in the set from the step on that brings it there.
  if (m.active != no_task && p.language() == language::coopwhile) {
    const continuation rest = m.tasks[m.active].rest;
    if (rest == empty_continuation || is_suspended(p, rest)) {
      m.queue.push_back(m.active);
      m.active = no_task;
    }
  }
  const bool has_markers = p.language() == language::coopwhile;
  std::erase_if(m.queue, [&](task_id f) {
    task_record& t = m.tasks[f];
    if (t.rest == empty_continuation) t.phase = phase::ended;
    return t.rest == empty_continuation || (has_markers && t.phase == phase::called);
  });
  std::sort(m.queue.begin(), m.queue.end());
  return m;
}

}  // namespace rota::coop
