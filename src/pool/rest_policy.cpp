#include "pool/rest_policy.h"

#include <algorithm>
#include <utility>

namespace rota::detail {

namespace {

using namespace std::chrono_literals;

// How long it works, and at first rests, in a trial. Shorter ones are at the mercy of the machine's
// other programs.
constexpr std::chrono::nanoseconds trial = sync::is_explored ? 0us : 200us;

// Trials become rarer while the worker is of use: between 2 % and 0.2 % of its time.
constexpr std::chrono::nanoseconds first_pause = sync::is_explored ? 0ms : 10ms;
constexpr std::chrono::nanoseconds last_pause = 100ms;

// Steps that take longer do not suffer from company.
constexpr double least_rate = sync::is_explored ? 0 : 1 / 5000.0;  // a nanosecond

// What a worker has to be worth, as a share of what the others do on average. With one other: a
// third more steps than without it.
constexpr double least_use = 1 / 3.0;

// Who sends this many times as fast without it was held up by it. What it would have taken from the
// queue meanwhile is not lost, but done later: bench/cown's fanin takes a third of the processor
// time.
constexpr double held_up = 4 / 3.0;

}  // namespace

rest_policy::rest_policy(std::chrono::nanoseconds longest, sync::time_point now) noexcept
    : longest_rest_(longest), due_(now + trial), between_(first_pause), rest_(first_rest()) {}

std::chrono::nanoseconds rest_policy::first_rest() const noexcept {
  return sync::is_explored ? longest_rest_ : std::min(trial, longest_rest_);
}

rest_policy::rates rest_policy::count::until(sync::time_point now,
                                             work_done work_now) const noexcept {
  const double time = std::max(
      static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(now - at).count()),
      1.0);
  return {static_cast<double>(work_now.steps - work.steps) / time,
          static_cast<double>(work_now.messages - work.messages) / time};
}

bool rest_policy::wants_rest(sync::time_point now, work_done work) noexcept {
  if (!counts_) {
    counts_ = true;
    began_ = {now, work};
    due_ = now + trial;
    return false;
  }
  counts_ = false;
  with_ = began_.until(now, work);
  began_ = glance_ = {now, work};
  if (with_.steps >= least_rate) return true;
  due_ = now + between_;
  return false;
}

rest_policy::view rest_policy::look(sync::time_point now, work_done work) noexcept {
  const rates since = std::exchange(glance_, {now, work}).until(now, work);
  if (since.steps >= least_rate) return view::short_steps;
  return since.messages >= least_rate ? view::a_sender : view::long_steps;
}

bool rest_policy::rested(sync::time_point now, work_done work, unsigned others,
                         bool whole) noexcept {
  const rates without = began_.until(now, work);
  const bool holds_up =
      without.messages >= least_rate && without.messages > held_up * with_.messages;
  const bool is_of_use =
      !holds_up && with_.steps > without.steps * (1 + least_use / std::max(others, 1u));
  if (whole && !is_of_use) {
    between_ = first_pause;
    rest_ = std::min(2 * rest_, longest_rest_);
    counts_ = true;
    began_ = {now, work};
    due_ = now + trial;
    return false;
  }
  if (whole) between_ = std::min(2 * between_, last_pause);
  rest_ = first_rest();
  due_ = now + between_;
  return true;
}

void rest_policy::postpone(sync::time_point now) noexcept {
  counts_ = false;
  due_ = now + between_;
}

}  // namespace rota::detail
