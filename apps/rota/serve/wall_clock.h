// The one timer that waits for the wall clock (rule T5), as part of the loop.
//
//   clock_watch t{loop, [&] { engine.advance(wall_now()); t.set(engine.wake_at()); }};
//
// It calls when the instant has come, and at once when somebody sets the clock. Where the clock is
// faked, and only there, it looks 20 times a second.
#ifndef ROTA_APPS_SERVE_WALL_CLOCK_H
#define ROTA_APPS_SERVE_WALL_CLOCK_H

#include <rota/job/wall_timer.h>

#include <functional>
#include <optional>

#include "loop.h"

namespace rota::app {

using job::clock_is_faked;
using job::wall_now;

class clock_watch {
 public:
  clock_watch(loop& l, std::function<void()> f);
  ~clock_watch();
  clock_watch(const clock_watch&) = delete;
  clock_watch& operator=(const clock_watch&) = delete;

  // The instant to call at; nothing: only when the clock is set.
  void set(std::optional<instant> at);

 private:
  void arm();
  void fired();
  void look();

  loop& loop_;
  std::function<void()> call_;
  job::wall_timer timer_;
  std::optional<instant> at_;
  bool faked_ = false;
  instant seen_{};  // the faked clock, when we last looked
  timer poll_;
};

}  // namespace rota::app

#endif
