#include "completion.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <variant>
#include <vector>

namespace rota::app {

namespace {

// --- what there is to complete ------------------------------------------------------------------

// What an option or a word takes, as far as a shell can help with it.
enum class takes { nothing, text, words, printed_words, file, folder, program };

takes taken_by(const option& o) {
  if (std::holds_alternative<bool*>(o.value)) return takes::nothing;
  if (!o.words.empty()) return takes::words;
  if (!o.words_by.empty()) return takes::printed_words;
  const std::string& type = o.type.empty() ? o.name : o.type;
  if (type == "FILE" || type == "PATH" || type == "PAGE") return takes::file;
  if (type == "DIR") return takes::folder;
  if (type.find("PROGRAM") != type.npos) return takes::program;
  return takes::text;
}

bool stands_alone(const option& o) { return !o.name.starts_with('-'); }

// "-f,--follow" is -f and --follow.
std::vector<std::string> names_of(const option& o) {
  std::vector<std::string> names;
  std::istringstream all(o.name);
  for (std::string name; std::getline(all, name, ',');) names.push_back(name);
  return names;
}

// All options, also those that each command has by itself.
std::vector<option> options_of(const command& c) {
  std::vector<option> all;
  for (const option& o : c.options())
    if (!stands_alone(o)) all.push_back(o);
  all.push_back({.name = "-h,--help", .help = "print the help and exit"});
  if (!c.version().empty())
    all.push_back({.name = "--version", .help = "print the version and exit"});
  return all;
}

std::vector<option> words_of(const command& c) {
  std::vector<option> all;
  for (const option& o : c.options())
    if (stands_alone(o)) all.push_back(o);
  return all;
}

std::string joined(const std::vector<std::string>& all, const std::string& between) {
  std::string out;
  for (const std::string& one : all) out += (out.empty() ? "" : between) + one;
  return out;
}

std::vector<std::string> names_below(const command& c) {
  std::vector<std::string> names;
  for (const auto& below : c.below()) names.push_back(below->name());
  return names;
}

// Each command with its path, "rota job add".
using visitor = std::function<void(const std::string& path, const command& c)>;
void visit_all(const std::string& path, const command& c, const visitor& visit) {
  visit(path, c);
  for (const auto& below : c.below()) visit_all(path + ' ' + below->name(), *below, visit);
}

// Commands that are completed alike, as the models of `rota check`: the script has them once.
struct alike {
  std::string body;
  std::vector<std::string> paths;
};
std::vector<alike> grouped(const command& program,
                           const std::function<std::string(const command&)>& body_of) {
  std::vector<alike> groups;
  visit_all(program.name(), program, [&](const std::string& path, const command& c) {
    const std::string body = body_of(c);
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const alike& group) { return group.body == body; });
    if (known == groups.end())
      groups.push_back({body, {path}});
    else
      known->paths.push_back(path);
  });
  return groups;
}

// In single quotes; `inner` is what stands for one inside, and other characters may need more.
std::string quoted(const std::string& text, const std::string& inner,
                   const std::string& with_backslash = "") {
  std::string out = "'";
  for (const char c : text) {
    if (with_backslash.find(c) != with_backslash.npos) out += '\\';
    out += c == '\'' ? inner : std::string(1, c);
  }
  return out + '\'';
}

std::string shell_quoted(const std::string& text) { return quoted(text, "'\\''"); }

std::string alternatives(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) all.push_back(shell_quoted(path));
  return joined(all, " | ");
}

// --- bash ---------------------------------------------------------------------------------------

// Sets `how`, and `words` if they are known.
std::string bash_how(const option& o, const std::string& program) {
  switch (taken_by(o)) {
    case takes::words:
      return "how=words words=" + shell_quoted(joined(o.words, " "));
    case takes::printed_words:
      return "how=words words=$(" + program + ' ' + o.words_by + " 2>/dev/null)";
    case takes::file:
      return "how=file";
    case takes::folder:
      return "how=folder";
    case takes::program:
      return "how=program";
    default:
      return "how=text";
  }
}

