#include "api.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <limits>
#include <map>
#include <stdexcept>

#include "job_json.h"
#include "log_stream.h"
#include "page.h"
#include "wall_clock.h"

namespace rota::app {

namespace {

constexpr const char* version = ROTA_PROGRAM_VERSION;

response json_answer(const ordered_json& body, int status_code = 200) {
  return {.status = status_code, .body = line_of(body) + "\n"};
}

response no_such_job(const std::string& name) {
  return error_answer(404, "there is no job '" + name + "'; GET /api/v1/jobs lists them");
}

response wrong_method(std::string_view right) {
  response no = error_answer(405, "this takes " + std::string(right));
  no.headers.emplace_back("Allow", right);
  return no;
}

// The request is wrong; becomes a 400.
struct wrong_request : std::runtime_error {
  using runtime_error::runtime_error;
};

std::int64_t number_of(const request& r, const std::string& name, std::int64_t otherwise,
                       std::int64_t least, std::int64_t most) {
  const auto found = r.query.find(name);
  if (found == r.query.end() || found->second.empty()) return otherwise;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    throw wrong_request("'" + name + "' is a number from " + std::to_string(least) + " to " +
                        std::to_string(most));
  return value;
}

std::string text_of(const request& r, const std::string& name) {
  const auto found = r.query.find(name);
  return found == r.query.end() ? "" : found->second;
}

// The word's place in its enumeration, whose last member is given.
template <class Enum>
std::optional<Enum> word_of(const request& r, const std::string& name, Enum last) {
  const std::string text = text_of(r, name);
  if (text.empty()) return std::nullopt;
  std::string all;
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    const auto e = static_cast<Enum>(i);
    if (job::to_text(e) == text) return e;
    all += (all.empty() ? "" : ", ") + std::string(job::to_text(e));
  }
  throw wrong_request("'" + name + "' is one of " + all);
}

ordered_json body_of(const request& r) {
  if (r.body.empty()) return ordered_json::object();
  ordered_json body = ordered_json::parse(r.body, nullptr, false);
  if (!body.is_object()) throw wrong_request("the body is no JSON object");
  return body;
}

}  // namespace

response api::handle(const request& r) {
  response answered;
  try {
    answered = route(r);
  } catch (const wrong_request& wrong) {
    answered = error_answer(400, wrong.what());
  } catch (const job::ledger_error& error) {
    answered = error_answer(503, std::string("the ledger does not answer: ") + error.what());
  } catch (const std::exception& error) {
    parts_.log("error: " + r.method + ": " + error.what());
    answered = error_answer(500, "the daemon could not answer; its log says why");
  }
  const bool has_cache_rule = std::any_of(answered.headers.begin(), answered.headers.end(),
                                          [](const auto& h) { return h.first == "Cache-Control"; });
  if (!has_cache_rule) answered.headers.emplace_back("Cache-Control", "no-store");
  answered.headers.emplace_back("X-Content-Type-Options", "nosniff");
  answered.headers.emplace_back("X-Frame-Options", "DENY");
  answered.headers.emplace_back("Referrer-Policy", "no-referrer");
  answered.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  answered.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  return answered;
}

response api::route(const request& r) {
  if (auto refused = parts_.door.refuses(r)) return *refused;
  const bool data = !r.path.empty() && (r.path[0] == "api" || r.path[0] == "metrics");
  if (!data) return page_answer(r);
  const auto who = parts_.door.who(r);
  if (!who) {
    response no = error_answer(
        401, "this needs `Authorization: Bearer TOKEN`; the token is in the daemon's file `token`");
    no.headers.emplace_back("WWW-Authenticate", "Bearer");
    return no;
  }
  return answer(r, *who);
}

