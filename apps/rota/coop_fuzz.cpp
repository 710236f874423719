#include "coop_fuzz.h"

#include <rota/coop/fuzz.h>
#include <rota/coop/mutants.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "coop_parts.h"
#include "interrupt.h"

namespace rota::app {

namespace {

struct fuzz_request {
  std::string seeds = "1..1000";
  std::vector<std::string> languages;
  std::vector<std::string> modes;
  std::string mutant;
  std::string save;
  bool json = false;
};

// --- what was asked for -------------------------------------------------------------------------

std::uint64_t number_in(std::string_view text, const std::string& seeds) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size())
    throw bad_input("--seeds: expected A..B, or one number, not " + seeds);
  return n;
}

void read_seeds(const std::string& seeds, coop::fuzz_options& o) {
  const std::string_view text = seeds;
  const std::size_t dots = text.find("..");
  o.first = number_in(text.substr(0, dots), seeds);
  o.last = dots == text.npos ? o.first : number_in(text.substr(dots + 2), seeds);
  if (o.first > o.last) throw bad_input("--seeds: expected the first below the last, not " + seeds);
}

coop::language language_named(const std::string& name) {
  for (coop::language l : coop::fuzz_options{}.languages)
    if (name_of(l) == name) return l;
  throw bad_input("--language: expected while, spawn, guard or coopwhile, not " + name);
}

coop::fuzz_mode mode_named(const std::string& name) {
  if (const auto mode = coop::fuzz_mode_named(name)) return *mode;
  throw bad_input("--mode: expected all, text, fast, agree, check or random, not " + name);
}

// The rules with the mistake of this name, where a scheduler can have it.
auto with_mutant(const std::string& name) {
  bool known = false;
  for (coop::language l : coop::fuzz_options{}.languages)
    for (coop::semantics how : {coop::semantics::lagc_sched, coop::semantics::sos_sched})
      for (const coop::mutant& m : mutants_of(how, l)) known |= m.name == name;
  if (!known)
    throw bad_input("--mutant: there is no '" + name +
                    "'; rota coop run --help has those there are");
  return [name](const coop::program& p) {
    return rules_with(p, find_mutant(p, name) ? name : std::string{});
  };
}

coop::fuzz_options options_of(const fuzz_request& r) {
  coop::fuzz_options o;
  read_seeds(r.seeds, o);
  if (!r.languages.empty()) o.languages.clear();
  for (const std::string& name : r.languages) o.languages.push_back(language_named(name));
  const bool all = std::find(r.modes.begin(), r.modes.end(), "all") != r.modes.end();
  if (!r.modes.empty() && !all) o.modes.clear();
  for (const std::string& name : r.modes)
    if (name != "all" && (mode_named(name), !all)) o.modes.push_back(mode_named(name));
  if (!r.mutant.empty()) o.rules = with_mutant(r.mutant);
  return o;
}

// --- what was found -----------------------------------------------------------------------------

// "guard, seed 3, fast, lagc-sched, log: record 5 is ...".
std::string headline_of(const coop::fuzz_finding& f, const coop::disagreement& d) {
  return std::string(name_of(f.in)) + ", seed " + std::to_string(f.seed) + ", " +
         std::string(name_of(d.mode)) + ", " + std::string(name_of(d.how)) + ", " + d.what + ": " +
         d.detail;
}

std::string again(const fuzz_request& r, const coop::fuzz_finding& f) {
  return "rota coop fuzz --seeds " + std::to_string(f.seed) + " --language " +
         std::string(name_of(f.in)) + " --mode " + std::string(name_of(f.found.mode)) +
         (r.mutant.empty() ? "" : " --mutant " + r.mutant);
}

void print_finding(const fuzz_request& r, const coop::fuzz_finding& f) {
  std::cout << headline_of(f, f.left) << '\n';
  std::istringstream lines{f.shrunk};
  for (std::string line; std::getline(lines, line);) std::cout << "    " << line << '\n';
  if (f.times > 1) std::cout << "  seen in " << counted(f.times, "program") << '\n';
  std::cout << "  again: " << again(r, f) << '\n';
}

void print_counts(const coop::fuzz_counts& c) {
  std::cout << counted(c.programs, "program") << ", " << counted(c.runs, "run") << ", "
            << counted(c.steps, "step") << '\n';
  if (c.ends != std::array<std::uint64_t, 4>{}) {
    std::cout << "ends of schedulers";
    for (std::size_t i = 0; i < c.ends.size(); ++i)
      std::cout << (i ? ", " : ": ") << name_of(static_cast<coop::ending>(i)) << ' ' << c.ends[i];
    std::cout << '\n';
  }
  if (c.agreed + c.apart > 0)
    std::cout << "sos and lagc: held equal on " << counted(c.agreed, "program")
              << ", may differ on " << c.apart << '\n';
}

