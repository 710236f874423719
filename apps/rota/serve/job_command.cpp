// `rota job`: each command is a request or two; what is wrong comes from the daemon, in its words.
#include <rota/job/table.h>
#include <rota/job/table_file.h>

#include <pwd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>

#include "../door.h"
#include "http.h"
#include "job_client.h"
#include "job_look.h"
#include "job_text.h"
#include "place.h"
#include "serve.h"

namespace rota::app {

namespace {

using json = nlohmann::ordered_json;

struct job_words {
  std::string socket;
  bool json_wanted = false;
  std::string name;
  std::string file;
  std::string schedule;
  std::string shell;
  std::string zone;
  std::vector<std::string> set;
  std::vector<std::string> argv;
  std::string outcome;
  std::string from;
  std::uint32_t count = 10;
  job_top_request top;
  job_trace_request trace;
  std::uint32_t limit = 20;
  bool follow = false;
  bool at_once = false;
  bool wait = false;
  bool add = false;
  bool system = false;
  bool toml = false;
  bool names = false;
};

std::string job_path(const std::string& name, const std::string& rest = "") {
  if (name.empty()) throw bad_input("a job has a name; `rota job list` lists them");
  return "/api/v1/jobs/" + percent_encoded(name) + rest;
}

job_client client_of(const job_words& w) { return job_client{socket_of(w.socket)}; }

void print(const job_words& w, const json& whole, const std::string& text) {
  if (w.json_wanted)
    std::cout << whole.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  else
    std::cout << text;
}

std::string read_text(const std::string& file) {
  if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown))
    throw bad_input(file + ": is a directory, give a file in it");
  std::ifstream from(file, std::ios::binary);
  std::ostringstream text;
  if (from.peek() != from.eof()) text << from.rdbuf();
  if (from.bad() || !from.is_open()) throw bad_input(file + ": cannot be read");
  return text.str();
}

// --- add ----------------------------------------------------------------------------------------

std::string toml_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += std::string("\\") + c;
    } else if (byte < ' ' || byte == 127) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", byte);
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

template <class... Words>
bool is_one_of(const std::string& key, const Words&... words) {
  return ((key == words) || ...);
}

// "a,b" as ["a", "b"]; numbers stand without quotes.
std::string toml_list(const std::string& text, bool numbers) {
  std::string out;
  std::istringstream all(text);
  for (std::string item; std::getline(all, item, ',');)
    out += (out.empty() ? "" : ", ") + (numbers ? item : toml_string(item));
  return "[" + out + "]";
}

// As the key wants it, by docs/job_files.md: `umask=077` is text, `nice=-5` a number, and
// `retry.codes=1,75` a list as in a crontab. What is in quotes is TOML already, and so is a list
// or a table where there may be one.
std::string toml_value(const std::string& key, const std::string& text) {
  if (text.starts_with('"')) return text;
  const bool structured = text.starts_with('[') || text.starts_with('{');
  if (is_one_of(key, "run", "after", "environment", "retry", "retry.codes", "alert") && structured)
    return text;
  if (is_one_of(key, "after", "retry.codes")) return toml_list(text, key == "retry.codes");
  const bool number = text.find_first_not_of("+-.0123456789") == text.npos && !text.empty();
  const bool flag = text == "true" || text == "false";
  const bool plain = (number && is_one_of(key, "nice", "queue", "catchup_most", "retry.count",
                                          "retry.factor", "retry.jitter", "keep_runs")) ||
                     (flag && is_one_of(key, "alert.failure", "alert.recovery"));
  return plain ? text : toml_string(text);
}

