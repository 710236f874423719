// The program `rota`: one command a job, `--help` everywhere.
//
// Exit status: 0 fine, 1 the answer is no, 2 wrong usage; a command that has others says so.

#include "check.h"
#include "command_line.h"
#include "completion.h"
#include "coop.h"
#ifdef ROTA_APP_JOBS
#include "cron.h"
#include "serve/serve.h"
#endif
#include "manual.h"
#include "top.h"
#include "topic.h"
#include "tour.h"

int main(int argc, char** argv) {
  rota::app::command program{
      "rota", "Rota: fair tasks on parking workers, with promises that are checked."};
  program.version(ROTA_PROGRAM_VERSION);
  program.footer([] { return "Start with `rota tour`. The library's pages are in docs/."; });
  rota::app::add_tour(program);
  rota::app::add_check(program);
  rota::app::add_coop(program);
#ifdef ROTA_APP_JOBS
  rota::app::add_cron(program);
#endif
  rota::app::add_topic(program);
  rota::app::add_service(program);
  rota::app::add_graph(program);
  rota::app::add_top(program);
  rota::app::add_trace(program);
#ifdef ROTA_APP_JOBS
  rota::app::add_serve(program);
  rota::app::add_job(program);
#endif
  rota::app::add_completion(program);
  rota::app::add_manual(program);
  return rota::app::run_command_line(program, argc, argv);
}
