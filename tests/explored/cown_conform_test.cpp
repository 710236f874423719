// `bounded_queues`, step by step: programs of behaviours run under the explorer on two threads, and
// after every step what the cowns hold has to be explained by the model of backpressure
// (specs/backpressure), in which passing a message on takes two steps, Acquire and Arrive. A broken
// promise shows as a mismatch, with what is there, what the model would have, and the schedule.
//
// A step of the model happens somewhere inside of a call. Where is often known only later: whether
// a cown was too long when it was looked at, whether somebody came in between. So all explanations
// are followed, and those that the objects refute are dropped; the test fails when none is left.
//
// What explanations have to agree with:
//   queue      the order in which slots were put into `tail_`. A message is there at the latest
//   when
//              it is counted, in `refs_` or `came_`; who looks at the length may miss those that
//              are not
//   running    the behaviour has begun at the latest when its code runs; it completes between the
//              call of complete() and its end
//   priority, mute, mutor   whenever nobody has the lock of the board. A cown that a behaviour
//              gives up waiting for, blocker by blocker, may lack priority until it runs
//   blocker    when no thread is inside of a step; then also: an idle cown has no tail

#include <rota/base/rng.h>
#include <rota/cown/when.h>
#include <rota/verify/explore/explore.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pool/pool.h"
#include "support/follow.h"
#include "support/inspect.h"
#include "support/stress.h"
#include "verify/models/backpressure.h"

namespace {

namespace explore = rota::explore;
using rota::detail::behaviour;
using rota::detail::cown;
using rota::detail::cown_base;
using rota::detail::inspect;
using rota::detail::job;
using rota::detail::pool;
using rota::detail::slot;
using rota::detail::stand_in;
using model = rota::verify::backpressure;
using set = model::set;
using byte = std::uint8_t;

constexpr unsigned most_cowns = 3;
constexpr unsigned most_behaviours = 8;
constexpr unsigned most_threads = 2;
constexpr byte nobody = 0xFF;

constexpr byte bit(unsigned i) { return static_cast<byte>(1u << i); }

// A program: the first behaviours, one for each cown, are there at the beginning.
struct plan {
  set cowns;
  std::vector<unsigned> sends = {};
};
struct setting {
  std::string name;
  int cowns;
  int threshold;
  std::vector<plan> plans;
  // Which of the first behaviours each thread runs; it also runs what it makes ready.
  std::array<std::vector<unsigned>, most_threads> starts;
};

model model_of(const setting& s, model::mistake mutant = model::mistake::none) {
  model m{rota::verify::backpressure_variant::built(), true};
  m.cowns = s.cowns;
  m.threshold = s.threshold;
  m.fuel = static_cast<int>(s.plans.size()) - s.cowns;
  m.mutant = mutant;
  return m;
}

// What is known of the code after a step. Bytes with a bit a cown, or a behaviour.
struct facts {
  std::array<std::array<byte, most_behaviours>, most_cowns> order{};  // of arrival in each queue
  std::array<byte, most_cowns> arrivals{};
  std::array<byte, most_cowns> counted{};
  byte returned = 0;    // has been sent
  byte began = 0;       // its code runs, or ran
  byte completing = 0;  // complete() was called
  byte completed = 0;   // ... and returned
  byte inside = 0;      // threads that are inside of a step
  bool locked = false;
  byte high = 0, low = 0, idle = 0;
  std::array<byte, most_cowns> mute{};
  std::array<byte, most_cowns> blocker{};  // a cown + 1
  std::array<byte, most_behaviours> mutor{};
  bool operator==(const facts&) const = default;
};

// One explanation: a state of the model, with the names of its messages.
struct guess {
  model::packed state{};
  std::array<std::array<byte, most_behaviours>, most_cowns> queue{};  // empty places: nobody
  std::array<byte, most_cowns> arrivals{};
  byte sent = 0;
  byte done = 0;
  bool operator==(const guess&) const = default;

