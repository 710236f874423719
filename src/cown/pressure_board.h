// Backpressure: who has priority, who is muted by whom. One board for the process, with one lock.
//
// A cown whose queue is longer than its threshold gets high priority, and with it whatever the
// behaviours that hold such cowns wait for. A behaviour that sends to a cown of high priority, or
// to a muted one, names it as its mutor; when it has ended, its cowns are muted: they are not given
// to the next in their queues until the mutor is normal again, or until somebody of high priority
// needs them.
//
// All of it happens under the lock, the priorities are read without. What the steps without the
// lock overlook is what the spec lets them overlook (specs/backpressure, `backpressure_built`):
//   Send      may miss that a receiver is not normal or too long: nobody is muted this time
//   Acquire   sees whether the cown that it holds has priority, since it writes down where it goes
//             first, and raise() writes priority first and then looks where the holder goes
//   Prerun, Complete   come here if a priority may have to change
//
// For Acquire to see it costs nothing while no cown has priority. The first that gets it puts the
// board on the alert, with a fence that reaches into all threads; from then on who goes on from one
// cown to the next reads the state by a read-modify-write, so that it and raise(), which does
// the same, come one after the other.
//
// Threads: everything is anyone's.
#ifndef ROTA_COWN_PRESSURE_BOARD_H
#define ROTA_COWN_PRESSURE_BOARD_H

#include <rota/base/inspect.h>
#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/cown/core.h>

#include <coroutine>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "cown/cown_side.h"
#include "cown/dispatch.h"

namespace rota::detail {

// Somebody who puts pressure on a cown. Guarded by the lock of the board.
struct pressure_source {
  pool* home = nullptr;
  cown_base* cown = nullptr;  // a pointer that counts; null once it is over
  pressure_source* next = nullptr;
};

class pressure_board {
 public:
  static pressure_board& get() noexcept;

  // False: no cown has high priority, so none is muted, and nobody waits for admission.
  static bool is_alert() noexcept { return alert_.load(sync::memory_order_relaxed); }

  // The same, after a message has left a queue, or a blocker has changed: either we see that the
  // board is on the alert, or it sees what we have written.
  static bool is_alert_now() noexcept {
    sync::light_fence();
    return is_alert();
  }

  // What presses a cown that the caller holds, after it has changed the cown's blocker.
  static unsigned look_at(cown_base& c) noexcept {
    // release: either raise() comes after us and sees the blocker, or we see its mark, and look
    // closer under the lock.
    return c.state_.fetch_or(0, sync::memory_order_release) & cown_base::pressing;
  }

  // The steps, for behaviours that have to do with a cown that is not normal. send() and pass_on()
  // say whether the behaviour has got the cown that it asked for, prerun() whether some are freed.
  bool send(dispatch& d, behaviour& b) noexcept;
  bool pass_on(dispatch& d, behaviour& b, std::uint32_t i, bool overloaded) noexcept;
  bool prerun(dispatch& d, behaviour& b) noexcept;
  void complete(dispatch& d, behaviour& b) noexcept;
  void release_early(dispatch& d, slot& s) noexcept;

  // Nobody has c any more, and it has high priority. Found out afterwards: readers leave in any
  // order, so none knows beforehand that it is the last, and c may be raised while it is released.
  // Of who empties a queue and then looks at the priority, and who gives priority and then looks at
  // the queue, at least one sees what the other did.
  void went_idle(dispatch& d, cown_base& c) noexcept;

  // Pressure from outside, which counts like a queue that is too long.
  void press(dispatch& d, cown_base& c, pressure_source& source);
  void relieve(pressure_source& source) noexcept;
  void relieve_all(dispatch& d) noexcept;

  // The running task waits until the cown has room; false if it has, or the task is to stop.
  bool await_room(cown_base& c, std::coroutine_handle<> leaf, void* awaiter) noexcept;
  void leave_room(cown_base& c) noexcept;
  void let_in(cown_base& c) noexcept;
  static bool has_room(const cown_base& c) noexcept;
  void set_threshold(cown_base& c, std::uint32_t threshold) noexcept;

  void pin(cown_base& c, std::shared_ptr<pump_state> to);
  static pump_state* pump_of(const cown_base& c) noexcept;

 private:
  friend struct inspect;
  class locked;

  static void name_mutor(behaviour& sender, behaviour& b, cown_base& mutor) noexcept;
  static bool can_be_muted(const cown_base& c) noexcept;
  static bool waits_for(const cown_base& mutor, const cown_base& c) noexcept;
  bool mute(behaviour& b) noexcept;
  void admit(cown_base& c) noexcept;
  static void forget_urges(behaviour& b) noexcept;
  static void end_urge(cown_side& side) noexcept;
  void raise(dispatch& d, cown_base& first);
  void settle(dispatch& d, cown_base& c);
  void end_ease(cown_base& c) noexcept;
  void settle_if_idle(dispatch& d, cown_base& c);
  static bool is_idle(const cown_base& c) noexcept;
  void calm(dispatch& d, cown_base& c);
  void leave(dispatch& d, slot& s);
  bool settle_to_run(dispatch& d, cown_base& c);
  void free_muted(dispatch& d, cown_base& first, std::size_t most);
  void unmute(dispatch& d, slot& s);
  static void release(dispatch& d, slot& s) noexcept;

  bool count_alarm() noexcept;
  void count_calm() noexcept;
  void set_awaited(cown_base& c) noexcept;
  void end_awaited(cown_base& c) noexcept;
  void set_high(cown_base& c);
  void set_normal(cown_base& c) noexcept;
  void take_off(dispatch& d, pressure_source& source) noexcept;

  // Whether some cown may have high priority, or be awaited. Written under the lock. The fence that
  // it takes to set this costs more than what it saves, so it stays set until there was none many
  // times.
  static inline sync::atomic<bool> alert_{false};
  static constexpr unsigned calms_until_rest = sync::is_explored ? 1 : 256;

  // Held for some 100 ns, mostly, and twice for each message that mutes its sender: a mutex would
  // be half of what that costs. An explorer knows what a mutex is, and has less to try than with a
  // lock that spins; that one has scenarios of its own.
  std::conditional_t<sync::is_explored, sync::mutex, spin_lock> lock_;

  // Guarded by lock_. Atomic only so that an explorer knows of them, since the board outlives what
  // it explores.
  sync::atomic<std::size_t> alarms_{0};  // cowns of high priority, and those that are awaited
  sync::atomic<unsigned> calms_{0};      // how often that became none, since the alert
  sync::atomic<pressure_source*> sources_{nullptr};
};

}  // namespace rota::detail

#endif
