// rota::detail::inbox is its model: after every step of every schedule the box, and where those who
// put and take stand, are mapped to a state of `inbox` (specs/inbox), which has to have a step
// there. A broken promise shows as a mismatch, with both sides and the schedule.
//
// The mapping; what a thread stands before is its place:
//   newest, link   newest_ and, for what hangs from it, the jobs' links
//   below          the link of the job that is being put
//   first          a ghost: what the putter last read of newest_
//   order          a ghost: the jobs whose compare-exchange was made
//   got            what take_all() gave, in the order of its exchanges
// Nothing is hidden.

#include <rota/queue/inbox.h>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "support/follow.h"
#include "support/inspect.h"
#include "verify/models/inbox.h"

namespace rota::explore::test {
namespace {

using rota::detail::inspect;
using rota::detail::job;
using model_box = verify::inbox;
using number = model_box::number;

constexpr unsigned most_putters = 3;
constexpr unsigned most_takers = 2;

struct size {
  unsigned putters = 2;
  unsigned jobs = 1;  // of each putter
  unsigned takers = 1;
  unsigned takes = 2;     // of each taker
  unsigned spurious = 0;  // failures of a compare-exchange
};

// Putters are the first threads after the one that starts them, then come the takers.
class program : public followed {
 public:
  explicit program(const size& s) : size_(s) {}

  void run() {
    std::array<thread, most_putters + most_takers> threads;
    for (unsigned p = 0; p < size_.putters; ++p) threads[p] = thread([this, p] { put(p); });
    for (unsigned t = 0; t < size_.takers; ++t)
      threads[size_.putters + t] = thread([this] { take(); });
    for (unsigned i = 0; i < size_.putters + size_.takers; ++i) threads[i].join();
  }

  // A thread took the step that it stood before.
  void took(unsigned t, const stand& before) {
    const number last = newest_;
    newest_ = number_of(inspect::newest(box_).peek());
    if (t == 0 || t > size_.putters || before.object != &inspect::newest(box_)) return;
    putter& me = putters_[t - 1];
    me.first = last;
    if (before.what == standing::update && newest_ != last) {
      order_.append(newest_);
      me.first = model_box::none;
    }
  }

  model_box::state mapped() const {
    model_box::state s;
    s.newest = newest_;
    const job* j = inspect::newest(box_).peek();
    for (unsigned i = 0; j && i < jobs_.size(); ++i, j = j->link)
      s.link[static_cast<std::size_t>(number_of(j))] = number_of(j->link);
    for (unsigned p = 0; p < size_.putters; ++p) {
      model_box::putter& r = s.putters[p];
      r.left = static_cast<number>(size_.jobs - putters_[p].put);
      if (stood[1 + p].what != standing::update) continue;
      r.at = model_box::putter_place::swap;
      r.first = putters_[p].first;
      r.below = number_of(jobs_[p * size_.jobs + putters_[p].put].link);
    }
    for (unsigned t = 0; t < size_.takers; ++t)
      if (stood[1 + size_.putters + t].what == standing::update)
        s.takers[t].at = model_box::taker_place::take;
    s.order = order_;
    s.got = got_;
    return s;
  }

  std::string name_of(unsigned t) const {
    if (t == 0) return "main";
    return t <= size_.putters ? "putter " + std::to_string(t)
                              : "taker " + std::to_string(t - size_.putters);
  }

 private:
  struct putter {
    unsigned put = 0;
    number first = model_box::none;
  };

  number number_of(const job* j) const {
    return j ? static_cast<number>(j - jobs_.data() + 1) : model_box::none;
  }

  void put(unsigned p) {
    while (putters_[p].put < size_.jobs) {
      box_.put(&jobs_[p * size_.jobs + putters_[p].put]);
      ++putters_[p].put;
    }
  }
  void take() {
    for (unsigned i = 0; i < size_.takes; ++i)
      for (const job* j = box_.take_all(); j; j = j->link) got_.append(number_of(j));
  }

  const size size_;
  rota::detail::inbox box_;
  std::array<job, model_box::most_jobs> jobs_{};
  model_box::sequence got_{};

  // Ghosts.
  std::array<putter, most_putters> putters_{};
  model_box::sequence order_{};
  number newest_ = model_box::none;
};

// Explores it; the actions of the model that were never taken.
std::string conforms(const size& s) {
  model_box model;
  model.putters = static_cast<int>(s.putters);
  model.jobs = static_cast<int>(s.jobs);
  model.takers = static_cast<int>(s.takers);
  verify::refinement<model_box> follow{model};
  const result r = explore::run(
      [&] {
        program p{s};
        const following each_step{follow, p};
        p.run();
      },
      every_step(s.spurious));
  EXPECT_FALSE(r.failed) << r.text();
  EXPECT_TRUE(r.exhaustive) << r.text();
  print(std::to_string(s.putters) + " x " + std::to_string(s.jobs) + " jobs, " +
            std::to_string(s.takers) + " x " + std::to_string(s.takes) + " takes" +
            (s.spurious ? ", spurious" : ""),
        r, follow.counts());
  return follow.never_taken();
}

// `Clear` is a mutant's, and `Finished` changes nothing, so it never shows.

TEST(InboxConform, TwoPutters) {
  EXPECT_EQ(conforms({.putters = 2, .jobs = 1}), "Clear Finished");
  EXPECT_EQ(conforms({.putters = 2, .jobs = 2}), "Clear Finished");
  conforms({.putters = 2, .jobs = 2, .spurious = 1});
}

TEST(InboxConform, ThreePutters) { conforms({.putters = 3, .jobs = 1}); }

TEST(InboxConform, TwoTakers) { conforms({.putters = 2, .jobs = 1, .takers = 2}); }

}  // namespace
}  // namespace rota::explore::test
