// A look at a runtime while it works: what its workers are at, who waits for what, jobs.
//
//   rota::observer eye{rt};
//   for (const auto& w : eye.look().workers) std::cout << w.doing << '\n';
//
// `rota top` shows it of a program that has an inspector. While there is an observer the workers
// keep names of what they run, which costs some ten nanoseconds a step; without one, nothing.
//
// Not promised: that two workers, or a worker and a task, were like that at the same moment.
//
// Threads: any. Lifetime: shorter than the runtime.
#ifndef ROTA_TASK_OBSERVER_H
#define ROTA_TASK_OBSERVER_H

#include <rota/task/runtime.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rota {

struct overview {
  struct worker {
    enum class state { runs, searches, sleeps } at = state::searches;
    std::string doing;         // what runs: a task and where it went on, or a behaviour
    std::uint64_t points = 0;  // times that it chose what to run next
    std::uint64_t parks = 0;
    std::uint64_t steals = 0;
    std::size_t queued = 0;
  };

  struct task {
    std::uint32_t id = 0;
    std::string name;
    std::string waits;  // "waits for a mutex"
    std::string where;
    // The same as long as the task has not run: who sees it again knows how long that is.
    std::uint32_t stamp = 0;
  };

  // A job of a rota::scheduler.
  struct job {
    std::string name;
    std::uint32_t running = 0;
    std::uint32_t waiting = 0;                      // due, and not begun
    std::optional<std::chrono::milliseconds> next;  // until it is due again
    bool is_failing = false;                        // its last run was no success
  };

  std::vector<worker> workers;
  std::size_t tasks = 0;      // that have not ended
  std::size_t waiting = 0;    // of them
  std::vector<task> longest;  // of those that wait, so many as were asked for; see observer::look()
  std::vector<job> jobs;      // of the runtime's schedulers
};

class observer {
 public:
  explicit observer(runtime& rt) noexcept;
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  ~observer();

  // With at most so many waiting tasks, those first that were begun first.
  overview look(std::size_t most_tasks = 100) const;

 private:
  detail::runtime_state& state_;
};

namespace detail {

// Something more that observers of a runtime see, as long as this lives: layers above have their
// say. `add` is called by whoever looks.
class overview_part {
 public:
  overview_part(runtime& rt, std::function<void(overview&)> add);
  overview_part(const overview_part&) = delete;
  overview_part& operator=(const overview_part&) = delete;
  ~overview_part();

 private:
  friend class runtime_state;
  runtime_state& home_;
  const std::function<void(overview&)> add_;
};

// Writes a run of a job, which began at that trace_time() and ends now, into the runtime's trace if
// there is one.
void trace_run(runtime& rt, const std::string& job, std::int64_t began);

}  // namespace detail

}  // namespace rota

#endif
