#include "event/inspector_look.h"

#include <rota/cown/pressure.h>
#include <rota/task/observer.h>
#include <rota/task/runtime.h>

#include <chrono>
#include <string>
#include <utility>

#include "event/names.h"

namespace rota::detail {

namespace {

using std::chrono::milliseconds;

std::int64_t since(sync::time_point then, sync::time_point now) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now - then).count();
}

// --- watch --------------------------------------------------------------------------------------

const char* state_text(overview::worker::state s) noexcept {
  switch (s) {
    case overview::worker::state::runs:
      return "runs";
    case overview::worker::state::searches:
      return "searches";
    case overview::worker::state::sleeps:
      return "sleeps";
  }
  return "";
}

void put_handler(json_text& j, std::string_view name, std::string_view kind, const graph::end& e) {
  j.begin_object().field("name", name).field("kind", kind).field("node", e.node);
  j.field("runs", e.counters.runs).field("pending", e.counters.pending);
  j.field("dropped", e.counters.dropped).field("max_passed", e.counters.max_passed);
  j.end_object();
}

class watch final : public errand {
 public:
  watch(const inspected& on, milliseconds period, std::uint64_t count)
      : on_(on),
        eye_(on.bus.home()),
        period_(period),
        left_(count),
        endless_(count == 0),
        due_(sync::now()) {}

  bool work(sync::time_point now, outbox& out) override {
    if (now < due_) return true;
    // Names are kept from now on: the first line comes when there are some.
    if (!std::exchange(warm_, true)) {
      due_ = now + milliseconds(20);
      return true;
    }
    due_ = now + period_;
    if (!out.has_room()) return true;  // a line that nobody reads is left out
    out.line(line(now));
    if (endless_ || --left_ > 0) return true;
    out.line(ended("count"));
    return false;
  }

  sync::time_point next(sync::time_point) const override { return due_; }

 private:
  static constexpr std::size_t most_tasks = 200;

  json_text line(sync::time_point now) const {
    const overview seen = eye_.look(most_tasks);
    const stats p = on_.bus.home().statistics();
    const bus_statistics b = on_.bus.statistics();
    const pressure_counts c = count_pressure();
    json_text j;
    j.begin_object().field("at_ns", since(on_.opened, now));
    j.key("workers").begin_array();
    for (const overview::worker& w : seen.workers) {
      j.begin_object().field("state", state_text(w.at)).field("doing", w.doing);
      j.field("points", w.points).field("parks", w.parks).field("steals", w.steals);
      j.field("queued", w.queued).end_object();
    }
    j.end_array();
    j.field("tasks", seen.tasks).field("waiting", seen.waiting);
    j.field("max_ready_delay", p.max_ready_delay);
    j.key("waiting_tasks").begin_array();
    for (const overview::task& t : seen.longest) {
      j.begin_object().field("id", t.id).field("name", t.name).field("waits", t.waits);
      j.field("where", t.where).field("stamp", t.stamp).end_object();
    }
    j.end_array();
    j.key("jobs").begin_array();
    for (const overview::job& each : seen.jobs) {
      j.begin_object().field("name", each.name).field("running", each.running);
      j.field("waiting", each.waiting).key("failing").boolean(each.is_failing);
      if (each.next) j.field("next_ms", each.next->count());
      j.end_object();
    }
    j.end_array();
    j.key("cowns").begin_object();
    j.field("overloaded", c.overloaded).field("muted", c.muted).end_object();
    j.key("bus").begin_object().field("handlers", b.handlers).field("queued", b.queued);
    j.field("runs", b.runs).field("max_passed", b.max_passed).field("bound", b.bound).end_object();
    j.key("handlers").begin_array();
    const rota::graph g = on_.bus.graph();
    for (const graph::topic& t : g.topics)
      for (const graph::end& e : t.subscribers) put_handler(j, t.name, "subscriber", e);
    for (const graph::service& s : g.services)
      for (const graph::end& e : s.servers) put_handler(j, s.name, "server", e);
    j.end_array().end_object();
    return j;
  }

  const inspected& on_;
  const observer eye_;
  const milliseconds period_;
  std::uint64_t left_;
  const bool endless_;
  sync::time_point due_;
  bool warm_ = false;
};

// --- trace --------------------------------------------------------------------------------------

class recording final : public errand {
 public:
  recording(const inspected& on, const std::string& file, milliseconds length)
      : home_(on.bus.home()), until_(sync::now() + length) {
    try {
      home_.trace_to(file);
    } catch (const std::runtime_error& wrong) {
      throw bad_request(wrong.what());
    }
  }
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;
  // A client that leaves ends it.
  ~recording() override {
    try {
      if (!done_) home_.stop_trace();
    } catch (...) {
      // There is nobody to tell.
    }
  }

  bool work(sync::time_point now, outbox& out) override {
    if (now < until_) return true;
    done_ = true;
    const trace_summary s = home_.stop_trace();
    json_text j;
    j.begin_object().field("records", s.records).field("lost", s.lost).end_object();
    out.line(std::move(j));
    return false;
  }

  sync::time_point next(sync::time_point) const override { return until_; }

 private:
  runtime& home_;
  const sync::time_point until_;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<errand> begin_watch(const inspected& on, const request_words& words) {
  check_count(words, 1, 3, "watch [PERIOD_MS [COUNT]]");
  constexpr std::uint64_t shortest = 20;
  const auto period = number_at(words, 1, "PERIOD_MS", 1000, shortest, longest_ms);
  const auto count = number_at(words, 2, "COUNT", 0, 0, longest_ms);
  return std::make_unique<watch>(on, milliseconds(period), count);
}

std::unique_ptr<errand> begin_trace(const inspected& on, const request_words& words) {
  check_count(words, 3, 3, "trace FILE LENGTH_MS");
  if (!words[1].starts_with('/'))
    throw bad_request("FILE " + quoted(words[1]) + " is no path from the root");
  const auto length = number_at(words, 2, "LENGTH_MS", 0, 1, longest_ms);
  return std::make_unique<recording>(on, std::string(words[1]), milliseconds(length));
}

}  // namespace rota::detail
