#include <rota/coop/configuration.h>

#include <algorithm>

namespace rota::coop {

namespace {

// Mixes numbers into a hash, one after the other.
class mixer {
 public:
  void add(std::uint64_t n) noexcept {
    state_ = (state_ ^ n) * 0x9E3779B97F4A7C15u;
    state_ ^= state_ >> 29;
  }
  void add(const value& v) noexcept {
    add(static_cast<std::uint64_t>(v.number));
    add(static_cast<std::uint64_t>(v.kind));
  }
  std::size_t result() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace

bool configuration::operator==(const configuration& other) const {
  return globals == other.globals && tasks == other.tasks && active == other.active &&
         queue == other.queue && pending == other.pending && open == other.open;
}

std::size_t hash_of(const configuration& c) noexcept {
  mixer m;
  for (const value& v : c.globals) m.add(v);
  for (const task_record& t : c.tasks) {
    m.add(t.rest);
    m.add(static_cast<std::uint64_t>(t.phase) << 1 | (t.bound ? 1u : 0u));
    m.add(t.parameter);
  }
  m.add(c.active);
  m.add(c.pending);
  for (task_id f : c.queue) m.add(f);
  for (const call& o : c.open) {
    m.add(o.procedure);
    m.add(o.argument);
  }
  return m.result();
}

configuration initial_configuration(const program& p) {
  configuration c;
  c.globals.resize(p.globals().size());
  c.tasks.push_back({.phase = phase::live, .rest = p.main(), .argument = {}, .parameter = {}});
  const bool in_the_set = p.semantics() == semantics::lagc && is_suspended(p, p.main());
  if (p.language() == language::coopwhile && !in_the_set)
    c.active = 0;
  else
    c.queue.push_back(0);
  return c;
}

bool is_final(const program& p, const configuration& c) {
  if (c.active != no_task || !c.queue.empty() || !c.open.empty()) return false;
  if (p.semantics() != semantics::lagc) return true;
  return std::none_of(c.tasks.begin(), c.tasks.end(),
                      [](const task_record& t) { return t.phase == phase::called; });
}

bool is_blocked(const program& p, const configuration& c, task_id f) {
  const task_record& t = c.tasks[f];
  const statement_kind head = p.at(t.rest).head;
  if (head != statement_kind::await && head != statement_kind::guard) return false;
  const local_step step = evaluate_statement(p, t.rest, environment_of(c, f));
  if (step.effect == local_effect::reaction)
    return c.tasks[step.result.as_task()].phase != phase::ended;
  return step.outcome == local_outcome::blocked;
}

named_state state_of(const program& p, const configuration& c) {
  named_state state;
  for (std::size_t i = 0; i < c.globals.size(); ++i)
    state.emplace_back(p.globals()[i], c.globals[i]);
  for (task_id f = 0; f < c.tasks.size(); ++f)
    if (const task_record& t = c.tasks[f]; t.bound)
      state.emplace_back(parameter_name(p, t.procedure, f), t.parameter);
  std::sort(state.begin(), state.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return state;
}

std::string parameter_name(const program& p, std::uint32_t procedure, task_id f) {
  return p.procedures()[procedure].parameter + '#' + std::to_string(f);
}

}  // namespace rota::coop
