#include "check.h"

#include <rota/verify/checker/check.h>
#include <rota/verify/checker/report.h>
#include <rota/verify/models/models.h>

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "check_output.h"
#include "interrupt.h"
#include "memory.h"

namespace rota::app {

namespace {

using verify::bad_setting;
using verify::model_entry;
using verify::verdict;

// What the command line asks for.
struct check_request {
  std::vector<std::string> settings;
  std::vector<std::string> properties;
  std::vector<std::string> fairness;
  std::uint32_t workers = 0;
  bool symmetry = false;
  bool first = false;
  bool mutants = false;
  bool simulate = false;
  std::uint64_t walks = 10'000;
  std::uint32_t depth = 1'000;
  std::uint64_t seed = 1;
  std::uint64_t max_states = 0;
  std::uint64_t max_memory = 0;
  bool json = false;
  std::string html;
  std::string dot;
};

std::pair<std::string, std::string> split(const std::string& option, const std::string& text) {
  const auto at = text.find('=');
  if (at == std::string::npos || at == 0)
    throw bad_setting(option + ": expected NAME=VALUE, not " + text);
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<verify::setting> settings_of(const check_request& r) {
  std::vector<verify::setting> all;
  for (const std::string& text : r.settings) {
    auto [name, value] = split("--set", text);
    all.push_back({std::move(name), std::move(value)});
  }
  return all;
}

std::vector<verify::fairness_rule> fairness_of(const check_request& r) {
  std::vector<verify::fairness_rule> all;
  for (const std::string& text : r.fairness) {
    const auto [name, value] = split("--fairness", text);
    const auto known = {verify::fairness::none, verify::fairness::weak, verify::fairness::strong};
    const auto at = std::find_if(known.begin(), known.end(),
                                 [&, &v = value](auto f) { return verify::name_of(f) == v; });
    if (at == known.end())
      throw bad_setting("--fairness: expected none, weak or strong, not " + value);
    all.push_back({name, *at});
  }
  return all;
}

// The constants as they are once the settings are made; a later one replaces an earlier.
std::vector<verify::setting> constants_of(const model_entry& entry,
                                          const std::vector<verify::setting>& settings) {
  std::vector<verify::setting> all;
  for (const verify::constant& c : entry.constants) {
    std::string value = c.value;
    for (const verify::setting& s : settings)
      if (s.name == c.name) value = s.value;
    all.push_back({c.name, value});
  }
  return all;
}

// The properties that were named, or none.
std::vector<std::size_t> asked_of(const check_request& r, const verify::system& s) {
  std::vector<std::size_t> asked;
  for (const std::string& name : r.properties) {
    const auto& all = s.properties();
    const auto at = std::find_if(all.begin(), all.end(), [&](auto& p) { return p.name == name; });
    if (at == all.end()) {
      std::string names;
      for (const auto& p : all) names += (names.empty() ? "" : ", ") + p.name;
      throw bad_setting("--property: there is no '" + name + "'; there are " + names);
    }
    const bool liveness = at->kind != verify::property_kind::invariant &&
                          at->kind != verify::property_kind::deadlock_free;
    if (liveness && (r.symmetry || r.simulate))
      throw bad_setting(name + " speaks of infinite behaviours: it needs a search without " +
                        (r.symmetry ? "--symmetry" : "--simulate"));
    asked.push_back(static_cast<std::size_t>(at - all.begin()));
  }
  return asked;
}

std::vector<std::size_t> all_of(const verify::system& s) {
  std::vector<std::size_t> all(s.properties().size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

template <class Write>
void write_file(const std::string& path, Write write) {
  std::ofstream out{path, std::ios::binary};
  if (out) write(out);
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path);
}

// 1 if a property is violated that is not known to fail, or that was asked for; or if what was
// asked for is not decided.
int check_status(const subject& s, const std::vector<verify::property_result>& properties,
                 const std::vector<std::size_t>& asked, bool complete) {
  int status = complete ? 0 : 1;
  for (const auto& p : properties) {
    const bool counts = !s.system.properties()[p.property].known_to_fail ||
                        std::count(asked.begin(), asked.end(), p.property);
    if (counts && p.result == verdict::violated) status = 1;
  }
  return status;
}

verify::check_options options_of(const check_request& r, const interrupt& stop) {
  verify::check_options o;
  o.workers = r.workers;
  o.symmetry = r.symmetry;
  o.stop_at_first = r.first;
  o.max_states = r.max_states;
  o.max_bytes = r.max_memory ? r.max_memory : usable_memory();
  o.fairness = fairness_of(r);
  o.stop = stop.token();
  return o;
}

// First of all, since it is soon known whether there are too many.
void draw(const check_request& r, const subject& s) {
  if (r.dot.empty()) return;
  std::ostringstream drawing;
  if (!verify::write_dot(drawing, s.system))
    throw bad_setting("--dot: more than 2,000 states are too many to draw; set smaller constants");
  write_file(r.dot, [&](std::ostream& out) { out << drawing.str(); });
}

void write_page(const check_request& r, const subject& s, const std::string& summary,
                const std::vector<verify::property_result>& properties) {
  if (r.html.empty()) return;
  write_file(r.html, [&](std::ostream& out) {
    verify::write_html(out, {s.entry.name, text_of(s.settings), summary}, s.system, properties);
  });
}

int check_model(const check_request& r, const subject& s) {
  interrupt stop;
  verify::check_options o = options_of(r, stop);
  const std::vector<std::size_t> asked = asked_of(r, s.system);
  o.properties = asked.empty() ? all_of(s.system) : asked;
  verify::check_result result;
  {
    progress_line line;
    if (!r.json) o.on_progress = [&](const verify::progress& p) { line.show(p); };
    result = verify::check(s.system, o);
  }
  const std::string summary = summary_of(result);
  if (r.json) {
    std::cout << to_json(s, result).dump(2) << '\n';
  } else {
    std::cout << s.entry.name << ": " << text_of(s.settings) << '\n' << summary << '\n';
    if (result.symmetry)
      std::cout << "Liveness is not decided with --symmetry: a cycle of representatives need not "
                   "be a cycle of states.\n";
    print_properties(s, result.properties, asked);
    if (result.how == verify::outcome::complete) print_never_taken(s, result.taken);
  }
  write_page(r, s, summary, result.properties);
  if (result.how == verify::outcome::stopped) return interrupt::exit_status;
  return check_status(s, result.properties, asked, result.how == verify::outcome::complete);
}

int simulate_model(const check_request& r, const subject& s) {
  interrupt stop;
  verify::simulate_options o;
  o.seed = r.seed;
  o.walks = r.walks;
  o.depth = r.depth;
  o.workers = r.workers;
  o.stop = stop.token();
  const std::vector<std::size_t> asked = asked_of(r, s.system);
  o.properties = asked;  // by default those that are not known to fail: one that is would end it
  verify::simulate_result result;
  {
    progress_line line;
    if (!r.json) o.on_progress = [&](const verify::progress& p) { line.show(p); };
    result = verify::simulate(s.system, o);
  }
  const std::string summary = summary_of(result);
  if (r.json) {
    std::cout << to_json(s, result).dump(2) << '\n';
  } else {
    std::cout << s.entry.name << ": " << text_of(s.settings) << ", seed " << r.seed << '\n'
              << summary << '\n';
    print_properties(s, result.properties, asked);
    print_never_taken(s, result.taken);
  }
  write_page(r, s, summary, result.properties);
  if (result.stopped) return interrupt::exit_status;
  return check_status(s, result.properties, asked, true);
}

// The model with a mistake in it, or why that mistake cannot show with these constants.
std::pair<std::unique_ptr<verify::system>, std::string> with_mutant(
    const model_entry& entry, std::vector<verify::setting> settings, const std::string& mutant) {
  (void)entry.make(settings);  // what is wrong without the mistake is wrong usage
  settings.push_back({"Mutant", mutant});
  try {
    return {entry.make(settings), ""};
  } catch (const bad_setting& why) {
    return {nullptr, why.what()};
  }
}

// Plants each mistake that the model knows: a property that holds without it has to fail. One is
// enough, and a mistake may leave no end of states, so that not all of them could be looked at.
int check_mutants(const check_request& r, const model_entry& entry) {
  interrupt stop;
  verify::check_options o = options_of(r, stop);
  o.stop_at_first = true;
  nlohmann::ordered_json table = nlohmann::ordered_json::array();
  const auto mutants = entry.mutants();
  if (mutants.empty()) throw bad_setting(entry.name + " has no mutants");
  std::size_t longest = 0;
  for (const std::string& m : mutants) longest = std::max(longest, m.size());
  if (!r.json) std::cout << entry.name << ": " << mutants.size() << " mutants\n";
  int status = 0;
  for (const std::string& mutant : mutants) {
    const auto [system, why_not] = with_mutant(entry, settings_of(r), mutant);
    if (!system) {
      table.push_back({{"mutant", mutant}, {"left_out", why_not}});
      if (!r.json)
        std::cout << "  " << std::left << std::setw(static_cast<int>(longest) + 2) << mutant
                  << "left out: " << why_not << '\n';
      continue;
    }
    const auto result = verify::check(*system, o);
    if (result.how == verify::outcome::stopped) return interrupt::exit_status;
    std::string caught;
    nlohmann::ordered_json by = nlohmann::ordered_json::array();
    for (const auto& p : result.properties) {
      if (p.result != verdict::violated) continue;
      caught += (caught.empty() ? "" : ", ") + system->properties()[p.property].name;
      by.push_back(system->properties()[p.property].name);
    }
    if (caught.empty()) status = 1;
    table.push_back({{"mutant", mutant}, {"violates", by}});
    if (!r.json)
      std::cout << "  " << std::left << std::setw(static_cast<int>(longest) + 2) << mutant
                << (caught.empty() ? "NOT CAUGHT: try larger constants" : "violates " + caught)
                << '\n';
  }
  if (r.json) std::cout << table.dump(2) << '\n';
  return status;
}

// Options that would be ignored are refused.
void refuse_what_is_ignored(const check_request& r) {
  const auto refuse = [](bool given, const char* option, const char* with) {
    if (given) throw bad_setting(std::string(option) + " has no meaning with " + with);
  };
  if (r.simulate) {
    refuse(r.mutants, "--mutants", "--simulate");
    refuse(r.symmetry, "--symmetry", "--simulate");
    refuse(!r.fairness.empty(), "--fairness", "--simulate");
    refuse(r.first, "--first", "--simulate");
    refuse(r.max_states != 0, "--max-states", "--simulate");
    refuse(r.max_memory != 0, "--max-memory", "--simulate");
  }
  if (r.mutants) {
    refuse(!r.properties.empty(), "--property", "--mutants");
    refuse(!r.html.empty(), "--html", "--mutants");
    refuse(!r.dot.empty(), "--dot", "--mutants");
  }
}

int run_model(const check_request& r, const model_entry& entry) {
  try {
    refuse_what_is_ignored(r);
    if (r.mutants) return check_mutants(r, entry);
    const auto settings = settings_of(r);
    const auto system = entry.make(settings);
    const subject s{entry, *system, constants_of(entry, settings)};
    if (r.symmetry && !system->has_symmetry())
      throw bad_setting(entry.name + " has no interchangeable identities: --symmetry is of no use");
    draw(r, s);
    return r.simulate ? simulate_model(r, s) : check_model(r, s);
  } catch (const std::invalid_argument& wrong) {
    complain("check", wrong.what());
    return 2;
  }
}

// What `rota check MODEL --help` says about the model.
std::string about(const model_entry& entry) {
  std::ostringstream out;
  const auto row = [&](const std::string& name, std::size_t width, const std::string& text) {
    out << "  " << std::left << std::setw(static_cast<int>(width)) << name << "  " << text << '\n';
  };
  std::size_t width = 0;
  for (const auto& c : entry.constants) width = std::max(width, c.name.size() + c.value.size() + 1);
  out << "Constants (--set):\n";
  for (const auto& c : entry.constants)
    row(c.name + "=" + c.value, width, c.help + ": " + c.range());

  const auto system = entry.make({});
  width = 0;
  for (const auto& p : system->properties()) width = std::max(width, p.name.size());
  out << "\nProperties (--property):\n";
  for (const auto& p : system->properties())
    row(p.name, width,
        std::string(verify::name_of(p.kind)) + (p.known_to_fail ? ", known to fail" : ""));

  width = 0;
  for (const auto& a : system->actions()) width = std::max(width, a.name.size());
  out << "\nActions and their fairness (--fairness, by action or group):\n";
  for (const auto& a : system->actions())
    row(a.name, width,
        std::string(verify::name_of(a.fair)) + (a.group.empty() ? "" : ", group " + a.group));
  if (system->has_symmetry()) out << "\n--symmetry is possible.\n";
  return out.str();
}

void add_options(command& c, check_request& r) {
  c.option({.name = "--set",
            .type = "NAME=VALUE",
            .help = "set a constant; may be repeated",
            .value = &r.settings});
  c.option({.name = "--property",
            .type = "NAME",
            .help = "check only this one; may be repeated",
            .value = &r.properties});
  c.option({.name = "--fairness",
            .type = "NAME=HOW",
            .help = "another fairness for an action or a group of them: none, weak, strong",
            .value = &r.fairness});
  c.option({.name = "--workers",
            .type = "N",
            .help = "threads that search; by default one a processor",
            .value = &r.workers,
            .least = 1,
            .most = 256});
  c.option({.name = "--symmetry",
            .help = "look at one state of those that differ in interchangeable names only",
            .value = &r.symmetry});
  c.option({.name = "--first", .help = "stop at the first violation", .value = &r.first});
  c.option({.name = "--max-states",
            .type = "N",
            .help = "stop after so many states",
            .value = &r.max_states,
            .least = 1});
  c.option({.name = "--max-memory",
            .type = "SIZE",
            .help = "stop at so many bytes, as 500MB or 2GB; by default what is free",
            .value = &r.max_memory,
            .bytes = true});
  c.option({.name = "--json", .help = "print JSON", .value = &r.json});
  c.option({.name = "--html",
            .type = "FILE",
            .help = "write the counterexamples as a page to this file",
            .value = &r.html});
  c.option({.name = "--dot",
            .type = "FILE",
            .help = "draw all states, for Graphviz, to this file",
            .value = &r.dot});
  c.option({.name = "--simulate",
            .help = "take random walks instead, where there are too many states",
            .value = &r.simulate});
  c.option({.name = "--walks",
            .type = "N",
            .help = "how many walks: 10,000",
            .value = &r.walks,
            .needs = "--simulate"});
  c.option({.name = "--depth",
            .type = "N",
            .help = "how many steps a walk may have: 1,000",
            .value = &r.depth,
            .needs = "--simulate"});
  c.option({.name = "--seed",
            .type = "N",
            .help = "the same seed takes the same walks: 1",
            .value = &r.seed,
            .needs = "--simulate"});
  c.option({.name = "--mutants",
            .help = "plant each mistake that the model knows, one by one; implies --first",
            .value = &r.mutants});
}

int list_models(bool json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::size_t width = 0;
  for (const auto& m : verify::models()) width = std::max(width, m.name.size());
  for (const auto& m : verify::models()) {
    if (json)
      all.push_back({{"name", m.name}, {"summary", m.summary}});
    else
      std::cout << std::left << std::setw(static_cast<int>(width) + 2) << m.name << m.summary
                << '\n';
  }
  if (json) std::cout << all.dump(2) << '\n';
  return 0;
}

}  // namespace

void add_check(command& program) {
  command& check = program.add("check", "model-checks the specs of the protocols");
  check.footer([] {
    return "Exit status: 0 if every property holds (or is known to fail and was not asked for), 1 "
           "if one\n"
           "is violated or the search was cut short, 2 on wrong usage.";
  });
  check.environment("NO_COLOR", "no colours, if it is set");
  command& list = check.add("list", "the models, a line each");
  auto json = std::make_shared<bool>(false);
  list.option({.name = "--json", .help = "print JSON", .value = json.get()});
  list.run([json] { return list_models(*json); });
  for (const model_entry& entry : verify::models()) {
    command& model = check.add(entry.name, entry.summary);
    auto r = std::make_shared<check_request>();
    add_options(model, *r);
    model.footer([&entry] { return about(entry); });
    model.run([&entry, r] { return run_model(*r, entry); });
  }
}

}  // namespace rota::app
