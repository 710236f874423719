#include "verify/checker/search.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>

namespace rota::verify::detail {

namespace {

constexpr std::size_t batch = 64;    // steps that are looked up together
constexpr std::size_t portion = 64;  // states that a worker takes from a level at a time

using counter = real_sync::atomic<std::uint64_t>;

// Only its worker writes it.
void add(counter& c, std::uint64_t n) noexcept {
  c.store(c.load(real_sync::memory_order_relaxed) + n, real_sync::memory_order_relaxed);
}

}  // namespace

struct search::source {
  state_id id;
  std::size_t end;
};

struct alignas(128) search::worker {
  worker(std::size_t words, std::size_t actions) : steps(words), taken(actions) {}

  state_table::writer writer;
  // The batch: steps out of some states, and where the steps of each end.
  step_list steps;
  std::vector<source> sources;
  std::vector<state_table::hash_value> hashes;
  std::vector<state_id> found;  // for the next level
  std::vector<std::uint64_t> taken;
  std::uint64_t uncounted = 0;
  std::uint64_t deadlocks = 0;
  std::uint64_t represented = 0;  // states that the expanded ones stand for, and their steps
  std::uint64_t represented_steps = 0;
  counter distinct{0};
  counter generated{0};
};

search::search(const system& s, const check_options& o, std::vector<std::size_t> properties)
    : system_(s),
      options_(o),
      properties_(std::move(properties)),
      counts_every_(o.max_states ? std::clamp<std::uint64_t>(o.max_states / 8, 1, 256) : 256),
      table_(s.words()),
      meeting_(o.workers),
      violations_(s.properties().size()),
      is_violated_(s.properties().size()) {
  for (const std::size_t p : properties_) {
    const auto kind = s.properties()[p].kind;
    if (kind == property_kind::invariant) invariants_.push_back(p);
    if (kind == property_kind::deadlock_free) deadlock_free_ = p;
  }
  for (unsigned i = 0; i < o.workers; ++i)
    workers_.push_back(std::make_unique<worker>(s.words(), s.actions().size()));
}

search::~search() = default;

void search::stop(outcome why) noexcept {
  const std::lock_guard guard{lock_};
  if (!stopping_.exchange(true)) how_ = why;
}

void search::fail(std::exception_ptr e) noexcept {
  const std::lock_guard guard{lock_};
  if (!failure_) failure_ = std::move(e);
  stopping_ = true;
}

void search::violated(std::size_t property, const word* s, state_id from) {
  if (is_violated_[property].load(real_sync::memory_order_relaxed) ||
      is_violated_[property].exchange(true))
    return;
  {
    const std::lock_guard guard{lock_};
    violations_[property] = violation{from, {s, s + system_.words()}};
  }
  if (options_.stop_at_first) stop(outcome::violation);
}

void search::look_at(const word* s, state_id from) {
  const std::span<const std::size_t> all{invariants_};
  for (std::size_t i = 0; (i += system_.first_violated(all.subspan(i), s)) < all.size(); ++i)
    violated(all[i], s, from);
}

void search::add_initial() {
  worker& w = *workers_[0];
  w.steps.clear();
  system_.initial(w.steps);
  initial_ = w.steps.size();
  add(w.generated, initial_);
  for (std::size_t i = 0; i < w.steps.size(); ++i) {
    word* s = w.steps.state_of(i);
    if (options_.symmetry) system_.make_canonical(s);
    if (!system_.within(s)) {
      look_at(s, no_state);
      continue;
    }
    if (table_.is_crowded(level_.size())) table_.grow();
    const auto [id, is_new] = table_.insert(w.writer, s, no_state);
    if (!is_new) continue;
    look_at(s, no_state);
    level_.push_back(id);
  }
  w.steps.clear();
  add(w.distinct, level_.size());
  states_ = level_.size();
  depth_ = level_.empty() ? 0 : 1;
  widths_.push_back(level_.size());
  finished_ = level_.empty();
  crowded_ = table_.is_crowded(level_.size());
}

// Adds the steps of a state to the worker's batch.
void search::expand(worker& w, state_id id) {
  const word* s = table_.state(id);
  const std::size_t before = w.steps.size();
  system_.steps(s, w.steps);
  const std::size_t count = w.steps.size() - before;
  w.sources.push_back({id, w.steps.size()});
  const std::size_t orbit = options_.symmetry ? system_.orbit(s) : 1;
  w.represented += orbit;
  w.represented_steps += orbit * count;
  if (count == 0) {
    w.deadlocks += orbit;
    if (deadlock_free_) violated(*deadlock_free_, s, table_.from(id));
  }
}

// Puts the states of the batch into the table. All of a batch's memory is asked for before the
// first state is looked up.
void search::finish_batch(worker& w) {
  const std::size_t count = w.steps.size();
  add(w.generated, count);
  w.hashes.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (options_.symmetry) system_.make_canonical(w.steps.state_of(i));
    w.hashes[i] = table_.hash(w.steps.state_of(i));
    table_.fetch_slot(w.hashes[i]);
  }
  for (std::size_t i = 0; i < count; ++i) table_.fetch_state(w.hashes[i]);
  std::size_t i = 0;
  for (const source& from : w.sources)
    for (; i < from.end; ++i) {
      ++w.taken[w.steps.label_of(i).action];
      if (!take(w, w.steps.state_of(i), w.hashes[i], from.id)) return;
    }
  w.steps.clear();
  w.sources.clear();
}