response api::answer(const request& r, const caller& who) {
  const bool get = r.method == "GET";
  if (r.path.size() == 1 && r.path[0] == "metrics")
    return get ? metrics_text(who) : wrong_method("GET");
  if (r.path.size() < 3 || r.path[1] != "v1")
    return error_answer(404, "there is no such thing; the API is below /api/v1");
  const std::string& what = r.path[2];
  const bool alone = r.path.size() == 3;
  if (what == "jobs" && alone) return get ? list_jobs(who) : wrong_method("GET");
  if (what == "jobs") return answer_job(r, who);
  if (what == "runs" && alone) return get ? list_runs(r, who) : wrong_method("GET");
  if (what == "runs") return answer_run(r, who);
  if (alone && what == "reload") return r.method == "POST" ? reload(who) : wrong_method("POST");
  if (alone && (what == "status" || what == "upcoming" || what == "heat" || what == "events")) {
    if (!get) return wrong_method("GET");
    if (what == "status") return status(who);
    if (what == "upcoming") return upcoming(r, who);
    if (what == "heat") return heat(r, who);
    return events(r, who);
  }
  return error_answer(404, "there is no such thing; docs/jobs_api.md lists what there is");
}

response api::answer_job(const request& r, const caller& who) {
  const std::string& name = r.path[3];
  const instant now = wall_now();
  if (r.path.size() == 4) {
    if (r.method == "PUT") return put_job(name, r, who);
    if (r.method == "DELETE") return remove_job(name, who);
    if (r.method != "GET") return wrong_method("GET, PUT, DELETE");
    const auto v = find(name, who);
    if (!v) return no_such_job(name);
    ordered_json j = job_json(*v);
    // With whatever secrets its author put into it: only here, for who may change it.
    const auto text = parts_.tables.text_of(name);
    j["toml"] = text ? ordered_json(*text) : ordered_json(nullptr);
    return json_answer(j);
  }
  if (r.path.size() != 5) return error_answer(404, "a job has run, pause, resume and next");
  const std::string& verb = r.path[4];
  const auto v = find(name, who);
  if (!v) return no_such_job(name);
  if (verb == "next") return r.method == "GET" ? next(*v, r) : wrong_method("GET");
  if (verb != "run" && verb != "pause" && verb != "resume")
    return error_answer(404, "a job has run, pause, resume and next");
  if (r.method != "POST") return wrong_method("POST");
  if (verb == "run") return run_job(name, r, who);
  if (verb == "pause")
    parts_.engine.pause(name, now);
  else
    parts_.engine.resume(name, now);
  parts_.changed();
  const auto after = find(name, who);
  return after ? json_answer(job_json(*after)) : no_such_job(name);
}

response api::answer_run(const request& r, const caller& who) {
  const std::string& text = r.path[3];
  job::run_id id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc{} || end != text.data() + text.size() || id <= 0)
    return error_answer(400, "a run is named by its number");
  const auto found = find_run(id);
  // Whose it was then: the job may be gone, or its name somebody else's.
  if (!found || !who.may(found->owner))
    return error_answer(404, "there is no run " + std::to_string(id));
  if (r.path.size() == 4)
    return r.method == "GET" ? json_answer(run_json(*found)) : wrong_method("GET");
  if (r.path.size() == 5 && r.path[4] == "log")
    return r.method == "GET" ? log(*found, r) : wrong_method("GET");
  if (r.path.size() == 5 && r.path[4] == "cancel") {
    if (r.method != "POST") return wrong_method("POST");
    if (!parts_.engine.cancel(id, wall_now()))
      return error_answer(409, "run " + std::to_string(id) + " is over already");
    parts_.changed();
    return json_answer(run_json(find_run(id).value_or(*found)));
  }
  return error_answer(404, "a run has log and cancel");
}

// --- who sees what ------------------------------------------------------------------------------

std::optional<job::job_view> api::find(const std::string& name, const caller& who) const {
  auto v = parts_.engine.find(name);
  if (v && !who.may(v->def->owner)) return std::nullopt;
  return v;
}

// Whose runs to ask the ledger for, whatever they are called: nothing means everybody's.
std::optional<std::string> api::owner_for(const caller& who) {
  return who.may_all ? std::nullopt : std::optional(who.user);
}

// The names to ask the ledger for: nothing means all.
std::optional<std::vector<std::string>> api::jobs_of(const caller& who,
                                                     const std::string& only) const {
  if (who.may_all)
    return only.empty() ? std::nullopt : std::optional(std::vector<std::string>{only});
  std::vector<std::string> names;
  parts_.engine.each_job([&](const job::job_view& v) {
    if (who.may(v.def->owner) && (only.empty() || v.def->name == only))
      names.push_back(v.def->name);
  });
  return names;
}

