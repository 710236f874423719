// What the runtime says about its tasks: dumps, deadlock reports, overviews.

#include <rota/task/event.h>
#include <rota/task/mutex.h>

#include <algorithm>
#include <queue>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_set>

#include "task/fork_access.h"
#include "task/runtime_state.h"

namespace rota::detail {

namespace {

const char* text_of(wait_kind kind) noexcept {
  switch (kind) {
    case wait_kind::none:
      return "";
    case wait_kind::join:
      return "waits for the end of ";
    case wait_kind::group:
      return "waits for the tasks of a group";
    case wait_kind::send:
      return "waits to send into a full channel";
    case wait_kind::receive:
      return "waits to receive from an empty channel";
    case wait_kind::mutex:
      return "waits for a mutex";
    case wait_kind::semaphore:
      return "waits for a semaphore";
    case wait_kind::event:
      return "waits for an event";
    case wait_kind::guard:
      return "waits for a guard to hold";
    case wait_kind::cell:
      return "waits for a cell to change";
    case wait_kind::timer:
      return "sleeps";
    case wait_kind::blocking:
      return "waits for a blocking call";
    case wait_kind::behaviour:
      return "waits for the end of a behaviour";
    case wait_kind::admission:
      return "waits for a cown to have room";
    case wait_kind::turn:
      return "waits for its turn in a group of handlers";
  }
  return "";
}

std::uint32_t id_of(const activity& a) noexcept { return a.id_.load(sync::memory_order_relaxed); }

// The task that the given one waits for, by number, if that is known; 0 if not.
std::uint32_t awaited(const activity& a) noexcept {
  if (a.kind() == wait_kind::join) return id_of(*static_cast<const activity*>(a.awaiter()));
  if (a.kind() == wait_kind::mutex) return async_mutex::holder_of(a.awaiter());
  return 0;
}

}  // namespace

std::string runtime_state::place_text(std::source_location where) {
  std::ostringstream out;
  out << where.file_name() << ':' << where.line() << " in " << where.function_name();
  return out.str();
}

// Frames of the library itself say nothing to its users.
bool runtime_state::is_internal(std::source_location where) {
  const std::string_view function = where.function_name();
  for (const char* ours : {"rota::detail::", "rota::task_group::", "rota::when_", "rota::guard",
                           "rota::with_timeout", "rota::cell<"})
    if (function.find(ours) != std::string_view::npos) return true;
  return false;
}

std::string runtime_state::name_of(const activity& a) {
  std::lock_guard guard{names_mutex_};
  const activity& root = activity::root_of(a);
  if (!(root.state_.load(sync::memory_order_acquire) & activity::live)) return {};
  extras* e = root.existing_extras();
  if (!e) return {};
  spin_guard name_guard{e->lock};
  return e->name;
}

std::string runtime_state::describe(const activity& a) {
  std::string text = "task " + std::to_string(id_of(a));
  if (const std::string name = name_of(a); !name.empty()) text += " '" + name + "'";
  return text;
}

// What a task waits for. Its claim is kept from others meanwhile.
std::string runtime_state::wait_text(const activity& a) {
  std::string text = text_of(a.kind());
  if (a.kind() == wait_kind::join)
    text += describe(*static_cast<const activity*>(a.awaiter()));
  else if (const std::uint32_t holder = awaited(a))
    text += " that task " + std::to_string(holder) + " holds";
  return text;
}

// Where it goes on, innermost call first. As above.
std::vector<std::source_location> runtime_state::frames_of(const activity& a) {
  std::vector<std::source_location> all;
  for (std::coroutine_handle<> frame = a.frame; frame;) {
    const promise_base& p = fork_access::promise_of(frame);
    if (!is_internal(p.where())) all.push_back(p.where());
    frame = p.kind() == promise_base::follower::frame
                ? std::coroutine_handle<>::from_address(p.who())
                : nullptr;
  }
  return all;
}

// One task as lines. A waiting one is kept from going on while its frames are read.
std::string runtime_state::line(activity& a) {
  std::string text = "  " + describe(a);
  if (a.state_.load(sync::memory_order_relaxed) & activity::branch) text += " (a fork of it)";
  if (!a.begin_look()) {
    const std::uint32_t state = a.state_.load(sync::memory_order_relaxed);
    const bool ended = a.follower_.load(sync::memory_order_relaxed) == activity::done;
    text += ended ? " has ended; its handle is kept" : " is ready or runs";
    if (state & activity::stop) text += ", and was asked to stop";
    return text + "\n";
  }
  text += " " + wait_text(a);
  for (const std::source_location where : frames_of(a)) text += "\n      at " + place_text(where);
  a.end_look();
  return text + "\n";
}

overview runtime_state::look(std::size_t most_tasks) {
  overview seen;
  for (unsigned i = 0; i < pool_.size(); ++i) {
    const worker_glance g = pool_.at(i).glance();
    overview::worker w;
    w.points = g.points;
    w.parks = g.parks;
    w.steals = g.steals;
    w.queued = g.queued;
    using at = overview::worker::state;
    w.at = g.is_running ? at::runs : g.is_asleep ? at::sleeps : at::searches;
    if (g.is_running && g.behaviour) {
      w.doing = behaviour_name(g.behaviour);
    } else if (g.is_running && g.task.number != 0) {
      w.doing = "task " + std::to_string(g.task.number);
      if (g.task.name) w.doing += " '" + std::string(g.task.name) + "'";
      w.doing += ", " + place_text(g.where);
    }
    seen.workers.push_back(std::move(w));
  }
  // Those with the smallest numbers: the youngest of them is the first to make room.
  std::priority_queue<std::pair<std::uint32_t, activity*>> oldest;
  for_each_live([&](activity& a) {
    if (a.follower_.load(sync::memory_order_relaxed) == activity::done) return;
    const std::uint32_t state = a.state_.load(sync::memory_order_relaxed);
    if (!(state & activity::branch)) ++seen.tasks;
    if (!(state & activity::waiting)) return;
    ++seen.waiting;
    oldest.emplace(id_of(a), &a);
    if (oldest.size() > most_tasks) oldest.pop();
  });
  for (; !oldest.empty(); oldest.pop()) {
    activity& a = *oldest.top().second;
    overview::task t;
    t.name = name_of(a);
    if (!a.begin_look()) continue;  // it runs again
    t.id = id_of(a);
    t.waits = wait_text(a);
    if (const auto frames = frames_of(a); !frames.empty()) t.where = place_text(frames.front());
    t.stamp = a.ready_at;
    a.end_look();
    seen.longest.push_back(std::move(t));
  }
  std::reverse(seen.longest.begin(), seen.longest.end());
  const std::lock_guard guard{parts_mutex_};
  for (const overview_part* part : parts_) part->add_(seen);
  return seen;
}

void runtime_state::change_parts(overview_part& part, bool is_there) {
  const std::lock_guard guard{parts_mutex_};
  if (is_there)
    parts_.push_back(&part);
  else
    std::erase(parts_, &part);
}

std::string runtime_state::dump() {
  std::string text;
  std::size_t count = 0;
  for_each_live([&](activity& a) {
    text += line(a);
    ++count;
  });
  return std::to_string(count) + (count == 1 ? " task\n" : " tasks\n") + text;
}

std::string runtime_state::deadlock_report() {
  std::string text = "deadlock: every task waits, and nothing outside is expected to wake one\n";
  std::unordered_map<std::uint32_t, std::uint32_t> edges;
  for_each_live([&](activity& a) {
    if (!(a.state_.load(sync::memory_order_relaxed) & activity::waiting)) return;
    text += line(a);
    if (const std::uint32_t on = awaited(a)) edges.emplace(id_of(a), on);
  });
  // A cycle of waits, if there is one: follow the edges until a task comes up again.
  for (const auto& [first, unused] : edges) {
    std::vector<std::uint32_t> path{first};
    while (edges.contains(path.back()) && path.size() <= edges.size()) {
      path.push_back(edges.at(path.back()));
      if (path.back() == first) break;
    }
    if (path.size() > 1 && path.back() == first) {
      text += "  the cycle:";
      for (std::size_t i = 0; i < path.size(); ++i)
        text += (i ? " -> " : " ") + std::to_string(path[i]);
      text += "\n";
      break;
    }
  }
  return text +
         "If a thread outside of the runtime was going to wake one of them, let it hold a "
         "rota::outside meanwhile.";
}

}  // namespace rota::detail
