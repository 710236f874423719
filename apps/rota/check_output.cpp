#include "check_output.h"

#include <rota/verify/checker/report.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>

namespace rota::app {

using nlohmann::ordered_json;
using verify::property_result;
using verify::verdict;

std::string grouped(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

namespace {

std::string fixed(double value, int digits) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return buffer;
}

std::string size_of(std::size_t bytes) {
  const double megabytes = static_cast<double>(bytes) / (1 << 20);
  return megabytes < 1024 ? fixed(megabytes, megabytes < 10 ? 1 : 0) + " MiB"
                          : fixed(megabytes / 1024, 2) + " GiB";
}

std::string rate_of(std::uint64_t count, double seconds) {
  return grouped(static_cast<std::uint64_t>(static_cast<double>(count) / std::max(seconds, 1e-3)));
}

bool colours() {
  static const bool yes = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  return yes;
}

std::string coloured(verdict v, const std::string& text) {
  if (!colours() || v == verdict::unknown) return text;
  return (v == verdict::holds ? "\033[32m" : "\033[31m") + text + "\033[0m";
}

// The verdict in words, with what is not decided told apart: nothing found so far, or not looked
// for.
std::string words_for(const verify::property& about, verdict v) {
  const bool safety = about.kind == verify::property_kind::invariant ||
                      about.kind == verify::property_kind::deadlock_free;
  if (v == verdict::unknown) return safety ? "not violated so far" : "not checked";
  return std::string(verify::name_of(v));
}

std::string remark_on(const verify::property& about, verdict v) {
  if (!about.known_to_fail) return {};
  if (v == verdict::violated) return "   (as is known)";
  if (v == verdict::holds) return "   (known to fail at other sizes)";
  return {};
}

ordered_json json_of(const verify::system& s, const verify::trace& t) {
  ordered_json steps = ordered_json::array();
  const auto changed = verify::changes(s, t);
  for (std::size_t i = 0; i < t.steps.size(); ++i) {
    const verify::trace_step& step = t.steps[i];
    ordered_json one;
    one["state"] = i + 1;
    one["action"] = step.by ? ordered_json(s.text_of(*step.by)) : ordered_json(nullptr);
    ordered_json all = ordered_json::object();
    for (const auto& [name, value] : s.fields(step.state.data())) all[name] = value;
    ordered_json names = ordered_json::array();
    for (const auto& [name, value] : changed[i]) names.push_back(name);
    one["variables"] = std::move(all);
    one["changed"] = std::move(names);
    steps.push_back(std::move(one));
  }
  ordered_json trace;
  trace["states"] = std::move(steps);
  trace["loop"] = t.loop ? ordered_json(*t.loop + 1) : ordered_json(nullptr);
  return trace;
}

ordered_json json_of(const verify::system& s, const std::vector<property_result>& properties) {
  ordered_json all = ordered_json::array();
  for (const property_result& p : properties) {
    const verify::property& about = s.properties()[p.property];
    ordered_json one;
    one["name"] = about.name;
    one["kind"] = verify::name_of(about.kind);
    one["verdict"] = verify::name_of(p.result);
    one["known_to_fail"] = about.known_to_fail;
    if (p.result == verdict::violated && about.instances > 1)
      one["instance"] = p.instance < about.instance_names.size()
                            ? ordered_json(about.instance_names[p.instance])
                            : ordered_json(p.instance);
    one["trace"] =
        p.result == verdict::violated ? json_of(s, p.counterexample) : ordered_json(nullptr);
    all.push_back(std::move(one));
  }
  return all;
}

ordered_json json_of(const subject& s) {
  ordered_json j;
  j["model"] = s.entry.name;
  j["constants"] = ordered_json::object();
  for (const auto& [name, value] : s.settings) {
    const bool number = value.find_first_not_of("-0123456789") == std::string::npos;
    j["constants"][name] = number ? ordered_json(std::stoi(value)) : ordered_json(value);
  }
  return j;
}

ordered_json json_of(const subject& s, const std::vector<std::uint64_t>& taken) {
  ordered_json j = ordered_json::object();
  for (std::size_t a = 0; a < taken.size(); ++a) j[s.system.actions()[a].name] = taken[a];
  return j;
}

}  // namespace

std::string text_of(const std::vector<verify::setting>& settings) {
  std::string all;
  for (const auto& [name, value] : settings) all += (all.empty() ? "" : ", ") + name + "=" + value;
  return all;
}

std::string summary_of(const verify::check_result& r) {
  std::ostringstream out;
  out << grouped(r.distinct) << " distinct states, " << grouped(r.generated) << " generated, depth "
      << r.depth;
  if (r.symmetry) out << "; " << grouped(r.representatives) << " representatives looked at";
  out << "; " << fixed(r.seconds, 2) << " s";
  if (r.seconds > 0.1) out << " (" << rate_of(r.representatives, r.seconds) << " states a second)";
  if (r.liveness_seconds > 0) out << ", liveness " << fixed(r.liveness_seconds, 2) << " s";
  out << ", " << size_of(r.bytes);
  switch (r.how) {
    case verify::outcome::complete:
      break;
    case verify::outcome::violation:
      out << ". Stopped at the first violation.";
      break;
    case verify::outcome::stopped:
      out << ". Stopped: not all was looked at.";
      break;
    case verify::outcome::max_states:
      out << ". Stopped at --max-states: not all was looked at.";
      break;
    case verify::outcome::max_memory:
      out << ". Stopped at --max-memory: not all was looked at.";
      break;
  }
  return out.str();
}

std::string summary_of(const verify::simulate_result& r) {
  std::ostringstream out;
  out << grouped(r.walks) << " random walks, " << grouped(r.steps) << " steps, the longest "
      << grouped(r.longest) << "; " << grouped(r.ended) << " came to an end; "
      << fixed(r.seconds, 2) << " s. Walks find violations; they prove nothing.";
  return out.str();
}

void print_properties(const subject& s, const std::vector<property_result>& properties,
                      const std::vector<std::size_t>& asked) {
  std::size_t longest = 0;
  for (const property_result& p : properties)
    longest = std::max(longest, verify::title_of(s.system, p).size());
  for (const property_result& p : properties) {
    const verify::property& about = s.system.properties()[p.property];
    std::string title = verify::title_of(s.system, p);
    title.resize(longest + 2, ' ');
    std::string kind{verify::name_of(about.kind)};
    kind.resize(19, ' ');
    std::cout << "  " << title << kind << coloured(p.result, words_for(about, p.result))
              << remark_on(about, p.result) << '\n';
  }
  for (const property_result& p : properties) {
    const bool known = s.system.properties()[p.property].known_to_fail;
    const bool wanted = !known || std::count(asked.begin(), asked.end(), p.property);
    if (p.result != verdict::violated || !wanted) continue;
    std::cout << '\n' << verify::title_of(s.system, p) << " is violated:\n";
    verify::write_trace(std::cout, s.system, p);
  }
}

void print_never_taken(const subject& s, const std::vector<std::uint64_t>& taken) {
  std::string names;
  for (std::size_t a = 0; a < taken.size(); ++a)
    if (taken[a] == 0) names += (names.empty() ? "" : ", ") + s.system.actions()[a].name;
  if (!names.empty()) std::cout << "  never taken: " << names << '\n';
}

ordered_json to_json(const subject& s, const verify::check_result& r) {
  ordered_json j = json_of(s);
  j["outcome"] = verify::name_of(r.how);
  j["distinct_states"] = r.distinct;
  j["states_generated"] = r.generated;
  j["depth"] = r.depth;
  j["deadlocked_states"] = r.deadlocks;
  j["symmetry"] = r.symmetry;
  if (r.symmetry) {
    j["representatives"] = r.representatives;
    j["representatives_generated"] = r.representatives_generated;
  }
  j["seconds"] = r.seconds + r.liveness_seconds;
  j["search_seconds"] = r.seconds;
  j["liveness_seconds"] = r.liveness_seconds;
  j["memory_bytes"] = r.bytes;
  j["steps_taken"] = json_of(s, r.taken);
  j["properties"] = json_of(s.system, r.properties);
  return j;
}

ordered_json to_json(const subject& s, const verify::simulate_result& r) {
  ordered_json j = json_of(s);
  j["outcome"] = r.stopped ? "stopped" : "simulated";
  j["walks"] = r.walks;
  j["steps"] = r.steps;
  j["longest_walk"] = r.longest;
  j["ended_walks"] = r.ended;
  j["seconds"] = r.seconds;
  j["steps_taken"] = json_of(s, r.taken);
  j["properties"] = json_of(s.system, r.properties);
  return j;
}

progress_line::progress_line() : terminal_(isatty(STDERR_FILENO)) {}

progress_line::~progress_line() {
  if (shown_) std::cerr << "\r\033[K" << std::flush;
}

void progress_line::show(const verify::progress& p) {
  if (!terminal_) return;
  shown_ = true;
  std::ostringstream line;
  const std::string_view phase = p.phase;
  if (phase == "states") {
    line << grouped(p.distinct) << " states";
    if (p.estimate) line << " of about " << grouped(*p.estimate);
    line << ", " << rate_of(p.distinct, p.seconds) << "/s, " << grouped(p.queued)
         << " queued, depth " << p.depth << ", " << size_of(p.bytes);
  } else if (phase == "walks") {
    line << grouped(p.distinct) << " of " << grouped(p.estimate.value_or(0)) << " walks, "
         << rate_of(p.generated, p.seconds) << " steps/s";
  } else {
    line << "liveness: " << phase << " of " << grouped(p.distinct) << " states, "
         << fixed(p.seconds, 0) << " s, " << size_of(p.bytes);
  }
  std::cerr << '\r' << line.str() << "\033[K" << std::flush;
}

}  // namespace rota::app
