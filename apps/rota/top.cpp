#include "top.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "door.h"
#include "interrupt.h"
#include "live_page.h"
#include "table_text.h"

namespace rota::app {

namespace {

using nlohmann::ordered_json;

struct top_request {
  door_options door;
  std::string every = "1";
  std::uint64_t count = 0;
  std::uint32_t rows = 10;
};

std::string rounded(double x) {
  std::ostringstream out;
  const char* const units[] = {"", "k", "M", "G"};
  int unit = 0;
  for (; x >= 10'000 && unit < 3; ++unit) x /= 1000;
  out << std::fixed << std::setprecision(x < 10 && unit > 0 ? 1 : 0) << x << units[unit];
  return out.str();
}

std::string seconds_text(double s) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << s << " s";
  return out.str();
}

// Makes a page of each line that the program sends: rates are between two lines, and how long a
// task waits is since we first saw it.
class top_page {
 public:
  explicit top_page(std::size_t rows) : rows_(rows) {}

  std::string next(const ordered_json& now) {
    const double at = static_cast<double>(now.at("at_ns").get<std::int64_t>()) / 1e9;
    const double passed =
        before_.is_null() ? 0
                          : at - static_cast<double>(before_.at("at_ns").get<std::int64_t>()) / 1e9;
    std::string text = head(now, at) + "\n" + workers(now, passed);
    text += waiting(now, at) + handlers(now, passed) + jobs(now);
    before_ = now;
    return text;
  }

 private:
  static std::string head(const ordered_json& now, double at) {
    const auto& cowns = now.at("cowns");
    const auto& bus = now.at("bus");
    std::ostringstream out;
    out << "open for " << seconds_text(at) << ": " << now.at("tasks") << " tasks, "
        << now.at("waiting") << " wait; " << bus.at("handlers") << " handlers, " << bus.at("queued")
        << " queued; cowns: " << cowns.at("overloaded") << " overloaded, " << cowns.at("muted")
        << " muted\n"
        << "longest wait of a ready task: " << now.at("max_ready_delay")
        << " scheduling points; of a handler: passed by " << bus.at("max_passed") << " (bound "
        << bus.at("bound") << ")\n";
    return out.str();
  }

  // How much a counter of the i-th row grew a second.
  std::string rate(const ordered_json& now, const char* list, std::size_t i, const char* field,
                   double passed) const {
    if (passed <= 0 || before_.at(list).size() != now.at(list).size()) return "-";
    const auto a = before_.at(list)[i].at(field).get<double>();
    const auto b = now.at(list)[i].at(field).get<double>();
    return b < a ? "-" : rounded((b - a) / passed);
  }

  std::string workers(const ordered_json& now, double passed) const {
    std::vector<std::vector<std::string>> rows{
        {"WORKER", "STATE", "QUEUED", "STEPS/S", "PARKS/S", "STEALS/S", "RUNS"}};
    const auto& all = now.at("workers");
    for (std::size_t i = 0; i < all.size(); ++i)
      rows.push_back(
          {std::to_string(i), all[i].at("state").get<std::string>(), all[i].at("queued").dump(),
           rate(now, "workers", i, "points", passed), rate(now, "workers", i, "parks", passed),
           rate(now, "workers", i, "steals", passed), all[i].at("doing").get<std::string>()});
    return table_text(rows) + "\n";
  }

  std::string waiting(const ordered_json& now, double at) {
    std::map<std::uint32_t, since> seen;
    std::vector<std::pair<double, const ordered_json*>> longest;
    for (const auto& t : now.at("waiting_tasks")) {
      const auto id = t.at("id").get<std::uint32_t>();
      since s{t.at("stamp").get<std::uint32_t>(), at};
      if (const auto old = waits_.find(id); old != waits_.end() && old->second.stamp == s.stamp)
        s = old->second;
      seen[id] = s;
      longest.emplace_back(at - s.at, &t);
    }
    waits_ = std::move(seen);
    std::sort(longest.begin(), longest.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;  // then as they came
    });
    if (longest.size() > rows_) longest.resize(rows_);
    if (longest.empty()) return "";
    std::vector<std::vector<std::string>> rows{{"TASK", "NAME", "SEEN", "WAITS", "WHERE"}};
    for (const auto& [time, t] : longest)
      rows.push_back({t->at("id").dump(), t->at("name").get<std::string>(), seconds_text(time),
                      t->at("waits").get<std::string>(), t->at("where").get<std::string>()});
    return table_text(rows) + "\n";
  }

  std::string handlers(const ordered_json& now, double passed) const {
    const auto& all = now.at("handlers");
    if (all.empty()) return "";
    std::vector<std::size_t> order(all.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto pending = [&](std::size_t i) { return all[i].at("pending").get<std::uint64_t>(); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return pending(a) != pending(b) ? pending(a) > pending(b) : a < b;
    });
    if (order.size() > rows_) order.resize(rows_);
    std::vector<std::vector<std::string>> rows{
        {"HANDLER", "OF", "NODE", "RUNS/S", "PENDING", "DROPPED", "PASSED"}};
    for (const std::size_t i : order)
      rows.push_back({all[i].at("kind").get<std::string>(), all[i].at("name").get<std::string>(),
                      all[i].at("node").get<std::string>(),
                      rate(now, "handlers", i, "runs", passed), all[i].at("pending").dump(),
                      all[i].at("dropped").dump(), all[i].at("max_passed").dump()});
    return table_text(rows) + "\n";
  }