std::string bash_body(const command& c, const std::string& program) {
  std::string out;
  if (!c.below().empty()) out += "      below=" + shell_quoted(joined(names_below(c), " ")) + '\n';
  std::vector<std::string> names;
  for (const option& o : options_of(c))
    for (const std::string& name : names_of(o)) names.push_back(name);
  out += "      options=" + shell_quoted(joined(names, " ")) + '\n';
  for (const option& o : words_of(c))
    if (taken_by(o) != takes::text) out += "      " + bash_how(o, program) + '\n';
  std::vector<alike> values;
  for (const option& o : options_of(c)) {
    if (taken_by(o) == takes::nothing) continue;
    const std::string how = bash_how(o, program);
    auto known =
        std::find_if(values.begin(), values.end(), [&](const alike& v) { return v.body == how; });
    if (known == values.end()) known = values.insert(values.end(), {how, {}});
    for (const std::string& name : names_of(o)) known->paths.push_back(name);
  }
  if (values.empty()) return out;
  out += "      case $prev in\n";
  for (const alike& v : values)
    out += "        " + joined(v.paths, " | ") + ") value=yes " + v.body + " ;;\n";
  return out + "      esac\n";
}

}  // namespace

std::string bash_completion(const command& program) {
  const std::string name = program.name();
  std::vector<std::string> all;
  visit_all(name, program, [&](const std::string& path, const command&) {
    if (path != name) all.push_back(path);
  });
  std::string out = "# Completes the words of " + name + " in bash. Made by `" + name +
                    " completion bash`.\n\n_" + name + R"(() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local command=)" + name +
                    R"( below='' options='' words='' how='' value='' literal='' i
  COMPREPLY=()
  # --option=value is three words here.
  if [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $cur == = ]]; then
    cur=''
  fi
  # Which command is it?
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      literal=yes
      break
    fi
    case "$command ${COMP_WORDS[i]}" in
      )" + alternatives(all) +
                    R"()
        command+=" ${COMP_WORDS[i]}"
        ;;
    esac
  done
  # What does it take, and what the option before the cursor?
  case $command in
)";
  for (const alike& group : grouped(program, [&](const command& c) { return bash_body(c, name); }))
    out += "    " + alternatives(group.paths) + ")\n" + group.body + "      ;;\n";
  return out + R"(  esac
  if [[ $literal ]]; then
    :
  elif [[ ! $value && $cur == -* ]]; then
    how=words words=$options
  elif [[ ! $value && $below ]]; then
    how=words words=$below
  fi
  case $how in
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
    program) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
    file) compopt -o default ;;
    folder) compopt -o dirnames ;;
  esac
}

complete -F _)" +
         name + ' ' + name + '\n';
}

// --- zsh ----------------------------------------------------------------------------------------

