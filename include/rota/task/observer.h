// A look at a runtime while it works: what its workers are at, and who waits for what.
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

#include <cstddef>
#include <cstdint>
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

  std::vector<worker> workers;
  std::size_t tasks = 0;      // that have not ended
  std::size_t waiting = 0;    // of them
  std::vector<task> longest;  // of those that wait, so many as were asked for; see observer::look()
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

}  // namespace rota

#endif
