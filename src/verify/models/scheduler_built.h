// specs/scheduler_built: the executor of the event layer, step by step.
//
// One lock guards phases, lists, the group and the runners; each handler has a lock of its own for
// its events. A step here is what happens under one of these locks at once.
//
//   waiting --trigger--> triggered --take--> queued --take--> running --finish--> waiting
//                        (wait set)          (run queue)                     or triggered
//                                              | ^
//                         its group is held    v | it is handed the group: to the front
//                                             grouped
//                                             (queue of the group)
//
// The supply of events is endless, and a handler's queue holds at most `Events`: so no behaviour
// ends, and who starves does so for ever.
//
// Runners are interchangeable, and so are putters. Handlers are not: they have classes.
#ifndef ROTA_VERIFY_MODELS_SCHEDULER_BUILT_H
#define ROTA_VERIFY_MODELS_SCHEDULER_BUILT_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace rota::verify {

class scheduler_built {
 public:
  static constexpr unsigned most_handlers = 6;
  static constexpr unsigned most_runners = 4;
  static constexpr unsigned most_putters = 3;

  using number = std::uint8_t;  // of a handler: subscribers, then servers, then clients
  static constexpr number none = 255;

  // Where a handler is. One that waits for its group in the middle of a run is running.
  enum class phase : std::uint8_t { waiting, triggered, queued, grouped, running };

  // How a running handler stands to its group: `outside` while it awaits a call, `returning` in the
  // queue of the group after that.
  enum class place : std::uint8_t { inside, outside, returning };

  // `woken`: it is going to take, since it was woken or has just started a detached run.
  enum class mode : std::uint8_t { idle, woken, running };

  // What a putter has seen of the queue before it puts. Only a mutant looks.
  enum class look : std::uint8_t { no, empty, some };

  // Some handlers, in order. One more than there are is wrong already, whatever comes after it.
  struct sequence {
    std::uint8_t length = 0;
    std::array<number, most_handlers + 1> handlers{};

    bool empty() const { return length == 0; }
    const number* begin() const { return handlers.data(); }
    const number* end() const { return handlers.data() + length; }
    unsigned place_of(unsigned i) const {
      return static_cast<unsigned>(std::find(begin(), end(), i) - begin());
    }

    void insert(unsigned at, unsigned i) {
      if (length == handlers.size()) return;
      for (unsigned k = length++; k > at; --k) handlers[k] = handlers[k - 1];
      handlers[at] = static_cast<number>(i);
    }
    void append(unsigned i) { insert(length, i); }
    unsigned remove(unsigned at) {
      const unsigned i = handlers[at];
      --length;
      for (unsigned k = at; k < length; ++k) handlers[k] = handlers[k + 1];
      handlers[length] = 0;
      return i;
    }
    friend bool operator==(const sequence&, const sequence&) = default;
  };

  struct handler {
    phase at = phase::waiting;
    number pending = 0;     // events in its queue; guarded by its own lock
    bool again = false;     // triggered while it runs
    bool consumed = false;  // this run has taken its events ...
    bool more = false;      // ... and left some
    place group = place::inside;
    number calls = 0;  // how often this run has left the group

    friend bool operator==(const handler&, const handler&) = default;
  };
  struct runner {
    mode at = mode::idle;
    number task = none;  // what it runs; a detached run has no runner
  };
  struct putter {
    number target = none;  // the handler that it has to trigger
    look seen = look::no;  // a mutant: it is about to put an event, for `target`
  };

  struct state {
    std::array<handler, most_handlers> handlers{};
    sequence wait_set{};     // in the order of the triggers
    sequence run_queue{};    // the first first
    sequence group_queue{};  // grouped handlers, and those that return
    number holder = none;    // who has the group
    std::array<runner, most_runners> runners{};
    std::array<putter, most_putters> putters{};
  };

  enum act {
    put,
    trigger,
    take,
    consume,
    finish_and_take,
    consume_detached,
    finish_detached,
    leave_group,
    enter_group,
    look_first,   // a mutant's
    consume_more  // a mutant's
  };

