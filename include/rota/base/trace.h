// What happens in a runtime, written down while it happens, for who wants to look at it later.
//
// Each worker has a ring into which it writes records; everybody else shares one more. A thread of
// the tracer empties the rings every few milliseconds and writes a file that opens in Perfetto.
//
//   tracer t{4};                         // rings for four workers
//   t.start("run.perfetto-trace");
//   ...
//   t.stop();                            // the file is whole
//
// Promised: a record is written whole or not at all, and who writes one waits for nobody. A ring
// that is full loses the record and counts it; the file says how many were lost, and where: a busy
// runtime makes some million records a second, of which the tracer's thread writes as many as it
// gets time for.
// Threads: start and stop are anyone's; a ring is written by the thread that it belongs to.
// Cost: while there is no trace, nobody has a ring, and looks for one once in many steps.
#ifndef ROTA_BASE_TRACE_H
#define ROTA_BASE_TRACE_H

#include <rota/base/record_ring.h>
#include <rota/base/sync.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace rota {

// What a trace came to.
struct trace_summary {
  std::uint64_t records = 0;
  std::uint64_t lost = 0;
};

}  // namespace rota

namespace rota::detail {

enum class trace_kind : std::uint8_t {
  step,      // a worker ran a job, from `at` to `until`
  ready,     // a job was made ready
  park,      // a worker slept
  rest,      // a worker kept away
  steal,     // a worker took `number` jobs of another
  handler,   // a handler of events ran, inside of a step
  mute,      // a cown was muted
  unmute,    // and is given to the next again
  overload,  // a cown got high priority: those who send to it are muted
  relief,    // and is normal again
  run,       // a run of a scheduled job, from its start to its end
};

struct trace_record {
  std::int64_t at = 0;  // nanoseconds of sync::now()
  std::int64_t until = 0;
  const void* subject = nullptr;  // the job, cown or handler; tells it from others
  const char* text = nullptr;     // its name; lasts as long as the tracer. Null: see `where`
  std::source_location where{};   // of a step of a task: where it goes on
  std::uint32_t number = 0;       // of a task; of what was stolen
  trace_kind kind = trace_kind::step;
};

// Behaviours have the name of their function's type, as the compiler writes it. With clang a lambda
// says where it is: "behaviour at bank.cpp:20".
std::string behaviour_name(std::string_view type);

inline std::int64_t trace_time() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(sync::now().time_since_epoch())
      .count();
}

// Written by one thread, read by the tracer's.
using trace_ring = record_ring<trace_record>;

class tracer {
 public:
  explicit tracer(unsigned workers);
  tracer(const tracer&) = delete;
  tracer& operator=(const tracer&) = delete;
  ~tracer();  // ends the trace

  // Begins to write to the file, which is made, or made empty. Throws std::runtime_error if it
  // cannot be, or if there is a trace already.
  void start(const std::string& path);

  // Ends it and closes the file. Throws std::runtime_error if the file could not be written. Does
  // nothing if there is no trace.
  trace_summary stop();

  // As stop(), for who cannot do anything about a file that could not be written.
  void end() noexcept;

  // The ring of a worker while there is a trace; otherwise null. A worker that asks now and then,
  // and writes into what it got last, writes at most a little too much.
  trace_ring* ring(unsigned worker) noexcept {
    // relaxed: the rings are there for as long as the tracer is.
    return on_.load(sync::memory_order_relaxed) ? rings_[worker].get() : nullptr;
  }

  // For threads that are no workers.
  void add(const trace_record& r) noexcept;

  bool is_on() const noexcept { return on_.load(sync::memory_order_relaxed); }

 private:
  class file;

  void main() noexcept;
  void empty_rings();

  std::vector<std::unique_ptr<trace_ring>> rings_;  // one a worker, and the last for all others
  sync::mutex others_;                              // guards writing to the last ring
  sync::atomic<bool> on_{false};

  sync::mutex control_;  // guards what follows, but for the file while the thread runs
  std::unique_ptr<file> file_;
  std::int64_t last_round_ = 0;  // when the rings were emptied before. The same
  bool fills_ = false;           // a ring had many records: look again at once. The same
  sync::thread thread_;
  sync::atomic<std::uint32_t> stopping_{0};  // a futex
};

}  // namespace rota::detail

#endif
