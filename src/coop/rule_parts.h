// What rules are made of. Each file of rules has the rules of one semantics, and a table of them.
#ifndef ROTA_SRC_COOP_RULE_PARTS_H
#define ROTA_SRC_COOP_RULE_PARTS_H

#include <rota/coop/configuration.h>
#include <rota/coop/local.h>
#include <rota/coop/program.h>
#include <rota/coop/rules.h>

#include <vector>

namespace rota::coop {

using derivations = std::vector<derivation>;

rule_table lagc_rules(language l);
rule_table lagc_scheduler_rules(language l);
rule_table sos_rules();
rule_table sos_scheduler_rules();

// What a task does with its next statement, in this configuration.
inline local_step local_step_of(const program& p, const configuration& c, task_id f) {
  return evaluate_statement(p, c.tasks[f].rest, environment_of(c, f));
}

inline statement_kind head_of(const program& p, const configuration& c, task_id f) {
  return p.at(c.tasks[f].rest).head;
}

// A derivation for task f at its next statement that leaves all else as it is.
derivation visit(const program& p, const configuration& c, task_id f, place to);

// The same by the conditioned trace of that statement, made concrete: the next task gets the next
// number. The trace is not blocked; if it failed, so has the derivation.
derivation evaluate(const program& p, const configuration& c, task_id f, const local_step& step,
                    place to);

// The first steps of a task that was called in coopwhile: callREv, and the binding of its
// parameter.
derivation start(const program& p, const configuration& c, task_id f);

// A task for an open call, in spawn and guard.
derivation start(const program& p, const configuration& c, const call& open);

}  // namespace rota::coop

#endif