// The engine knows more of a run under way than its row does: its pid, when it started.
job::run api::now_of(const job::run& row) const {
  return row.phase == job::phase::over ? row : parts_.engine.find_run(row.id).value_or(row);
}

std::optional<job::run> api::find_run(job::run_id id) const {
  auto live = parts_.engine.find_run(id);
  return live ? live : parts_.ledger.find_run(id);
}

ordered_json api::job_json(const job::job_view& v) const { return json_of(v, last_run(v)); }

// Not that of somebody who had the name before.
std::optional<job::run> api::last_run(const job::job_view& v) const {
  const auto page =
      parts_.ledger.history({.jobs = {{v.def->name}}, .owner = v.def->owner, .limit = 1});
  return page.runs.empty() ? std::nullopt : std::optional(now_of(page.runs.front()));
}

ordered_json api::run_json(const job::run& r) const {
  ordered_json j = json_of(r);
  struct stat is{};
  const std::string path = parts_.launcher.log_path(r.id);
  j["log_size"] = ::lstat(path.c_str(), &is) == 0 && S_ISREG(is.st_mode) ? ordered_json(is.st_size)
                                                                         : ordered_json(nullptr);
  return j;
}

// --- looking ------------------------------------------------------------------------------------

ordered_json api::tables_json(const caller& who) const {
  ordered_json tables = ordered_json::array();
  if (!who.may_all) return tables;
  for (const table_status& t : parts_.tables.status())
    tables.push_back({{"file", t.file},
                      {"ok", t.ok},
                      {"error", t.error.empty() ? ordered_json(nullptr) : ordered_json(t.error)},
                      {"loaded", json_of(t.loaded)},
                      {"jobs", t.jobs}});
  return tables;
}

response api::status(const caller& who) {
  std::size_t jobs = 0;
  parts_.engine.each_job([&](const job::job_view& v) { jobs += who.may(v.def->owner) ? 1 : 0; });
  std::map<std::string, std::uint32_t> in_groups;
  const auto running = parts_.engine.running();
  for (const job::run& r : running)
    if (const auto v = parts_.engine.find(r.job)) ++in_groups[v->def->rules->group];
  ordered_json groups = ordered_json::array();
  for (const auto& [name, cap] : parts_.tables.groups())
    groups.push_back({{"name", name}, {"cap", cap}, {"active", in_groups[name]}});
  const std::string& ledger_error = parts_.counts.ledger_error();
  return json_answer(
      {{"version", version},
       {"now", rota::to_text(wall_now())},
       {"started", rota::to_text(parts_.started)},
       {"boot", parts_.boot},
       {"zone", parts_.zone.name()},
       {"user", who.user},
       {"may_all", who.may_all},
       {"max_active", parts_.max_active},
       {"owner_cap", parts_.owner_cap == job::no_limit || who.user == "root"
                         ? ordered_json(nullptr)
                         : ordered_json(parts_.owner_cap)},
       {"active", running.size()},
       {"waiting", parts_.engine.waiting().size()},
       {"jobs", jobs},
       {"draining", parts_.draining()},
       {"groups", std::move(groups)},
       {"ledger",
        {{"ok", ledger_error.empty()},
         {"error", ledger_error.empty() ? ordered_json(nullptr) : ordered_json(ledger_error)}}},
       {"page", parts_.page.empty() ? ordered_json(nullptr) : ordered_json(parts_.page)},
       {"state", who.may_all ? ordered_json(parts_.state) : ordered_json(nullptr)},
       {"tables", tables_json(who)}});
}

// Ten thousand jobs are megabytes of text: they are made piece by piece, and between two pieces
// whatever is due starts.
class api::job_list final : public body_stream {
 public:
  job_list(const api& a, caller who) : api_(a), who_(std::move(who)) {
    // One query for all; who has few jobs is not to wait for it, nor anybody else.
    if (who_.may_all)
      for (job::run& r : api_.parts_.ledger.last_runs()) {
        std::string name = r.job;
        last_.insert_or_assign(std::move(name), std::move(r));
      }
    api_.parts_.engine.each_job([&](const job::job_view& v) {
      if (who_.may(v.def->owner)) names_.push_back(v.def->name);
    });
    std::sort(names_.begin(), names_.end());
  }

