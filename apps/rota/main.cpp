// The program `rota`: one command a job, `--help` everywhere.
//
// Exit status: 0 fine, 1 the answer is no, 2 wrong usage.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>

#include "tour.h"

int main(int argc, char** argv) {
  CLI::App app{"Rota: fair tasks on parking workers, with promises that are checked."};
  app.require_subcommand(1);
  app.footer("Start with `rota tour`. The library's pages are in docs/.");

  bool json = false;
  CLI::App* tour = app.add_subcommand(
      "tour", "shows every promise of the task layer at work, in some seconds; ends with a table");
  tour->add_flag("--json", json, "print the table as JSON, and nothing else");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::string commands;
    bool known = false;
    const std::string first = argc > 1 ? argv[1] : "";
    for (const CLI::App* command : app.get_subcommands({})) {
      commands += " " + command->get_name();
      known = known || command->get_name() == first;
    }
    if (known || first.starts_with('-'))
      std::cerr << "rota: " << error.what() << "; see rota --help\n";
    else if (first.empty())
      std::cerr << "rota: which command? There are:" << commands << '\n';
    else
      std::cerr << "rota: there is no command '" << first << "'; there are:" << commands << '\n';
    return 2;
  }
  try {
    return rota::app::tour(json);
  } catch (const std::exception& error) {
    std::cerr << "rota: " << error.what() << '\n';
    return 1;
  }
}
