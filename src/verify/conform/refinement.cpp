#include <rota/verify/conform/refinement.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <unordered_set>

namespace rota::verify::detail {

namespace {

// A report lists this many ways on, those that lead closest to what was seen first.
constexpr std::size_t most_listed = 10;

// A report looks this far for a longer way: the code may have shown several steps as one.
constexpr unsigned most_steps_at_once = 3;
constexpr std::size_t most_states_looked_at = 20'000;

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

// The value of a field, which not every state has.
std::string value_of(const std::vector<field>& all, const std::string& name) {
  for (const field& f : all)
    if (f.first == name) return f.second;
  return "-";
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::size_t refinement_core::hash::operator()(const words& w) const noexcept {
  std::uint64_t h = w.size();
  for (const word x : w) {
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
  }
  return static_cast<std::size_t>(h);
}

refinement_core::refinement_core(const system& model, settings s)
    : model_(model),
      settings_(std::move(s)),
      words_(model.words()),
      hidden_(model.actions().size()),
      pair_(2 * words_) {
  for (const unsigned a : settings_.hidden) {
    if (a >= hidden_.size())
      throw std::invalid_argument("refinement: the model has no action " + std::to_string(a));
    hidden_[a] = true;
  }
  const auto& all = model_.properties();
  const auto is_invariant = [](const property& p) { return p.kind == property_kind::invariant; };
  for (const std::string& name : settings_.invariants)
    if (std::none_of(all.begin(), all.end(),
                     [&](const property& p) { return is_invariant(p) && p.name == name; }))
      throw std::invalid_argument("refinement: the model has no invariant '" + name + "'");
  for (std::size_t p = 0; p < all.size(); ++p) {
    const auto& chosen = settings_.invariants;
    const bool wanted = chosen.empty()
                            ? !all[p].known_to_fail
                            : std::find(chosen.begin(), chosen.end(), all[p].name) != chosen.end();
    if (is_invariant(all[p]) && wanted) invariants_.push_back(p);
  }
  counts_.taken.resize(hidden_.size());
}

std::string refinement_core::never_taken() const {
  std::string names;
  for (std::size_t a = 0; a < counts_.taken.size(); ++a)
    if (counts_.taken[a] == 0) names += (names.empty() ? "" : " ") + model_.actions()[a].name;
  return names;
}

// --- following ----------------------------------------------------------------------------------

bool refinement_core::is_seen(const words& s) const {
  const auto now = pair_.begin() + static_cast<std::ptrdiff_t>(words_);
  if (!settings_.forget) return std::equal(s.begin(), s.end(), now);
  words looks = s;
  forget(looks.data());
  return std::equal(looks.begin(), looks.end(), now);
}

std::string refinement_core::violated(const word* s) const {
  const std::size_t first = model_.first_violated(invariants_, s);
  return first < invariants_.size() ? model_.properties()[invariants_[first]].name : "";
}

bool refinement_core::begin() {
  ++counts_.executions;
  divergence_.reset();
  step_ = 0;
  forget(seen());
  step_list starts{words_};
  model_.initial(starts);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const words start{starts.state_of(i), starts.state_of(i) + words_};
    if (!is_seen(start)) continue;
    if (const std::string broken = violated(start.data()); !broken.empty())
      return diverge({divergence::kind::invariant, 0, broken}, {},
                     "'" + broken + "' does not hold at first", sides(nullptr, ""));
    std::copy_n(seen(), words_, last());
    return true;
  }
  return diverge({divergence::kind::initial, 0, violated(seen())}, {},
                 "the model does not begin like this", right_starts());
}

bool refinement_core::observe(std::string_view event) {
  if (divergence_) return false;
  ++step_;
  forget(seen());
  if (std::equal(seen(), seen() + words_, last())) {
    ++counts_.stutters;
    return true;
  }
  auto known = accepted_.find(pair_);
  if (known == accepted_.end()) {
    if (!accept(event)) return false;
    known = accepted_.find(pair_);
  }
  ++counts_.steps;
  for (const std::uint16_t a : known->second) ++counts_.taken[a];
  std::copy_n(seen(), words_, last());
  return true;
}

// Looks for a way from the last state to the one seen, and remembers it.
bool refinement_core::accept(std::string_view event) {
  std::vector<reached> all;
  const std::size_t at = explore(all, {1, ~std::size_t{0}});
  if (at == all.size())
    return diverge({divergence::kind::step, step_, violated(seen())}, event,
                   "no step of the model leads from the last state to this one", right_steps());
  const way taken = way_to(all, at);
  if (const std::string broken = violated(all[at].at.data()); !broken.empty())
    return diverge({divergence::kind::invariant, step_, broken}, event,
                   "'" + broken + "' does not hold after " + text_of(taken), sides(last(), "last"));
  if (accepted_.size() >= settings_.most_remembered) accepted_.clear();
  auto& actions = accepted_[pair_];
  for (const label l : taken) actions.push_back(l.action);
  return true;
}

std::size_t refinement_core::explore(std::vector<reached>& all, bounds b) const {
  std::unordered_set<words, hash> known;
  const auto is_new = [&](const reached& r) {
    words key = r.at;
    key.push_back(r.shown * word{settings_.most_hidden + 1} + r.hidden);
    return known.insert(std::move(key)).second;
  };
  step_list steps{words_};
  all.push_back(
      {words(pair_.begin(), pair_.begin() + static_cast<std::ptrdiff_t>(words_)), 0, {}, 0, 0});
  for (std::size_t i = 0; i < all.size() && all.size() < b.states; ++i) {
    steps.clear();
    model_.steps(all[i].at.data(), steps);
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const bool hides = is_hidden(steps.label_of(k));
      reached next{words(steps.state_of(k), steps.state_of(k) + words_), i, steps.label_of(k),
                   all[i].shown + (hides ? 0 : 1), hides ? all[i].hidden + 1 : 0};
      if (next.shown > b.shown || next.hidden > settings_.most_hidden || !is_new(next)) continue;
      all.push_back(std::move(next));
      if (is_seen(all.back().at)) return all.size() - 1;
    }
  }
  return all.size();
}

refinement_core::way refinement_core::way_to(const std::vector<reached>& all,
                                             std::size_t at) const {
  way back;
  for (; at != 0; at = all[at].from) back.push_back(all[at].by);
  std::reverse(back.begin(), back.end());
  return back;
}

// --- reporting ----------------------------------------------------------------------------------

bool refinement_core::diverge(divergence d, std::string_view event, const std::string& what,
                              const std::string& right) {
  d.text = (d.step == 0 ? "begin" : "step " + std::to_string(d.step)) +
           (event.empty() ? "" : ", " + std::string(event)) + ": " + what + "\n" + right;
  if (d.what != divergence::kind::invariant && !d.invariant.empty())
    d.text += "'" + d.invariant + "' does not hold now\n";
  divergence_ = std::move(d);
  return false;
}

std::string refinement_core::right_starts() const {
  step_list starts{words_};
  model_.initial(starts);
  const word* const now = pair_.data() + words_;
  std::vector<words> all;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    all.emplace_back(starts.state_of(i), starts.state_of(i) + words_);
    forget(all.back().data());
  }
  if (all.empty()) return "the model has no initial state\n";
  const auto closest =
      std::min_element(all.begin(), all.end(), [&](const words& x, const words& y) {
        return distance(now, x.data()) < distance(now, y.data());
      });
  return sides(closest->data(), "at first");
}