  bool read(std::string& to, std::size_t most) override {
    if (next_ == 0) to += "{\"jobs\":[";
    for (; next_ < names_.size(); ++next_) {
      if (to.size() >= most) return true;
      const auto v = api_.find(names_[next_], who_);
      if (!v) continue;  // It was removed meanwhile.
      to += (first_ ? "" : ",") + line_of(json_of(*v, last_run(*v)));
      first_ = false;
    }
    to += "]}\n";
    return false;
  }

 private:
  std::optional<job::run> last_run(const job::job_view& v) const {
    if (!who_.may_all) return api_.last_run(v);
    const auto found = last_.find(v.def->name);
    if (found == last_.end() || found->second.owner != v.def->owner) return std::nullopt;
    return api_.now_of(found->second);
  }

  const api& api_;
  caller who_;
  std::map<std::string, job::run> last_;
  std::vector<std::string> names_;
  std::size_t next_ = 0;
  bool first_ = true;
};

response api::list_jobs(const caller& who) {
  return {.stream = std::make_shared<job_list>(*this, who)};
}

response api::next(const job::job_view& v, const request& r) {
  const std::int64_t count = number_of(r, "count", 10, 1, 1000);
  instant at = wall_now();
  if (const std::string from = text_of(r, "from"); !from.empty()) {
    const auto given = parse_instant(from, parts_.zone);
    if (!given) throw wrong_request("'from' is a time such as 2026-03-29T01:00:00Z");
    at = *given;
  }
  const time_zone zone =
      v.def->when.what() == schedule::kind::cron ? v.def->when.zone() : parts_.zone;
  ordered_json list = ordered_json::array();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto t = v.def->when.next(at, v.row.anchor);
    if (!t) break;
    at = *t;
    list.push_back({{"utc", rota::to_text(at)}, {"local", rota::to_text(at, zone)}});
  }
  return json_answer({{"next", std::move(list)}});
}

response api::list_runs(const request& r, const caller& who) {
  job::history_filter f;
  f.jobs = jobs_of(who, text_of(r, "job"));
  f.owner = owner_for(who);
  f.phase = word_of(r, "phase", job::phase::over);
  f.outcome = word_of(r, "outcome", job::outcome::unknown);
  f.before = number_of(r, "before", 0, 0, std::numeric_limits<std::int64_t>::max());
  f.limit = static_cast<std::size_t>(number_of(r, "limit", 100, 1, 1000));
  const auto page = parts_.ledger.history(f);
  ordered_json runs = ordered_json::array();
  for (const job::run& run : page.runs) runs.push_back(run_json(now_of(run)));
  return json_answer({{"runs", std::move(runs)}, {"more", page.more}});
}

response api::log(const job::run& r, const request& asked) {
  const auto offset = static_cast<std::uint64_t>(
      number_of(asked, "offset", 0, 0, std::numeric_limits<std::int64_t>::max()));
  const bool follow = number_of(asked, "follow", 0, 0, 1) == 1;
  std::function<bool()> is_over;
  if (follow)
    is_over = [this, id = r.id] {
      const auto now = find_run(id);
      return !now || now->phase == job::phase::over;
    };
  return {.type = "text/plain; charset=utf-8",
          .stream = open_log(parts_.launcher.log_path(r.id), offset, std::move(is_over))};
}

response api::events(const request& r, const caller& who) {
  std::optional<std::uint64_t> last;
  std::string text = r.header("last-event-id");
  if (text.empty()) text = text_of(r, "last");
  if (!text.empty()) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // What is no id of ours makes the watcher read anew.
    last = error == std::errc{} && end == text.data() + text.size() ? value : 0;
  }
  return {.type = "text/event-stream", .stream = parts_.feed.open(who, last)};
}

