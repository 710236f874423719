#include "command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <map>
#include <set>
#include <type_traits>

namespace rota::app {

command& command::add(std::string name, std::string help) {
  command& added =
      *below_.emplace_back(std::make_unique<command>(std::move(name), std::move(help)));
  added.group_ = heading_of_next_;
  return added;
}

namespace {

// Where options came from that were not on the command line.
std::map<std::string, std::string>& origins() {
  static std::map<std::string, std::string> all;
  return all;
}

}  // namespace

void complain(const std::string& name, const std::string& message) {
  for (const auto& [option, where] : origins()) {
    if (!message.starts_with(option + ':') && !message.starts_with(option + ' ')) continue;
    // A place in a file speaks for itself.
    const bool in_file = where.find(':') != where.npos;
    std::cerr << (in_file ? "" : "rota " + name + ": ") << where << message.substr(option.size())
              << '\n';
    return;
  }
  std::cerr << "rota " << name << ": " << message << '\n';
}

// Builds the parser from the commands.
class command_line {
 public:
  command_line(command& program, const file_reader& reader, const std::string& default_file)
      : program_(program),
        app_(program.help_, program.name_),
        reader_(reader),
        default_file_(default_file) {
    if (reader_) add_config(program);
    fill(app_, program, {});
    if (!program.version_.empty())
      app_.set_version_flag("--version", program.name_ + " " + program.version_,
                            "Print the version and exit");
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
      configure();
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return app_.exit(error);  // --help
      say_what_there_is(argc, argv, error);
      return named_by(argc, argv).usage_status_;
    } catch (const bad_setting_file& wrong) {
      std::cerr << wrong.what() << '\n';
      return chosen_->usage_status_;
    } catch (const bad_input& wrong) {
      complain(chosen_name(), wrong.what());
      return chosen_->usage_status_;
    }
    try {
      return chosen_->action_();
    } catch (const bad_input& wrong) {
      complain(chosen_name(), wrong.what());
      return chosen_->usage_status_;
    } catch (const std::exception& error) {
      complain(chosen_name(), error.what());
      return 1;
    }
  }

 private:
  // An option, and what the library made of it.
  struct pair {
    const option* ours;
    CLI::Option* theirs;
  };

  void add_config(command& c) {
    if (c.action_)
      c.option({.name = "--config",
                .type = "FILE",
                .help = "a file with options (" + default_file_ + "); none: no file",
                .value = &config_});
    for (const auto& below : c.below_) add_config(*below);
  }

  void fill(CLI::App& app, const command& c, const std::vector<std::string>& words) {
    std::vector<pair>& made = made_[&c];
    for (const option& o : c.options_) made.push_back({&o, add(app, o)});
    app.footer([&c, words] { return footer_of(c, words); });
    for (const auto& below : c.below_) {
      std::vector<std::string> longer = words;
      longer.push_back(below->name_);
      CLI::App* sub = app.add_subcommand(below->name_, below->help_);
      if (!below->group_.empty()) sub->group(below->group_);
      fill(*sub, *below, longer);
    }
    if (c.action_)
      app.callback([this, &c, words] {
        chosen_ = &c;
        words_ = words;
      });
    else
      app.require_subcommand(1);
  }

  static std::string footer_of(const command& c, const std::vector<std::string>& words) {
    std::string text = c.footer_ ? c.footer_() : "";
    if (!c.action_) return text;
    std::string section;
    for (const std::string& w : words) section += (section.empty() ? "" : ".") + w;
    for (const option& o : c.options_) {
      const std::string key = key_of(o);
      if (key.empty() || key == "config") continue;
      return text + (text.empty() ? "" : "\n") + "Options may also stand in a file, below [" +
             section + "], and in the environment, as " + variable_of(words, key) +
             ". Flags beat the file, the file beats the environment (docs/configuration.md).";
    }
    return text;
  }

  std::string chosen_name() const {
    std::string name;
    for (const std::string& w : words_) name += (name.empty() ? "" : " ") + w;
    return name;
  }

