#include "job/due_queue.h"

#include <rota/base/assert.h>

#include <algorithm>
#include <utility>

namespace rota::job {

std::uint32_t due_queue::add_limit(std::uint32_t cap) {
  limits_.emplace_back().cap = cap;
  return static_cast<std::uint32_t>(limits_.size() - 1);
}

std::uint32_t due_queue::add_group(std::vector<std::uint32_t> limits) {
  const auto g = static_cast<std::uint32_t>(groups_.size());
  for (const std::uint32_t l : limits) limits_[l].groups.push_back(g);
  groups_.emplace_back().limits = std::move(limits);
  return g;
}

// Its groups are looked at if that makes a difference to them.
template <class F>
void due_queue::change(limit& l, F f) {
  const bool before = l.is_reached();
  f();
  if (before == l.is_reached()) return;
  for (const std::uint32_t g : l.groups) refresh(groups_[g]);
}

void due_queue::set_cap(std::uint32_t l, std::uint32_t cap) {
  change(limits_[l], [&] { limits_[l].cap = cap; });
}

void due_queue::offer(std::optional<due_key>& now, std::optional<due_key> wanted, keys& to) {
  if (now == wanted) return;
  if (now) to.erase(*now);
  if (wanted) to.insert(*wanted);
  now = wanted;
}

void due_queue::refresh(lane& l) {
  group& g = groups_[l.group];
  offer(l.offer, l.busy || l.rows.empty() ? std::nullopt : std::optional(*l.rows.begin()), g.rows);
  refresh(g);
}

void due_queue::refresh(group& g) {
  const bool closed =
      g.rows.empty() || std::any_of(g.limits.begin(), g.limits.end(),
                                    [&](std::uint32_t l) { return limits_[l].is_reached(); });
  offer(g.offer, closed ? std::nullopt : std::optional(*g.rows.begin()), offers_);
}

void due_queue::push(const queued_run& r, bool busy) {
  all_.emplace(r.key, r);
  for (const std::uint32_t l : groups_[r.group].limits) ++limits_[l].waiting;
  if (r.passed >= passes_) at_limit_.insert(r.key);
  if (r.alone) {
    lane& l = lanes_[r.job];
    l.group = r.group;
    l.busy = busy;
    l.rows.insert(r.key);
    refresh(l);
  } else {
    groups_[r.group].rows.insert(r.key);
    refresh(groups_[r.group]);
  }
}

queued_run due_queue::take(due_key k) {
  const auto at = all_.find(k);
  ROTA_ASSERT(at != all_.end(), "run %lld is not in the queue", static_cast<long long>(k.id));
  const queued_run r = at->second;
  all_.erase(at);
  at_limit_.erase(k);
  for (const std::uint32_t l : groups_[r.group].limits) --limits_[l].waiting;
  if (r.alone) {
    const auto of_job = lanes_.find(r.job);
    lane& l = of_job->second;
    l.rows.erase(k);
    refresh(l);
    if (l.rows.empty()) lanes_.erase(of_job);
  } else {
    groups_[r.group].rows.erase(k);
    refresh(groups_[r.group]);
  }
  return r;
}

const queued_run* due_queue::find(due_key k) const {
  const auto at = all_.find(k);
  return at == all_.end() ? nullptr : &at->second;
}

const queued_run* due_queue::next() const {
  if (offers_.empty()) return nullptr;
  const due_key first = *offers_.begin();
  if (!at_limit_.empty() && *at_limit_.begin() < first) return nullptr;
  return find(first);
}

queued_run due_queue::launch(due_key k) {
  if (passes_ != no_limit)
    for (auto at = all_.begin(); at->first < k; ++at)
      if (++at->second.passed == passes_) at_limit_.insert(at->first);
  return take(k);
}

void due_queue::job_is_busy(job_index job, bool busy) {
  const auto at = lanes_.find(job);
  if (at == lanes_.end()) return;
  at->second.busy = busy;
  refresh(at->second);
}

void due_queue::group_uses(std::uint32_t g, int more) {
  for (const std::uint32_t l : groups_[g].limits)
    change(limits_[l], [&] { limits_[l].used += static_cast<std::uint32_t>(more); });
}

}  // namespace rota::job
