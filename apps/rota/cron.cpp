#include "cron.h"

#include <rota/cron/schedule.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cron_simulate.h"

namespace rota::app {

namespace {

using nlohmann::ordered_json;

// --- what all of them read ----------------------------------------------------------------------

struct cron_request {
  std::vector<std::string> expressions;
  std::string expression;
  cron_options how;
  std::string from;
  std::string to;
  std::uint32_t count = 10;
  bool json = false;
};

instant now_by_the_clock() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

instant instant_of(const char* option, const std::string& text, const time_zone& zone) {
  if (text.empty()) return now_by_the_clock();
  if (const auto t = parse_instant(text, zone)) return *t;
  throw std::invalid_argument(std::string(option) +
                              ": expected an instant such as 2026-03-29T01:00:00Z, not " + text);
}

// An expression is any bytes, and a document of JSON is not.
std::string text_of(const ordered_json& j, int indent = -1) {
  return j.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

// The text with what is no character of a line replaced, so that a caret stands right below it.
std::string one_line(const std::string& text) {
  std::string line = text;
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = c == '\t' ? ' ' : '?';
  return line;
}

void point_at(const std::string& command, const std::string& expression, const cron_error& e) {
  std::cerr << "rota " << command << ": column " << e.column() << ": " << e.what() << '\n'
            << "  " << one_line(expression) << '\n'
            << "  " << std::string(e.column() - 1, ' ') << "^\n";
}

// Runs a command; what is wrong with its input is one line, with the place below it if it is in an
// expression.
template <class Run>
int run_cron(const std::string& command, const std::string& expression, Run run) {
  try {
    return run();
  } catch (const cron_error& e) {
    point_at(command, expression, e);
  } catch (const std::invalid_argument& e) {
    complain(command, e.what());
  }
  return 2;
}

// --- next ---------------------------------------------------------------------------------------

int show_next(const cron_request& r) {
  const time_zone zone = zone_of(r.how);
  const instant from = instant_of("--from", r.from, zone);
  const schedule s = read_schedule(r.expression, r.how);
  if (s.what() == schedule::kind::reboot)
    throw cron_error("@reboot is no calendar: it has no instants to print", 1);
  std::vector<std::string> all;
  for (auto t = s.next(from, from); t && all.size() < r.count; t = s.next(*t, from))
    for (std::uint32_t i = s.times(*t, from); i > 0 && all.size() < r.count; --i)
      all.push_back(to_text(*t));
  if (r.json)
    std::cout << ordered_json(all).dump() << '\n';
  else
    for (const std::string& t : all) std::cout << t << '\n';
  if (all.empty()) std::cerr << "rota cron next: it does not fire after " << to_text(from) << '\n';
  return 0;
}

// --- explain ------------------------------------------------------------------------------------

int explain(const cron_request& r) {
  const schedule s = read_schedule(r.expression, r.how);
  if (r.json) {
    const ordered_json out{
        {"expression", r.expression}, {"explain", s.explain()}, {"warnings", s.warnings()}};
    std::cout << text_of(out) << '\n';
    return 0;
  }
  std::cout << s.explain() << '\n';
  for (const std::string& w : s.warnings()) std::cout << "warning: " << w << '\n';
  return 0;
}

// --- check --------------------------------------------------------------------------------------

int check_one(const cron_request& r, const std::string& expression, ordered_json& rows) {
  cron_options how = r.how;
  how.may_never_fire = false;
  ordered_json row{{"expression", expression}};
  int status = 0;
  try {
    const schedule s = read_schedule(expression, how);
    row["ok"] = true;
    row["explain"] = s.explain();
    row["warnings"] = s.warnings();
    if (!r.json) {
      std::cout << one_line(expression) << ": " << s.explain() << '\n';
      for (const std::string& w : s.warnings()) std::cout << "  warning: " << w << '\n';
    }
  } catch (const cron_error& e) {
    row["ok"] = false;
    row["error"] = e.what();
    row["column"] = e.column();
    if (!r.json) point_at("cron check", expression, e);
    status = 2;
  }
  rows.push_back(std::move(row));
  return status;
}

// A file of jobs: its problems, or how many jobs it has.
int check_tables(const std::vector<job::table>& tables, bool json, ordered_json& rows) {
  int status = 0;
  for (const job::table& t : tables) {
    ordered_json row{{"file", t.file}, {"ok", t.ok()}, {"jobs", t.jobs.size()}};
    row["problems"] = ordered_json::array();
    for (const job::problem& p : t.problems) {
      row["problems"].push_back(to_text(p));
      if (!json) std::cerr << to_text(p) << '\n';
    }
    if (!json && t.ok())
      std::cout << t.file << ": " << t.jobs.size() << (t.jobs.size() == 1 ? " job\n" : " jobs\n");
    if (!t.ok()) status = 2;
    rows.push_back(std::move(row));
  }
  return status;
}

int check_all(const cron_request& r) {
  (void)zone_of(r.how);  // a wrong zone is said once
  ordered_json rows = ordered_json::array();
  int status = 0;
  for (const std::string& word : r.expressions) {
    const auto tables = tables_at(word, r.how);
    status =
        std::max(status, tables ? check_tables(*tables, r.json, rows) : check_one(r, word, rows));
  }
  // An expression is any bytes, and a document of JSON is not.
  if (r.json) std::cout << rows.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
  return status;
}

// --- simulate -----------------------------------------------------------------------------------

int simulate_all(const cron_request& r) {
  const time_zone zone = zone_of(r.how);
  if (r.to.empty()) throw std::invalid_argument("--to is required: the instant to stop at");
  const simulated_span span{instant_of("--from", r.from, zone), instant_of("--to", r.to, zone)};
  if (span.from >= span.to)
    throw std::invalid_argument("--to: expected an instant after --from, not " + r.to);
  simulate(r.expressions, span, r.how, r.json, std::cout);
  return 0;
}

// --- the commands -------------------------------------------------------------------------------

void add_expression(command& c, cron_request& r) {
  c.option({.name = "expression",
            .type = "EXPR",
            .help = "in quotes: '30 2 * * mon-fri', @daily, '@every 90s'",
            .value = &r.expression,
            .required = true});
}

void add_reading(command& c, cron_request& r) {
  c.option({.name = "--tz",
            .type = "ZONE",
            .help = "the zone of the wall clock: Europe/Paris, local; UTC by default",
            .value = &r.how.zone});
  c.option({.name = "--dst",
            .type = "RULE",
            .help = "what a clock change does: wall (default), or vixie, as Debian's cron",
            .value = &r.how.dst,
            .words = {"wall", "vixie"}});
  c.option({.name = "--compat",
            .type = "SYNTAX",
            .help = "strict, or vixie: take what Debian's cron takes",
            .value = &r.how.compat,
            .words = {"strict", "vixie"}});
  c.option({.name = "--name",
            .type = "NAME",
            .help = "the job's name, which H turns into a number",
            .value = &r.how.name});
}

void add_json(command& c, cron_request& r, const char* help) {
  c.option({.name = "--json", .help = help, .value = &r.json});
}

const char* const dst_footer =
    "With --dst vixie an expression means what Debian's cron makes of it, where it takes it:\n"
    "there 5#2 is 5, and what a gap swallows runs once a minute. --compat strict keeps our\n"
    "reading. docs/cron.md has the syntax and the rules.";

void add_next(command& cron) {
  auto r = std::make_shared<cron_request>();
  r->how.may_never_fire = true;
  command& c = cron.add("next", "when it fires next: UTC, an instant a line");
  add_expression(c, *r);
  c.option({.name = "--from",
            .type = "ISO",
            .help = "the instants after this one; now by default",
            .value = &r->from});
  c.option({.name = "--count",
            .type = "N",
            .help = "how many: 10",
            .value = &r->count,
            .least = 1,
            .most = 10'000'000});
  add_reading(c, *r);
  add_json(c, *r, "an array of texts");
  c.footer([] { return std::string(dst_footer); });
  c.run([r] { return run_cron("cron next", r->expression, [&] { return show_next(*r); }); });
}

void add_explain(command& cron) {
  auto r = std::make_shared<cron_request>();
  r->how.may_never_fire = true;
  command& c = cron.add("explain", "says in words when it fires, and what may surprise");
  add_expression(c, *r);
  add_reading(c, *r);
  add_json(c, *r, "an object with explain and warnings");
  c.run([r] { return run_cron("cron explain", r->expression, [&] { return explain(*r); }); });
}

void add_cron_check(command& cron) {
  auto r = std::make_shared<cron_request>();
  command& c = cron.add(
      "check", "says whether expressions and files of jobs are right: exit status 0, or 2");
  c.option({.name = "expression",
            .type = "EXPR",
            .help = "in quotes, one or more; or crontabs, TOML files, directories of them",
            .value = &r->expressions,
            .required = true});
  add_reading(c, *r);
  add_json(c, *r, "an array of objects");
  c.run([r] { return run_cron("cron check", "", [&] { return check_all(*r); }); });
}

void add_simulate(command& cron) {
  auto r = std::make_shared<cron_request>();
  r->how.may_never_fire = true;
  command& c = cron.add("simulate", "prints every start between two instants, and clock changes");
  c.option({.name = "expression",
            .type = "EXPR",
            .help = "in quotes, one or more; or crontabs, TOML files, directories of them",
            .value = &r->expressions,
            .required = true});
  c.option({.name = "--from", .type = "ISO", .help = "now by default", .value = &r->from});
  c.option({.name = "--to", .type = "ISO", .help = "where to stop", .value = &r->to});
  c.option({.name = "--max-active",
            .type = "N",
            .help = "at most so many run at once; the others wait in line",
            .value = &r->how.max_active,
            .least = 1,
            .most = 1'000'000});
  c.option({.name = "--takes",
            .type = "PERIOD",
            .help = "how long a run takes, as 90s; nothing by default",
            .value = &r->how.takes});
  add_reading(c, *r);
  add_json(c, *r, "an object a line");
  c.footer([] { return std::string(dst_footer); });
  c.run([r] { return run_cron("cron simulate", "", [&] { return simulate_all(*r); }); });
}

}  // namespace

void add_cron(command& program) {
  command& cron = program.add("cron", "cron expressions: next, explain, check, simulate");
  add_next(cron);
  add_explain(cron);
  add_cron_check(cron);
  add_simulate(cron);
  cron.environment("TZ", "the zone that `--tz local` means, if it is set");
  cron.environment("TZDIR", "where the data of time zones are, if not in /usr/share/zoneinfo");
}

}  // namespace rota::app
