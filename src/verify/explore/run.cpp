#include <rota/base/assert.h>
#include <rota/base/sync.h>
#include <rota/verify/explore/explore.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "verify/explore/engine.h"
#include "verify/explore/strategies.h"

namespace rota::explore {

namespace {

using detail::engine;

// How many schedules are tried to make a failing one simpler.
constexpr int simplifying_tries = 2'000;

// Assertions of the code under test end the schedule instead of the process.
void assertion_failed(const char* file, int line, const char* text) {
  if (!detail::exploring) return;
  detail::exploring = false;
  const std::string path = file;
  const std::size_t slash = path.rfind('/');
  detail::active->fail(failure_kind::assertion,
                       path.substr(slash == std::string::npos ? 0 : slash + 1) + ":" +
                           std::to_string(line) + ": " + text,
                       {});
}

class hooked {
 public:
  hooked() noexcept : before_(std::exchange(rota::detail::on_fail, &assertion_failed)) {}
  hooked(const hooked&) = delete;
  hooked& operator=(const hooked&) = delete;
  ~hooked() { rota::detail::on_fail = before_; }

 private:
  decltype(rota::detail::on_fail) before_;
};

double seconds_since(real_sync::time_point begin) {
  return std::chrono::duration<double>(real_sync::now() - begin).count();
}

std::size_t deviations(const std::vector<std::uint16_t>& choices) {
  return choices.size() - static_cast<std::size_t>(std::count(choices.begin(), choices.end(), 0));
}

void trim(std::vector<std::uint16_t>& choices) {
  while (!choices.empty() && choices.back() == 0) choices.pop_back();
}

// Fewer deviations from just going on; of equally many, those that come sooner.
bool is_simpler(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b) {
  const std::size_t x = deviations(a);
  const std::size_t y = deviations(b);
  return x != y ? x < y : a.size() < b.size();
}

// Takes deviations out, many at once at first, and keeps what fails in the same way.
std::vector<std::uint16_t> simplified(engine& e, const std::function<void()>& program,
                                      std::vector<std::uint16_t> best, failure_kind kind) {
  trim(best);
  int tries = 0;
  const auto fails = [&](std::vector<std::uint16_t> wanted) {
    ++tries;
    detail::script s(std::move(wanted));
    if (e.run(program, s, false) != engine::ending::failed || e.what_failed().kind != kind)
      return false;
    std::vector<std::uint16_t> taken = e.choices();
    trim(taken);
    if (!is_simpler(taken, best)) return false;
    best = std::move(taken);
    return true;
  };
  for (std::size_t portion = best.size(); portion > 0 && tries < simplifying_tries;) {
    bool better = false;
    for (std::size_t end = best.size(); end > 0 && tries < simplifying_tries;) {
      end = std::min(end, best.size());
      const std::size_t begin = end > portion ? end - portion : 0;
      const auto first = static_cast<std::ptrdiff_t>(begin);
      const auto last = static_cast<std::ptrdiff_t>(end);
      if (std::any_of(best.begin() + first, best.begin() + last, [](auto c) { return c != 0; })) {
        std::vector<std::uint16_t> gone = best;
        std::fill(gone.begin() + first, gone.begin() + last, std::uint16_t{0});
        std::vector<std::uint16_t> cut = best;
        cut.erase(cut.begin() + first, cut.begin() + last);
        if (fails(std::move(gone)) || fails(std::move(cut))) better = true;
      }
      end = begin;
    }
    if (!better || portion > 1) portion /= 2;
    if (portion == 0 && better) portion = 1;
  }
  return best;
}

// Runs a schedule once more, with its story.
failure told(engine& e, const std::function<void()>& program,
             const std::vector<std::uint16_t>& choices) {
  detail::script s(choices);
  e.run(program, s, true);
  failure f = e.what_failed();
  f.token = detail::token_of(choices);
  f.schedule = e.story().text();
  f.choices = deviations(choices);
  return f;
}

void mix(std::uint64_t& hash, const std::vector<std::uint16_t>& choices) {
  for (const std::uint16_t c : choices) hash = (hash ^ c) * 0x100000001B3u;
  hash = (hash ^ choices.size()) * 0x100000001B3u;
}

}  // namespace

result run(std::function<void()> program, const options& o) {
  const hooked assertions;
  const auto begin = real_sync::now();
  engine e(o);
  const auto all = detail::make_schedules(o, e);
  result r;
  r.how = o.how;
  r.fingerprint = 0xCBF29CE484222325u;
  double reported = 0;
  bool stopped = false;
  while (all->next()) {
    const std::uint64_t runs = r.schedules + r.pruned;
    if (o.max_schedules && runs >= o.max_schedules) {
      stopped = true;
      break;
    }
    if ((o.max_seconds > 0 || o.on_progress) && runs % 64 == 63) {
      r.seconds = seconds_since(begin);
      if (o.max_seconds > 0 && r.seconds > o.max_seconds) {
        stopped = true;
        break;
      }
      if (o.on_progress && r.seconds - reported > 0.5) {
        reported = r.seconds;
        o.on_progress({r.schedules, r.pruned, r.seconds});
      }
    }
    const engine::ending end = e.run(program, *all, false);
    r.steps += e.steps();
    r.longest = std::max(r.longest, e.steps());
    r.threads = std::max(r.threads, e.thread_count());
    mix(r.fingerprint, e.choices());
    ++(end == engine::ending::given_up ? r.pruned : r.schedules);
    if (end != engine::ending::failed) continue;
    r.failed = true;
    const std::vector<std::uint16_t> found = e.choices();
    const failure_kind kind = e.what_failed().kind;
    r.failure = told(e, program, o.shrink ? simplified(e, program, found, kind) : found);
    r.failure->at_schedule = r.schedules;
    r.failure->choices_found = deviations(found);
    break;
  }
  r.exhaustive = all->is_exhaustive() && !stopped && !r.failed;
  r.seconds = seconds_since(begin);
  return r;
}

replayed replay(std::string_view token, std::function<void()> program, const options& o) {
  const hooked assertions;
  const auto begin = real_sync::now();
  engine e(o);
  const std::vector<std::uint16_t> choices = detail::choices_of(token);
  detail::script s(choices);
  replayed r;
  r.how = o.how;
  r.failed = e.run(program, s, true) == engine::ending::failed;
  r.schedules = 1;
  r.steps = r.longest = e.steps();
  r.threads = e.thread_count();
  r.schedule = e.story().text();
  r.fingerprint = 0xCBF29CE484222325u;
  mix(r.fingerprint, e.choices());
  if (r.failed) {
    r.failure = e.what_failed();
    r.failure->token = std::string(token);
    r.failure->schedule = r.schedule;
    r.failure->choices = deviations(choices);
    r.failure->at_schedule = 1;
  }
  r.seconds = seconds_since(begin);
  return r;
}

std::string_view name_of(failure_kind k) noexcept {
  switch (k) {
    case failure_kind::check:
      return "check failed";
    case failure_kind::assertion:
      return "assertion failed";
    case failure_kind::exception:
      return "exception";
    case failure_kind::data_race:
      return "data race";
    case failure_kind::deadlock:
      return "deadlock";
    case failure_kind::lost_wakeup:
      return "lost wake-up";
    case failure_kind::livelock:
      return "livelock";
    case failure_kind::leak:
      return "leak";
    case failure_kind::use_after_free:
      return "use after free";
    case failure_kind::misuse:
      return "misuse";
    case failure_kind::mismatch:
      return "mismatch with the model";
  }
  return "?";
}

std::string_view name_of(strategy s) noexcept {
  switch (s) {
    case strategy::exhaustive:
      return "exhaustive";
    case strategy::bounded:
      return "bounded";
    case strategy::pct:
      return "pct";
    case strategy::random:
      return "random";
  }
  return "?";
}

std::string result::text() const {
  char line[256];
  std::snprintf(line, sizeof line, "%llu schedules, %llu pruned, %llu steps, %.2f s: ",
                static_cast<unsigned long long>(schedules), static_cast<unsigned long long>(pruned),
                static_cast<unsigned long long>(steps), seconds);
  std::string all = std::string(name_of(how)) + ": " + line;
  if (!failure) {
    all += exhaustive ? "all schedules are covered, none fails\n"
                      : "none of these fails; NOT exhaustive\n";
    return all;
  }
  all += std::string(name_of(failure->kind)) + "\n" + failure->message + "\n\n" +
         failure->schedule + "\nin schedule " + std::to_string(failure->at_schedule) + ", " +
         std::to_string(failure->choices) + " choices of note (" +
         std::to_string(failure->choices_found) + " when found)\nreplay: " + failure->token + "\n";
  return all;
}

}  // namespace rota::explore
