#include "manual.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace rota::app {

namespace {

// --- roff ---------------------------------------------------------------------------------------

// What would be typeset otherwise, or read as a request: a dash is an option's, not a hyphen, and a
// quote is one that can be pasted.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '"':
        out += "\\(dq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

// Text with `words to be typed`, which become bold.
std::string marked(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t begin = text.find('`');
    const std::size_t end = begin == text.npos ? begin : text.find('`', begin + 1);
    if (end == text.npos) break;
    out += escaped(text.substr(0, begin)) + bold(text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
  return out + escaped(text);
}

// A line of the page; a dot at its start is no request. (Quotes are escaped already.)
std::string line(const std::string& roff) {
  return (roff.starts_with('.') ? "\\&" : "") + roff + '\n';
}

std::string section(std::string_view title) { return ".SH " + std::string(title) + '\n'; }
std::string entry(const std::string& tag, const std::string& text) {
  return ".TP\n" + line(tag) + line(text);
}

// A text of several paragraphs, as --help prints it. What is drawn with spaces stays as it is, the
// rest is filled. A macro comes before each but, after a heading, the first.
std::string paragraphs(const std::string& text, bool after_heading = false) {
  std::istringstream lines(text);
  std::string out;
  std::string paragraph;
  bool drawn = false;
  const auto close = [&] {
    if (!paragraph.empty()) {
      if (!after_heading || !out.empty()) out += ".PP\n";
      out += drawn ? ".nf\n" + paragraph + ".fi\n" : paragraph;
    }
    paragraph.clear();
    drawn = false;
  };
  for (std::string l; std::getline(lines, l);) {
    if (l.find_first_not_of(' ') == l.npos) {
      close();
      continue;
    }
    drawn = drawn || l.find("  ") != l.npos || l.starts_with(' ');
    paragraph += line(marked(l));
  }
  close();
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

// --- options ------------------------------------------------------------------------------------

bool is_word(const option& o) { return !o.name.starts_with('-'); }

// What stands for its value: a word that has no type is named by its name.
std::string placeholder(const option& o) {
  if (!o.type.empty() || !is_word(o)) return o.type;
  return upper(o.name);
}

bool is_list(const option& o) { return std::holds_alternative<std::vector<std::string>*>(o.value); }

// "-f,--follow" as names and type, in bold and italic.
std::string tag_of(const option& o) {
  if (is_word(o)) return italic(placeholder(o));
  std::string out;
  std::istringstream names(o.name);
  for (std::string name; std::getline(names, name, ',');)
    out += (out.empty() ? "" : ", ") + bold(name);
  return o.type.empty() ? out : out + ' ' + italic(o.type);
}

std::string default_of(const option& o) {
  return std::visit(
      [](const auto* value) -> std::string {
        using type = std::remove_cv_t<std::remove_pointer_t<decltype(value)>>;
        if (!value) return "";
        if constexpr (std::is_same_v<type, std::string>)
          return *value;
        else if constexpr (std::is_unsigned_v<type> && !std::is_same_v<type, bool>)
          return *value == 0 ? "" : std::to_string(*value);
        else
          return "";
      },
      o.value);
}

// Whether the help says it already, be it as 10,000.
bool says(const std::string& help, const std::string& text) {
  std::string plain = help;
  std::erase(plain, ',');
  return help.find(text) != help.npos || plain.find(text) != plain.npos;
}

// The help, and what the option's data say beyond it.
std::string text_of(const option& o) {
  std::vector<std::string> parts = {marked(o.help)};
  if (o.required && !is_word(o)) parts.push_back("required");
  if (is_list(o) && !is_word(o) && !says(o.help, "repeated")) parts.push_back("may be repeated");
  constexpr std::uint64_t no_limit = std::numeric_limits<std::uint32_t>::max();
  if (o.most < no_limit)
    parts.push_back("from " + std::to_string(o.least) + " to " + std::to_string(o.most));
  else if (o.least > 0)
    parts.push_back("at least " + std::to_string(o.least));
  if (const std::string d = default_of(o);
      !d.empty() && !o.bytes && !says(o.help, d) && !says(o.help, "default"))
    parts.push_back("by default " + escaped(d));
  if (!o.needs.empty()) parts.push_back("only with " + bold(o.needs));
  std::string out;
  for (const std::string& part : parts) out += (out.empty() || part.empty() ? "" : "; ") + part;
  return out;
}

std::string options_of(const command& c) {
  std::string out;
  for (const bool words : {true, false})
    for (const option& o : c.options())
      if (is_word(o) == words) out += entry(tag_of(o), text_of(o));
  return out;
}

// --- commands -----------------------------------------------------------------------------------

// "rota job add [OPTION]... NAME [ARGUMENT]..."
std::string usage_of(const std::string& path, const command& c) {
  std::string out = bold(path);
  const auto& all = c.options();
  if (!c.below().empty()) out += ' ' + italic(c.runs() ? "[COMMAND]" : "COMMAND");
  if (!std::all_of(all.begin(), all.end(), is_word)) out += " [" + italic("OPTION") + "]...";
  for (const option& o : all) {
    if (!is_word(o)) continue;
    const std::string word = italic(placeholder(o));
    out += o.required ? ' ' + word : " [" + word + ']';
    if (is_list(o) && !placeholder(o).ends_with("...")) out += "...";
  }
  return out;
}

// Whether one list of options serves for both.
bool alike(const command& a, const command& b) {
  return !a.options().empty() && a.below().empty() && b.below().empty() &&
         std::equal(a.options().begin(), a.options().end(), b.options().begin(), b.options().end(),
                    [](const option& x, const option& y) {
                      return x.name == y.name && x.type == y.type && x.help == y.help;
                    });
}

std::string commands_below(const std::string& path, const command& c);

std::string one_command(const std::string& path, const command& c) {
  std::string out = ".SS " + escaped(path) + '\n' + line(usage_of(path, c)) + ".PP\n" +
                    line(marked(c.help())) + options_of(c) + paragraphs(c.footer());
  return out + commands_below(path, c);
}

// Neighbours that differ in nothing but what they are about, as the models of `rota check`.
template <class Iterator>
std::string many_commands(const std::string& path, Iterator begin, Iterator end) {
  std::string out = ".SS " + escaped(path) + " NAME\n" + line(usage_of(path + " NAME", **begin)) +
                    ".PP\nNAME is one of these; " + bold(path + " NAME --help") +
                    " has more about each.\n";
  for (Iterator c = begin; c != end; ++c) out += entry(bold((*c)->name()), marked((*c)->help()));
  return out + ".PP\nThe options are the same for all of them.\n" + options_of(**begin);
}

std::string commands_below(const std::string& path, const command& c) {
  std::string out;
  const auto& all = c.below();
  constexpr std::ptrdiff_t many = 6;
  for (auto at = all.begin(); at != all.end();) {
    const auto end =
        std::find_if(at, all.end(), [&](const auto& other) { return !alike(**at, *other); });
    if (end - at >= many) {
      out += many_commands(path, at, end);
      at = end;
    } else {
      out += one_command(path + ' ' + (*at)->name(), **at);
      ++at;
    }
  }
  return out;
}

// --- pages --------------------------------------------------------------------------------------

std::string exit_status(int usage_status) {
  std::string out = section("EXIT STATUS") + entry("0", "fine");
  if (usage_status == 2) {
    out += entry("1", "the answer is no: a property is violated, a job failed, nothing came");
    return out + entry("2", "wrong usage or bad input; a message says what would be right");
  }
  return out + entry(std::to_string(usage_status), "wrong usage") +
         ".PP\nWhat others there are is said with each command.\n";
}

// Those of a command and of all below it, each once.
void gather(const command& c, std::vector<remark>& environment, std::vector<remark>& files) {
  const auto add = [](std::vector<remark>& to, const std::vector<remark>& from) {
    for (const remark& r : from)
      if (std::none_of(to.begin(), to.end(), [&](const remark& k) { return k.name == r.name; }))
        to.push_back(r);
  };
  add(environment, c.environment());
  add(files, c.files());
  for (const auto& below : c.below()) gather(*below, environment, files);
}

std::string remarks(std::string_view title, const std::vector<remark>& all) {
  if (all.empty()) return "";
  std::string out = section(title);
  for (const remark& r : all) out += entry(bold(r.name), marked(r.help));
  return out;
}

std::string page_name(const command& program, const command* page) {
  return page ? program.name() + '-' + page->name() : program.name();
}

std::string see_also(const command& program, const command* page) {
  std::string out = section("SEE ALSO");
  std::string all = page ? bold(program.name()) + "(1)" : "";
  for (const auto& c : program.below())
    if (c.get() != page)
      all += (all.empty() ? "" : ",\n") + bold(page_name(program, c.get())) + "(1)";
  return out + all + '\n';
}

std::string help_option() {
  return entry(bold("-h") + ", " + bold("--help"), "print the help of a command, and exit");
}

// The map: every command with what it does, and where there is more.
std::string map_of(const command& program) {
  std::string out = section("COMMANDS");
  for (const auto& c : program.below()) {
    out += entry(bold(program.name() + ' ' + c->name()),
                 marked(c->help()) + "; see " + bold(page_name(program, c.get())) + "(1)");
  }
  return out;
}

// Words of a command are not to be broken, nor pulled apart.
constexpr const char* no_hyphens = ".nh\n.ad l\n";

std::string head_of(const command& program, const command* page) {
  const std::string name = page_name(program, page);
  const command& c = page ? *page : program;
  // "Rota: fair tasks ...": the name stands before it anyway.
  std::string what = c.help();
  if (!page && what.find(": ") != what.npos) what.erase(0, what.find(": ") + 2);
  if (what.ends_with('.')) what.pop_back();
  return ".TH " + escaped(upper(name)) + " 1 \"\" \"" + escaped(program.name()) + ' ' +
         escaped(program.version()) + "\" \"User Commands\"\n" + no_hyphens + section("NAME") +
         escaped(name) + " \\- " + marked(what) + '\n';
}

std::string page_of_command(const command& program, const command& c) {
  const std::string path = program.name() + ' ' + c.name();
  std::string out = section("SYNOPSIS") + line(usage_of(path, c));
  const std::string about = paragraphs(c.footer(), true);
  if (!about.empty()) out += section("DESCRIPTION") + about;
  out += section("OPTIONS") + options_of(c) + help_option();
  if (!c.below().empty()) out += section("COMMANDS") + commands_below(path, c);
  return out;
}

std::string page_of_program(const command& program) {
  return section("SYNOPSIS") + line(usage_of(program.name(), program)) + section("DESCRIPTION") +
         line(marked(program.help())) + paragraphs(program.footer()) + map_of(program) +
         section("OPTIONS") + options_of(program) + help_option() +
         entry(bold("--version"), "print the version, and exit");
}

}  // namespace

std::string man_page(const command& program, const command* page) {
  const command& c = page ? *page : program;
  std::vector<remark> environment;
  std::vector<remark> files;
  gather(c, environment, files);
  return head_of(program, page) + (page ? page_of_command(program, c) : page_of_program(program)) +
         exit_status(c.usage_status()) + remarks("ENVIRONMENT", environment) +
         remarks("FILES", files) + see_also(program, page);
}

// --- rota manual --------------------------------------------------------------------------------

namespace {

struct manual_request {
  std::string name;
  std::string output;
};

void write_page(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush()) throw bad_input(file.string() + " cannot be written");
}

int write_pages(const command& program, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw bad_input(folder.string() + ": " + error.message());
  const auto write = [&](const command* page) {
    write_page(folder / (page_name(program, page) + ".1"), man_page(program, page));
  };
  write(nullptr);
  for (const auto& c : program.below()) write(c.get());
  return 0;
}

int print_page(const command& program, const std::string& name) {
  if (name.empty()) {
    std::cout << man_page(program, nullptr);
    return 0;
  }
  std::string all;
  for (const auto& c : program.below()) {
    all += (all.empty() ? "" : ", ") + c->name();
    if (c->name() != name) continue;
    std::cout << man_page(program, c.get());
    return 0;
  }
  throw bad_input("there is no command '" + name + "'; there are: " + all);
}

}  // namespace

void add_manual(command& program) {
  auto r = std::make_shared<manual_request>();
  command& c = program.add("manual", "prints the man page of a command, or writes all of them");
  std::vector<std::string> names;
  for (const auto& other : program.below()) names.push_back(other->name());
  c.option({.name = "command",
            .type = "COMMAND",
            .help = "whose page; without, that of rota",
            .value = &r->name,
            .words = names});
  c.option({.name = "-o,--output",
            .type = "DIR",
            .help = "write the pages of all commands to this folder instead",
            .value = &r->output});
  c.footer([] {
    return "The pages are installed with the program. To read one without installing it:\n\n"
           "  rota manual serve | man -l -";
  });
  c.run([r, &program] {
    if (r->output.empty()) return print_page(program, r->name);
    if (!r->name.empty()) throw bad_input("--output writes all pages; leave out " + r->name);
    return write_pages(program, r->output);
  });
}

}  // namespace rota::app