response api::metrics_text(const caller& who) {
  if (!who.may_all) return error_answer(403, "only root and the daemon's user see the metrics");
  return {.type = "text/plain; version=0.0.4; charset=utf-8",
          .body = parts_.counts.text(parts_.engine, parts_.ledger, parts_.tables, wall_now())};
}

// --- changing -----------------------------------------------------------------------------------

response api::put_job(const std::string& name, const request& r, const caller& who) {
  if (const std::string wrong = job::wrong_with_name(name); !wrong.empty())
    throw wrong_request("'" + name + "': " + wrong);
  const ordered_json body = body_of(r);
  const auto toml = body.find("toml");
  if (toml == body.end() || !toml->is_string())
    throw wrong_request("the body is {\"toml\": TEXT}, the job in TOML");
  std::string owner = who.user;
  if (const auto old = parts_.engine.find(name)) {
    if (!who.may(old->def->owner)) return error_answer(409, "the name '" + name + "' is taken");
    if (old->def->source.file)
      return error_answer(409, "'" + name + "' stands in " + *old->def->source.file + ":" +
                                   std::to_string(old->def->source.line) + "; change it there");
    owner = old->def->owner;
  } else if (const auto unused = parts_.tables.added_by(name)) {
    if (!who.may(*unused)) return error_answer(409, "the name '" + name + "' is taken");
    owner = *unused;
  }
  const std::string text = toml->get<std::string>();
  if (const std::size_t bytes = parts_.tables.bytes_of(owner, name) + text.size();
      owner != "root" && parts_.owner_bytes != job::no_limit && bytes > parts_.owner_bytes)
    return error_answer(413, "with this one the jobs that " + owner + " has added have " +
                                 std::to_string(bytes) + " bytes, and " +
                                 std::to_string(parts_.owner_bytes) +
                                 " are the most (--owner-bytes); remove some, or shorten them");
  const std::string wrong = parts_.tables.add(name, owner, text, wall_now());
  if (!wrong.empty()) return error_answer(400, wrong);
  parts_.log(name + ": added by " + who.user);
  parts_.added();
  parts_.changed();
  const auto v = find(name, who);
  return v ? json_answer(job_json(*v)) : no_such_job(name);
}

response api::remove_job(const std::string& name, const caller& who) {
  const auto v = find(name, who);
  const auto added = parts_.tables.added_by(name);
  // One that is not used can be removed as well, behind a name that somebody else has.
  if (!v && !(added && who.may(*added))) return no_such_job(name);
  if (v && v->def->source.file)
    return error_answer(409, "'" + name + "' stands in " + *v->def->source.file + ":" +
                                 std::to_string(v->def->source.line) + "; remove it there");
  if (const std::string wrong = parts_.tables.remove(name, wall_now()); !wrong.empty())
    return error_answer(409, wrong);
  parts_.log(name + ": removed by " + who.user);
  parts_.changed();
  return json_answer(ordered_json::object());
}

response api::run_job(const std::string& name, const request& r, const caller& who) {
  const ordered_json body = body_of(r);
  bool at_once = false;
  if (const auto given = body.find("at_once"); given != body.end()) {
    if (!given->is_boolean()) throw wrong_request("'at_once' is true or false");
    at_once = given->get<bool>();
  }
  if (at_once && !who.may_all)
    return error_answer(403, "only root and the daemon's user may go past the cap");
  if (parts_.draining()) return error_answer(503, "the daemon is about to end");
  std::optional<job::run_id> id;
  try {
    id = parts_.engine.run_job(name, who.user, at_once, wall_now());
  } catch (const job::too_many_waiting& error) {
    return error_answer(429,
                        std::string(error.what()) +
                            " (--owner-waiting); ask again when some are over, or cancel some");
  }
  if (!id) return no_such_job(name);
  if (at_once) parts_.log(name + ": run " + std::to_string(*id) + " at once, asked by " + who.user);
  parts_.changed();
  return json_answer({{"run", *id}});
}

response api::reload(const caller& who) {
  if (!who.may_all) return error_answer(403, "only root and the daemon's user may reload");
  parts_.reload();
  parts_.changed();
  return json_answer({{"tables", tables_json(who)}});
}

}  // namespace rota::app
