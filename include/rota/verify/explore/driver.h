// A main() for programs to explore: they get names, and the command line chooses among them.
//
//   int main(int argc, char** argv) {
//     return rota::explore::main(argc, argv, {
//       {.name = "stack.push_pop", .summary = "two push, one pops", .program = push_pop},
//       {.name = "stack.racy", .summary = "known to race", .program = racy,
//        .fails = {rota::explore::failure_kind::data_race}},
//     });
//   }
//
//   $ ./stack_scenarios list
//   $ ./stack_scenarios stack.push_pop --strategy bounded --preemptions 3 --seconds 60
//   $ ./stack_scenarios stack.push_pop --replay TOKEN      # one schedule, step by step; for gdb
//   too
//
// Ends with 0 if every scenario did what is expected of it, 1 if one did not, 2 if the command line
// is wrong.
//
// Threads: the main thread's.
#ifndef ROTA_VERIFY_EXPLORE_DRIVER_H
#define ROTA_VERIFY_EXPLORE_DRIVER_H

#include <rota/verify/explore/explore.h>

#include <functional>
#include <string>
#include <vector>

namespace rota::explore {

struct scenario {
  // A group and a name, as in "queue.two_thieves". The command line takes either of both.
  std::string name;
  std::string summary;
  std::function<void()> program;
  // What holds unless the command line says otherwise.
  options defaults = {};
  // Empty for a scenario that passes; else it has to fail in one of these ways.
  std::vector<failure_kind> fails = {};
};

int main(int argc, char** argv, const std::vector<scenario>& all);

}  // namespace rota::explore

#endif
