#include "table.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "promises.h"

namespace rota::app {

namespace {

// All that was found about one promise.
struct row_of_tour {
  const promise* about;
  bool kept = true;
  std::vector<std::string> seen;
};

std::vector<row_of_tour> rows_of(const findings& found) {
  std::vector<row_of_tour> rows;
  for (const promise& p : promises) {
    row_of_tour row{&p, true, {}};
    for (const finding& f : found) {
      if (f.promise != p.name) continue;
      row.kept = row.kept && f.kept;
      row.seen.push_back(f.seen);
    }
    if (!row.seen.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

// Words to lines of at most `width`.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream in{text};
  for (std::string word; in >> word;) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

}  // namespace

bool all_kept(const findings& found) {
  return !found.empty() &&
         std::all_of(found.begin(), found.end(), [](const finding& f) { return f.kept; });
}

std::string text_table(const screen& s, const findings& found, double seconds) {
  constexpr std::size_t names = 18;
  constexpr std::size_t verdicts = 5;
  const std::string margin(names + verdicts + 4, ' ');
  const std::size_t width = std::max<std::size_t>(std::min<std::size_t>(s.width, 120), 60);
  std::ostringstream out;
  out << s.paint(screen::bold,
                 "  " + padded("promise", names) + padded("kept", verdicts) + "  seen")
      << '\n';
  std::size_t kept = 0;
  const auto rows = rows_of(found);
  for (const row_of_tour& r : rows) {
    kept += r.kept;
    out << "  " << padded(std::string(r.about->name), names)
        << s.paint(r.kept ? screen::green : screen::red, padded(r.kept ? "yes" : "NO", verdicts))
        << "  " << r.about->text << '\n';
    for (const std::string& seen : r.seen) {
      bool first = true;
      for (const std::string& line : wrapped(seen, width - margin.size() - 2)) {
        out << margin << (first ? "- " : "  ") << line << '\n';
        first = false;
      }
    }
    out << margin << s.paint(screen::dim, "held by " + std::string(r.about->test)) << '\n';
  }
  out << '\n' << kept << " of " << rows.size() << " promises were kept";
  if (seconds > 0) out << ", in " << static_cast<int>(seconds + 0.5) << " s";
  out << ". " << promises_page << " says what each assumes and does not promise.\n";
  return out.str();
}

nlohmann::ordered_json json_table(const findings& found) {
  nlohmann::ordered_json table = nlohmann::ordered_json::array();
  for (const row_of_tour& r : rows_of(found))
    table.push_back({{"promise", r.about->name},
                     {"kept", r.kept},
                     {"seen", r.seen},
                     {"read", promises_page},
                     {"test", r.about->test}});
  return table;
}

std::string what_next(const screen& s) {
  const auto head = [&](const char* text) { return s.paint(screen::bold, text); };
  return head("What next?") +
         "\n"
         "  a library for your program   README.md has the first fifteen lines; examples/ has "
         "whole "
         "programs\n"
         "  jobs instead of cron         ./run serve has sample jobs and a page; docs/jobs.md\n"
         "  a protocol to check          rota check list, rota coop run FILE; docs/checking.md, "
         "docs/exploring.md\n"
         "  a stop once more             rota tour --stop flood; all of them: rota tour --help\n";
}

}  // namespace rota::app
