#include <rota/cown/pressure.h>

#include "cown/dispatch.h"
#include "cown/pressure_board.h"
#include "task/runtime_state.h"

namespace rota {

using detail::dispatch;
using detail::pressure_board;

bool admission::await_suspend(std::coroutine_handle<> leaf) noexcept {
  if (pressure_board::has_room(cown_)) return detail::go_on(leaf);
  waited_ = true;
  return pressure_board::get().await_room(cown_, leaf, this);
}

void admission::await_resume() {
  if (waited_) pressure_board::get().leave_room(cown_);
  if (detail::stop_requested()) throw cancelled{};
}

pressure::pressure(runtime& rt, detail::cown_base* c)
    : home_(&detail::state_of(rt).workers()), cown_(c) {
  c->add_ref();
  home_->expect_outside(+1);
  dispatch d{*home_};
  pressure_board::get().press(d, *c);
  d.finish();
}

void pressure::relieve() noexcept {
  detail::cown_base* const c = std::exchange(cown_, nullptr);
  if (!c) return;
  dispatch d{*home_};
  pressure_board::get().relieve(d, *c);
  d.finish();
  c->drop_ref();
  home_->expect_outside(-1);
}

}  // namespace rota
