#include <rota/job/wall_timer.h>

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace rota::job {

namespace {

// Two readings, one after the other, differ by less than this unless one is faked.
constexpr std::chrono::milliseconds one_clock{20};

instant instant_of(const timespec& t) noexcept {
  return instant{std::chrono::seconds(t.tv_sec) + std::chrono::milliseconds(t.tv_nsec / 1'000'000)};
}

instant kernel_now() noexcept {
  timespec t{};
  ::syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
  return instant_of(t);
}

// A faked clock may start with the right time, and leave it later.
bool faketime_is_loaded() noexcept {
  Dl_info found{};
  void* const symbol = ::dlsym(RTLD_DEFAULT, "clock_gettime");
  return symbol && ::dladdr(symbol, &found) != 0 && found.dli_fname &&
         std::string_view(found.dli_fname).find("faketime") != std::string_view::npos;
}

}  // namespace

instant wall_now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return instant_of(t);
}

bool clock_is_faked() noexcept {
  if (faketime_is_loaded()) return true;
  // The thread may lose the processor between the two readings, or the clock be set: a second and
  // a third look.
  for (int i = 0; i < 3; ++i) {
    const auto apart = wall_now() - kernel_now();
    if (apart < one_clock && apart > -one_clock) return false;
  }
  return true;
}

wall_timer::wall_timer() : fd_(::timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
}

wall_timer::~wall_timer() { ::close(fd_); }

void wall_timer::arm(std::optional<instant> at) {
  // Without an instant it is armed too, far away: only an armed timer tells that the clock was set.
  constexpr std::int64_t far_away = 1LL << 40;
  const std::int64_t ms = at ? std::max<std::int64_t>(1, at->time_since_epoch().count()) : 0;
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(at ? std::min(ms / 1000, far_away) : far_away);
  when.it_value.tv_nsec = static_cast<long>(ms % 1000 * 1'000'000);
  // The kernel's own, since libfaketime has another.
  if (::syscall(SYS_timerfd_settime, fd_, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when,
                nullptr) != 0 &&
      errno != ECANCELED)
    throw std::system_error(errno, std::generic_category(), "timerfd_settime");
}

bool wall_timer::acknowledge() noexcept {
  std::uint64_t times = 0;
  return ::read(fd_, &times, sizeof times) == sizeof times || errno == ECANCELED;
}

}  // namespace rota::job