// False if the search is over.
bool search::take(worker& w, const word* s, state_table::hash_value h, state_id from) {
  if (!system_.within(s)) {
    look_at(s, from);
    return true;
  }
  if (crowded_.load(real_sync::memory_order_relaxed)) [[unlikely]] {
    meet(false);
    if (finished_) return false;
  }
  const auto [to, is_new] = table_.insert(w.writer, s, h, from);
  if (!is_new) return true;
  look_at(s, from);
  w.found.push_back(to);
  add(w.distinct, 1);
  if (++w.uncounted == counts_every_) {
    w.uncounted = 0;
    const std::uint64_t all =
        states_.fetch_add(counts_every_, real_sync::memory_order_relaxed) + counts_every_;
    if (table_.is_crowded(all + counts_every_ * options_.workers)) crowded_ = true;
    if (options_.max_states && all >= options_.max_states) stop(outcome::max_states);
    if (options_.max_bytes && bytes() > options_.max_bytes) stop(outcome::max_memory);
  }
  return true;
}

bool search::expand_some(worker& w) {
  const std::size_t begin = taken_.fetch_add(portion, real_sync::memory_order_relaxed);
  if (begin >= level_.size()) return false;
  const std::size_t end = std::min(begin + portion, level_.size());
  for (std::size_t i = begin; i < end && !stopping_.load(real_sync::memory_order_relaxed); ++i) {
    expand(w, level_[i]);
    if (w.steps.size() >= batch || i + 1 == end) finish_batch(w);
  }
  return true;
}

void search::meet(bool level_is_done) {
  meeting_.arrive(level_is_done, [this](unsigned done) { turn(done); });
}

// Nobody else runs.
void search::turn(unsigned done) {
  try {
    if (crowded_) {
      if (options_.max_bytes && bytes() + table_.bytes_to_grow() > options_.max_bytes)
        stop(outcome::max_memory);
      else
        table_.grow();
      crowded_ = false;
    }
    if (!stopping_ && done == options_.workers) {
      level_.clear();
      for (const auto& w : workers_) {
        level_.insert(level_.end(), w->found.begin(), w->found.end());
        w->found.clear();
      }
      taken_ = 0;
      if (level_.empty()) {
        finished_ = true;
      } else {
        ++depth_;
        widths_.push_back(level_.size());
      }
    }
  } catch (const std::bad_alloc&) {
    stop(outcome::max_memory);
  } catch (...) {
    fail(std::current_exception());
  }
  if (stopping_) finished_ = true;
}

void search::work(worker& w, bool reports) {
  while (!finished_) {
    try {
      while (!stopping_.load(real_sync::memory_order_relaxed) && !finished_ && expand_some(w)) {
        if (!reports) continue;
        tell();
        if (options_.stop.stop_requested()) stop(outcome::stopped);
      }
    } catch (const std::bad_alloc&) {
      stop(outcome::max_memory);
    } catch (...) {
      fail(std::current_exception());
    }
    if (!finished_) meet(true);
  }
}

