#include <rota/cown/pressure.h>

#include <memory>
#include <utility>

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

namespace {

// The runtime ends: so does the pressure that was put on its behalf.
void relieve_all(detail::pool& home) noexcept {
  dispatch d{home};
  pressure_board::get().relieve_all(d);
  d.finish();
}

}  // namespace

pressure::pressure(runtime& rt, detail::cown_base& c) : source_(new detail::pressure_source) {
  detail::runtime_state& state = detail::state_of(rt);
  state.set_stop_hook(relieve_all);
  dispatch d{state.workers()};
  pressure_board::get().press(d, c, *source_);
  d.finish();
}

void pressure::relieve() noexcept {
  if (!source_) return;
  pressure_board::get().relieve(*source_);
  delete std::exchange(source_, nullptr);
}

}  // namespace rota
