#include <rota/coop/trace.h>

#include <ostream>

#include "json.h"

namespace rota::coop {

namespace {

using json::add;
using json::key;
using json::member;
using json::separate;

// --- one thing each -----------------------------------------------------------------------------

void add_pair(std::string& out, std::uint64_t a, std::uint64_t b) {
  out += '[';
  add(out, a);
  out += ',';
  add(out, b);
  out += ']';
}

std::string_view name_of(event_kind kind) {
  switch (kind) {
    case event_kind::call:
      return "callEv";
    case event_kind::call_reaction:
      return "callREv";
    case event_kind::completion:
      return "compEv";
    case event_kind::completion_reaction:
      return "compREv";
    case event_kind::done:
      break;
  }
  return "doneEv";
}

void add_event(std::string& out, const program& p, const event& e) {
  separate(out);
  out += '{';
  member(out, "ev", name_of(e.kind));
  if (e.procedure != no_procedure) {
    member(out, "m", std::string_view(p.procedures()[e.procedure].name));
    member(out, "v", e.argument);
  }
  if (e.task != no_task) member(out, "f", e.task);
  out += '}';
}

void add_update(std::string& out, const program& p, const configuration& c, const update& u) {
  separate(out);
  out += '[';
  if (u.owner == no_task)
    add(out, std::string_view(p.globals()[u.slot]));
  else
    add(out, std::string_view(parameter_name(p, c.tasks[u.owner].procedure, u.owner)));
  out += ',';
  add(out, u.to);
  out += ']';
}

void add_continuation(std::string& out, const program& p, const configuration& c, task_id f) {
  const instruction& i = p.at(c.tasks[f].rest);
  out += '{';
  member(out, "f", f);
  member(out, "head", name_of(i.head));
  if (i.at) member(out, "at", i.at);
  out += '}';
}

// Under Sos a task is ready in the queue from its call on; under Lagc it is a marker.
bool is_marker(const program& p, const configuration& c, task_id f) {
  return p.semantics() == semantics::lagc_sched && c.tasks[f].phase == phase::called;
}

void add_element(std::string& out, const program& p, const configuration& c, task_id f) {
  separate(out);
  if (!is_marker(p, c, f)) return add_continuation(out, p, c, f);
  out += '{';
  member(out, "f", f);
  member(out, "marker", std::string_view(p.procedures()[c.tasks[f].procedure].name));
  out += '}';
}

// --- scheduling distances -----------------------------------------------------------------------

void add_distance(std::string& out, task_id f, std::uint64_t at) {
  separate(out);
  add_pair(out, f, at);
}

// Definition 15: places count empty continuations, which have no distance themselves.
void add_interleaved_distances(std::string& out, const configuration& c) {
  member(out, "unm", c.open.size());
  key(out, "pos");
  out += '[';
  for (std::size_t i = 0; i < c.queue.size(); ++i)
    if (c.tasks[c.queue[i]].rest != empty_continuation) add_distance(out, c.queue[i], i + 1);
  out += ']';
}

// Definition 16.
void add_cooperative_distances(std::string& out, const program& p, const configuration& c) {
  const bool idle = is_quiescent(c);
  member(out, "idle", idle ? 1 : 0);
  member(out, "unm", c.pending == no_task ? 0 : 1);
  member(out, "c", c.c);
  key(out, "pos");
  out += '[';
  if (!idle && c.tasks[c.active].rest != empty_continuation)
    add_distance(out, c.active, is_suspended(p, c.tasks[c.active].rest) ? c.queue.size() + 2 : 1);
  for (std::size_t i = 0; i < c.queue.size(); ++i)
    add_distance(out, c.queue[i], i + (idle ? 1 : 2));
  out += ']';
}

// --- open calls ---------------------------------------------------------------------------------

void add_open_calls(std::string& out, const program& p, const configuration& c) {
  if (p.language() == language::coopwhile) {
    for (task_id f = 0; f < c.tasks.size(); ++f) {
      if (c.tasks[f].phase != phase::called) continue;
      separate(out);
      add(out, f);
    }
    return;
  }
  for (const call& o : c.open) {
    separate(out);
    out += '[';
    add(out, std::string_view(p.procedures()[o.procedure].name));
    out += ',';
    add(out, o.argument);
    out += ']';
  }
}

// They say what no seed does: where the run went.
void add_picks(std::string& out, const pick_list& picks) {
  key(out, "picks");
  out += '[';
  for (std::uint32_t pick : picks) {
    separate(out);
    add(out, pick);
  }
  out += ']';
}

}  // namespace

trace_writer::trace_writer(std::ostream& out, const program& p, const run_options& options)
    : out_(out), program_(p), options_(options) {}

void trace_writer::start(const configuration& c) {
  const program& p = program_;
  line_ = '{';
  member(line_, "trace", std::string_view("coopwhile/1"));
  member(line_, "language", name_of(p.language()));
  member(line_, "semantics", name_of(p.semantics()));
  if (options_.picks)
    add_picks(line_, *options_.picks);
  else if (!is_scheduler(p.semantics()))
    member(line_, "seed", options_.seed);
  member(line_, "limit", options_.limit);
  key(line_, "globals");
  line_ += '[';
  for (const std::string& name : p.globals()) {
    separate(line_);
    add(line_, std::string_view(name));
  }
  line_ += "]}";
  write_line();

  line_ = '{';
  member(line_, "n", 0);
  member(line_, "rule", std::string_view("init"));
  write_configuration(c);
  key(line_, "state");
  line_ += to_json(state_of(p, c));
  line_ += '}';
  write_line();
}

void trace_writer::step(const taken_step& s, const configuration& c) {
  const derivation& d = s.what;
  line_ = '{';
  member(line_, "n", s.n);
  member(line_, "rule", d.by->name);
  member(line_, "f", d.task);
  if (d.at) member(line_, "at", d.at);
  if (!d.events.empty()) {
    key(line_, "ev");
    line_ += '[';
    for (const event& e : d.events) add_event(line_, program_, e);
    line_ += ']';
  }
  if (!d.updates.empty()) {
    key(line_, "set");
    line_ += '[';
    for (const update& u : d.updates) add_update(line_, program_, c, u);
    line_ += ']';
  }
  if (s.count > 1) {
    key(line_, "pick");
    add_pair(line_, s.index, s.count);
  }
  write_configuration(c);
  line_ += '}';
  write_line();
}

void trace_writer::end(const outcome& o) {
  line_ = end_record(o);
  write_line();
}

void trace_writer::write_configuration(const configuration& c) {
  const program& p = program_;
  key(line_, "active");
  if (c.active == no_task)
    line_ += "null";
  else
    add_continuation(line_, p, c, c.active);
  key(line_, "queue");
  line_ += '[';
  for (task_id f : c.queue) add_element(line_, p, c, f);
  line_ += ']';
  if (p.language() == language::while_) return;
  if (p.semantics() == semantics::lagc_sched) {
    key(line_, "dist");
    line_ += '{';
    if (p.language() == language::coopwhile)
      add_cooperative_distances(line_, p, c);
    else
      add_interleaved_distances(line_, c);
    line_ += '}';
  }
  if (p.semantics() == semantics::lagc) {
    key(line_, "open");
    line_ += '[';
    add_open_calls(line_, p, c);
    line_ += ']';
  }
}

void trace_writer::write_line() {
  line_ += '\n';
  out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
}

std::string to_json(const named_state& state) {
  std::string out = "{";
  for (const auto& [name, v] : state) member(out, name, v);
  out += '}';
  return out;
}

std::string end_record(const outcome& o) {
  std::string out = "{";
  member(out, "end", name_of(o.end));
  member(out, "n", o.steps);
  if (o.end == ending::deadlock) {
    key(out, "blocked");
    out += '[';
    for (const blocked_task& b : o.blocked) {
      separate(out);
      out += '{';
      member(out, "f", b.task);
      member(out, "head", name_of(b.head));
      member(out, "at", b.at);
      if (b.on != no_task) member(out, "on", b.on);
      out += '}';
    }
    out += ']';
  }
  if (o.end == ending::error) {
    member(out, "f", o.task);
    member(out, "error", name_of(o.error.error));
    member(out, "at", o.error.at);
  }
  key(out, "state");
  out += to_json(o.state);
  out += '}';
  return out;
}

}  // namespace rota::coop
