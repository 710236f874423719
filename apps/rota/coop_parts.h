// What the commands of `rota coop` share: exit status, reading programs, and words for people.
#ifndef ROTA_APPS_COOP_PARTS_H
#define ROTA_APPS_COOP_PARTS_H

#include <rota/coop/program.h>
#include <rota/coop/rules.h>
#include <rota/coop/run.h>
#include <rota/coop/source.h>
#include <rota/coop/value.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "command_line.h"
#include "sink.h"

namespace rota::app {

// The exit status of `rota coop`. The first six are those of section 1.4 of the languages'
// definition.
enum coop_status : int {
  fine = 0,
  wrong_usage = 1,
  static_errors = 2,
  run_time_error = 3,
  deadlock = 4,
  step_limit = 5,
  check_failed = 6
};

int status_of(coop::ending end);

// A command of `rota coop`. Wrong words, and picks that do not fit, are wrong usage.
command& add_coop_command(command& coop, const std::string& name, const std::string& help,
                          std::function<int()> run);

// The program that a command is about.
void add_file(command& c, std::string& file);

// The text of a file, or of standard input for "-".
std::string read_source(const std::string& file);

// The program under a semantics that its language has.
coop::program compiled(const std::string& file, const coop::syntax_tree& tree, coop::semantics how);

// The rules of the program's semantics; with the mistake of that name in them if there is one.
coop::rule_table rules_with(const coop::program& p, const std::string& mutant);

// What --mutant can be, for the page of a command.
std::string about_mutants();

// Tells what is wrong with the text, on standard output as well if it is to be JSON. Gives the exit
// status.
int report(const std::string& file, const std::vector<coop::static_error>& errors, bool json);

// The run-time error that a run ended with, on standard error.
void report_error(const std::string& file, const coop::outcome& o);

// "task 2 at 4:12 awaits task 1".
std::string text_of(const coop::blocked_task& b);

// "1 step", "2 steps".
std::string counted(std::uint64_t n, const std::string& thing);

}  // namespace rota::app

#endif