namespace {

std::string zsh_action(const option& o, const std::string& program) {
  switch (taken_by(o)) {
    case takes::words:
      return "(" + joined(o.words, " ") + ")";
    case takes::printed_words:
      return "{compadd -- ${(f)\"$(" + program + ' ' + o.words_by + " 2>/dev/null)\"}}";
    case takes::file:
      return "_files";
    case takes::folder:
      return "_files -/";
    case takes::program:
      return "_command_names -e";
    default:
      return " ";
  }
}

std::string with_backslashes(const std::string& text, const std::string& before) {
  std::string out;
  for (const char c : text) {
    if (before.find(c) != before.npos) out += '\\';
    out += c;
  }
  return out;
}

// ":message:action"
std::string zsh_value(const option& o, const std::string& program) {
  const std::string message = o.type.empty() ? o.name : o.type;
  return ":" + with_backslashes(message, ":\\") + ":" + zsh_action(o, program);
}

// One argument of _arguments for each name of an option, and one for each word.
std::string zsh_arguments(const command& c, const std::string& program) {
  std::string out;
  const auto add = [&](const std::string& spec) { out += " \\\n    " + shell_quoted(spec); };
  for (const option& o : options_of(c)) {
    const std::vector<std::string> names = names_of(o);
    const bool repeated = std::holds_alternative<std::vector<std::string>*>(o.value);
    const bool last = o.name == "-h,--help" || o.name == "--version";
    const std::string others = last               ? "(- *)"
                               : names.size() > 1 ? "(" + joined(names, " ") + ")"
                                                  : "";
    for (const std::string& name : names) {
      std::string spec = (repeated ? "*" : others) + name;
      if (taken_by(o) != takes::nothing) spec += name.starts_with("--") ? "=" : "+";
      spec += "[" + with_backslashes(o.help, "[]\\") + "]";
      if (taken_by(o) != takes::nothing) spec += zsh_value(o, program);
      add(spec);
    }
  }
  if (!c.below().empty()) return out + " \\\n    '1: :->command' \\\n    '*:: :->rest'";
  int place = 0;
  for (const option& o : words_of(c)) {
    const bool many = std::holds_alternative<std::vector<std::string>*>(o.value);
    add((many ? "*" : std::to_string(++place)) + zsh_value(o, program));
  }
  return out;
}

std::string zsh_function(const std::string& path) {
  std::string name = "_" + path;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return name;
}

// What a command with others below it does: names them, or hands the rest to one of them.
std::string zsh_choice(const std::string& path, const command& c,
                       const std::vector<alike>& groups) {
  std::string names;
  std::string calls;
  for (const auto& below : c.below()) {
    const std::string& name = below->name();
    names += "        " + shell_quoted(with_backslashes(name, ":") + ":" + below->help()) + '\n';
    const std::string full = path + ' ' + name;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const alike& g) {
      return std::find(g.paths.begin(), g.paths.end(), full) != g.paths.end();
    });
    calls += "        " + name + ") " + zsh_function(group->paths.front()) + " ;;\n";
  }
  return "  case $state in\n    command)\n      commands=(\n" + names +
         "      )\n      _describe -t commands command commands\n      ;;\n    rest)\n"
         "      case $line[1] in\n" +
         calls + "      esac\n      ;;\n  esac\n";
}

}  // namespace

std::string zsh_completion(const command& program) {
  const std::string name = program.name();
  // Those with commands below are never alike, since those have other names.
  const std::vector<alike> groups = grouped(program, [&](const command& c) {
    return zsh_arguments(c, name) + '\0' + joined(names_below(c), " ");
  });
  std::string functions;
  visit_all(name, program, [&](const std::string& path, const command& c) {
    if (std::none_of(groups.begin(), groups.end(),
                     [&](const alike& g) { return g.paths.front() == path; }))
      return;
    functions += zsh_function(path) + "() {\n";
    if (c.below().empty()) {
      functions += "  _arguments -s -S" + zsh_arguments(c, name) + "\n}\n\n";
      return;
    }
    functions +=
        "  local curcontext=$curcontext state line\n  local -a commands\n  typeset -A opt_args\n"
        "  _arguments -C -S" +
        zsh_arguments(c, name) + '\n' + zsh_choice(path, c, groups) + "}\n\n";
  });
  const std::string first = zsh_function(name);
  return "#compdef " + name + "\n# Completes the words of " + name + " in zsh. Made by `" + name +
         " completion zsh`.\n\n" + functions +
         "# As a file of fpath it is the function; otherwise it is told of it.\n"
         "if [[ $funcstack[1] == " +
         first + " ]]; then\n  " + first + " \"$@\"\nelse\n  compdef " + first + ' ' + name +
         "\nfi\n";
}

// --- fish ---------------------------------------------------------------------------------------

