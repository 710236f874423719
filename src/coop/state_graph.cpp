#include "state_graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace rota::coop {

namespace {

// --- numbers as bytes ---------------------------------------------------------------------------

// Seven bits each, the lowest first; all but the last have the highest bit set.
void put(std::string& out, std::uint64_t n) {
  for (; n >= 0x80; n >>= 7) out += static_cast<char>(n | 0x80);
  out += static_cast<char>(n);
}

// Small numbers are short, whatever their sign.
void put(std::string& out, const value& v) {
  const auto bits = static_cast<std::uint64_t>(v.number);
  put(out, static_cast<std::uint64_t>(v.kind));
  put(out, v.number < 0 ? ~bits << 1 | 1 : bits << 1);
}

class reader {
 public:
  explicit reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t n = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[next_++]);
      n |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return n;
    }
  }
  std::uint32_t short_number() { return static_cast<std::uint32_t>(number()); }
  value one_value() {
    const auto kind = static_cast<value_kind>(number());
    const std::uint64_t n = number();
    return {static_cast<std::int64_t>(n & 1 ? ~(n >> 1) : n >> 1), kind};
  }

 private:
  std::string_view bytes_;
  std::size_t next_ = 0;
};

// --- tasks --------------------------------------------------------------------------------------

constexpr std::uint64_t is_bound = 4;  // beside the phase

// Numbers that may be the highest there is are short if they are: main's procedure, nobody.
constexpr std::uint32_t plus_one(std::uint32_t n) { return n + 1; }

// The argument of a call matters until the parameter is bound to it, or for ever if it is a name.
bool has_argument(const task_record& t, task_names names) {
  return names == task_names::do_not || (t.phase == phase::called && !t.bound);
}

void put(std::string& out, const task_record& t, task_names names) {
  put(out, static_cast<std::uint64_t>(t.phase) | (t.bound ? is_bound : 0));
  put(out, plus_one(t.procedure));
  put(out, t.rest);
  if (t.bound) put(out, t.parameter);
  if (has_argument(t, names)) put(out, t.argument);
}

task_record read_task(reader& in, task_names names) {
  task_record t;
  const std::uint64_t flags = in.number();
  t.phase = static_cast<phase>(flags & (is_bound - 1));
  t.bound = (flags & is_bound) != 0;
  t.procedure = in.short_number() - 1;
  t.rest = in.short_number();
  if (t.bound) t.parameter = in.one_value();
  if (has_argument(t, names))
    t.argument = in.one_value();
  else if (t.phase == phase::called)
    t.argument = t.parameter;
  return t;
}

// Of a task or an open call: what was called.
auto key_of(const auto& called) {
  return std::tuple(called.procedure, called.argument.kind, called.argument.number);
}

// Of the tasks that are not active, those with a continuation: lagc binds the parameter of a task
// when it starts, sos has one from the call on.
bool is_queued(const task_record& t) {
  return t.phase == phase::live || (t.phase == phase::called && t.bound);
}

}  // namespace

task_names names_in(const program& p) noexcept {
  return p.language() == language::coopwhile ? task_names::matter : task_names::do_not;
}

// Main stays in front. Those with the same key stay in the order in which they started.
std::vector<task_id> packed_order(const configuration& c, task_names names) {
  std::vector<task_id> order(c.tasks.size());
  std::iota(order.begin(), order.end(), task_id{0});
  if (names == task_names::do_not)
    std::sort(order.begin() + 1, order.end(), [&](task_id a, task_id b) {
      return std::pair(key_of(c.tasks[a]), a) < std::pair(key_of(c.tasks[b]), b);
    });
  return order;
}

std::string pack(const configuration& c, task_names names) {
  std::string out;
  put(out, c.globals.size());
  for (const value& v : c.globals) put(out, v);
  put(out, c.tasks.size());
  for (task_id f : packed_order(c, names)) put(out, c.tasks[f], names);
  put(out, plus_one(c.active));
  std::vector<call> open = c.open;
  std::sort(open.begin(), open.end(),
            [](const call& a, const call& b) { return key_of(a) < key_of(b); });
  put(out, open.size());
  for (const call& o : open) {
    put(out, o.procedure);
    put(out, o.argument);
  }
  return out;
}

configuration unpack(std::string_view packed, task_names names) {
  reader in{packed};
  configuration c;
  c.globals.resize(in.number());
  for (value& v : c.globals) v = in.one_value();
  c.tasks.resize(in.number());
  for (task_record& t : c.tasks) t = read_task(in, names);
  c.active = in.short_number() - 1;
  for (task_id f = 0; f < c.tasks.size(); ++f)
    if (f != c.active && is_queued(c.tasks[f])) c.queue.push_back(f);
  c.open.resize(in.number());
  for (call& o : c.open) {
    o.procedure = in.short_number();
    o.argument = in.one_value();
  }
  return c;
}

// --- the graph ----------------------------------------------------------------------------------

std::string_view state_graph::packed(state_number n) const {
  const std::uint64_t end = n + 1 < states_.size() ? states_[n + 1].begin : bytes_.size();
  return std::string_view(bytes_).substr(states_[n].begin, end - states_[n].begin);
}

// The table compares states by their numbers, so a new one is put in its place first.
state_number state_graph::add(const configuration& c, graph_step from) {
  const auto n = static_cast<state_number>(states_.size());
  states_.push_back({.begin = bytes_.size(), .parent = from, .quiescent = coop::is_quiescent(c)});
  bytes_ += pack(c, names_);
  const bool full = n >= std::min<std::uint64_t>(most_states_, unknown_state) ||
                    (n > 0 && bytes_.size() > most_bytes_);
  const auto at = known_.find(n);
  if (at == known_.end() && !full) {
    known_.insert(n);
    return n;
  }
  const state_number found = at == known_.end() ? unknown_state : *at;
  bytes_.resize(states_.back().begin);
  states_.pop_back();
  return found;
}

void state_graph::add_edges(const std::vector<graph_edge>& edges) {
  edges_.insert(edges_.end(), edges.begin(), edges.end());
  for (const graph_edge& e : edges) steps_ += e.to != no_state ? 1 : 0;
  choices_ += edges.size() > 1 ? 1 : 0;
  expanded_.push_back(edges_.size());
}

std::span<const graph_edge> state_graph::edges(state_number n) const {
  const std::uint64_t begin = n > 0 ? expanded_[n - 1] : 0;
  return std::span(edges_).subspan(begin, expanded_[n] - begin);
}

graph_path state_graph::path_to(state_number n) const {
  graph_path path;
  for (; n != 0; n = states_[n].parent.from) path.push_back(states_[n].parent);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace rota::coop
