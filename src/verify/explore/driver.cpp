#include <rota/verify/explore/driver.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace rota::explore {

namespace {

constexpr const char* help_text =
    "usage: %s [NAME...] [OPTION...]    explores these scenarios, by default all\n"
    "       %s list [--json]            names them\n"
    "\n"
    "A NAME is a scenario's or that of its group: queue for all of queue.*.\n"
    "\n"
    "  --strategy S      exhaustive, bounded, pct or random\n"
    "  --preemptions N   of bounded\n"
    "  --changes N       of pct\n"
    "  --seed N          of pct and random\n"
    "  --schedules N     at most so many\n"
    "  --seconds S       at most so long, each scenario\n"
    "  --memory M        weak: C++20's; sc: every load returns the last store\n"
    "  --spurious N      wake-ups and failures for no reason, per schedule\n"
    "  --reuses N        memory that was freed is given out again, per schedule\n"
    "  --replay TOKEN    runs the one schedule that a failure printed, with its whole story\n"
    "  --no-shrink       prints a failing schedule as it was found\n"
    "  --json            a line of JSON for each scenario\n"
    "  --quiet           prints only what is not as expected\n"
    "  --help            this\n"
    "\n"
    "Exit status: 0 all is as expected, 1 it is not, 2 the command line is wrong.\n";

struct wrong_usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What the command line says. What it does not say is left to the scenario.
struct request {
  std::vector<std::string> names;
  bool list = false;
  bool help = false;
  bool json = false;
  bool quiet = false;
  std::optional<std::string> token;
  std::vector<std::function<void(options&)>> changes;
  std::string memory_arguments;  // those that a replay needs too
};

template <class Number>
Number number(std::string_view option, std::string_view text) {
  Number n{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < Number{})
    throw wrong_usage(std::string(option) + " takes a number that is not negative, not \"" +
                      std::string(text) + "\"");
  return n;
}

strategy strategy_of(std::string_view text) {
  for (const strategy s :
       {strategy::exhaustive, strategy::bounded, strategy::pct, strategy::random})
    if (name_of(s) == text) return s;
  throw wrong_usage("--strategy is exhaustive, bounded, pct or random, not \"" + std::string(text) +
                    "\"");
}

memory memory_of(std::string_view text) {
  if (text == "weak") return memory::weak;
  if (text == "sc") return memory::sc;
  throw wrong_usage("--memory is weak or sc, not \"" + std::string(text) + "\"");
}

request parsed(int argc, char** argv) {
  request r;
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    const auto value = [&]() -> std::string_view {
      if (++i == argc) throw wrong_usage(std::string(a) + " needs a value");
      return argv[i];
    };
    const auto change = [&](auto f) { r.changes.emplace_back(std::move(f)); };
    if (a == "--strategy") {
      change([s = strategy_of(value())](options& o) { o.how = s; });
    } else if (a == "--preemptions") {
      change([n = number<unsigned>(a, value())](options& o) { o.preemptions = n; });
    } else if (a == "--changes") {
      change([n = number<unsigned>(a, value())](options& o) { o.changes = n; });
    } else if (a == "--seed") {
      change([n = number<std::uint64_t>(a, value())](options& o) { o.seed = n; });
    } else if (a == "--schedules") {
      change([n = number<std::uint64_t>(a, value())](options& o) { o.max_schedules = n; });
    } else if (a == "--seconds") {
      // Who asks for a time gets it: the scenario's own limit on schedules does not cut it short.
      r.changes.insert(r.changes.begin(), [n = number<double>(a, value())](options& o) {
        o.max_seconds = n;
        o.max_schedules = ~std::uint64_t{0};
      });
    } else if (a == "--memory") {
      const std::string_view text = value();
      change([m = memory_of(text)](options& o) { o.memory = m; });
      r.memory_arguments += " --memory " + std::string(text);
    } else if (a == "--spurious") {
      const std::string_view text = value();
      change([n = number<unsigned>(a, text)](options& o) { o.spurious = n; });
      r.memory_arguments += " --spurious " + std::string(text);
    } else if (a == "--reuses") {
      const std::string_view text = value();
      change([n = number<unsigned>(a, text)](options& o) { o.reuses = n; });
      r.memory_arguments += " --reuses " + std::string(text);
    } else if (a == "--replay") {
      r.token = std::string(value());
    } else if (a == "--no-shrink") {
      change([](options& o) { o.shrink = false; });
    } else if (a == "--json") {
      r.json = true;
    } else if (a == "--quiet") {
      r.quiet = true;
    } else if (a == "--help" || a == "-h") {
      r.help = true;
    } else if (a.starts_with("-")) {
      throw wrong_usage("there is no option " + std::string(a));
    } else if (a == "list" && r.names.empty() && !r.list) {
      r.list = true;
    } else {
      r.names.emplace_back(a);
    }
  }
  if (r.list && !r.names.empty()) throw wrong_usage("list takes no names");
  return r;
}