  // What is not on the command line comes from the file or the environment.
  void configure() {
    const configuration from{program_, read_file()};
    for (const pair& p : made_.at(chosen_)) {
      if (p.theirs->count() > 0) continue;
      const auto found = from.find(words_, *p.ours);
      if (!found) continue;
      const std::string fault = assign(*p.ours, found->values);
      if (!fault.empty() && found->in_file) throw bad_setting_file(found->where + ": " + fault);
      if (!fault.empty()) throw bad_input(found->where + ": " + fault);
      set_.insert(p.ours);
      origins()["--" + key_of(*p.ours)] = found->where;
    }
    for (const pair& p : made_.at(chosen_)) {
      const std::string name = "--" + key_of(*p.ours);
      const bool is_set = p.theirs->count() > 0 || set_.contains(p.ours);
      if (p.ours->required && !is_set) throw bad_input(name + " is required");
      // A setting for other occasions may stand in a file; on the command line it is a mistake.
      if (p.theirs->count() > 0 && !p.ours->needs.empty() && !has(p.ours->needs))
        throw bad_input(name + " needs " + p.ours->needs);
    }
  }

  std::vector<setting> read_file() const {
    if (!reader_) return {};
    std::string path = config_;
    if (const char* set = std::getenv("ROTA_CONFIG"); path.empty() && set) path = set;
    const bool wanted = !path.empty();
    if (!wanted) path = default_file_;
    if (path == "none" || path.empty()) return {};
    return reader_(path, wanted);
  }

  bool has(const std::string& name) const {
    for (const pair& p : made_.at(chosen_))
      if (p.ours->name == name) return p.theirs->count() > 0 || set_.contains(p.ours);
    return false;
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

  template <class Number>
  static CLI::Validator validator(const option& o) {
    return o.bytes ? CLI::Validator(CLI::AsSizeValue(false)) : number<Number>(o);
  }

  // Gives an option its value; says what is wrong with it.
  static std::string assign(const option& o, std::vector<std::string> values) {
    if (auto* const* several = std::get_if<std::vector<std::string>*>(&o.value)) {
      **several = std::move(values);
      return "";
    }
    if (values.size() != 1) return "expected one value, not a list";
    std::string text = std::move(values.front());
    return std::visit(
        [&](auto* value) -> std::string {
          using type = std::remove_pointer_t<decltype(value)>;
          if constexpr (std::is_same_v<type, bool>) {
            *value = text == "true" || text == "1";
            return *value || text == "false" || text == "0" ? ""
                                                            : "expected true or false, not " + text;
          } else if constexpr (std::is_same_v<type, std::string>) {
            *value = text;
          } else if constexpr (std::is_unsigned_v<type>) {
            const std::string fault = validator<type>(o)(text);
            if (!fault.empty()) return fault;
            std::from_chars(text.data(), text.data() + text.size(), *value);
          }
          return "";
        },
        o.value);
  }

  static CLI::Option* add(CLI::App& app, const option& o) {
    const std::string help = o.help + (o.needs.empty() ? "" : "; needs " + o.needs);
    return std::visit(
        [&](auto* value) -> CLI::Option* {
          using type = std::remove_pointer_t<decltype(value)>;
          if constexpr (std::is_same_v<type, bool>) {
            return app.add_flag(o.name, *value, help);
          } else {
            CLI::Option* made = app.add_option(o.name, *value, help);
            if constexpr (std::is_same_v<type, std::vector<std::string>>)
              made->allow_extra_args(!o.name.starts_with('-'));  // words, or an option repeated
            if constexpr (std::is_unsigned_v<type>)
              made->transform(validator<type>(o).description(""));  // the help has its own words
            made->type_name(o.type);
            // What has a name may come from elsewhere, and is looked for later.
            made->required(o.required && key_of(o).empty());
            return made;
          }
        },
        o.value);
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
  void say_what_there_is(int argc, char** argv, const CLI::ParseError& error) const {
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
      std::cerr << name << ": what? There are " << below << '\n';
    else
      std::cerr << name << ": there is no '" << word << "'; there are " << below << '\n';
  }

  const command& program_;
  CLI::App app_;
  const file_reader& reader_;
  std::string default_file_;
  std::string config_;
  std::map<const command*, std::vector<pair>> made_;
  std::set<const option*> set_;  // by file or environment
  const command* chosen_ = nullptr;
  std::vector<std::string> words_;  // that name it
};

int run_command_line(command& program, int argc, char** argv, const file_reader& reader,
                     const std::string& default_file) {
  const int status = command_line{program, reader, default_file}.run(argc, argv);
  // What was printed and got nowhere, on a full disk say, was not done.
  if (std::cout.flush()) return status;
  std::cerr << "rota: standard output cannot be written\n";
  return 2;
}

}  // namespace rota::app
