#include <rota/verify/checker/report.h>

#include <algorithm>
#include <iomanip>
#include <map>
#include <ostream>
#include <sstream>
#include <utility>

namespace rota::verify {

namespace {

std::string text_of(const field& f) { return f.first + " = " + f.second; }

std::string action_of(const system& s, const trace_step& step) {
  return step.by ? s.text_of(*step.by) : "(at first)";
}

// Where a counterexample goes after its last state, or nothing.
std::string end_of(const trace& t) {
  if (!t.loop) return {};
  if (*t.loop + 1 == t.steps.size()) return "and stays there for ever";
  return "back to " + std::to_string(*t.loop + 1);
}

// The last state of a loop is its first again: it is not shown twice.
std::size_t shown_steps(const trace& t) {
  const bool closes = t.loop && *t.loop + 1 < t.steps.size();
  return t.steps.size() - (closes ? 1 : 0);
}

}  // namespace

std::string_view name_of(verdict v) noexcept {
  switch (v) {
    case verdict::holds:
      return "holds";
    case verdict::violated:
      return "violated";
    case verdict::unknown:
      break;
  }
  return "unknown";
}

std::string_view name_of(fairness f) noexcept {
  switch (f) {
    case fairness::none:
      break;
    case fairness::weak:
      return "weak";
    case fairness::strong:
      return "strong";
  }
  return "none";
}

std::string_view name_of(outcome o) noexcept {
  switch (o) {
    case outcome::complete:
      break;
    case outcome::violation:
      return "violation";
    case outcome::stopped:
      return "stopped";
    case outcome::max_states:
      return "max_states";
    case outcome::max_memory:
      return "max_memory";
  }
  return "complete";
}

std::string title_of(const system& s, const property_result& p) {
  const property& about = s.properties()[p.property];
  if (about.instances == 1 || p.result != verdict::violated) return about.name;
  const std::string which = p.instance < about.instance_names.size()
                                ? about.instance_names[p.instance]
                                : std::to_string(p.instance);
  return about.name + " (" + which + ")";
}

std::vector<std::vector<field>> changes(const system& s, const trace& t) {
  std::vector<std::vector<field>> all;
  std::vector<field> before;
  for (const trace_step& step : t.steps) {
    const std::vector<field> now = s.fields(step.state.data());
    auto& changed = all.emplace_back();
    for (const field& f : now)
      if (std::find(before.begin(), before.end(), f) == before.end()) changed.push_back(f);
    before = now;
  }
  return all;
}

void write_trace(std::ostream& out, const system& s, const property_result& p, std::size_t width) {
  const trace& t = p.counterexample;
  const std::size_t shown = shown_steps(t);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < shown; ++i)
    longest = std::max(longest, action_of(s, t.steps[i]).size());
  const std::size_t indent = 6 + longest + 2;
  const auto changed = changes(s, t);
  const std::string_view gap = "   ";
  for (std::size_t i = 0; i < shown; ++i) {
    std::ostringstream line;
    line << std::setw(4) << i + 1 << "  " << std::left << std::setw(static_cast<int>(longest) + 2)
         << action_of(s, t.steps[i]);
    std::size_t column = indent;
    bool first = true;
    for (const field& f : changed[i]) {
      const std::string text = text_of(f);
      if (!first && column + gap.size() + text.size() > width) {
        line << '\n' << std::string(indent, ' ');
        column = indent;
        first = true;
      }
      if (!first) line << gap;
      column += text.size() + (first ? 0 : gap.size());
      first = false;
      line << text;
    }
    std::string text = line.str();
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << '\n';
  }
  if (const std::string end = end_of(t); !end.empty()) {
    out << "      " << end;
    if (shown < t.steps.size()) out << " by " << action_of(s, t.steps.back());
    out << '\n';
  }
}

// --- the page -----------------------------------------------------------------------------------

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

