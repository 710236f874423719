#include "tour.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "../interrupt.h"
#include "promises.h"
#include "stage.h"
#include "stops.h"
#include "table.h"

namespace rota::app {

namespace {

constexpr double quick_share = 0.1;  // of a stop's time, with --quick

struct tour_request {
  bool quick = false;
  bool json = false;
  std::vector<std::string> stops;
};

std::vector<stop> stops_of(const tour_request& r) {
  if (r.stops.empty()) return stops();
  std::vector<stop> chosen;
  for (const std::string& name : r.stops) {
    const auto& all = stops();
    const auto at = std::find_if(all.begin(), all.end(), [&](auto& s) { return s.name == name; });
    if (at == all.end())
      throw bad_input("--stop: there is no '" + name + "'; there are: " + names_of_stops());
    chosen.push_back(*at);
  }
  return chosen;
}

class guided_tour {
 public:
  explicit guided_tour(const tour_request& r)
      : request_(r), stops_(stops_of(r)), screen_(screen::of_standard_output(r.json)) {}

  int run() {
    const auto begin = stage::clock::now();
    for (std::size_t i = 0; i < stops_.size(); ++i) {
      if (!request_.json)
        std::cout << screen_.paint(screen::bold, std::to_string(i + 1) + "/" +
                                                     std::to_string(stops_.size()) + "  " +
                                                     std::string(stops_[i].about))
                  << std::endl;
      try {
        take(stops_[i]);
      } catch (const tour_interrupted&) {
        interrupted();
      }
    }
    const std::chrono::duration<double> took = stage::clock::now() - begin;
    return finish(took.count());
  }

 private:
  void take(const stop& s) {
    stage at{{.screen = screen_,
              .stop = interrupt_.token(),
              .seconds = s.seconds * (request_.quick ? quick_share : 1),
              .quick = request_.quick,
              .on_stuck = [this, &s](const std::string& why) { stuck(s, why); },
              .on_interrupt = [this] { interrupted(); }}};
    findings seen;
    try {
      seen = s.show(at);
    } catch (const std::exception& error) {
      for (const std::string_view promise : s.promises)
        seen.push_back(
            {promise, false,
             std::string("stop ") + std::string(s.name) + " has failed: " + error.what()});
    }
    for (const finding& f : seen) at.tell(f.kept, f.seen);
    found_.insert(found_.end(), seen.begin(), seen.end());
  }

  int finish(double seconds) const {
    if (request_.json)
      std::cout << json_table(found_).dump(2) << '\n';
    else
      std::cout << '\n' << text_table(screen_, found_, seconds) << '\n' << what_next(screen_);
    std::cout.flush();
    return all_kept(found_) ? 0 : 1;
  }

  // What hangs cannot be joined, so the program ends here.
  [[noreturn]] void stuck(const stop& s, const std::string& why) {
    for (const std::string_view promise : s.promises) found_.push_back({promise, false, why});
    finish(0);
    std::_Exit(1);
  }

  [[noreturn]] void interrupted() {
    std::cerr << "rota tour: interrupted\n";
    if (!request_.json) std::cout << text_table(screen_, found_, 0) << std::flush;
    std::_Exit(interrupt::exit_status);
  }

  const tour_request request_;
  const std::vector<stop> stops_;
  const screen screen_;
  const interrupt interrupt_;
  findings found_;
};

}  // namespace

void add_tour(command& program) {
  auto r = std::make_shared<tour_request>();
  command& c = program.add("tour", "shows every promise at work, in a minute; ends with a table");
  c.option({.name = "--quick", .help = "the same in some ten seconds", .value = &r->quick});
  c.option({.name = "--stop",
            .type = "NAME",
            .help = "only this one; may be repeated",
            .value = &r->stops});
  c.option(
      {.name = "--json", .help = "print the table as JSON, and nothing else", .value = &r->json});
  c.footer([] {
    return "Stops: " + names_of_stops() +
           "\nExit status: 0 if every promise was kept, 1 if not, 2 on wrong usage.";
  });
  c.run([r] { return guided_tour{*r}.run(); });
}

}  // namespace rota::app