nlohmann::ordered_json to_json(const coop::fuzz_options& o, const coop::fuzz_report& r) {
  nlohmann::ordered_json all{{"seeds", {o.first, o.last}},    {"stopped", r.stopped},
                             {"programs", r.counts.programs}, {"runs", r.counts.runs},
                             {"steps", r.counts.steps},       {"periodic", r.counts.periodic},
                             {"agreed", r.counts.agreed},     {"apart", r.counts.apart}};
  for (std::size_t i = 0; i < r.counts.ends.size(); ++i)
    all["ends"][std::string(name_of(static_cast<coop::ending>(i)))] = r.counts.ends[i];
  for (std::size_t i = 0; i < r.counts.errors.size(); ++i)
    all["errors"][std::string(name_of(static_cast<coop::run_time_error>(i)))] = r.counts.errors[i];
  all["findings"] = nlohmann::ordered_json::array();
  for (const coop::fuzz_finding& f : r.findings)
    all["findings"].push_back({{"seed", f.seed},
                               {"language", name_of(f.in)},
                               {"mode", name_of(f.found.mode)},
                               {"semantics", name_of(f.found.how)},
                               {"what", f.found.what},
                               {"detail", f.left.detail},
                               {"times", f.times},
                               {"shrunk", f.shrunk},
                               {"program", f.program}});
  return all;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out{path, std::ios::binary};
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

// The shrunk program as a file that can be run, and the whole one beside it.
void save(const fuzz_request& r, const coop::fuzz_finding& f) {
  const std::filesystem::path folder = r.save;
  const std::string name = std::string(name_of(f.in)) + '-' + std::to_string(f.seed) + '-' +
                           std::string(name_of(f.found.mode)) + '-' +
                           std::string(name_of(f.found.how)) + '-' + f.found.what;
  write_file(folder / (name + ".cw"),
             "// " + headline_of(f, f.left) + "\n// again: " + again(r, f) + '\n' + f.shrunk);
  write_file(folder / (name + ".whole.cw"), f.program);
}

// --- rota coop fuzz -----------------------------------------------------------------------------

// One line on a terminal, written over again and again.
class progress {
 public:
  explicit progress(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO)) {}
  ~progress() {
    if (wanted_) std::cerr << "\r\033[K" << std::flush;
  }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void show(const coop::fuzz_options& o, std::uint64_t seed, std::size_t findings) const {
    constexpr std::uint64_t often = 64;  // seeds; some tens of milliseconds
    if (!wanted_ || (seed - o.first) % often != 0) return;
    std::cerr << "\r\033[Kseed " << seed << " of " << o.first << ".." << o.last << ", "
              << counted(findings, "finding") << std::flush;
  }

 private:
  bool wanted_;
};

int fuzz_programs(const fuzz_request& r) {
  coop::fuzz_options o = options_of(r);
  if (!r.save.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(r.save, failed);
    if (failed) throw bad_input("--save: " + r.save + ": " + failed.message());
  }
  const interrupt stop;
  coop::fuzz_report found;
  {
    const progress line{!r.json};
    o.on_progress = [&](std::uint64_t seed, const coop::fuzz_counts&, std::size_t findings) {
      line.show(o, seed, findings);
      return !stop.token().stop_requested();
    };
    found = fuzz(o);
  }
  if (!r.save.empty())
    for (const coop::fuzz_finding& f : found.findings) save(r, f);
  if (r.json) {
    std::cout << to_json(o, found).dump(2) << '\n';
  } else {
    print_counts(found.counts);
    for (const coop::fuzz_finding& f : found.findings) print_finding(r, f);
    if (found.findings.empty()) std::cout << "nothing found\n";
  }
  if (!found.findings.empty()) return check_failed;
  return found.stopped ? interrupt::exit_status : fine;
}

constexpr const char* about_fuzz =
    R"(Makes random programs (see rota coop run --help), one for each seed and language, and compares on
each what should be the same:

  text      the program, printed from its syntax tree and read again
  fast      the log and the end of a run by the fast scheduler, and of one by the rules
  agree     the decisions of sos-sched and lagc-sched, on runs in which they have to be the same: no
            task is queued in front of an await or a guard at which it has not given way itself
  check     every check of rota coop check, for both schedulers
  random    runs by chance under lagc and sos: well-formed, and ended where the rules let them

What differs is printed with a program that was made as small as possible, the first of each kind. A
seed stands for the same programs on every machine.

Exit status: 0 nothing found, 1 wrong usage, 6 something found, 130 interrupted.

  rota coop fuzz
  rota coop fuzz --seeds 1..100000 --language coopwhile --save found
  rota coop fuzz --seeds 17 --language guard --mode fast --mode check
  rota coop fuzz --mutant wake-to-rear        # how a scheduler with a mistake is noticed
)";

}  // namespace

void add_coop_fuzz(command& coop) {
  auto r = std::make_shared<fuzz_request>();
  command& fuzz =
      add_coop_command(coop, "fuzz", "holds semantics and schedulers together on random programs",
                       [r] { return fuzz_programs(*r); });
  fuzz.option({.name = "--seeds",
               .type = "A..B",
               .help = "from A to B, both included, or one: 1..1000",
               .value = &r->seeds});
  fuzz.option({.name = "--language",
               .type = "NAME",
               .help = "while, spawn, guard or coopwhile; may be repeated: all",
               .value = &r->languages,
               .words = {"while", "spawn", "guard", "coopwhile"}});
  fuzz.option({.name = "--mode",
               .type = "NAME",
               .help = "text, fast, agree, check or random; may be repeated: all",
               .value = &r->modes,
               .words = {"text", "fast", "agree", "check", "random", "all"}});
  fuzz.option({.name = "--mutant",
               .type = "NAME",
               .help = "with this mistake in the schedulers that can have it",
               .value = &r->mutant});
  fuzz.option({.name = "--save",
               .type = "DIR",
               .help = "write what is found as programs into this folder",
               .value = &r->save});
  fuzz.option({.name = "--json", .help = "print JSON", .value = &r->json});
  fuzz.footer([] { return about_fuzz; });
}

}  // namespace rota::app
