// The paper's queue (rules 18-24 of coopwhile), without visiting the blocked.
//
// A job that gives way gets a place: behind everything that has one at that moment. It keeps the
// place while it is blocked; when it is enabled it runs as the cursor next comes by. That is the
// order in which a scheduler runs that takes the first of a queue, runs it if it can and otherwise
// puts it to the rear.
//
//   queue.push(j);      // gives way, can run
//   queue.hold(j);      // gives way, blocked: only keeps its place
//   queue.enable(j);    // ... now it can run, when its place comes
//   job* j = queue.pop();
//
// One thread only. Every operation is logarithmic in the number of jobs that have a place.
#ifndef ROTA_QUEUE_STRICT_QUEUE_H
#define ROTA_QUEUE_STRICT_QUEUE_H

#include <rota/base/job.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

namespace rota::detail {

class strict_queue {
 public:
  void push(job* j);
  void hold(job* j);

  // Does nothing for a job without a place.
  void enable(job* j);

  // The next enabled job from the cursor on; null if none is enabled. The job loses its place.
  job* pop();

  // Forgets a job wherever it is.
  void remove(job* j);

  bool empty() const noexcept { return enabled_.empty(); }
  std::size_t size() const noexcept { return enabled_.size(); }
  bool has_place(job* j) const { return labels_.contains(j); }

  // Calls f(job*) for every job that has a place, in the order in which the cursor comes by. For
  // tests, which compare it with the paper's queue.
  template <class F>
  void for_each_place(F f) const {
    const auto first = places_.upper_bound(cursor_);
    for (auto p = first; p != places_.end(); ++p) f(p->second);
    for (auto p = places_.begin(); p != first; ++p) f(p->second);
  }

 private:
  using label = std::uint64_t;

  label place(job* j);
  void renumber();

  // Places go round: the cursor moves to larger labels and starts again at the smallest. New places
  // lie directly behind the cursor, that is, between it and the next larger label.
  label cursor_ = 0;
  std::map<label, job*> places_;   // every job that has a place
  std::map<label, job*> enabled_;  // those of them that can run
  std::unordered_map<job*, label> labels_;
};

}  // namespace rota::detail

#endif
