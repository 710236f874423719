// What the page is given, in the words of src/coop/view/run.js, which reads it:
//
//   text      the source in pieces: every other one, from the second on, is a place
//   at        "line:column" of each place
//   code      [head, place] of each instruction, a place of -1 is none; of if and while also the
//             instruction that follows if the condition holds
//   tasks     [procedure, argument] of each task; main has none
//   steps     the first configuration, then what each step changes:
//     r f p     rule, task, place; e events, u updates, k [index, count] of a choice
//     a         who is active from here on, -1 for nobody
//     q         [task, index]: takes the task out of the queue and, unless the index is -1, puts it
//               back there
//     t         [task, look, instruction, whom it awaits] of tasks that look different from here on
//     c         the counter of local steps
//   end       as in traces, without the state
//
// Variables are numbered: the globals, then the parameters of the tasks.

#include <rota/coop/view.h>

#include <rota/coop/trace.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "json.h"
#include "lexer.h"
#include "view_page.h"

namespace rota::coop {

namespace {

using json::add;
using json::key;
using json::member;
using json::separate;

// --- any text -----------------------------------------------------------------------------------

// How many bytes the character of UTF-8 at the front has; 0 if they are none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0u) != 0x80u) return 0;
  // Longer than need be, half of a pair of UTF-16, or beyond the last character.
  const unsigned second = byte(1);
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : length;
}

// What is no text becomes U+FFFD. A '<' could end the script in which the data stands.
void add_text(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const auto c = static_cast<unsigned char>(text.front());
    if (length == 0) {
      out += "\\ufffd";
    } else if (c < 0x20 || c == '<' || c == 0x7F) {
      out += "\\u00";
      out += digits[c >> 4u];
      out += digits[c & 0xFu];
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

// --- one thing each -----------------------------------------------------------------------------

// As the page shows it. JavaScript's numbers are exact up to 2^53, larger ones are text.
void add_value(std::string& out, const value& v) {
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  if (v.is_task())
    add(out, std::string_view("task " + std::to_string(v.number)));
  else if (v.number > exact || v.number < -exact)
    add(out, std::string_view(std::to_string(v.number)));
  else
    add(out, v);
}

// -1 is nobody or nothing.
void add_or_none(std::string& out, std::uint32_t n, std::uint32_t none) {
  if (n == none)
    out += "-1";
  else
    add(out, n);
}

void add_list(std::string& out, std::string_view name, const auto& all, const auto& add_one) {
  key(out, name);
  out += '[';
  for (const auto& one : all) {
    separate(out);
    add_one(one);
  }
  out += ']';
}

// Where a statement ends: before its semicolon, its body or the brace around it. Names of
// procedures and closing braces stand alone.
std::size_t end_of_place(const std::vector<token>& all, std::size_t begin, bool alone) {
  std::size_t end = begin + 1;
  if (alone) return end;
  const auto is_over = [](const token& t) {
    return t.kind == token_kind::end || t.is(";") || t.is("{") || t.is("}");
  };
  while (!is_over(all[end])) ++end;
  return end;
}

}  // namespace

run_view::run_view(const program& p, const run_options& options, view_source source)
    : program_(p), options_(options), source_(std::move(source)) {
  for (const instruction& i : p.instructions())
    if (i.at) places_.emplace(i.at, 0);
  for (const procedure_code& m : p.procedures()) places_.emplace(m.at, 0);
  std::size_t n = 0;
  for (auto& [at, number] : places_) number = n++;
}

// --- a run --------------------------------------------------------------------------------------

run_view::shown_task run_view::shown(const configuration& c, task_id f) const {
  const task_record& t = c.tasks[f];
  if (c.active == f) return {look::active, t.rest, no_task};
  if (t.phase == phase::ended) return {look::ended, t.rest, no_task};
  // Under Sos a task is in the queue from its call on, and may be blocked there.
  const bool can_block = t.phase == phase::live || is_sos(program_.semantics());
  if (!can_block || !is_blocked(program_, c, f))
    return {t.phase == phase::called ? look::called : look::ready, t.rest, no_task};
  const instruction& i = program_.at(t.rest);
  const bool awaits = i.head == statement_kind::await;
  return {look::blocked, t.rest, awaits ? environment_of(c, f)[i.target].as_task() : no_task};
}

void run_view::start(const configuration& c) {
  steps_ = '{';
  add_moves(c, {c.queue.begin(), c.queue.end()});
  add_changes(c);
  steps_ += '}';
}

void run_view::step(const taken_step& s, const configuration& c) {
  const derivation& d = s.what;
  steps_ += ",\n{";
  member(steps_, "r", rule_number(d.by->name));
  member(steps_, "f", d.task);
  if (const auto place = places_.find(d.at); place != places_.end())
    member(steps_, "p", place->second);
  if (!d.events.empty())
    add_list(steps_, "e", d.events, [&](const event& e) {
      steps_ += '[';
      add(steps_, static_cast<unsigned>(e.kind));
      steps_ += ',';
      add_or_none(steps_, e.task, no_task);
      if (e.procedure != no_procedure) {
        steps_ += ',';
        add(steps_, e.procedure);
        steps_ += ',';
        add_value(steps_, e.argument);
      }
      steps_ += ']';
    });
  if (!d.updates.empty())
    add_list(steps_, "u", d.updates, [&](const update& u) {
      steps_ += '[';
      add(steps_, number_of(u));
      steps_ += ',';
      add_value(steps_, u.to);
      steps_ += ']';
    });
  if (s.count > 1) {
    const std::size_t choice[] = {s.index, s.count};
    add_list(steps_, "k", choice, [&](std::size_t n) { add(steps_, n); });
  }
  // Only the task itself and those that it called can have moved.
  std::vector<task_id> moved;
  for (const event& e : d.events)
    if (e.kind == event_kind::call && d.queues_call) moved.push_back(e.task);
  if (c.active != d.task || active_ != d.task) moved.push_back(d.task);
  add_moves(c, moved);
  add_changes(c);
  steps_ += '}';
}

void run_view::add_moves(const configuration& c, const std::vector<task_id>& moved) {
  if (moved.empty()) return;
  add_list(steps_, "q", moved, [&](task_id f) {
    const auto at = std::find(c.queue.begin(), c.queue.end(), f);
    steps_ += '[';
    add(steps_, f);
    steps_ += ',';
    add(steps_, at == c.queue.end() ? -1 : at - c.queue.begin());
    steps_ += ']';
  });
}

void run_view::add_changes(const configuration& c) {
  if (c.active != active_) {
    key(steps_, "a");
    add_or_none(steps_, c.active, no_task);
    active_ = c.active;
  }
  if (c.c != c_) {
    member(steps_, "c", c.c);
    c_ = c.c;
  }
  for (task_id f = static_cast<task_id>(shown_.size()); f < c.tasks.size(); ++f) {
    shown_.emplace_back();
    separate(tasks_);
    tasks_ += '[';
    if (const task_record& t = c.tasks[f]; t.procedure != no_procedure) {
      add(tasks_, t.procedure);
      tasks_ += ',';
      add_value(tasks_, t.argument);
    }
    tasks_ += ']';
  }
  std::vector<task_id> changed;
  for (task_id f = 0; f < c.tasks.size(); ++f)
    if (const shown_task is = shown(c, f); is != shown_[f]) {
      shown_[f] = is;
      changed.push_back(f);
    }
  if (changed.empty()) return;
  add_list(steps_, "t", changed, [&](task_id f) {
    steps_ += '[';
    add(steps_, f);
    steps_ += ',';
    add(steps_, static_cast<unsigned>(shown_[f].how));
    steps_ += ',';
    add(steps_, shown_[f].rest);
    steps_ += ',';
    add_or_none(steps_, shown_[f].awaits, no_task);
    steps_ += ']';
  });
}

void run_view::end(const outcome& o) {
  outcome without_state = o;
  without_state.state.clear();
  end_ = end_record(without_state);
}

std::uint64_t run_view::rule_number(std::string_view name) {
  const auto known = std::find(rules_.begin(), rules_.end(), name);
  const auto number = static_cast<std::uint64_t>(known - rules_.begin());
  if (known == rules_.end()) rules_.push_back(name);
  return number;
}

std::uint64_t run_view::number_of(const update& u) const {
  return u.owner == no_task ? u.slot : program_.globals().size() + u.owner;
}

// --- the page -----------------------------------------------------------------------------------

void run_view::add_places(std::string& out) const {
  const std::string_view text = source_.text;
  const std::vector<token> all = read_tokens(text).all;
  const auto offset = [&](const token& t) {
    return static_cast<std::size_t>(t.text.data() - text.data());
  };
  // They are in the order of the text.
  const auto is_name = [&](position at) {
    return std::ranges::binary_search(program_.procedures(), at, {}, &procedure_code::at);
  };
  std::size_t written = 0;
  const auto add_until = [&](std::size_t end) {
    separate(out);
    add_text(out, text.substr(written, end - written));
    written = end;
  };
  key(out, "text");
  out += '[';
  for (std::size_t i = 0; all[i].kind != token_kind::end; ++i) {
    if (!places_.contains(all[i].at)) continue;
    const std::size_t end = end_of_place(all, i, all[i].is("}") || is_name(all[i].at));
    add_until(offset(all[i]));
    add_until(offset(all[end - 1]) + all[end - 1].text.size());
    i = end - 1;
  }
  add_until(text.size());
  out += ']';
}

std::string run_view::data() const {
  const program& p = program_;
  std::string out = "{";
  key(out, "file");
  add_text(out, source_.file);
  member(out, "language", name_of(p.language()));
  member(out, "semantics", name_of(p.semantics()));
  // Of both only the text is shown.
  if (!is_scheduler(p.semantics()) && !options_.picks)
    member(out, "seed", std::string_view(std::to_string(options_.seed)));
  member(out, "limit", std::string_view(std::to_string(options_.limit)));
  add_list(out, "globals", p.globals(), [&](const std::string& name) { add_text(out, name); });
  add_list(out, "procedures", p.procedures(), [&](const procedure_code& m) {
    out += '[';
    add_text(out, m.name);
    out += ',';
    add_text(out, m.parameter);
    out += ']';
  });
  add_list(out, "rules", rules_, [&](std::string_view name) { add(out, name); });
  add_places(out);
  add_list(out, "at", places_, [&](const auto& place) { add(out, place.first); });
  add_list(out, "code", p.instructions(), [&](const instruction& i) {
    out += '[';
    add(out, name_of(i.head));
    out += ',';
    if (i.at)
      add(out, places_.at(i.at));
    else
      out += "-1";
    if (i.head == statement_kind::if_ || i.head == statement_kind::while_) {
      out += ',';
      add(out, i.body);
    }
    out += ']';
  });
  out += ",\n\"tasks\":[" + tasks_ + "],\n\"steps\":[" + steps_ + "],\n\"end\":" + end_ + '}';
  return out;
}

void run_view::write_page(std::ostream& out) const {
  constexpr std::string_view place = "{{data}}";
  constexpr std::size_t at = view_page.find(place);
  static_assert(at != std::string_view::npos);
  out << view_page.substr(0, at) << data() << view_page.substr(at + place.size());
}

}  // namespace rota::coop
