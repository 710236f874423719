// Backpressure for those whom muting cannot stop, and from outside.
//
// By default a behaviour that sends to an overloaded cown has its own cowns muted when it ends:
// they run nothing more until the receiver has caught up (`bounded_queues`). That costs the sender
// nothing to write. It does not stop a single behaviour or task that sends without end: such a
// one asks first.
//
//   co_await rota::admit(log);                          // a task: until the cown has room
//   rota::when(log) << append(line);
//
//   if (!(rota::try_when(log) << append(line))) drop(line);          // anybody
//
//   rota::pressure full{rt, disk_writer};               // as if it were overloaded: a full disk
//
// Promised: a task that waits for admission goes on once the cown is neither overloaded nor muted
// and its queue is shorter than its threshold, first come, first served.
// Not promised: that there is still room when it sends. With n tasks that ask, the queue stays
// below threshold + n.
//
// Threads: to await is for tasks, the rest is anyone's. Lifetime: a pressure ends with its
// runtime.
#ifndef ROTA_COWN_PRESSURE_H
#define ROTA_COWN_PRESSURE_H

#include <rota/cown/core.h>
#include <rota/cown/cown.h>
#include <rota/task/errors.h>
#include <rota/task/runtime.h>

#include <coroutine>
#include <cstdint>
#include <utility>

namespace rota {

namespace detail {
struct pressure_source;
}

class [[nodiscard("co_await it")]] admission {
 public:
  explicit admission(detail::cown_base& c) noexcept : cown_(c) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> leaf) noexcept;
  void await_resume();

 private:
  detail::cown_base& cown_;
  bool waited_ = false;
};

// Waits until the cown has room for another behaviour. For tasks.
template <class T>
admission admit(const cown_ptr<T>& c) noexcept {
  return admission{*c.get()};
}

// While it lives the cown counts as overloaded: who sends to it is muted. May be moved, and ended
// on any thread. It ends with the runtime at the latest, so that nobody is muted for ever.
class [[nodiscard("the pressure lasts only as long as this lives")]] pressure {
 public:
  template <class T>
  pressure(runtime& rt, const cown_ptr<T>& c) : pressure(rt, *c.get()) {}
  pressure(pressure&& other) noexcept : source_(std::exchange(other.source_, nullptr)) {}
  pressure& operator=(pressure&& other) noexcept {
    std::swap(source_, other.source_);
    return *this;
  }
  ~pressure() { relieve(); }

  // Ends it now.
  void relieve() noexcept;

 private:
  pressure(runtime& rt, detail::cown_base& c);
  detail::pressure_source* source_;
};

// How many cowns of the process are overloaded now, and how many are muted.
struct pressure_counts {
  std::uint64_t overloaded = 0;
  std::uint64_t muted = 0;
};
pressure_counts count_pressure() noexcept;

}  // namespace rota

#endif
