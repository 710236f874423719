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

}  // namespace

rest_policy::rest_policy(std::chrono::nanoseconds longest) noexcept
    : longest_rest_(longest),
      due_(sync::time_point::min()),
      between_(first_pause),
      rest_(first_rest()) {}

std::chrono::nanoseconds rest_policy::first_rest() const noexcept {
  return sync::is_explored ? longest_rest_ : std::min(trial, longest_rest_);
}

double rest_policy::count::rate_until(sync::time_point now,
                                      std::uint64_t steps_now) const noexcept {
  const double time =
      static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(now - at).count());
  return static_cast<double>(steps_now - steps) / std::max(time, 1.0);
}

bool rest_policy::wants_rest(sync::time_point now, std::uint64_t steps) noexcept {
  if (!counts_) {
    counts_ = true;
    began_ = {now, steps};
    due_ = now + trial;
    return false;
  }
  counts_ = false;
  with_ = began_.rate_until(now, steps);
  began_ = glance_ = {now, steps};
  if (with_ >= least_rate) return true;
  due_ = now + between_;
  return false;
}

bool rest_policy::may_rest_on(sync::time_point now, std::uint64_t steps) noexcept {
  const count last = std::exchange(glance_, {now, steps});
  return last.rate_until(now, steps) >= least_rate;
}

bool rest_policy::rested(sync::time_point now, std::uint64_t steps, unsigned others,
                         bool whole) noexcept {
  const bool is_of_use =
      with_ > began_.rate_until(now, steps) * (1 + least_use / std::max(others, 1u));
  if (whole && !is_of_use) {
    between_ = first_pause;
    rest_ = std::min(2 * rest_, longest_rest_);
    counts_ = true;
    began_ = {now, steps};
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
