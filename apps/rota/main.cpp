// The program `rota`: one command a job, `--help` everywhere.
//
// Exit status: 0 fine, 1 the answer is no, 2 wrong usage; a command that has others says so.

#include "check.h"
#include "command_line.h"
#include "completion.h"
#include "coop.h"
#ifdef ROTA_APP_JOBS
#include "configuration_file.h"
#include "cron.h"
#include "serve/serve.h"
#endif
#include "manual.h"
#include "top.h"
#include "topic.h"
#include "tour/tour.h"

int main(int argc, char** argv) {
  rota::app::command program{
      "rota", "Rota: fair tasks on parking workers, with promises that are checked."};
  program.version(ROTA_PROGRAM_VERSION);
  program.footer([] {
    return "Start with `rota tour`. `rota COMMAND --help` says more of each; --json where there is "
           "something to read.\n"
           "Exit status: 0 fine, 1 the answer is no, 2 wrong usage. Pages: README.md, docs/, "
           "specs/.";
  });
  program.group("Look around, and into a running program");
  rota::app::add_tour(program);
  rota::app::add_top(program);
  rota::app::add_trace(program);
#ifdef ROTA_APP_JOBS
  program.group("Run jobs, instead of cron");
  rota::app::add_serve(program);
  rota::app::add_job(program);
  rota::app::add_cron(program);
#endif
  program.group("Topics and services of a running program");
  rota::app::add_topic(program);
  rota::app::add_service(program);
  rota::app::add_graph(program);
  program.group("Check protocols and programs");
  rota::app::add_check(program);
  rota::app::add_coop(program);
  program.group("Help for shells and readers");
  rota::app::add_completion(program);
  rota::app::add_manual(program);
#ifdef ROTA_APP_JOBS
  return rota::app::run_command_line(program, argc, argv, rota::app::read_configuration_file,
                                     rota::app::default_configuration_file());
#else
  return rota::app::run_command_line(program, argc, argv);
#endif
}