constexpr std::string_view style = R"(<style>
:root { color-scheme: light dark; --line: #8884; --mark: #ffd54a66; --loop: #3b82f6; --dim: #777; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem; }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .4rem; }
p { margin: .3rem 0; max-width: 60rem; }
.bad { color: #d33; font-weight: 600; } .good { color: #2a8f4a; }
table.verdicts { border-collapse: collapse; margin-top: 1rem; }
table.verdicts td { padding: .15rem 1rem .15rem 0; border-bottom: 1px solid var(--line); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table.path { border-collapse: separate; border-spacing: 0; font: 13px/1.4 ui-monospace, monospace; }
.path th, .path td { padding: .25rem .6rem; text-align: left; max-width: 15rem; vertical-align: top;
  border-right: 1px solid var(--line); border-bottom: 1px solid var(--line); }
.path thead th { font-weight: 600; } .path thead small { font-weight: 400; display: block; }
.path th:first-child { position: sticky; left: 0; background: Canvas; }
.path td { color: var(--dim); } .path td.changed { background: var(--mark); color: inherit; }
.path .repeats { color: white; background: var(--loop); text-align: center; }
.path .loop { border-left: 1px solid var(--loop); border-right: 1px solid var(--loop); }
.path .back { color: var(--loop); white-space: nowrap; border: none; }
.path .here { outline: 2px solid var(--loop); outline-offset: -2px; }
</style>
)";

// Arrow keys go from state to state of the path that has the focus.
constexpr std::string_view script = R"(<script>
for (const box of document.querySelectorAll('.scroll')) {
  const count = Number(box.dataset.states);
  let at = 0;
  const show = (to) => {
    at = Math.max(1, Math.min(count, to));
    box.querySelectorAll('.here').forEach((cell) => cell.classList.remove('here'));
    const cells = box.querySelectorAll(`[data-state="${at}"]`);
    cells.forEach((cell) => cell.classList.add('here'));
    cells[0].scrollIntoView({ block: 'nearest', inline: 'center' });
  };
  box.addEventListener('keydown', (event) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 1, End: count }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(to);
  });
}
</script>
)";

void write_path(std::ostream& out, const system& s, const property_result& p) {
  const trace& t = p.counterexample;
  const std::size_t shown = shown_steps(t);
  const std::string end = end_of(t);
  std::vector<std::vector<field>> states;
  std::vector<std::string> names;  // the rows: in the order in which fields first appear
  for (std::size_t i = 0; i < shown; ++i) {
    states.push_back(s.fields(t.steps[i].state.data()));
    for (const field& f : states.back())
      if (std::find(names.begin(), names.end(), f.first) == names.end()) names.push_back(f.first);
  }
  const auto value = [&](std::size_t i, const std::string& name) {
    for (const field& f : states[i])
      if (f.first == name) return f.second;
    return std::string();
  };
  const auto in_loop = [&](std::size_t i) { return t.loop && i >= *t.loop; };

  out << "<div class=\"scroll\" tabindex=\"0\" data-states=\"" << shown
      << "\"><table class=\"path\">"
      << "<thead>";
  if (t.loop)
    out << "<tr><th></th>"
        << (*t.loop ? "<th colspan=\"" + std::to_string(*t.loop) + "\"></th>" : "")
        << "<th class=\"repeats\" colspan=\"" << shown - *t.loop << "\">for ever</th></tr>";
  out << "<tr><th scope=\"col\">state<small>action</small></th>";
  for (std::size_t i = 0; i < shown; ++i)
    out << "<th scope=\"col\" data-state=\"" << i + 1 << '"'
        << (in_loop(i) ? " class=\"loop\"" : "") << '>' << i + 1 << "<small>"
        << escaped(action_of(s, t.steps[i])) << "</small></th>";
  if (!end.empty()) {
    out << "<th class=\"back\">&#8634; " << end << "<small>";
    if (shown < t.steps.size()) out << escaped(action_of(s, t.steps.back()));
    out << "</small></th>";
  }
  out << "</tr></thead><tbody>\n";
  for (const std::string& name : names) {
    out << "<tr><th scope=\"row\">" << escaped(name) << "</th>";
    for (std::size_t i = 0; i < shown; ++i) {
      const std::string now = value(i, name);
      const bool changed = i > 0 && now != value(i - 1, name);
      out << "<td data-state=\"" << i + 1 << '"' << (changed ? " class=\"changed\"" : "") << '>'
          << escaped(now) << "</td>";
    }
    out << "</tr>\n";
  }
  out << "</tbody></table></div>\n";
}

}  // namespace

