#include "job/missed.h"

#include <algorithm>
#include <limits>

namespace rota::job {

namespace {

constexpr std::size_t most_alone = 1'000;     // skipped instants of a job with a row each
constexpr std::size_t least_counted = 32;     // also if all jobs together have taken too many
constexpr std::size_t most_counted = 20'000;  // steps for one job

// What has passed: the newest ones, and of the older ones how many. Those beyond the deadline are
// counted apart.
struct passage {
  std::vector<instant> newest;         // oldest first
  std::vector<passed_instants> older;  // at most two
};

// The instants from `first` to `last`, both of which are some.
passed_instants count_instants(const schedule& when, instant anchor, instant first, instant last,
                               missed_budget& budget) {
  std::uint64_t n = 1;
  instant at = when.next(first, anchor).value_or(instant::max());
  if (when.what() == schedule::kind::every) {
    n += static_cast<std::uint64_t>((last - first) / (at - first));
    at = instant::max();
  } else {
    const std::size_t most = std::min(most_counted, std::max(budget.steps, least_counted));
    for (; at <= last && n <= most; ++n) at = when.next(at, anchor).value_or(instant::max());
    budget.steps -= std::min(budget.steps, static_cast<std::size_t>(n));
  }
  constexpr std::uint64_t most_told = std::numeric_limits<std::uint32_t>::max() / 2;
  return {first,
          last,
          static_cast<std::uint32_t>(std::min(n, most_told)),
          at <= last || n > most_told,
          reason::none,
          trigger::schedule};
}

passage walk_back(const schedule& when, const job_times& job, instant now, instant too_old,
                  std::size_t wanted, missed_budget& budget) {
  passage p;
  std::optional<instant> at = when.prev(now + milliseconds{1}, job.anchor);
  for (; at && *at > job.cursor && p.newest.size() < wanted; at = when.prev(*at, job.anchor))
    p.newest.push_back(*at);
  budget.steps -= std::min(budget.steps, p.newest.size());
  if (p.newest.empty()) p.newest.push_back(job.next);
  std::reverse(p.newest.begin(), p.newest.end());
  if (!at || *at <= job.cursor) return p;
  const instant last = *at;
  instant first = job.next;
  if (const auto old = when.prev(too_old, job.anchor); old && *old >= first && *old < last) {
    p.older.push_back(count_instants(when, job.anchor, first, *old, budget));
    first = when.next(*old, job.anchor).value_or(last);
  }
  p.older.push_back(count_instants(when, job.anchor, first, last, budget));
  return p;
}

class instant_judge {
 public:
  instant_judge(const rules& r, bool paused, instant now)
      : rules_(r), paused_(paused), now_(now), deadline_(std::max(r.deadline, least_deadline)) {}

  // What is before that is too old.
  instant too_old() const { return now_ - deadline_; }

  // Behind an instant come `later` others that have passed too.
  passed_instants operator()(instant t, std::size_t later, bool alone) const {
    passed_instants p{t, t, 1, false, reason::none, trigger::schedule};
    const bool on_time = later == 0 && now_ - t <= punctual;
    if (paused_)
      p.reason = reason::paused;
    else if (now_ - t > deadline_)
      p.reason = reason::too_old;
    else if (!on_time && rules_.catchup == catchup_rule::none)
      p.reason = reason::missed;
    else if (later > 0 && (rules_.catchup != catchup_rule::all || later >= rules_.catchup_most))
      p.reason = reason::missed;
    // Of several that run, all wait in line, whatever the job says about overlaps.
    else if (!on_time || (!alone && rules_.catchup == catchup_rule::all))
      p.why = trigger::catchup;
    return p;
  }

 private:
  const rules& rules_;
  const bool paused_;
  const instant now_;
  const milliseconds deadline_;
};

// Neighbours that are skipped for the same reason become one.
void merge_skipped(std::vector<passed_instants>& rows) {
  std::vector<passed_instants> merged;
  for (const passed_instants& p : rows) {
    if (merged.empty() || p.reason == reason::none || merged.back().reason != p.reason) {
      merged.push_back(p);
      continue;
    }
    merged.back().last = p.last;
    merged.back().count += p.count;
    merged.back().at_least |= p.at_least;
  }
  rows.swap(merged);
}

}  // namespace

passed_by instants_passed(const schedule& when, const rules& r, const job_times& job, instant now,
                          missed_budget& budget) {
  passed_by result;
  const instant_judge what{r, job.paused, now};
  // Nearly always one has passed.
  result.next = when.next(job.next, job.anchor).value_or(instant::max());
  if (result.next > now) {
    result.rows = {what(job.next, 0, true)};
    result.cursor = job.next;
    return result;
  }
  const std::size_t run = r.catchup == catchup_rule::all ? r.catchup_most : 1;
  const std::size_t alone = std::min({most_alone, budget.rows, budget.steps});
  const passage p = walk_back(when, job, now, what.too_old(), run + alone, budget);
  for (passed_instants older : p.older) {
    older.reason = what(older.last, p.newest.size(), false).reason;
    result.rows.push_back(older);
  }
  std::size_t skipped = 0;
  for (std::size_t n = 0; n < p.newest.size(); ++n) {
    result.rows.push_back(what(p.newest[n], p.newest.size() - 1 - n, p.newest.size() == 1));
    skipped += result.rows.back().reason != reason::none;
  }
  if (!p.older.empty() || skipped > alone)
    merge_skipped(result.rows);
  else
    budget.rows -= skipped;
  result.cursor = p.newest.back();
  result.next = when.next(result.cursor, job.anchor).value_or(instant::max());
  return result;
}

}  // namespace rota::job