std::string toml_of(const job_words& w) {
  if (!w.file.empty()) {
    if (!w.schedule.empty() || !w.shell.empty() || !w.argv.empty() || !w.set.empty())
      throw bad_input("--file has all of the job; leave out the rest");
    return read_text(w.file);
  }
  if (w.shell.empty() == w.argv.empty())
    throw bad_input("what is to be run? Either --shell TEXT, or -- PROGRAM ARGUMENTS...");
  std::string toml;
  if (!w.schedule.empty()) toml += "schedule = " + toml_string(w.schedule) + "\n";
  if (!w.zone.empty()) toml += "zone = " + toml_string(w.zone) + "\n";
  if (!w.shell.empty()) toml += "shell = " + toml_string(w.shell) + "\n";
  if (!w.argv.empty()) {
    toml += "run = [";
    for (std::size_t i = 0; i < w.argv.size(); ++i)
      toml += (i == 0 ? "" : ", ") + toml_string(w.argv[i]);
    toml += "]\n";
  }
  for (const std::string& pair : w.set) {
    const std::size_t equals = pair.find('=');
    if (equals == pair.npos || equals == 0)
      throw bad_input("--set: expected KEY=VALUE, not " + pair);
    std::string key = pair.substr(0, equals);
    const std::string value = pair.substr(equals + 1);
    // Its short form is a number in TOML, which bears no `retry.delay` beside it.
    if (key == "retry" && !value.starts_with('{')) key = "retry.count";
    toml += key + " = " + toml_value(key, value) + "\n";
  }
  return toml;
}

json put_job(const job_words& w, const std::string& name, const std::string& toml) {
  return client_of(w).ask(
      "PUT", job_path(name),
      json{{"toml", toml}}.dump(-1, ' ', false, json::error_handler_t::replace));
}

int do_add(const job_words& w) {
  const json job = put_job(w, w.name, toml_of(w));
  print(w, job, job_text(job));
  return 0;
}

// --- import -------------------------------------------------------------------------------------

// "root run-parts /etc/cron.hourly": a user, then words that are no options of a program that
// happens to have a user's name.
bool begins_with_a_user(const job::definition& d) {
  std::istringstream words(d.command.argv.empty() ? "" : d.command.argv.front());
  std::string first;
  std::string second;
  return words >> first >> second && !second.starts_with('-') && ::getpwnam(first.c_str());
}

// Goes on after one that is refused, and says of each what became of it.
int add_all(const job_words& w, const job::table& t) {
  client_of(w).get("/api/v1/status");  // Without a daemon there is one message, not one for each.
  std::size_t added = 0;
  for (const job::definition& d : t.jobs) {
    try {
      put_job(w, d.name, job::to_toml(d));
      ++added;
      std::cout << "added " << plain_text(d.name) << std::endl;
    } catch (const std::exception& wrong) {
      std::cerr << t.file << ':' << d.source.line << ": " << plain_text(d.name)
                << " was not added: " << wrong.what() << '\n';
    }
  }
  if (added == t.jobs.size()) return 0;
  std::cerr << "rota job import: " << added << " of " << count_text(t.jobs.size())
            << (added == 1 ? " was" : " were") << " added\n";
  return 2;
}

int do_import(const job_words& w) {
  const std::string file = w.file.empty() ? "-" : w.file;
  const bool system = w.system || job::form_of(file) == job::table_form::system_crontab;
  job::table_options o;
  o.file = file == "-" ? "crontab" : file;
  o.form = system ? job::table_form::system_crontab : job::table_form::user_crontab;
  o.owner = system ? "root" : job::user_name(::geteuid());
  o.zone = time_zone::local();
  const job::table t = job::read_table(read_text(file), o);
  for (const job::problem& p : t.problems) std::cerr << job::to_text(p) << '\n';
  if (!t.ok()) return 2;
  if (!system && !t.jobs.empty() && std::all_of(t.jobs.begin(), t.jobs.end(), begins_with_a_user))
    std::cerr << "rota job import: every command begins with the name of a user; if this is a "
                 "crontab of the system, give --system\n";
  if (w.add) return add_all(w, t);
  std::cout << job::to_toml(t.jobs, t.groups);
  return 0;
}

// --- looking ------------------------------------------------------------------------------------

int do_list(const job_words& w) {
  const json all = client_of(w).get("/api/v1/jobs");
  if (w.names) {
    for (const json& j : all.at("jobs"))
      std::cout << plain_text(j.at("name").get<std::string>()) << '\n';
    return 0;
  }
  print(w, all.at("jobs"), jobs_text(all.at("jobs")));
  return 0;
}