namespace {

std::string fish_quoted(const std::string& text) { return quoted(text, "\\'", "\\"); }

std::string fish_value(const option& o, const std::string& program) {
  switch (taken_by(o)) {
    case takes::nothing:
      return "";
    case takes::words:
      return " -x -a " + fish_quoted(joined(o.words, " "));
    case takes::printed_words:
      return " -x -a " + fish_quoted("(" + program + ' ' + o.words_by + " 2>/dev/null)");
    case takes::file:
      return " -r -F";
    case takes::folder:
      return " -x -a '(__fish_complete_directories)'";
    case takes::program:
      return " -x -a '(__fish_complete_command)'";
    case takes::text:
      break;
  }
  return " -x";
}

// Lines of `complete` without their condition.
std::string fish_body(const command& c, const std::string& program) {
  std::string out;
  for (const auto& below : c.below())
    out += " -f -a " + fish_quoted(below->name()) + " -d " + fish_quoted(below->help()) + '\n';
  for (const option& o : options_of(c)) {
    for (const std::string& name : names_of(o))
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    out += fish_value(o, program) + " -d " + fish_quoted(o.help) + '\n';
  }
  for (const option& o : words_of(c)) {
    if (taken_by(o) == takes::text) continue;
    std::string value = fish_value(o, program);
    if (value.starts_with(" -x")) value.replace(0, 3, " -f");
    if (value == " -r -F") value = " -F";
    out += value + '\n';
  }
  return out;
}

}  // namespace

std::string fish_completion(const command& program) {
  const std::string name = program.name();
  const std::string at = "__" + name + "_at";
  std::vector<std::string> all;
  visit_all(name, program,
            [&](const std::string& path, const command&) { all.push_back(fish_quoted(path)); });
  std::string out = "# Completes the words of " + name + " in fish. Made by `" + name +
                    " completion fish`.\n\nset -g __" + name + "_commands " + joined(all, " ") +
                    "\n\n# Whether the words so far name one of these commands.\nfunction " + at +
                    R"(
    set -l words (commandline -opc)
    set -l path )" + name +
                    R"(
    for word in $words[2..]
        test "$word" = --; and break
        contains -- "$path $word" $__)" +
                    name + R"(_commands; and set path "$path $word"
    end
    contains -- "$path" $argv
end

complete -c )" + name +
                    " -f\n";
  int number = 0;
  for (const alike& group :
       grouped(program, [&](const command& c) { return fish_body(c, name); })) {
    const std::string condition = at + '_' + std::to_string(++number);
    out += "\nfunction " + condition + "\n    " + at;
    for (const std::string& path : group.paths) out += ' ' + fish_quoted(path);
    out += "\nend\n";
    std::istringstream lines(group.body);
    for (std::string l; std::getline(lines, l);)
      out += "complete -c " + name + " -n " + condition + l + '\n';
  }
  return out;
}

void add_completion(command& program) {
  auto shell = std::make_shared<std::string>();
  command& c = program.add("completion", "prints what bash, zsh or fish needs to complete rota");
  c.option({.name = "shell",
            .type = "SHELL",
            .help = "bash, zsh or fish",
            .value = shell.get(),
            .required = true,
            .words = {"bash", "zsh", "fish"}});
  c.footer([] {
    return "It is installed with the program. To have it without, add a line to what your shell\n"
           "reads at its start:\n\n"
           "  source <(rota completion bash)        in ~/.bashrc\n"
           "  source <(rota completion zsh)         in ~/.zshrc, after compinit\n"
           "  rota completion fish | source         in ~/.config/fish/config.fish";
  });
  c.run([shell, &program] {
    if (*shell == "bash")
      std::cout << bash_completion(program);
    else if (*shell == "zsh")
      std::cout << zsh_completion(program);
    else if (*shell == "fish")
      std::cout << fish_completion(program);
    else
      throw bad_input("there is no shell '" + *shell + "'; there are: bash, zsh, fish");
    return 0;
  });
}

}  // namespace rota::app