// Both states, then what the model would do.
std::string refinement_core::right_steps() const {
  const word* const before = pair_.data();
  const word* const now = before + words_;
  std::string text = sides(before, "last");

  std::vector<reached> all;
  explore(all, {1, ~std::size_t{0}});
  struct line {
    std::string way;
    std::string leads_to;
  };
  std::multimap<std::size_t, line> lines;  // by how far from what was seen
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].shown == 1 && all[i].hidden > 0) continue;  // more of what was listed already
    words looks = all[i].at;
    forget(looks.data());
    const std::string changes = differences(before, looks.data());
    lines.emplace(distance(now, looks.data()),
                  line{text_of(way_to(all, i)), changes.empty() ? "(the same)" : changes});
  }
  text += lines.empty() ? "the model allows no step here\n" : "the model allows here:\n";
  const std::size_t listed = std::min(lines.size(), most_listed);
  const auto end = std::next(lines.begin(), static_cast<std::ptrdiff_t>(listed));
  std::size_t longest = 0;
  for (auto l = lines.begin(); l != end; ++l) longest = std::max(longest, l->second.way.size());
  for (auto l = lines.begin(); l != end; ++l)
    text += "  " + padded(l->second.way, longest + 3) + l->second.leads_to + "\n";
  if (listed < lines.size())
    text +=
        "  and " + std::to_string(lines.size() - listed) + " more, further from what was seen\n";

  all.clear();
  if (const std::size_t at = explore(all, {most_steps_at_once, most_states_looked_at});
      at < all.size())
    text += "the model gets there in several steps: " + text_of(way_to(all, at)) +
            "; observe in between, or let one of them be hidden\n";
  return text;
}

// The fields of two states side by side; of the one seen alone if there is none before.
std::string refinement_core::sides(const word* before, std::string_view name) const {
  const auto right = model_.fields(pair_.data() + words_);
  const auto left = before ? model_.fields(before) : std::vector<field>{};
  std::size_t names = 0;
  std::size_t values = name.size();
  for (const field& f : right) names = std::max(names, f.first.size());
  for (const field& f : left) values = std::max(values, f.second.size());
  const auto row = [&](const std::string& first, const std::string& second,
                       const std::string& third, bool differs) {
    const std::string middle = before ? padded(second, values + 2) : "";
    return trimmed((differs ? "* " : "  ") + padded(first, names + 2) + middle + third) + "\n";
  };
  std::string text = row("", std::string(name), "now", false);
  for (const auto& [what, value] : right) {
    const std::string was = before ? value_of(left, what) : value;
    text += row(what, was, value, was != value);
  }
  return text;
}

std::string refinement_core::text_of(const way& w) const {
  std::string text;
  for (const label l : w) text += (text.empty() ? "" : ", ") + model_.text_of(l);
  return text;
}

std::string refinement_core::differences(const word* from, const word* to) const {
  const auto before = model_.fields(from);
  std::string text;
  for (const auto& [name, value] : model_.fields(to))
    if (value_of(before, name) != value) text += (text.empty() ? "" : "   ") + name + " = " + value;
  return text;
}

std::size_t refinement_core::distance(const word* from, const word* to) const {
  const auto before = model_.fields(from);
  std::size_t count = 0;
  for (const auto& [name, value] : model_.fields(to)) count += value_of(before, name) != value;
  return count;
}

}  // namespace rota::verify::detail
