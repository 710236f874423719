// How schedules are chosen: one after the other, until there are no more or enough.
#ifndef ROTA_VERIFY_EXPLORE_STRATEGIES_H
#define ROTA_VERIFY_EXPLORE_STRATEGIES_H

#include <rota/verify/explore/explore.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "verify/explore/engine.h"

namespace rota::explore::detail {

class schedules : public chooser {
 public:
  // Prepares the next schedule; false if there is none.
  virtual bool next() = 0;
  // Whether no next schedule means that all are covered.
  virtual bool is_exhaustive() const noexcept { return false; }
};

std::unique_ptr<schedules> make_schedules(const options& o, const engine& e);

// One schedule: the choices of a list, then always the first.
class script final : public chooser {
 public:
  explicit script(std::vector<std::uint16_t> choices) : choices_(std::move(choices)) {}

  unsigned thread(const turn& t, thread_set&) override { return next(t.count); }
  unsigned value(unsigned count) override { return next(count); }

 private:
  unsigned next(unsigned count) noexcept {
    const unsigned wanted = at_ < choices_.size() ? choices_[at_] : 0;
    ++at_;
    return wanted < count ? wanted : 0;
  }

  std::vector<std::uint16_t> choices_;
  std::size_t at_ = 0;
};

// A list of choices as a short text, and back: "12.1-3.2" is 12 times 0, then 1, 3 times 0, then 2.
std::string token_of(const std::vector<std::uint16_t>& choices);
std::vector<std::uint16_t> choices_of(std::string_view token);

}  // namespace rota::explore::detail

#endif
