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
// One thread only. Every operation is logarithmic in the number of jobs that have a place; to give
// way is so on average, since now and then labels are spread anew.
#ifndef ROTA_QUEUE_STRICT_QUEUE_H
#define ROTA_QUEUE_STRICT_QUEUE_H

#include <rota/base/job.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>

namespace rota::detail {

class strict_queue {
 public:
  using label = std::uint64_t;

  // Labels are below this one.
  static constexpr label all_labels = label{1} << 62;

  // Tests begin with a label near the end, which otherwise takes years to come to.
  explicit strict_queue(label begin = 0) : cursor_(begin) {}

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
  bool has_place(job* j) const { return jobs_.contains(j); }

  // Calls f(job*) for every job that has a place, in the order in which the cursor comes by. For
  // tests, which compare it with the paper's queue.
  template <class F>
  void for_each_place(F f) const {
    const auto first = places_.upper_bound(cursor_);
    for (auto p = first; p != places_.end(); ++p) f((*p)->who);
    for (auto p = places_.begin(); p != first; ++p) f((*p)->who);
  }

 private:
  struct place {
    label at = 0;
    job* who = nullptr;
  };

  struct by_label {
    using is_transparent = void;
    bool operator()(const place* a, const place* b) const { return a->at < b->at; }
    bool operator()(const place* a, label b) const { return a->at < b; }
    bool operator()(label a, const place* b) const { return a < b->at; }
  };

  const place* add_place(job* j);
  label room() const;
  void make_room();
  void spread(label from, label to, label gap);

  // Places go round: the cursor moves to larger labels and starts again at the smallest. New places
  // lie directly behind the cursor, that is, between it and the next larger label.
  label cursor_;
  std::unordered_map<job*, place> jobs_;  // every job that has a place
  std::set<place*, by_label> places_;     // the same in order; labels change, the order does not
  std::set<const place*, by_label> enabled_;  // those of them that can run
};

}  // namespace rota::detail

#endif