int do_show(const job_words& w) {
  const json job = client_of(w).get(job_path(w.name));
  if (w.toml) {
    if (!job.at("toml").is_string())
      throw bad_input("'" + w.name + "' was not added, it stands in " +
                      job.value("source", "a file"));
    std::cout << job.at("toml").get<std::string>();
    return 0;
  }
  print(w, job, job_text(job));
  return 0;
}

int do_next(const job_words& w) {
  const json answer = client_of(w).get(
      job_path(w.name, "/next?count=" + std::to_string(w.count) +
                           (w.from.empty() ? "" : "&from=" + percent_encoded(w.from))));
  std::string text;
  json times = json::array();
  for (const json& t : answer.at("next")) {
    text += t.at("local").get<std::string>() + "\n";
    times.push_back(t.at("utc"));
  }
  print(w, times, text);
  if (times.empty()) {
    const json job = client_of(w).get(job_path(w.name));
    std::cerr << "rota job next: "
              << (job.at("kind") == "never"
                      ? "it has no schedule, it runs only when asked, or after "
                        "another job if it says so"
                      : "it is not due again: " + plain_text(job.value("explain", "")))
              << '\n';
  }
  return 0;
}

int do_history(const job_words& w) {
  const json page = client_of(w).get("/api/v1/runs?limit=" + std::to_string(w.limit) +
                                     "&job=" + percent_encoded(w.name) +
                                     "&outcome=" + percent_encoded(w.outcome));
  print(w, page.at("runs"), runs_text(page.at("runs")));
  return 0;
}

int do_status(const job_words& w) {
  const json status = client_of(w).get("/api/v1/status");
  print(w, status, status_text(status));
  for (const json& t : status.at("tables"))
    if (!t.at("ok").get<bool>()) return 1;
  return status.at("ledger").at("ok").get<bool>() ? 0 : 1;
}

// The number of a run, or the last run of a job.
std::string run_of(const job_words& w) {
  const bool number = !w.name.empty() && w.name.find_first_not_of("0123456789") == w.name.npos;
  if (number) return w.name;
  const json job = client_of(w).get(job_path(w.name));
  if (job.at("last_run").is_null()) throw bad_input("'" + w.name + "' has not run yet");
  return job.at("last_run").at("id").dump();
}

// 0 if the run was a success, or is not over yet.
int status_of(const json& run) {
  return run.at("outcome").is_null() || run.at("outcome") == "success" ? 0 : 1;
}

// Prints what a run has said, and gives the run; to follow it is to wait for its end.
json read_log(const job_words& w, const std::string& id, bool follow) {
  bool silent = true;
  const bool whole = client_of(w).read(
      "/api/v1/runs/" + id + "/log" + (follow ? "?follow=1" : ""), [&](std::string_view piece) {
        silent = silent && piece.empty();
        if (w.json_wanted) return;
        std::cout.write(piece.data(), static_cast<std::streamsize>(piece.size()));
        std::cout.flush();
      });
  if (!whole) throw std::runtime_error("the daemon went away before run " + id + " was over");
  json run = client_of(w).get("/api/v1/runs/" + id);
  if ((silent || follow) && status_of(run) != 0) std::cerr << ending_text(run) << '\n';
  return run;
}

int do_logs(const job_words& w) {
  const json run = read_log(w, run_of(w), w.follow);
  return w.follow ? status_of(run) : 0;
}

int do_page(const job_words& w) {
  const json status = client_of(w).get("/api/v1/status");
  if (status.at("page").is_null()) throw bad_input("the daemon has no page; it has --listen none");
  if (status.at("state").is_null()) throw bad_input("the page is for the daemon's user");
  const std::string token = read_whole_file(status.at("state").get<std::string>() + "/token", 4096);
  std::cout << status.at("page").get<std::string>()
            << "#token=" << token.substr(0, token.find('\n')) << '\n';
  return 0;
}

int do_top(const job_words& w) {
  job_top_request r = w.top;
  r.json = w.json_wanted;
  return job_top(client_of(w), r);
}