  unsigned length(unsigned c) const {
    return static_cast<unsigned>(std::find(queue[c].begin(), queue[c].end(), nobody) -
                                 queue[c].begin());
  }
  void push(unsigned c, byte b) {
    queue[c][length(c)] = b;
    ++arrivals[c];
  }
  byte pop(unsigned c) {
    const byte b = queue[c][0];
    std::shift_left(queue[c].begin(), queue[c].end(), 1);
    queue[c].back() = nobody;
    return b;
  }
};

// All explanations of what was seen. Lives outside of the schedules: what it allocates is none of
// their memory.
class explanations {
 public:
  explanations(const setting& s, const model& m) : setting_(s), model_(m) {}

  // A schedule begins.
  void begin() {
    guess g;
    for (auto& q : g.queue) q.fill(nobody);
    model_.initial([&](const model::state& at) { g.state = model_.pack(at); });
    for (unsigned c = 0; c < cowns(); ++c) {
      g.push(c, static_cast<byte>(c));
      g.sent |= bit(c);
    }
    all_.assign(1, g);
  }

  // False: nothing explains it.
  bool see(const facts& f) {
    // Whatever the model can have done until now,
    std::vector<guess> found = all_;
    std::vector<unsigned> by(found.size(), model::terminating);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const guess g = found[i];
      each_step(g, f, [&](const guess& next, unsigned action) {
        if (std::find(found.begin(), found.end(), next) != found.end()) return;
        found.push_back(next);
        by.push_back(action);
      });
    }
    // ... and of this, what agrees.
    std::vector<guess> left;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!agrees(found[i], f)) continue;
      left.push_back(found[i]);
      ++taken_[by[i]];
    }
    if (left.empty()) {
      text_ = "nothing in the model explains this step (" + std::string(why_) + ")\n" + text_of(f);
      for (const guess& g : all_) text_ += text_of(g);
    }
    all_ = std::move(left);
    return !all_.empty();
  }

  const std::string& text() const { return text_; }

  // How often each action of the model explained a step.
  const std::vector<std::uint64_t>& taken() const { return taken_; }

  // In the end all is done and everybody normal.
  bool all_done() const {
    return std::any_of(all_.begin(), all_.end(), [&](const guess& g) {
      return g.done == (1u << setting_.plans.size()) - 1 && !model_.unpack(g.state).special();
    });
  }

 private:
  unsigned cowns() const { return static_cast<unsigned>(setting_.cowns); }
  set cowns_of(unsigned b) const { return setting_.plans[b].cowns; }

  // The steps of the model that what was seen does not forbid.
  template <class Emit>
  void each_step(const guess& g, const facts& f, Emit emit) const {
    const model::state from = model_.unpack(g.state);
    const auto comes = [&](unsigned b, unsigned c) {
      return g.arrivals[c] < f.arrivals[c] && f.order[c][g.arrivals[c]] == b;
    };
    model_.next(from, [&](unsigned action, unsigned c, const model::state& to) {
      const byte b = g.queue[c][0];
      guess next = g;
      next.state = model_.pack(to);
      if (action == model::terminating || b == nobody) return;
      if (action == model::acquire || action == model::prerun) return emit(next, action);
      if (action == model_.arrive()) {
        const unsigned target = from.blocker[c] - 1u;
        if (!comes(b, target)) return;
        next.push(target, next.pop(c));
        return emit(next, action);
      }
      if (action == model::complete) {
        if (!(f.completing & bit(b))) return;
        next.done |= bit(next.pop(c));
        return emit(next, action);
      }
      if (action != model::send) return emit(next, action);
      for (const unsigned child : setting_.plans[b].sends) {
        const unsigned first = model::state::first(cowns_of(child));
        if ((g.sent & bit(child)) || !comes(child, first) || !pushed(from, to, child)) continue;
        next.push(first, static_cast<byte>(child));
        next.sent |= bit(child);
        return emit(next, action);
      }
    });
    // Who looks at the length of a queue may miss what is there and not counted yet.
    for (unsigned c = 0; c < cowns(); ++c) {
      if (g.arrivals[c] <= f.counted[c]) continue;
      model missing = model_;
      missing.missed = g.arrivals[c] - f.counted[c];
      missing.next(from, [&](unsigned action, unsigned at, const model::state& to) {
        if (at != c || (action != model::acquire && action != model::prerun)) return;
        guess next = g;
        next.state = model_.pack(to);
        emit(next, action);
      });
    }
  }

  // Whether a step of the model sent a message for the cowns of that behaviour.
  bool pushed(const model::state& from, const model::state& to, unsigned b) const {
    const unsigned first = model::state::first(cowns_of(b));
    return to.length[first] == from.length[first] + 1 &&
           (to.queue[first] >> (from.length[first] * cowns())) == cowns_of(b);
  }

  bool agrees(const guess& g, const facts& f) {
    const model::state s = model_.unpack(g.state);
    const auto no = [this](const char* why) {
      why_ = why;
      return false;
    };
    for (unsigned c = 0; c < cowns(); ++c)
      if (f.counted[c] > g.arrivals[c]) return no("a message is counted that has not come");
    for (unsigned b = 0; b < setting_.plans.size(); ++b) {
      const unsigned last = model::state::last(cowns_of(b));
      const bool runs = g.queue[last][0] == b && (s.running & bit(last));
      if ((f.returned & bit(b)) && !(g.sent & bit(b))) return no("it was not sent");
      if ((f.began & bit(b)) && !runs && !(g.done & bit(b))) return no("it may not run yet");
      if ((f.completed & bit(b)) && !(g.done & bit(b))) return no("it has not completed");
      if (!f.locked && runs && !(f.completing & bit(b)) && f.mutor[b] != s.mutor[last])
        return no("its mutor is another one");
    }
    if (!f.locked) {
      if (f.low != s.low) return no("others are muted");
      for (unsigned c = 0; c < cowns(); ++c)
        if (f.mute[c] != s.mute[c]) return no("others are in a mute set");
      if (f.high & ~s.high) return no("one has priority without a reason");
      if (s.high & ~f.high & ~about_to_run(g, s, f)) return no("one lacks priority");
    }
    if (f.inside != 0) return true;
    for (unsigned c = 0; c < cowns(); ++c) {
      if (f.blocker[c] != s.blocker[c]) return no("a blocker is another one");
      const bool sleeps = (s.scheduled & bit(c)) && s.length[c] == 0;
      if (sleeps != ((f.idle & bit(c)) != 0)) return no("a cown is held, or is not");
    }
    return true;
  }

  // The cowns of a behaviour that has begun to take its blockers away.
  set about_to_run(const guess& g, const model::state& s, const facts& f) const {
    set them = 0;
    for (unsigned c = 0; c < cowns(); ++c) {
      const byte b = g.queue[c][0];
      if (b == nobody || (s.running & bit(c)) || c != model::state::last(cowns_of(b))) continue;
      if (f.blocker[model::state::first(cowns_of(b))] == 0) them |= cowns_of(b);
    }
    return them;
  }

  std::string text_of(const facts& f) const {
    std::string out = f.locked ? "seen, with the lock of the board held:" : "seen:";
    for (unsigned c = 0; c < cowns(); ++c) {
      out += " cown " + std::to_string(c + 1) + (f.high & bit(c) ? " high" : "") +
             (f.low & bit(c) ? " low" : "") + (f.idle & bit(c) ? " idle" : "") + " came <";
      for (unsigned i = 0; i < f.arrivals[c]; ++i) out += " " + std::to_string(f.order[c][i]);
      out += " > counted " + std::to_string(f.counted[c]) + " mutes " + std::to_string(f.mute[c]) +
             " blocker " + std::to_string(f.blocker[c]) + ";";
    }
    for (unsigned b = 0; b < setting_.plans.size(); ++b)
      if (f.mutor[b]) out += " " + std::to_string(b) + " has mutor " + std::to_string(f.mutor[b]);
    return out + " began " + std::to_string(f.began) + " completing " +
           std::to_string(f.completing) + " completed " + std::to_string(f.completed) + "\n";
  }
  std::string text_of(const guess& g) const {
    std::string out = "before, in the model:";
    model_.fields(model_.unpack(g.state), [&](const std::string& name, const auto& value) {
      if constexpr (std::is_convertible_v<decltype(value), std::string>)
        out += " " + name + " = " + std::string(value) + ";";
    });
    return out + "\n";
  }

  const setting& setting_;
  const model model_;
  std::vector<guess> all_;
  std::vector<std::uint64_t> taken_ = std::vector<std::uint64_t>(model_.actions().size());
  const char* why_ = "";
  std::string text_;
};