std::string group_of(const scenario& s) { return s.name.substr(0, s.name.find('.')); }

std::vector<const scenario*> chosen(const request& r, const std::vector<scenario>& all) {
  std::vector<const scenario*> found;
  if (r.names.empty())
    for (const scenario& s : all) found.push_back(&s);
  for (const std::string& name : r.names) {
    bool any = false;
    for (const scenario& s : all) {
      if (s.name != name && group_of(s) != name) continue;
      any = true;
      if (std::find(found.begin(), found.end(), &s) == found.end()) found.push_back(&s);
    }
    if (!any) throw wrong_usage("there is no scenario and no group \"" + name + "\"; try list");
  }
  if (r.token && found.size() != 1)
    throw wrong_usage("--replay goes with the name of the one scenario that the token is of");
  return found;
}

std::string quoted(std::string_view text) {
  std::string s = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      s += '\\';
      s += c;
    } else if (c == '\n') {
      s += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      s += ' ';
    } else {
      s += c;
    }
  }
  return s + '"';
}

// Progress on the terminal, in one line that goes away again.
class ticker {
 public:
  explicit ticker(bool wanted) : on_(wanted && isatty(STDERR_FILENO) == 1) {}
  ticker(const ticker&) = delete;
  ticker& operator=(const ticker&) = delete;
  ~ticker() { clear(); }

  void attach(options& o, const std::string& name) {
    if (!on_) return;
    o.on_progress = [this, name](const progress& p) {
      shown_ = true;
      std::fprintf(stderr, "\r\033[K%s: %llu schedules, %llu pruned, %.0f s", name.c_str(),
                   static_cast<unsigned long long>(p.schedules),
                   static_cast<unsigned long long>(p.pruned), p.seconds);
    };
  }
  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  bool on_;
  bool shown_ = false;
};

bool is_expected(const scenario& s, const result& r) {
  if (!r.failed) return s.fails.empty();
  return std::find(s.fails.begin(), s.fails.end(), r.failure->kind) != s.fails.end();
}

// Whether a bounded search came to its end.
bool is_complete(const options& o, const result& r) {
  return r.how == strategy::bounded && !r.failed &&
         (o.max_schedules == 0 || r.schedules < o.max_schedules) &&
         (o.max_seconds <= 0 || r.seconds < o.max_seconds);
}

std::string covered(const options& o, const result& r) {
  if (r.exhaustive) return "all schedules are covered, none fails";
  if (is_complete(o, r))
    return "none with at most " + std::to_string(o.preemptions) +
           " preemptions fails; NOT exhaustive";
  return "none of these fails; NOT exhaustive";
}

std::string verdict(const scenario& s, const options& o, const result& r, bool replay) {
  if (r.failed)
    return std::string(name_of(r.failure->kind)) + (is_expected(s, r) ? ", as expected" : "");
  if (replay) return "this schedule does not fail";
  std::string text = covered(o, r);
  if (!s.fails.empty())
    text += ", but it was expected to fail: " + std::string(name_of(s.fails.front()));
  return text;
}

std::string how_text(const result& r, const options& o) {
  std::string how(name_of(r.how));
  if (r.how == strategy::bounded) how += "(" + std::to_string(o.preemptions) + ")";
  if (r.how == strategy::pct) how += "(" + std::to_string(o.changes) + ")";
  if (o.memory == memory::sc) how += ", sc";
  return how;
}