void write_html(std::ostream& out, const page_head& head, const system& s,
                const std::vector<property_result>& properties) {
  out << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>"
      << escaped(head.model) << ": rota check</title>\n"
      << style << "</head><body>\n<h1>" << escaped(head.model) << "</h1>\n";
  if (!head.settings.empty()) out << "<p>" << escaped(head.settings) << "</p>\n";
  out << "<p>" << escaped(head.summary) << "</p>\n<table class=\"verdicts\">\n";
  for (const property_result& p : properties) {
    const char* colour = p.result == verdict::violated ? "bad" : "good";
    out << "<tr><td>" << escaped(title_of(s, p)) << "</td><td>"
        << name_of(s.properties()[p.property].kind) << "</td><td class=\""
        << (p.result == verdict::unknown ? "" : colour) << "\">" << name_of(p.result)
        << "</td></tr>\n";
  }
  out << "</table>\n";
  bool any = false;
  for (const property_result& p : properties) {
    if (p.result != verdict::violated) continue;
    any = true;
    out << "<h2>" << escaped(title_of(s, p)) << " is violated</h2>\n<p>"
        << shown_steps(p.counterexample) << " states";
    if (const std::string end = end_of(p.counterexample); !end.empty()) out << ", then " << end;
    out << ". Changes are marked; the arrow keys go from state to state.</p>\n";
    write_path(out, s, p);
  }
  if (any) out << script;
  out << "</body></html>\n";
}

// --- the drawing --------------------------------------------------------------------------------

bool write_dot(std::ostream& out, const system& s, std::size_t most) {
  std::map<std::vector<word>, std::size_t> known;
  std::vector<std::vector<word>> states;
  std::ostringstream text;
  const auto quoted = [](const std::string& raw) {
    std::string safe;
    for (const char c : raw) safe += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return safe;
  };
  const auto number = [&](const word* state) {
    std::vector<word> key{state, state + s.words()};
    const auto [at, is_new] = known.try_emplace(key, states.size());
    if (is_new) states.push_back(std::move(key));
    return at->second;
  };
  std::vector<std::size_t> invariants;
  for (std::size_t p = 0; p < s.properties().size(); ++p)
    if (s.properties()[p].kind == property_kind::invariant && !s.properties()[p].known_to_fail)
      invariants.push_back(p);

  step_list steps{s.words()};
  s.initial(steps);
  for (std::size_t i = 0; i < steps.size(); ++i) number(steps.state_of(i));
  const std::size_t initial = states.size();
  text << "digraph states {\n  node [shape=box, fontname=monospace, fontsize=10]\n"
       << "  edge [fontname=monospace, fontsize=9]\n";
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states.size() > most) return false;
    const std::vector<word> here = states[i];
    steps.clear();
    if (s.within(here.data())) s.steps(here.data(), steps);
    text << "  " << i << " [label=\"";
    for (const field& f : s.fields(here.data())) text << quoted(text_of(f)) << "\\l";
    text << '"';
    if (i < initial) text << ", peripheries=2";
    if (s.first_violated(invariants, here.data()) < invariants.size()) text << ", color=red";
    if (steps.size() == 0) text << ", style=filled";
    text << "]\n";
    for (std::size_t k = 0; k < steps.size(); ++k)
      text << "  " << i << " -> " << number(steps.state_of(k)) << " [label=\""
           << quoted(s.text_of(steps.label_of(k))) << "\"]\n";
  }
  out << text.str() << "}\n";
  return true;
}

}  // namespace rota::verify