// The program, made anew for every schedule.
class program {
 public:
  program(const setting& s, explanations& e) : setting_(s), explanations_(e) {
    for (unsigned t = 0; t < most_threads; ++t)
      pools_[t] =
          std::make_unique<pool>(rota::options{}.with_workers(1), rota::detail::pool_hooks{});
    for (int c = 0; c < s.cowns; ++c) cowns_.push_back(cown<int>::make(0));
    std::sort(cowns_.begin(), cowns_.end());
    for (unsigned c = 0; c < cowns_.size(); ++c) {
      rota::detail::cown_access::set_threshold(*cowns_[c], static_cast<std::uint32_t>(s.threshold));
      seen_.order[c][0] = static_cast<byte>(c);
      seen_.arrivals[c] = 1;
    }
  }
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program() {
    explore::observe({});
    for (cown<int>* c : cowns_) c->drop_ref();
  }

  void run() {
    for (unsigned i = 0; i < 3; ++i) stood_[i] = explore::test::stand::of(i);
    now_.inside = bit(7);
    explore::observe([this] { look(); });
    {
      // Until these are sent, the code is inside of a step for which the model has no name.
      const stand_in here{*pools_[0], nullptr};
      for (unsigned c = 0; c < cowns_.size(); ++c) send(c);
      now_.inside = 0;
    }
    std::array<job*, most_cowns> first{};
    while (job* j = pools_[0]->take_left()) first[body_of(*static_cast<behaviour*>(j)).index] = j;
    const auto act = [&](unsigned t) {
      for (const unsigned b : setting_.starts[t]) resume(t, first[b]);
      while (job* j = pools_[t]->take_left()) resume(t, j);
    };
    explore::thread other([&] { act(1); });
    act(0);
    other.join();
    explore::check(explanations_.all_done(), "in the end all have run and nobody is muted");
  }

