#include <rota/coop/log.h>

#include <ostream>

#include "json.h"

namespace rota::coop {

namespace {

std::string_view name_of(log_kind kind) {
  switch (kind) {
    case log_kind::call:
      return "callEv";
    case log_kind::call_reaction:
      return "callREv";
    case log_kind::completion:
      return "compEv";
    case log_kind::completion_reaction:
      return "compREv";
    case log_kind::resume:
      break;
  }
  return "resume";
}

}  // namespace

void add_records(const derivation& d, log_sink& log) {
  for (const event& e : d.events) {
    switch (e.kind) {
      case event_kind::call:
        log.add({log_kind::call, e.task, e.procedure, e.argument});
        break;
      case event_kind::call_reaction:
        log.add({log_kind::call_reaction, e.task, e.procedure, e.argument});
        break;
      case event_kind::completion:
        log.add({.kind = log_kind::completion, .task = e.task});
        break;
      case event_kind::completion_reaction:
        log.add({.kind = log_kind::completion_reaction, .task = e.task, .by = d.task});
        break;
      case event_kind::done:
        break;
    }
  }
  if (d.resumes && d.events.empty()) log.add({.kind = log_kind::resume, .task = d.task});
}

std::string to_json(const log_record& r, const program& p) {
  std::string text = "{";
  json::member(text, "ev", name_of(r.kind));
  if (r.procedure < p.procedures().size()) {
    json::member(text, "m", std::string_view(p.procedures()[r.procedure].name));
    json::member(text, "v", r.argument);
  }
  if (r.task != no_task) json::member(text, "f", r.task);
  if (r.by != no_task) json::member(text, "by", r.by);
  text += '}';
  return text;
}

void log_writer::add(const log_record& r) {
  const std::string line = to_json(r, program_) + '\n';
  out_.write(line.data(), static_cast<std::streamsize>(line.size()));
}

}  // namespace rota::coop