  // Mistakes that can be planted.
  enum class mistake {
    none,
    drop_requeue,           // a handler that has run does not wait again
    lifo_queue,             // runners take the youngest
    class_order,            // classes are kept in order across batches
    one_a_step,             // a scheduling step moves only the first handler
    forget_pending,         // finish ignores events that are left
    forget_again,           // finish ignores a trigger that came meanwhile
    trigger_running,        // a trigger puts a running handler into the wait set
    consume_piecemeal,      // a run looks for events once more
    look_outside,           // a putter looks whether the queue is empty before it locks it
    no_wake,                // a trigger wakes nobody
    finish_wakes_nobody,    // the end of a detached run wakes nobody
    leave_wakes_nobody,     // who leaves its group wakes nobody for the next
    ignore_group,           // a runner starts a handler although its group is held
    skip_busy_group,        // such a handler goes to the rear of the run queue
    no_handover,            // a group is set free although handlers wait for it
    handover_to_rear,       // who is handed the group goes to the rear of the run queue
    enter_without_waiting,  // who returns to its group does not wait
  };

  int subscribers = 1;
  int servers = 1;
  int clients = 1;
  int workers = 2;
  int putters = 2;
  int events = 2;
  int budget = 1;
  int grouped = 2;
  int async = 0;
  int calls = 0;
  bool one_wake = false;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Subscribers", subscribers, 0, 4, "handlers of the first class");
    c("Servers", servers, 0, 4, "handlers of the second class");
    c("Clients", clients, 0, 4, "handlers of the third class");
    c("Workers", workers, 1, int{most_runners}, "how many may run handlers at a time");
    c("Putters", putters, 1, int{most_putters}, "threads that put events");
    c("Events", events, 1, 9, "how many events may wait for a handler");
    c("Budget", budget, 1, 9, "how many events a run consumes at most");
    c("Grouped", grouped, 0, int{most_handlers}, "the first so many share an exclusive group");
    c("Async", async, 0, int{most_handlers}, "the last so many run detached from their runner");
    c("Calls", calls, 0, 2, "how often a detached run may leave its group for a call");
    c("OneWake", one_wake, "the end of a detached run wakes one, even if two are to be run");
    c("Mutant", mutant,
      {"none", "drop_requeue", "lifo_queue", "class_order", "one_a_step", "forget_pending",
       "forget_again", "trigger_running", "consume_piecemeal", "look_outside", "no_wake",
       "finish_wakes_nobody", "leave_wakes_nobody", "ignore_group", "skip_busy_group",
       "no_handover", "handover_to_rear", "enter_without_waiting"},
      "a mistake to plant");
  }

  std::string complaint() const {
    // The bound notices it earlier.
    if (has(mistake::skip_busy_group) && n_handlers() < 4 && !has_detached_member())
      return "this mutant needs four handlers, or a detached one in the group";
    return misfit();
  }

  // Nobody has to put an event, or to call somebody; a call returns.
  std::vector<action> actions() const {
    const auto weak = fairness::weak;
    return {{"put", count(putters) * n_handlers()},
            {"trigger", count(putters), "", weak},
            {"take", count(workers), "runner", weak},
            {"consume", count(workers), "runner", weak},
            {"finish_and_take", count(workers), "runner", weak},
            {"consume_detached", n_handlers(), "detached", weak},
            {"finish_detached", n_handlers(), "detached", weak},
            {"leave_group", n_handlers()},
            {"enter_group", n_handlers(), "detached", weak},
            {"look_first", count(putters) * n_handlers()},
            {"consume_more", n_handlers()}};
  }

  template <class Emit>
  void initial(Emit emit) const {
    emit(state{});
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    for (unsigned p = 0; p < count(putters); ++p) step_of_putter(s, p, emit);
    for (unsigned r = 0; r < count(workers); ++r) step_of_runner(s, r, emit);
    for (unsigned i = 0; i < n_handlers(); ++i)
      if (is_async(i) && s.handlers[i].at == phase::running) step_of_detached(s, i, emit);
  }

  template <class P>
  void properties(P& p) const {
    promises(p);
    // A handler whose group is held may stand in the run queue while a runner is idle: the runner
    // could do nothing but move it to the queue of the group.
    p.known_to_fail();
    p.invariant("NobodyIdlesByTheQueue", [this](const state& s) {
      return number_of(s, mode::idle) == 0 ||
             s.wait_set.length + s.run_queue.length <= number_of(s, mode::woken);
    });
  }

  template <class P>
  void promises(P& p) const {
    p.deadlock_free();
    p.invariant("OneState", [this](const state& s) { return is_in_one_state(s); });
    p.invariant("RunningIsHeld", [this](const state& s) {
      return every_handler([&](unsigned i) {
        return is_async(i) || is(s, i, phase::running) == (runners_of(s, i) > 0);
      });
    });
    p.invariant("NeverReentered", [this](const state& s) {
      return every_handler([&](unsigned i) { return runners_of(s, i) <= !is_async(i); });
    });
    p.invariant("TriggerFindsItFree", [this](const state& s) {
      return every_putter([&](unsigned q) {
        const number i = target(s, q);
        return i == none || is(s, i, phase::waiting) || is(s, i, phase::running);
      });
    });
    p.invariant("TriggerKept", [this](const state& s) {
      return every_handler(
          [&](unsigned i) { return s.handlers[i].pending == 0 || is_seen_to(s, i); });
    });
    // A run that starts finds an event.
    p.invariant("NothingGroundless", [this](const state& s) {
      return every_handler([&](unsigned i) {
        const handler& h = s.handlers[i];
        return h.at != phase::running || h.consumed || h.pending > 0;
      });
    });
    p.invariant("GroupExclusive", [this](const state& s) { return is_exclusive(s); });
    p.invariant("GroupHandedOver", [](const state& s) {
      return s.group_queue.empty() || s.holder != scheduler_built::none;
    });
    p.invariant("WorkConserving", [this](const state& s) {
      return number_of(s, mode::idle) == 0 || startable(s) <= number_of(s, mode::woken);
    });
    p.leads_to(
        "starvation_free", n_handlers(),
        [](const state& s, unsigned i) {
          return !is(s, i, phase::waiting) && !is(s, i, phase::running);
        },
        [](const state& s, unsigned i) { return is(s, i, phase::running); });
    p.leads_to(
        "EventConsumed", n_handlers(),
        [](const state& s, unsigned i) { return s.handlers[i].pending > 0 && !has_consumed(s, i); },
        [](const state& s, unsigned i) { return has_consumed(s, i); });
    p.leads_to(
        "CallReturns", n_handlers(),
        [](const state& s, unsigned i) { return s.handlers[i].group != place::inside; },
        [](const state& s, unsigned i) { return s.handlers[i].group == place::inside; });
  }

  template <class F>
  void permuted(const state& s, F f) const {
    permute(count(workers), [&](const auto& runner_of) {
      permute(count(putters), [&](const auto& putter_of) {
        state t = s;
        for (unsigned r = 0; r < count(workers); ++r) t.runners[r] = s.runners[runner_of[r]];
        for (unsigned q = 0; q < count(putters); ++q) t.putters[q] = s.putters[putter_of[q]];
        f(t);
      });
    });
  }

  template <class F>
  void fields(const state& s, F f) const {
    f("wait_set", names(s.wait_set));
    f("run_queue", names(s.run_queue));
    if (grouped) {
      f("group_queue", names(s.group_queue));
      f("holder", s.holder == none ? "-" : name(s.holder));
    }
    for (unsigned i = 0; i < n_handlers(); ++i) f(name(i), text_of(s.handlers[i]));
    for (unsigned r = 0; r < count(workers); ++r) {
      const runner& w = s.runners[r];
      f("runner " + std::to_string(r), w.at == mode::idle    ? "idle"
                                       : w.at == mode::woken ? "woken"
                                                             : "runs " + name(w.task));
    }
    for (unsigned p = 0; p < count(putters); ++p) {
      const putter& q = s.putters[p];
      f("putter " + std::to_string(p),
        q.target == none ? "-" : (q.seen == look::no ? "triggers " : "puts to ") + name(q.target));
    }
  }

  std::string parameter(unsigned kind, unsigned p) const {
    switch (kind) {
      case put:
      case look_first:
        return "putter " + std::to_string(p / n_handlers()) + ", " + name(p % n_handlers());
      case trigger:
        return "putter " + std::to_string(p);
      case take:
      case consume:
      case finish_and_take:
        return "runner " + std::to_string(p);
      default:
        return name(p);
    }
  }

 protected:
  static unsigned count(int n) { return static_cast<unsigned>(n); }
  unsigned n_handlers() const { return count(subscribers + servers + clients); }
  bool has(mistake m) const { return mutant == m; }

  std::string misfit() const {
    if (n_handlers() == 0) return "there is no handler";
    if (n_handlers() > most_handlers)
      return "more than " + std::to_string(most_handlers) + " handlers in all";
    if (count(grouped) > n_handlers()) return "more handlers are Grouped than there are";
    if (count(async) > n_handlers()) return "more handlers are Async than there are";
    const bool is_of_calls =
        has(mistake::leave_wakes_nobody) || has(mistake::enter_without_waiting);
    const bool is_of_detached =
        is_of_calls || has(mistake::finish_wakes_nobody) || has(mistake::handover_to_rear);
    if (is_of_detached && !has_detached_member())
      return "this mutant needs a detached handler in the group";
    if (is_of_calls && calls == 0) return "this mutant needs Calls";
    return "";
  }

  bool has_detached_member() const { return count(grouped + async) > n_handlers(); }
  bool is_member(unsigned i) const { return i < count(grouped); }
  bool is_async(unsigned i) const { return i + count(async) >= n_handlers(); }
  unsigned class_of(unsigned i) const {
    if (i < count(subscribers)) return 0;
    return i < count(subscribers + servers) ? 1 : 2;
  }

  static bool is(const state& s, unsigned i, phase wanted) { return s.handlers[i].at == wanted; }
  static bool has_consumed(const state& s, unsigned i) {
    return is(s, i, phase::running) && s.handlers[i].consumed;
  }
  static number target(const state& s, unsigned p) {
    return s.putters[p].seen == look::no ? s.putters[p].target : none;
  }
  unsigned number_of(const state& s, mode wanted) const {
    unsigned n = 0;
    for (unsigned r = 0; r < count(workers); ++r) n += s.runners[r].at == wanted;
    return n;
  }

  unsigned runners_of(const state& s, unsigned i) const {
    unsigned n = 0;
    for (unsigned r = 0; r < count(workers); ++r) n += s.runners[r].task == i;
    return n;
  }

  template <class Is>
  bool every_handler(Is holds) const {
    for (unsigned i = 0; i < n_handlers(); ++i)
      if (!holds(i)) return false;
    return true;
  }
  template <class Is>
  bool every_putter(Is holds) const {
    for (unsigned p = 0; p < count(putters); ++p)
      if (!holds(p)) return false;
    return true;
  }

 private:
  // --- steps -------------------------------------------------------------------------------------

  // Under the handler's lock an event is added; who found the queue empty triggers the handler,
  // under the executor's.
  template <class Emit>
  void step_of_putter(const state& s, unsigned p, Emit& emit) const {
    const putter& me = s.putters[p];
    if (target(s, p) != none) {
      state t = s;
      t.putters[p] = {};
      const bool is_ready = triggered(t, me.target);
      return woken(t, has(mistake::no_wake) ? 0 : is_ready,
                   [&](const state& u) { emit(trigger, p, u); });
    }
    for (unsigned i = 0; i < n_handlers(); ++i) {
      if (me.seen != look::no && me.target != i) continue;
      const bool is_empty = s.handlers[i].pending == 0;
      state t = s;
      if (has(mistake::look_outside) && me.seen == look::no) {
        t.putters[p] = {static_cast<number>(i), is_empty ? look::empty : look::some};
        emit(look_first, p * n_handlers() + i, t);
      } else if (s.handlers[i].pending < events) {
        ++t.handlers[i].pending;
        t.putters[p] = {};
        if (me.seen == look::empty || (me.seen == look::no && is_empty))
          t.putters[p].target = static_cast<number>(i);
        emit(put, p * n_handlers() + i, t);
      }
    }
  }

  template <class Emit>
  void step_of_runner(const state& s, unsigned r, Emit& emit) const {
    state t = s;
    const unsigned i = s.runners[r].task;
    switch (s.runners[r].at) {
      case mode::idle:
        break;
      case mode::woken:
        taken(t, r);
        emit(take, r, t);
        break;
      case mode::running:
        if (!s.handlers[i].consumed) {
          consumed(t, i);
          return emit(consume, r, t);
        }
        step_of_greedy(s, i, emit);
        t.runners[r].task = none;
        finished(t, i);
        taken(t, r);
        emit(finish_and_take, r, t);
        break;
    }
  }

  template <class Emit>
  void step_of_detached(const state& s, unsigned i, Emit& emit) const {
    const handler& h = s.handlers[i];
    state t = s;
    if (h.group == place::outside) {
      entered(t, i);
      emit(enter_group, i, t);
    } else if (h.group == place::returning) {
      return;  // until the group is handed over to it
    } else if (!h.consumed) {
      consumed(t, i);
      emit(consume_detached, i, t);
    } else {
      step_of_greedy(s, i, emit);
      step_to_leave(s, i, emit);
      unsigned ready = finished(t, i);
      if (one_wake) ready = std::min(ready, 1u);
      if (has(mistake::finish_wakes_nobody)) ready = 0;
      woken(t, ready, [&](const state& u) { emit(finish_detached, i, u); });
    }
  }

  // It awaits a call, and others of its group may run meanwhile.
  template <class Emit>
  void step_to_leave(const state& s, unsigned i, Emit& emit) const {
    if (!is_member(i) || s.handlers[i].calls == calls) return;
    state t = s;
    t.handlers[i].group = place::outside;
    ++t.handlers[i].calls;
    const bool is_ready = handed_over(t) && !has(mistake::leave_wakes_nobody);
    woken(t, is_ready, [&](const state& u) { emit(leave_group, i, u); });
  }

  // Nothing makes it go on like that for ever.
  template <class Emit>
  void step_of_greedy(const state& s, unsigned i, Emit& emit) const {
    if (!has(mistake::consume_piecemeal) || s.handlers[i].pending == 0) return;
    state t = s;
    consumed(t, i);
    emit(consume_more, i, t);
  }

  // --- what they do ------------------------------------------------------------------------------

  // Whether there is one more handler to be run.
  bool triggered(state& t, unsigned i) const {
    handler& h = t.handlers[i];
    if (h.at == phase::waiting || (h.at == phase::running && has(mistake::trigger_running))) {
      h.at = phase::triggered;
      t.wait_set.append(i);
      return true;
    }
    if (h.at == phase::running) h.again = true;
    return false;
  }

  // Of the idle runners so many are woken, or all: whichever.
  template <class Then>
  void woken(const state& t, unsigned wanted, Then then) const {
    const unsigned enough = std::min(wanted, number_of(t, mode::idle));
    for (unsigned some = 0; some < 1u << workers; ++some) {
      if (count(std::popcount(some)) != enough) continue;
      state u = t;
      bool are_idle = true;
      for (unsigned r = 0; r < count(workers); ++r) {
        if (!(some >> r & 1)) continue;
        are_idle = are_idle && t.runners[r].at == mode::idle;
        u.runners[r].at = mode::woken;
      }
      if (are_idle) then(u);
    }
  }

  // All that is triggered goes behind all that is queued, by class, and within a class in the order
  // of the triggers.
  void scheduled(state& t) const {
    const sequence triggers = t.wait_set;
    for (unsigned c = 0; c < 3; ++c)
      for (const number i : triggers) {
        if (class_of(i) != c) continue;
        if (has(mistake::one_a_step) && t.wait_set != triggers) return;
        t.wait_set.remove(t.wait_set.place_of(i));
        t.handlers[i].at = phase::queued;
        unsigned at = t.run_queue.length;
        if (has(mistake::class_order))
          while (at > 0 && class_of(t.run_queue.handlers[at - 1]) > c) --at;
        t.run_queue.insert(at, i);
      }
  }

  // A runner takes the first handler whose group is not held by another; these go to the queue of
  // the group.
  void taken(state& t, unsigned r) const {
    scheduled(t);
    for (unsigned looks = t.run_queue.length; looks > 0; --looks) {
      const unsigned i = t.run_queue.remove(has(mistake::lifo_queue) ? looks - 1 : 0);
      const bool is_held = is_member(i) && t.holder != none && t.holder != i;
      if (!is_held || has(mistake::ignore_group)) return started(t, r, i);
      if (has(mistake::skip_busy_group)) {
        t.run_queue.append(i);
      } else {
        t.group_queue.append(i);
        t.handlers[i].at = phase::grouped;
      }
    }
    t.runners[r] = {mode::idle, none};
  }

  // A detached run goes on without the runner, which takes again.
  void started(state& t, unsigned r, unsigned i) const {
    if (is_member(i)) t.holder = static_cast<number>(i);
    t.handlers[i].at = phase::running;
    t.runners[r] =
        is_async(i) ? runner{mode::woken, none} : runner{mode::running, static_cast<number>(i)};
  }

  void consumed(state& t, unsigned i) const {
    handler& h = t.handlers[i];
    h.pending = static_cast<number>(h.pending - std::min(int{h.pending}, budget));
    h.consumed = true;
    h.more = h.pending > 0;
  }

  // How many more handlers there are to be run.
  unsigned finished(state& t, unsigned i) const {
    handler& h = t.handlers[i];
    const bool is_ready =
        (h.more && !has(mistake::forget_pending)) || (h.again && !has(mistake::forget_again));
    const bool is_dropped = has(mistake::drop_requeue) && !is_ready;
    const phase next = is_dropped ? h.at : is_ready ? phase::triggered : phase::waiting;
    h = {.at = next, .pending = h.pending};
    if (is_ready) t.wait_set.append(i);
    return is_ready + (t.holder == i ? handed_over(t) : 0u);
  }

  // The first in the queue of the group has it now. One that returns goes on by itself; any other
  // is to be run next. Whether it is such a one.
  bool handed_over(state& t) const {
    t.holder = none;
    if (t.group_queue.empty() || has(mistake::no_handover)) return false;
    const unsigned i = t.group_queue.remove(0);
    t.holder = static_cast<number>(i);
    if (is(t, i, phase::running)) {
      t.handlers[i].group = place::inside;
      return false;
    }
    t.handlers[i].at = phase::queued;
    t.run_queue.insert(has(mistake::handover_to_rear) ? t.run_queue.length : 0u, i);
    return true;
  }

  void entered(state& t, unsigned i) const {
    if (t.holder == none || has(mistake::enter_without_waiting)) {
      t.holder = static_cast<number>(i);
      t.handlers[i].group = place::inside;
    } else {
      t.group_queue.append(i);
      t.handlers[i].group = place::returning;
    }
  }

  // --- properties --------------------------------------------------------------------------------

  // Every handler is in exactly the list that its phase says, once, and has what its phase allows.
  bool is_in_one_state(const state& s) const {
    const auto times = [](const sequence& q, unsigned i) {
      return static_cast<unsigned>(std::count(q.begin(), q.end(), i));
    };
    return every_handler([&](unsigned i) {
      const handler& h = s.handlers[i];
      const bool runs = h.at == phase::running;
      const bool in_group_queue = h.at == phase::grouped || h.group == place::returning;
      return times(s.wait_set, i) == (h.at == phase::triggered) &&
             times(s.run_queue, i) == (h.at == phase::queued) &&
             times(s.group_queue, i) == in_group_queue &&
             (runs || h == handler{.at = h.at, .pending = h.pending});
    });
  }

  // Whether somebody will see to its events.
  bool is_seen_to(const state& s, unsigned i) const {
    const handler& h = s.handlers[i];
    if (h.at != phase::waiting && h.at != phase::running) return true;
    if (h.at == phase::running && (!h.consumed || h.more || h.again)) return true;
    return !every_putter([&](unsigned p) { return target(s, p) != i; });
  }

  // Of a group at most one is inside, and it holds the group; who holds it without running is the
  // next to run.
  bool is_exclusive(const state& s) const {
    const auto is_inside = [&](unsigned i) {
      return is(s, i, phase::running) && s.handlers[i].group == place::inside;
    };
    const bool alone =
        every_handler([&](unsigned i) { return !is_member(i) || !is_inside(i) || s.holder == i; });
    return alone && (s.holder == none || is_inside(s.holder) ||
                     (!s.run_queue.empty() && s.run_queue.handlers[0] == s.holder));
  }

  // How many handlers could be started at once. Of a group it is one, if it is free or was handed
  // over; and none, if another runs in it.
  unsigned startable(const state& s) const {
    unsigned n = 0;
    bool has_member = false;
    for (const sequence* q : {&s.wait_set, &s.run_queue})
      for (const number i : *q) {
        if (!is_member(i))
          ++n;
        else if (s.holder == none || s.holder == i)
          has_member = true;
      }
    return n + has_member;
  }

  // --- names -------------------------------------------------------------------------------------

  // f(order) for each order of 0 .. n - 1.
  template <class F>
  static void permute(unsigned n, F f) {
    std::array<unsigned, most_runners> from{};
    std::iota(from.begin(), from.end(), 0u);
    do f(from);
    while (std::next_permutation(from.begin(), from.begin() + n));
  }

  static std::string text_of(const handler& h) {
    static constexpr std::array phases = {"waiting", "triggered", "queued", "grouped", "running"};
    std::string text = phases[static_cast<unsigned>(h.at)];
    if (h.group == place::outside) text += " outside";
    if (h.group == place::returning) text += " returning";
    if (h.consumed) text += h.more ? " consumed more" : " consumed";
    if (h.again) text += " again";
    return text + ", " + std::to_string(h.pending) + " pending";
  }
  std::string name(unsigned i) const {
    if (i < count(subscribers)) return "subscriber " + std::to_string(i);
    i -= count(subscribers);
    if (i < count(servers)) return "server " + std::to_string(i);
    return "client " + std::to_string(i - count(servers));
  }
  std::string names(const sequence& q) const {
    std::string all = "<";
    for (const number i : q) all += (all.size() > 1 ? " " : "") + name(i);
    return all + ">";
  }
};

}  // namespace rota::verify

#endif