 private:
  struct body {
    program* home;
    unsigned index;
  };
  static body& body_of(behaviour& b) { return *reinterpret_cast<body*>(b.slots() + b.count); }

  void resume(unsigned t, job* j) {
    const stand_in here{*pools_[t], j};
    j->frame.resume();
  }
  static void run_body(void* frame) {
    behaviour& b = behaviour::resumed(frame);
    b.begin();
    const body mine = body_of(b);
    mine.home->act_as(mine.index, b);
  }

  void send(unsigned index) {
    std::array<std::uintptr_t, most_cowns> words{};
    std::size_t n = 0;
    for (unsigned c = 0; c < cowns_.size(); ++c)
      if (setting_.plans[index].cowns & bit(c))
        words[n++] = reinterpret_cast<std::uintptr_t>(static_cast<cown_base*>(cowns_[c]));
    behaviour& b = *behaviour::make(&run_body, behaviour::bytes(n) + sizeof(body),
                                    static_cast<std::uint32_t>(n));
    rota::detail::fill_slots(b, words.data(), n);
    ::new (static_cast<void*>(&body_of(b))) body{this, index};
    behaviours_[index] = &b;
    slots_[index] = b.slots();
    const byte me = bit(explore::this_thread_index());
    now_.inside |= me;
    if (b.count == 1)
      rota::detail::send_one(b, rota::detail::home_here());
    else
      rota::detail::send(b, rota::detail::home_here());
    now_.inside &= static_cast<byte>(~me);
    now_.returned |= bit(index);
  }

  void act_as(unsigned index, behaviour& b) {
    now_.began |= bit(index);
    for (const unsigned child : setting_.plans[index].sends) send(child);
    const byte me = bit(explore::this_thread_index());
    now_.inside |= me;
    now_.completing |= bit(index);
    if (b.count == 1)
      rota::detail::complete_one(b);
    else
      rota::detail::complete(b);
    now_.inside &= static_cast<byte>(~me);
    now_.completed |= bit(index);
  }

  // After a step.
  void look() {
    const unsigned thread = explore::this_thread_index();
    const explore::test::stand before = stood_[thread];
    for (unsigned i = 0; i < 3; ++i) stood_[i] = explore::test::stand::of(i);
    // There is no other lock than that of the board.
    if (before.what == explore::standing::lock) now_.locked = true;
    if (before.what == explore::standing::unlock) now_.locked = false;
    read();
    if (!std::exchange(began_, true)) explanations_.begin();
    if (now_ == seen_) return;
    seen_ = now_;
    if (!explanations_.see(seen_))
      explore::fail(explore::failure_kind::mismatch, explanations_.text());
  }