void print_json(const scenario& s, const options& o, const result& r) {
  std::printf(
      "{\"scenario\": %s, \"strategy\": %s, \"memory\": \"%s\", \"schedules\": %llu, "
      "\"pruned\": %llu, \"steps\": %llu, \"longest\": %llu, \"threads\": %u, \"seconds\": %.3f, "
      "\"exhaustive\": %s, \"failed\": %s, \"as_expected\": %s",
      quoted(s.name).c_str(), quoted(name_of(r.how)).c_str(),
      o.memory == memory::sc ? "sc" : "weak", static_cast<unsigned long long>(r.schedules),
      static_cast<unsigned long long>(r.pruned), static_cast<unsigned long long>(r.steps),
      static_cast<unsigned long long>(r.longest), r.threads, r.seconds,
      r.exhaustive ? "true" : "false", r.failed ? "true" : "false",
      is_expected(s, r) ? "true" : "false");
  if (r.failed)
    std::printf(
        ", \"kind\": %s, \"message\": %s, \"token\": %s, \"at_schedule\": %llu, \"schedule\": %s",
        quoted(name_of(r.failure->kind)).c_str(), quoted(r.failure->message).c_str(),
        quoted(r.failure->token).c_str(), static_cast<unsigned long long>(r.failure->at_schedule),
        quoted(r.failure->schedule).c_str());
  std::puts("}");
}

void print_line(const scenario& s, const options& o, const result& r, bool replay) {
  std::printf("%-32s %s: %llu schedules, %llu pruned, %llu steps, %.2f s: %s\n", s.name.c_str(),
              replay ? "replay" : how_text(r, o).c_str(),
              static_cast<unsigned long long>(r.schedules),
              static_cast<unsigned long long>(r.pruned), static_cast<unsigned long long>(r.steps),
              r.seconds, verdict(s, o, r, replay).c_str());
}

void print_failure(const failure& f, const std::string& command) {
  std::printf(
      "\n%s\n\n%s\nin schedule %llu, %zu choices of note (%zu when found)\n\nreplay: %s\n\n",
      f.message.c_str(), f.schedule.c_str(), static_cast<unsigned long long>(f.at_schedule),
      f.choices, f.choices_found, command.c_str());
}

// True if it went as expected.
bool explored(const scenario& s, const request& r, const char* program) {
  options o = s.defaults;
  for (const auto& change : r.changes) change(o);
  ticker progress_line(!r.json && !r.quiet);
  progress_line.attach(o, s.name);
  if (r.token) {
    const replayed once = replay(*r.token, s.program, o);
    progress_line.clear();
    if (r.json) {
      print_json(s, o, once);
    } else {
      std::printf("%s\n", once.schedule.c_str());
      if (once.failed) std::printf("%s\n\n", once.failure->message.c_str());
      print_line(s, o, once, true);
    }
    return is_expected(s, once) || (!once.failed && s.fails.empty());
  }
  const result all = run(s.program, o);
  progress_line.clear();
  const bool fine = is_expected(s, all);
  if (r.json) {
    print_json(s, o, all);
  } else if (!fine || !r.quiet) {
    print_line(s, o, all, false);
    if (all.failed && !fine)
      print_failure(*all.failure, std::string(program) + " " + s.name + r.memory_arguments +
                                      " --replay " + all.failure->token);
  }
  std::fflush(stdout);
  return fine;
}

void list(const std::vector<scenario>& all, bool json) {
  for (const scenario& s : all) {
    if (json)
      std::printf("{\"scenario\": %s, \"strategy\": %s, \"summary\": %s}\n", quoted(s.name).c_str(),
                  quoted(name_of(s.defaults.how)).c_str(), quoted(s.summary).c_str());
    else
      std::printf("%-32s %-11s %s\n", s.name.c_str(), std::string(name_of(s.defaults.how)).c_str(),
                  s.summary.c_str());
  }
}

}  // namespace

int main(int argc, char** argv, const std::vector<scenario>& all) {
  const char* const program = argc > 0 ? argv[0] : "program";
  try {
    const request r = parsed(argc, argv);
    if (r.help) {
      std::printf(help_text, program, program);
      return 0;
    }
    if (r.list) {
      list(all, r.json);
      return 0;
    }
    bool fine = true;
    for (const scenario* s : chosen(r, all)) fine &= explored(*s, r, program);
    return fine ? 0 : 1;
  } catch (const wrong_usage& e) {
    std::fprintf(stderr, "%s: %s\nSee %s --help.\n", program, e.what(), program);
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "%s: --replay: %s\n", program, e.what());
  }
  return 2;
}

}  // namespace rota::explore