void search::run() {
  add_initial();
  std::vector<real_sync::thread> others;
  for (unsigned i = 1; i < options_.workers; ++i)
    others.emplace_back([this, i] { work(*workers_[i], false); });
  work(*workers_[0], true);
  for (auto& t : others) t.join();
  if (failure_) std::rethrow_exception(failure_);
}

progress search::now() const {
  progress p;
  for (const auto& w : workers_) {
    p.distinct += w->distinct.load(real_sync::memory_order_relaxed);
    p.generated += w->generated.load(real_sync::memory_order_relaxed);
  }
  const std::size_t expanded =
      std::min(taken_.load(real_sync::memory_order_relaxed), level_.size());
  std::uint64_t before = 0;
  for (const std::size_t width : widths_) before += width;
  p.queued = p.distinct - before + (level_.size() - expanded);
  p.depth = depth_;
  p.bytes = bytes();
  p.seconds = std::chrono::duration<double>(real_sync::now() - began_).count();
  if (widths_.size() >= 3) {
    const auto last = static_cast<double>(widths_.back());
    const double ratio = last / static_cast<double>(widths_[widths_.size() - 2]);
    if (ratio < 0.95) p.estimate = before + static_cast<std::uint64_t>(last * ratio / (1 - ratio));
  }
  return p;
}

std::size_t search::bytes() const noexcept {
  // What is listed for the next level is about as much as this one's list.
  return table_.bytes() + 2 * level_.capacity() * sizeof(state_id);
}

void search::tell() {
  if (!options_.on_progress) return;
  const auto t = real_sync::now();
  if (t - told_ < tells_every) return;
  told_ = t;
  options_.on_progress(now());
}

trace search::trace_to(state_id id) const {
  std::vector<state_id> way;
  for (state_id i = id; i != no_state; i = table_.from(i)) way.push_back(i);
  std::reverse(way.begin(), way.end());
  trace t;
  for (const state_id i : way) extend(t, table_.state(i));
  return t;
}

// Adds the step that leads from the end of the trace to a state or, with symmetry, to one of those
// that it stands for.
void search::extend(trace& t, const word* to) const {
  const std::size_t words = system_.words();
  step_list steps{words};
  if (t.steps.empty())
    system_.initial(steps);
  else
    system_.steps(t.steps.back().state.data(), steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<word> state{steps.state_of(i), steps.state_of(i) + words};
    if (options_.symmetry) system_.make_canonical(steps.state_of(i));
    if (std::memcmp(steps.state_of(i), to, words * sizeof(word)) != 0) continue;
    trace_step step{std::nullopt, state};
    if (!t.steps.empty()) step.by = steps.label_of(i);
    t.steps.push_back(std::move(step));
    return;
  }
  throw std::logic_error("a model gave different steps for the same state");
}

void search::report(check_result& r) const {
  r.how = how_;
  r.symmetry = options_.symmetry;
  r.depth = depth_;
  r.taken.assign(system_.actions().size(), 0);
  for (const auto& w : workers_) {
    r.representatives += w->distinct.load(real_sync::memory_order_relaxed);
    r.representatives_generated += w->generated.load(real_sync::memory_order_relaxed);
    r.distinct += w->represented;
    r.generated += w->represented_steps;
    r.deadlocks += w->deadlocks;
    for (std::size_t a = 0; a < r.taken.size(); ++a) r.taken[a] += w->taken[a];
  }
  if (options_.symmetry) {
    r.generated += initial_;
  } else {
    r.distinct = r.representatives;
    r.generated = r.representatives_generated;
  }
  r.bytes = bytes();
  for (const std::size_t p : properties_) {
    property_result result;
    result.property = p;
    if (const auto& v = violations_[p]) {
      result.result = verdict::violated;
      if (v->from != no_state) result.counterexample = trace_to(v->from);
      extend(result.counterexample, v->state.data());
    } else if (how_ == outcome::complete) {
      const auto kind = system_.properties()[p].kind;
      if (kind == property_kind::invariant || kind == property_kind::deadlock_free)
        result.result = verdict::holds;
    }
    r.properties.push_back(std::move(result));
  }
}

}  // namespace rota::verify::detail
