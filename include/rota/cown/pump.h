// Cowns that are used on one thread only, say that of a window system.
//
//   rota::pump ui{rt, [] { post_event_to_my_loop(); }};
//   auto window = ui.make_cown<window_state>();
//   rota::when(window, model) << [](window_state& w, const model_state& m) { ... };   // anywhere
//   while (ui.run_one()) {}                                      // in the loop: runs what has come
//
// Promised: a behaviour that needs a cown of a pump runs inside of one of its run functions, on the
// thread that calls it, with all its cowns; otherwise it is like any other. While such behaviours
// wait for the pump the runtime is not at rest: no deadlock is reported, and quiesce() waits.
// Not promised: that anything runs if nobody pumps. A behaviour needs at most one pump.
//
// Threads: run functions are for one thread at a time; the rest is anyone's.
// Lifetime: the pump outlives the behaviours that need it; what still waits in it when it ends is
// dropped, its results throw rota::cancelled.
#ifndef ROTA_COWN_PUMP_H
#define ROTA_COWN_PUMP_H

#include <rota/base/sync.h>
#include <rota/cown/core.h>
#include <rota/cown/cown.h>
#include <rota/task/runtime.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace rota {

class pump {
 public:
  // `on_ready` is called, on any thread, whenever a behaviour has come to a pump that was empty. It
  // must not call the pump itself.
  explicit pump(runtime& rt, std::function<void()> on_ready = {});
  pump(const pump&) = delete;
  pump& operator=(const pump&) = delete;
  ~pump();

  template <class T, class... Args>
  cown_ptr<T> make_cown(Args&&... args) {
    auto c = rota::make_cown<T>(std::forward<Args>(args)...);
    detail::cown_access::pin(*c.get(), *this);
    return c;
  }

  // Runs one behaviour; false if none is there.
  bool run_one();

  // The same, but waits for one, at most so long.
  bool run_one_for(std::chrono::nanoseconds limit);

 private:
  friend class detail::dispatch;

  void put(detail::behaviour& b) noexcept;
  detail::behaviour* take() noexcept;
  void run(detail::behaviour& b) noexcept;

  detail::pool& home_;
  const std::function<void()> on_ready_;
  sync::mutex mutex_;
  detail::behaviour* first_ = nullptr;     // guarded by mutex_
  detail::behaviour* last_ = nullptr;      // guarded by mutex_
  sync::atomic<std::uint32_t> filled_{0};  // a futex: whether something is there
};

}  // namespace rota

#endif