int do_trace(const job_words& w) {
  job_trace_request r = w.trace;
  r.json = w.json_wanted;
  return job_trace(client_of(w), r);
}

// --- changing -----------------------------------------------------------------------------------

// The attempt after this one. It is written down together with the end of this one, so whoever
// knows of the end finds it.
std::optional<std::string> next_attempt(const job_words& w, const json& run) {
  const json page = client_of(w).get("/api/v1/runs?limit=1000&job=" +
                                     percent_encoded(run.at("job").get<std::string>()));
  for (const json& r : page.at("runs"))
    if (r.at("scheduled") == run.at("scheduled") &&
        r.at("attempt") == run.at("attempt").get<int>() + 1)
      return r.at("id").dump();
  return std::nullopt;
}

int do_run(const job_words& w) {
  const job_client daemon = client_of(w);
  const json started =
      daemon.ask("POST", job_path(w.name, "/run"), json{{"at_once", w.at_once}}.dump());
  const std::string id = started.at("run").dump();
  if (!w.wait) {
    print(w, started, "run " + id + "\n");
    return 0;
  }
  json run = read_log(w, id, true);
  while (status_of(run) != 0) {
    const auto next = next_attempt(w, run);
    if (!next) break;
    std::cerr << "run " << *next << " is the next attempt\n";
    run = read_log(w, *next, true);
  }
  if (w.json_wanted) print(w, run, "");
  return status_of(run);
}

int do_post(const job_words& w, const std::string& verb) {
  const json job = client_of(w).ask("POST", job_path(w.name, "/" + verb), "{}");
  print(w, job, job_text(job));
  return 0;
}

int do_cancel(const job_words& w) {
  const json run = client_of(w).ask("POST", "/api/v1/runs/" + run_of(w) + "/cancel", "{}");
  print(w, run, run_text(run));
  return 0;
}

int do_remove(const job_words& w) {
  client_of(w).ask("DELETE", job_path(w.name), "");
  print(w, json::object(), "");
  return 0;
}

int do_reload(const job_words& w) {
  const json answer = client_of(w).ask("POST", "/api/v1/reload", "{}");
  bool ok = true;
  std::string text;
  for (const json& t : answer.at("tables")) {
    ok = ok && t.at("ok").get<bool>();
    text += plain_text(t.at("file").get<std::string>()) + ": " +
            (t.at("ok").get<bool>() ? count_text(t.at("jobs"))
                                    : "not used\n" + t.at("error").get<std::string>()) +
            "\n";
  }
  print(w, answer, text);
  return ok ? 0 : 1;
}

}  // namespace

