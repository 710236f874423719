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
// Lifetime: not longer than the runtime's. What waits in a pump when it ends, and what comes after
// that, is dropped: the results throw rota::cancelled.
#ifndef ROTA_COWN_PUMP_H
#define ROTA_COWN_PUMP_H

#include <rota/cown/core.h>
#include <rota/cown/cown.h>
#include <rota/task/runtime.h>

#include <chrono>
#include <functional>
#include <memory>
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
    detail::cown_access::pin(*c.get(), state_);
    return c;
  }

  // Runs one behaviour; false if none is there.
  bool run_one();

  // The same, but waits for one, at most so long.
  bool run_one_for(std::chrono::nanoseconds limit);

 private:
  std::shared_ptr<detail::pump_state> state_;
};

}  // namespace rota

#endif
