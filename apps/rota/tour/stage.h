// What a stop of the tour is shown on: a line that is drawn again and again on a terminal, plain
// lines now and then elsewhere, nothing at all with --json. It also says how long a stop goes on.
//
//   std::vector<finding> count(stage& s) {
//     std::atomic<std::uint64_t> done = 0;
//     s.watch([&] { while (s.goes_on(done, 100)) ++done; },
//             [&] { return view{done, grouped(done) + " counted"}; });
//     return {{"no_promise", done >= 100, grouped(done) + " counted"}};
//   }
//
// How long is a matter of time, what is found is not: a stop goes on until its time is over and
// until it has done enough to say something, however slow the machine.
//
// Threads: goes_on() is anyone's, the rest belongs to the thread that made it.
#ifndef ROTA_APPS_TOUR_STAGE_H
#define ROTA_APPS_TOUR_STAGE_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace rota::app {

// How the tour prints.
struct screen {
  bool silent = false;
  bool redraws = false;
  bool colours = false;
  std::size_t width = 100;

  // For standard output as it is: a terminal or not, NO_COLOR, TERM=dumb.
  static screen of_standard_output(bool silent);

  enum colour { green, red, dim, bold };
  std::string paint(colour c, const std::string& text) const;
};

// Ctrl-C, as seen by a stop that has something to clean up.
struct tour_interrupted {};

// What there is to see at a moment.
struct view {
  std::uint64_t done = 0;  // grows as long as anything happens
  std::string text;
};

class stage {
 public:
  using clock = std::chrono::steady_clock;

  struct settings {
    app::screen screen;
    std::stop_token stop;
    double seconds = 1;  // how long this stop is meant to take
    bool quick = false;
    // Ends the program: nothing has happened for too long, or Ctrl-C. The work under way cannot be
    // given up in order.
    std::function<void(const std::string& why)> on_stuck;
    std::function<void()> on_interrupt;
  };
  explicit stage(settings s);
  ~stage();
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  bool is_quick() const noexcept { return settings_.quick; }
  double seconds() const noexcept { return settings_.seconds; }

  // Until the time is over, and at least until `done` is enough.
  bool goes_on(std::uint64_t done, std::uint64_t enough) const;
  // The same for a part of the time: until this share of it has passed.
  bool goes_on(std::uint64_t done, std::uint64_t enough, double until) const;

  // Shows a moment; `share` is how far the stop is, from 0 to 1. Throws tour_interrupted.
  void show(double share, const std::string& text);
  // The same, with the time for the share.
  void show(const std::string& text) { show(share_of_time(), text); }

  // Does `work` on another thread and shows meanwhile what `look` sees. What the work throws is
  // thrown here. If `done` stays the same for a minute, nothing will come any more.
  void watch(const std::function<void()>& work, const std::function<view()>& look);

  // Lines that stay: something to read, and what was found.
  void say(const std::string& lines);
  void tell(bool kept, const std::string& seen);

 private:
  double share_of_time() const;
  void clear();

  const settings settings_;
  const clock::time_point begin_ = clock::now();
  clock::time_point printed_ = begin_;
  bool drawn_ = false;
};

}  // namespace rota::app

#endif