void add_job(command& program) {
  auto w = std::make_shared<job_words>();
  command& job = program.add("job", "talks to the job daemon (rota serve)");
  job.environment("ROTA_JOB_SOCKET", "the daemon's socket, without `--socket`");
  const auto add = [&](const std::string& name, const std::string& help,
                       int (*action)(const job_words&)) -> command& {
    command& c = job.add(name, help);
    c.option({.name = "--socket",
              .type = "PATH",
              .help = "the daemon's socket (the user's, the system's)",
              .value = &w->socket});
    c.option({.name = "--json", .help = "print JSON", .value = &w->json_wanted});
    c.run([w, action] { return action(*w); });
    return c;
  };
  const auto with_name = [&](command& c, const char* help, bool required = true) {
    c.option({.name = "name",
              .type = "NAME",
              .help = help,
              .value = &w->name,
              .required = required,
              .words_by = "job list --names"});
  };

  command& adding = add("add", "adds a job, or changes one that was added", do_add);
  with_name(adding, "of the job");
  adding.option({.name = "--schedule",
                 .type = "TEXT",
                 .help = "'0 4 * * *', '@every 90s', ...; without, it runs only when asked",
                 .value = &w->schedule});
  adding.option(
      {.name = "--shell", .type = "TEXT", .help = "a line for the shell", .value = &w->shell});
  adding.option(
      {.name = "--tz,--zone", .type = "ZONE", .help = "of the schedule", .value = &w->zone});
  adding.option({.name = "--set",
                 .type = "KEY=VALUE",
                 .help = "another key of docs/job_files.md: timeout=5m, say",
                 .value = &w->set});
  adding.option({.name = "--file", .type = "FILE", .help = "the job in TOML", .value = &w->file});
  adding.option({.name = "argv",
                 .type = "-- PROGRAM ARGUMENTS...",
                 .help = "what to run, without a shell",
                 .value = &w->argv});

  add("list", "lists the jobs", do_list)
      .option({.name = "--names", .help = "nothing but their names", .value = &w->names});
  command& show = add("show", "shows a job", do_show);
  with_name(show, "of the job");
  show.option({.name = "--toml", .help = "of a job that was added: its TOML", .value = &w->toml});
  command& next = add("next", "says when a job is due next", do_next);
  with_name(next, "of the job");
  next.option({.name = "--count",
               .type = "N",
               .help = "how many times (10)",
               .value = &w->count,
               .least = 1,
               .most = 1000});
  next.option(
      {.name = "--from", .type = "ISO", .help = "after then rather than now", .value = &w->from});
  command& run = add("run", "runs a job now, in its turn", do_run);
  with_name(run, "of the job");
  run.option({.name = "--now", .help = "past the cap, at once", .value = &w->at_once});
  run.option({.name = "--wait",
              .help = "shows its output, to its last attempt; ends with 1 if that was no success",
              .value = &w->wait});
  with_name(add("pause", "skips a job's instants until it is resumed",
                [](const job_words& o) { return do_post(o, "pause"); }),
            "of the job");
  with_name(
      add("resume", "goes on with a job", [](const job_words& o) { return do_post(o, "resume"); }),
      "of the job");
  with_name(add("cancel", "stops a run, or takes it out of the queue", do_cancel),
            "of the run (a number), or a job: its last one");
  with_name(add("remove", "removes a job that was added", do_remove), "of the job");
  command& logs = add("logs", "prints what a run said", do_logs);
  with_name(logs, "of the run (a number), or a job: its last one");
  logs.option({.name = "-f,--follow", .help = "until the run is over", .value = &w->follow});
  command& history = add("history", "lists runs, newest first", do_history);
  with_name(history, "of the job; without, of all", false);
  history.option({.name = "--count,--limit",
                  .type = "N",
                  .help = "how many (20)",
                  .value = &w->limit,
                  .least = 1,
                  .most = 1000});
  history.option({.name = "--outcome",
                  .type = "WORD",
                  .help = "only these: success, failed, skipped, ...",
                  .value = &w->outcome});
  command& top = add("top", "shows what runs, waits, comes next and is over, live", do_top);
  top.option({.name = "--every",
              .type = "SECONDS",
              .help = "how often to look (1)",
              .value = &w->top.every});
  top.option({.name = "--count", .type = "N", .help = "end after N looks", .value = &w->top.count});
  top.option({.name = "--rows",
              .type = "N",
              .help = "at most N of each (10)",
              .value = &w->top.rows,
              .least = 1,
              .most = 1000});
  command& trace = add("trace", "writes runs to a file for Perfetto, a track a job", do_trace);
  trace.option({.name = "--hours",
                .type = "N",
                .help = "those of the last N hours (24)",
                .value = &w->trace.hours});
  trace.option({.name = "-o,--output",
                .type = "FILE",
                .help = "the file (jobs.perfetto-trace)",
                .value = &w->trace.file});
  command& import = add("import", "turns `crontab -l` into TOML", do_import);
  import.option(
      {.name = "file", .type = "FILE", .help = "a crontab (standard input)", .value = &w->file});
  import.option(
      {.name = "--system",
       .help = "it has users, as /etc/crontab and files in a cron.d, which need no saying",
       .value = &w->system});
  import.option(
      {.name = "--add", .help = "adds the jobs instead of printing them", .value = &w->add});
  add("status", "how the daemon is; ends with 1 if something is wrong", do_status);
  add("reload", "reads the tables again; ends with 1 if one is wrong", do_reload);
  add("page", "prints the page's address, with its token", do_page);
}

}  // namespace rota::app