  std::string jobs(const ordered_json& now) const {
    const auto& all = now.at("jobs");
    if (all.empty()) return "";
    std::vector<std::vector<std::string>> rows{{"JOB", "RUNNING", "WAITING", "NEXT", "STATE"}};
    for (const auto& j : all) {
      if (rows.size() > rows_) break;
      const auto next = j.find("next_ms");
      rows.push_back({j.at("name").get<std::string>(), j.at("running").dump(),
                      j.at("waiting").dump(),
                      next == j.end() ? "-" : "in " + seconds_text(next->get<double>() / 1000),
                      j.at("failing").get<bool>() ? "failing" : "ok"});
    }
    return table_text(rows) + "\n";
  }

  struct since {
    std::uint32_t stamp = 0;
    double at = 0;
  };

  const std::size_t rows_;
  ordered_json before_;
  std::map<std::uint32_t, since> waits_;  // by task
};

int top(const top_request& r) {
  const interrupt stop;
  const auto period = static_cast<std::uint64_t>(seconds_of("--every", r.every) * 1000);
  door program{r.door, stop.token()};
  program.send("watch " + std::to_string(std::max<std::uint64_t>(period, 20)) + " " +
               std::to_string(r.count));
  top_page page{r.rows};
  live_page screen;
  for (;;) {
    ordered_json line;
    switch (program.read(line)) {
      case door::outcome::line:
        break;
      case door::outcome::interrupted:
        return 0;
      case door::outcome::timed_out:
      case door::outcome::ended:
        throw std::runtime_error("the program has closed the door");
    }
    if (line.contains("error")) throw bad_input(line["error"].get<std::string>());
    if (line.contains("end")) {
      if (line["end"] == "count") return 0;
      throw std::runtime_error(line["end"].get<std::string>());
    }
    if (r.door.json)
      std::cout << line.dump() << std::endl;
    else
      screen.show(page.next(line));
  }
}

// --- trace --------------------------------------------------------------------------------------

struct trace_request {
  door_options door;
  std::string length = "2";
  std::string file = "rota.perfetto-trace";
};

int record(const trace_request& r) {
  const interrupt stop;
  const double seconds = seconds_of("--for", r.length);
  const std::string path = std::filesystem::absolute(r.file).string();
  if (path.find_first_of(" \t\n") != std::string::npos)
    throw bad_input("'" + path + "' has blanks; choose a file without, by --output");
  door program{r.door, stop.token()};
  program.send("trace " + path + " " + std::to_string(static_cast<std::uint64_t>(seconds * 1000)));
  ordered_json line;
  if (program.read(line) != door::outcome::line)
    throw std::runtime_error(stop.token().stop_requested()
                                 ? "interrupted; the file has what was written until then"
                                 : "the program has closed the door");
  if (line.contains("error")) throw bad_input(line["error"].get<std::string>());
  if (line.contains("end")) throw std::runtime_error(line["end"].get<std::string>());
  line["file"] = path;
  if (r.door.json) {
    std::cout << line.dump() << '\n';
    return 0;
  }
  std::cout << path << ": " << line.at("records") << " records";
  if (line.at("lost") != 0)
    std::cout << ", " << line.at("lost") << " lost since they came too fast";
  std::cout << "; open it at https://ui.perfetto.dev\n";
  return 0;
}

}  // namespace

void add_top(command& program) {
  auto r = std::make_shared<top_request>();
  command& c =
      program.add("top", "shows what a running program is at: workers, who waits, handlers, jobs");
  add_door_options(c, r->door);
  c.option({.name = "--every",
            .type = "SECONDS",
            .help = "how often to look; by default every second",
            .value = &r->every});
  c.option({.name = "--count", .type = "N", .help = "end after N looks", .value = &r->count});
  c.option({.name = "--rows",
            .type = "N",
            .help = "show at most N tasks, and N handlers",
            .value = &r->rows,
            .least = 1,
            .most = 200});
  c.footer([] {
    return "The program opens a door with rota::inspector. SEEN is how long a task has been seen "
           "to wait, at least. Subscribers and servers have a row, timers and clients are counted "
           "only. What the daemon's jobs do: `rota job top`.";
  });
  c.run([r] { return top(*r); });
}

void add_trace(command& program) {
  auto r = std::make_shared<trace_request>();
  command& c = program.add("trace", "writes what a running program does to a file for Perfetto");
  add_door_options(c, r->door);
  c.option({.name = "--for",
            .type = "SECONDS",
            .help = "how long to write; by default 2 seconds",
            .value = &r->length});
  c.option({.name = "-o,--output",
            .type = "FILE",
            .help = "the file; by default rota.perfetto-trace",
            .value = &r->file});
  c.footer([] {
    return "The program opens a door with rota::inspector, and writes the file. In a program of "
           "your own runtime::trace_to(file) does the same. Runs of the daemon's jobs: `rota job "
           "trace`.";
  });
  c.run([r] { return record(*r); });
}

}  // namespace rota::app
