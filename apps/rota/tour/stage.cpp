#include "stage.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <iostream>
#include <sstream>
#include <string_view>

namespace rota::app {

namespace {

using namespace std::chrono_literals;

constexpr auto between_looks = 100ms;
constexpr auto between_lines = 2s;  // where nothing is redrawn
constexpr auto patience = 60s;      // a machine that has other things to do may take its time

// Half a line of '#' and '.'.
std::string bar(double share) {
  constexpr int length = 20;
  const int full = std::clamp(static_cast<int>(share * length), 0, length);
  return std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(length - full), '.');
}

}  // namespace

screen screen::of_standard_output(bool silent) {
  screen s;
  s.silent = silent;
  const char* term = std::getenv("TERM");
  const char* no_color = std::getenv("NO_COLOR");
  s.redraws = !silent && ::isatty(STDOUT_FILENO) != 0 && term && std::string_view(term) != "dumb";
  s.colours = s.redraws && !(no_color && *no_color);
  winsize size{};
  if (s.redraws && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    s.width = size.ws_col;
  return s;
}

std::string screen::paint(colour c, const std::string& text) const {
  if (!colours) return text;
  const char* const codes[] = {"\033[32m", "\033[31m", "\033[2m", "\033[1m"};
  return codes[c] + text + "\033[0m";
}

stage::stage(settings s) : settings_(std::move(s)) {}

stage::~stage() { clear(); }

double stage::share_of_time() const {
  const std::chrono::duration<double> passed = clock::now() - begin_;
  return settings_.seconds > 0 ? std::min(1.0, passed.count() / settings_.seconds) : 1;
}

bool stage::goes_on(std::uint64_t done, std::uint64_t enough) const {
  return goes_on(done, enough, 1);
}

bool stage::goes_on(std::uint64_t done, std::uint64_t enough, double until) const {
  return done < enough || share_of_time() < until;
}

void stage::show(double share, const std::string& text) {
  if (settings_.stop.stop_requested()) throw tour_interrupted{};
  const screen& s = settings_.screen;
  if (s.silent) return;
  if (s.redraws) {
    // A line that is too long would be drawn below itself.
    const std::string line = ("  [" + bar(share) + "] " + text).substr(0, s.width - 1);
    const std::size_t coloured = std::min<std::size_t>(line.size(), 24);
    std::cout << '\r' << s.paint(screen::dim, line.substr(0, coloured)) << line.substr(coloured)
              << "\033[K" << std::flush;
    drawn_ = true;
  } else if (clock::now() - printed_ >= between_lines) {
    printed_ = clock::now();
    std::cout << "    ... " << text << std::endl;
  }
}

void stage::clear() {
  if (drawn_) std::cout << "\r\033[K" << std::flush;
  drawn_ = false;
}

void stage::watch(const std::function<void()>& work, const std::function<view()>& look) {
  std::future<void> end = std::async(std::launch::async, work);
  view last = look();
  auto moved = clock::now();
  while (end.wait_for(between_looks) != std::future_status::ready) {
    view now = look();
    if (now.done != last.done) moved = clock::now();
    last = std::move(now);
    try {
      show(last.text);
    } catch (const tour_interrupted&) {
      clear();
      settings_.on_interrupt();
    }
    if (clock::now() - moved > patience) {
      clear();
      settings_.on_stuck("nothing happens any more; seen last: " + last.text);
    }
  }
  end.get();
}

void stage::say(const std::string& lines) {
  if (settings_.screen.silent) return;
  clear();
  std::istringstream in{lines};
  for (std::string line; std::getline(in, line);)
    std::cout << "    " << settings_.screen.paint(screen::dim, "| " + line) << '\n';
  std::cout << std::flush;
}

void stage::tell(bool kept, const std::string& seen) {
  const screen& s = settings_.screen;
  if (s.silent) return;
  clear();
  std::cout << "    " << (kept ? s.paint(screen::green, "kept") : s.paint(screen::red, "BROKEN"))
            << "  " << seen << std::endl;
}

}  // namespace rota::app
