#include "job_json.h"

namespace rota::app {

namespace {

double seconds_of(job::milliseconds d) { return static_cast<double>(d.count()) / 1000; }

ordered_json text_or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json rules_json(const job::rules& r) {
  ordered_json after = ordered_json::array();
  for (const auto& d : r.after) after.push_back({{"job", d.job}, {"on", job::to_text(d.on)}});
  return {{"overlap", job::to_text(r.overlap)},
          {"queue_length", r.queue_length},
          {"catchup", job::to_text(r.catchup)},
          {"catchup_most", r.catchup_most},
          {"deadline_s", seconds_of(r.deadline)},
          {"timeout_s", seconds_of(r.timeout)},
          {"grace_s", seconds_of(r.grace)},
          {"group", text_or_null(r.group)},
          {"retry",
           {{"count", r.retry.count},
            {"delay_s", seconds_of(r.retry.delay)},
            {"most_s", seconds_of(r.retry.most)},
            {"factor", r.retry.factor},
            {"jitter", r.retry.jitter},
            {"codes", r.retry.codes}}},
          {"after", std::move(after)},
          {"on_unknown", job::to_text(r.on_unknown)},
          {"absence_s", seconds_of(r.absence)}};
}

ordered_json alerts_json(const job::alerts& a) {
  return {{"mail", text_or_null(a.mail)},
          {"web_hook", text_or_null(host_of(a.web_hook))},
          {"on_failure", a.on_failure},
          {"on_recovery", a.on_recovery}};
}

ordered_json command_json(const job::command& c) {
  ordered_json shell = nullptr;
  ordered_json argv = nullptr;
  if (c.shell && !c.argv.empty())
    shell = c.argv.front();
  else if (!c.shell)
    argv = c.argv;
  return {{"shell", std::move(shell)}, {"argv", std::move(argv)}};
}

}  // namespace

std::string_view to_text(schedule::kind k) {
  switch (k) {
    case schedule::kind::never:
      return "never";
    case schedule::kind::cron:
      return "cron";
    case schedule::kind::every:
      return "every";
    case schedule::kind::at:
      return "at";
    case schedule::kind::reboot:
      return "reboot";
  }
  return "never";
}

std::string host_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos) return {};
  std::string_view rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  // What stands before an @ is a name and a password.
  if (const std::size_t at = rest.rfind('@'); at != rest.npos) rest.remove_prefix(at + 1);
  return std::string(url.substr(0, scheme + 3)) + std::string(rest);
}

ordered_json json_of(instant t) {
  return t == instant{} ? ordered_json(nullptr) : ordered_json(rota::to_text(t));
}

ordered_json json_of(std::optional<instant> t) { return t ? json_of(*t) : ordered_json(nullptr); }

ordered_json json_of(const job::run& r) {
  const bool ended = r.phase == job::phase::over && r.outcome != job::outcome::skipped;
  const bool has_code = ended && r.signal == 0 && r.finished != instant{} &&
                        (r.outcome == job::outcome::success || r.outcome == job::outcome::failed);
  return {{"id", r.id},
          {"job", r.job},
          {"scheduled", json_of(r.scheduled)},
          {"attempt", r.attempt},
          {"why", job::to_text(r.why)},
          {"phase", job::to_text(r.phase)},
          {"outcome", r.outcome == job::outcome::none ? ordered_json(nullptr)
                                                      : ordered_json(job::to_text(r.outcome))},
          {"reason", r.reason == job::reason::none ? ordered_json(nullptr)
                                                   : ordered_json(job::to_text(r.reason))},
          {"count", r.count},
          {"first", json_of(r.first)},
          {"recorded", json_of(r.recorded)},
          {"not_before", json_of(r.not_before)},
          {"launched", json_of(r.launched)},
          {"started", json_of(r.started)},
          {"finished", json_of(r.finished)},
          {"exit_code", has_code ? ordered_json(r.exit_code) : ordered_json(nullptr)},
          {"signal", r.signal != 0 ? ordered_json(r.signal) : ordered_json(nullptr)},
          {"pid", r.pid != 0 ? ordered_json(r.pid) : ordered_json(nullptr)},
          {"note", text_or_null(r.note)},
          {"requested_by", text_or_null(r.requested_by)}};
}

ordered_json json_of(const job::job_view& v, const std::optional<job::run>& last) {
  const job::definition& d = *v.def;
  const bool from_file = d.source.file != nullptr;
  const bool timed = d.when.what() == schedule::kind::cron;
  return {{"name", d.name},
          {"owner", d.owner},
          {"schedule", d.text},
          {"kind", to_text(d.when.what())},
          {"zone", timed ? ordered_json(d.when.zone().name()) : ordered_json(nullptr)},
          {"dst", timed ? ordered_json(d.when.dst() == dst_rule::wall ? "wall" : "vixie")
                        : ordered_json(nullptr)},
          {"explain", d.when.explain()},
          {"warnings", d.when.warnings()},
          {"next", json_of(v.next)},
          {"paused", v.row.paused},
          {"waiting", v.waiting},
          {"running", v.running},
          {"failing", v.row.failing},
          {"absent", v.row.absent},
          {"last_success", json_of(v.row.last_success)},
          {"last_run", last ? json_of(*last) : ordered_json(nullptr)},
          {"source", from_file ? ordered_json(*d.source.file + ":" + std::to_string(d.source.line))
                               : ordered_json(nullptr)},
          {"removable", !from_file},
          {"user", text_or_null(d.surroundings->user)},
          {"command", command_json(d.command)},
          {"alerts", alerts_json(d.surroundings->alerts)},
          {"rules", rules_json(*d.rules)}};
}

ordered_json json_of(const job::engine_event& e, instant at) {
  return {{"kind", job::to_text(e.what)},
          {"job", text_or_null(e.job)},
          {"run", e.run ? json_of(*e.run) : ordered_json(nullptr)},
          {"text", text_or_null(e.text)},
          {"at", rota::to_text(at)}};
}

}  // namespace rota::app