  void read() {
    now_.order = seen_.order;
    now_.arrivals = seen_.arrivals;
    now_.high = now_.low = now_.idle = 0;
    for (unsigned c = 0; c < cowns_.size(); ++c) {
      const cown_base& it = *cowns_[c];
      const slot* const tail = inspect::tail(it);
      if (tail != std::exchange(tails_[c], tail) && tail) arrived(tail, c);
      now_.counted[c] = static_cast<byte>(inspect::sent(it));
      now_.high |= inspect::is_high(it) ? bit(c) : byte{0};
      now_.low |= inspect::is_low(it) ? bit(c) : byte{0};
      now_.idle |= tail ? byte{0} : bit(c);
      now_.blocker[c] = number_of(inspect::blocker(it));
      if (now_.locked) continue;
      now_.mute[c] = 0;
      inspect::each_muted(it, [&](const cown_base& m) { now_.mute[c] |= bit(number_of(&m) - 1u); });
    }
    for (unsigned b = 0; b < setting_.plans.size(); ++b)
      now_.mutor[b] =
          (now_.began & ~now_.completing & bit(b)) ? number_of(behaviours_[b]->mutor) : byte{0};
  }

  void arrived(const slot* tail, unsigned c) {
    for (unsigned b = 0; b < setting_.plans.size(); ++b) {
      if (!slots_[b] || tail < slots_[b] || tail >= slots_[b] + most_cowns) continue;
      if (b < cowns_.size()) return;  // there from the beginning
      now_.order[c][now_.arrivals[c]++] = static_cast<byte>(b);
      return;
    }
    explore::fail(explore::failure_kind::mismatch, "an unknown slot is in a queue");
  }

  byte number_of(const cown_base* c) const {
    for (unsigned i = 0; i < cowns_.size(); ++i)
      if (cowns_[i] == c) return static_cast<byte>(i + 1);
    return 0;
  }

  const setting& setting_;
  explanations& explanations_;
  bool began_ = false;
  std::array<std::unique_ptr<pool>, most_threads> pools_;
  std::vector<cown<int>*> cowns_;
  std::array<behaviour*, most_behaviours> behaviours_{};
  std::array<slot*, most_behaviours> slots_{};
  std::array<const slot*, most_cowns> tails_{};
  std::array<explore::test::stand, 3> stood_{};
  facts now_, seen_;
};

explore::result run(const setting& s, explanations& e, const explore::options& o) {
  return explore::run([&] { program{s, e}.run(); }, o);
}

// --- programs -----------------------------------------------------------------------------------

// Messages are sets of cowns, a bit for each.
const std::vector<setting>& chosen_settings() {
  static const std::vector<setting> all = {
      // The third cown is overloaded and mutes the first, which mutes the second.
      {"a chain of muted ones",
       3,
       1,
       {{1, {5}}, {2, {6}}, {4, {3, 4}}, {4}, {4}, {4}, {1}},
       {{{0, 1}, {2}}}},
      // The same with a lower mark above 0, so that who is freed may be normal.
      {"a chain with two marks",
       3,
       2,
       {{1, {5}}, {2, {6}}, {4, {3, 4, 7}}, {4}, {4}, {4}, {5}, {4}},
       {{{2, 0, 1}, {}}}},
      // Two are muted, and the third frees one of them while it has work left.
      {"one is freed before the other",
       3,
       2,
       {{1, {5}}, {2, {6, 7}}, {4, {3, 4}}, {4}, {4}, {4}, {4}, {2}},
       {{{2, 0, 1}, {}}}},
      // ... and the second sends to both.
      {"a mutor among two receivers",
       3,
       1,
       {{1, {5}}, {2, {6}}, {4, {3, 4}}, {4}, {4}, {4}, {5}},
       {{{0, 1}, {2}}}},
      // The sender is among the receivers, and not muted.
      {"a sender to itself", 2, 1, {{1, {4}}, {2, {2, 3}}, {2}, {2}, {3}}, {{{0}, {1}}}},
      // The first is overloaded while the second is held by one that waits for the third.
      {"a walk along blockers", 3, 1, {{1, {3, 4}}, {2}, {4, {5}}, {3}, {1}, {6}}, {{{0}, {1, 2}}}},
      // A behaviour begins on a cown that another one, which holds an overloaded one, waits for.
      {"priority is kept for who waits",
       2,
       4,
       {{1, {2, 3, 4, 5, 6}}, {2, {7}}, {3}, {1}, {1}, {1}, {1}, {2}},
       {{{1}, {0}}}},
  };
  return all;
}

