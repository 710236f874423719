#include "command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <exception>
#include <iostream>
#include <limits>
#include <type_traits>

namespace rota::app {

command& command::add(std::string name, std::string help) {
  return *below_.emplace_back(std::make_unique<command>(std::move(name), std::move(help)));
}

// Builds the parser from the commands.
class command_line {
 public:
  explicit command_line(const command& program)
      : program_(program), app_(program.help_, program.name_) {
    fill(app_, program);
    if (!program.version_.empty())
      app_.set_version_flag("--version", program.name_ + " " + program.version_,
                            "Print the version and exit");
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return app_.exit(error);  // --help
      complain(argc, argv, error);
      return named_by(argc, argv).usage_status_;
    }
    try {
      return chosen_->action_();
    } catch (const std::exception& error) {
      std::cerr << app_.get_name() << ": " << error.what() << '\n';
      return 1;
    }
  }

 private:
  void fill(CLI::App& app, const command& c) {
    for (const option& o : c.options_) add(app, o);
    for (const option& o : c.options_)
      if (!o.needs.empty()) app.get_option(o.name)->needs(app.get_option(o.needs));
    if (c.footer_) app.footer(c.footer_);
    for (const auto& below : c.below_)
      fill(*app.add_subcommand(below->name_, below->help_), *below);
    if (c.action_)
      app.callback([this, &c] { chosen_ = &c; });
    else
      app.require_subcommand(1);
  }

  static void add(CLI::App& app, const option& o) {
    std::visit(
        [&](auto* value) {
          using type = std::remove_pointer_t<decltype(value)>;
          if constexpr (std::is_same_v<type, bool>) {
            app.add_flag(o.name, *value, o.help);
            return;
          } else {
            CLI::Option* made = app.add_option(o.name, *value, o.help);
            if constexpr (std::is_same_v<type, std::vector<std::string>>)
              made->allow_extra_args(!o.name.starts_with('-'));  // words, or an option repeated
            if constexpr (std::is_unsigned_v<type>) {
              CLI::Validator right =
                  o.bytes ? CLI::Validator(CLI::AsSizeValue(false)) : number<type>(o);
              made->transform(right.description(""));  // the help has its own words
            }
            made->type_name(o.type);
            made->required(o.required);
          }
        },
        o.value);
  }

  // The library's own takes -1 for a very large number.
  template <class Number>
  static CLI::Validator number(const option& o) {
    return CLI::Validator(
        [o](const std::string& text) -> std::string {
          Number value = 0;
          const char* end = text.data() + text.size();
          const auto [stopped, error] = std::from_chars(text.data(), end, value);
          if (error == std::errc{} && stopped == end && value >= o.least && value <= o.most)
            return "";
          return "expected a number from " + std::to_string(o.least) +
                 (o.most < std::numeric_limits<Number>::max() ? " to " + std::to_string(o.most)
                                                              : " on") +
                 ", not " + text;
        },
        "");
  }

  // The command that the first words name, as far as they do.
  const command& named_by(int argc, char** argv) const {
    const command* c = &program_;
    for (int at = 1; at < argc; ++at) {
      const auto below = std::find_if(c->below_.begin(), c->below_.end(),
                                      [&](const auto& b) { return b->name_ == argv[at]; });
      if (below == c->below_.end()) break;
      c = below->get();
    }
    return *c;
  }

  // Says what was wrong, and what there is.
  void complain(int argc, char** argv, const CLI::ParseError& error) const {
    const CLI::App* command = &app_;
    std::string name = app_.get_name();
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

  const command& program_;
  CLI::App app_;
  const command* chosen_ = nullptr;
};

int run_command_line(command& program, int argc, char** argv) {
  const int status = command_line{program}.run(argc, argv);
  // What was printed and got nowhere, on a full disk say, was not done.
  if (std::cout.flush()) return status;
  std::cerr << "rota: standard output cannot be written\n";
  return 2;
}

}  // namespace rota::app
