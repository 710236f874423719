// The program `rota`: one command a job, `--help` everywhere.
//
// Exit status: 0 fine, 1 the answer is no, 2 wrong usage.

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <iostream>
#include <string>

#include "check.h"
#include "tour.h"

namespace {

// Says what was wrong on the command line, and what there is.
void complain(const CLI::App& app, int argc, char** argv, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  std::string name = app.get_name();
  int at = 1;
  const auto named = [&](const char* word) -> const CLI::App* {
    for (const CLI::App* c : command->get_subcommands({}))
      if (c->get_name() == word) return c;
    return nullptr;
  };
  for (; at < argc; ++at) {
    const CLI::App* next = named(argv[at]);
    if (!next) break;
    command = next;
    name += " " + command->get_name();
  }
  std::string below;
  for (const CLI::App* c : command->get_subcommands({}))
    below += (below.empty() ? "" : ", ") + c->get_name();
  const std::string word = at < argc ? argv[at] : "";
  if (below.empty() || word.starts_with('-'))
    std::cerr << name << ": " << error.what() << "; see " << name << " --help\n";
  else if (word.empty())
    std::cerr << name << ": what? There are: " << below << '\n';
  else
    std::cerr << name << ": there is no '" << word << "'; there are: " << below << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Rota: fair tasks on parking workers, with promises that are checked.", "rota"};
  app.require_subcommand(1);
  app.footer("Start with `rota tour`. The library's pages are in docs/.");
  std::function<int()> run;

  bool json = false;
  CLI::App* tour = app.add_subcommand(
      "tour", "shows every promise of the task layer at work, in some seconds; ends with a table");
  tour->add_flag("--json", json, "print the table as JSON, and nothing else");
  tour->callback([&] { run = [&] { return rota::app::tour(json); }; });
  rota::app::add_check(app, run);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    complain(app, argc, argv, error);
    return 2;
  }
  try {
    return run();
  } catch (const std::exception& error) {
    std::cerr << "rota: " << error.what() << '\n';
    return 1;
  }
}