// A random one: who sends what, and which thread begins with what.
setting random_setting(std::uint64_t seed) {
  rota::detail::rng random{seed};
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random.below(n)); };
  setting s;
  s.name = "program " + std::to_string(seed);
  s.cowns = 2 + static_cast<int>(below(2));
  s.threshold = std::array{0, 1, 1, 2}[below(4)];
  const unsigned n = static_cast<unsigned>(s.cowns);
  for (unsigned c = 0; c < n; ++c) {
    s.plans.push_back({bit(c), {}});
    s.starts[c % most_threads].push_back(c);
  }
  // Many of them by few, so that somebody is muted.
  while (s.plans.size() < most_behaviours) {
    const unsigned sender = below(4) != 0 ? below(2) : below(static_cast<unsigned>(s.plans.size()));
    s.plans[sender].sends.push_back(static_cast<unsigned>(s.plans.size()));
    unsigned cowns = 1u << below(n);
    while (below(2) == 0) cowns |= 1u << below(n);
    s.plans.push_back({static_cast<set>(cowns), {}});
  }
  return s;
}

explore::options with(explore::strategy how, std::uint64_t schedules) {
  explore::options o;
  o.how = how;
  o.memory = explore::memory::sc;
  o.preemptions = 1;
  o.changes = 4;
  o.seed = rota::test::seed();
  o.max_schedules = schedules;
  o.reduce = false;
  return o;
}

constexpr std::uint64_t programs = 30;

setting setting_at(std::uint64_t i) {
  const auto& first = chosen_settings();
  return i < first.size() ? first[i] : random_setting(i);
}

TEST(CownConform, EveryStepIsExplainedByTheModel) {
  std::vector<std::uint64_t> taken(6);
  std::uint64_t steps = 0;
  for (std::uint64_t p = 0; p < rota::test::rounds(programs, 50 * programs); ++p) {
    const setting s = setting_at(p);
    explanations e{s, model_of(s)};
    const unsigned more = p < chosen_settings().size() ? 5 : 1;
    for (const auto& o :
         {with(explore::strategy::pct, more * 60), with(explore::strategy::bounded, more * 60)}) {
      const auto seen = run(s, e, o);
      steps += seen.steps;
      ASSERT_FALSE(seen.failed) << s.name << ": " << seen.text();
    }
    for (std::size_t a = 0; a < taken.size(); ++a) taken[a] += e.taken()[a];
  }
  std::printf("%llu steps\n", static_cast<unsigned long long>(steps));
  for (std::size_t a = 0; a < taken.size(); ++a) EXPECT_GT(taken[a], 0u) << "action " << a;
}

// The mapping sees enough: what the model does with a mistake, the code does not.
TEST(CownConform, EachMutantOfTheModelIsToldFromTheCode) {
  for (auto m = static_cast<unsigned>(model::mistake::none) + 1;
       m <= static_cast<unsigned>(model::mistake::rest_forgotten); ++m) {
    const auto mistake = static_cast<model::mistake>(m);
    // With the first the model may still overlook the receivers, and so do what the code does. For
    // the others something has to be on its way at the right moment, which these programs never do.
    // (freed_too_soon, which comes next, may also free in time, as the code does.)
    if (mistake == model::mistake::mute_among_receivers ||
        mistake == model::mistake::notice_skips_chain || mistake == model::mistake::way_forgotten)
      continue;
    bool told = false;
    // A few schedules of each program tell most of them.
    for (const std::uint64_t schedules : {30u, 500u})
      for (std::uint64_t p = 0; p < programs && !told; ++p) {
        const setting s = setting_at(p);
        explanations e{s, model_of(s, mistake)};
        auto o = with(explore::strategy::pct, schedules);
        o.shrink = false;
        told = run(s, e, o).failed;
      }
    EXPECT_TRUE(told) << "mutant " << m;
  }
}

}  // namespace
