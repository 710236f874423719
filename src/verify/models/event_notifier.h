// Seed 003: a worker sleeps until its parent has a task for it, or tells it to end.
//
// The steps are the labels of the seed's PlusCal text. Of the stacks only the parent's is kept:
// what the others return to follows from where they are, and the procedures' parameters are always
// the caller's own number.
//
// As written, the parent wakes the child first and clears the child's request after that, and so
// may clear the next request. With `Repaired` it clears first.
#ifndef ROTA_VERIFY_MODELS_EVENT_NOTIFIER_H
#define ROTA_VERIFY_MODELS_EVENT_NOTIFIER_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/models/event_notifier_places.h"

namespace rota::verify {

template <bool Repaired>
class basic_worker_tree {
 public:
  using place = worker_tree_place;
  static constexpr unsigned most_threads = 6;

  struct state {
    std::array<place, most_threads> pc{};
    std::array<std::uint8_t, most_threads> tasks{};
    // The parent's stack: where mayRequestWork or mayShareWork, and where notify returns to.
    place work_returns = place::nowhere;
    place notify_returns = place::nowhere;
    std::uint8_t phase : 1 = 0;
    std::uint8_t ticket : 1 = 0;
    std::uint8_t signaled : 1 = 0;
    std::uint8_t cond_var : 1 = 0;
    std::uint8_t waiting : 1 = 0;    // msgToParent
    std::uint8_t terminate : 1 = 0;  // signaledTerminate
    // While watching: the parent has answered the sleeper, which has not woken yet.
    std::uint8_t answered : 1 = 0;
    std::uint8_t unused : 1 = 0;
  };

  enum class mistake {
    none,
    terminate_without_notify,
    notify_before_terminate,
    drop_all_wakes,
    drop_wakes_but_last,
    forgotten_notify,
    wake_first,
    forget_reset,
    keep_wake,
  };
  enum class ticket_use { checked, ignored, late };

  int threads = 2;
  int consumer = 1;
  int tasks = 1;
  ticket_use use = ticket_use::checked;
  bool watch = false;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("NumThreads", threads, 2, int{most_threads}, "threads, from 0 on");
    c("ConsumerTID", consumer, 1, int{most_threads} - 1,
      "the one that sleeps; half of it: its parent");
    c("MaxTasks", tasks, 0, 15, "tasks that a thread has at most");
    c("TicketUse", use, {"checked", "ignored", "late"},
      "whether park looks at the ticket, and whether it is taken before the parent is told");
    c("Watch", watch, "whether to remember an answer until the sleeper wakes; a mutant does");
    c("Mutant", mutant,
      {"none", "terminate_without_notify", "notify_before_terminate", "drop_all_wakes",
       "drop_wakes_but_last", "forgotten_notify", "wake_first", "forget_reset", "keep_wake"},
      "a mistake to plant");
  }
  std::string complaint() const {
    return consumer < threads ? "" : "ConsumerTID is a thread: less than NumThreads";
  }

  std::vector<action> actions() const {
    std::vector<action> all;
    for (const auto& l : worker_tree_labels)
      all.push_back({l.name, l.has_self ? count() : 1, l.group,
                     l.at == place::nowhere ? fairness::none : fairness::weak});
    return all;
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    for (unsigned t = 0; t < count(); ++t) s.pc[t] = place::Coworkers;
    s.pc[parent_id()] = place::ParentWork;
    s.pc[consumer_id()] = place::ConsumerWork;
    assign_tasks(s, 0, emit);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    for (unsigned t = 0; t < count(); ++t) {
      state n = s;
      if (step(n, t)) emit(s.pc[t], has_self(s.pc[t]) ? t : 0, n);
      // The other way to go on from here.
      n.pc[t] = place::PMaySW1;
      if (s.pc[t] == place::ParentWork) emit(s.pc[t], 0, n);
    }
    if (everybody_is(s, place::Done)) emit(place::nowhere, 0, s);
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("TypeOK", [this](const state& s) {
      return std::all_of(s.tasks.begin(), s.tasks.end(), [this](int n) { return n <= tasks; });
    });
    p.invariant("NoSleeperLeft", [this](const state& s) {
      for (unsigned t = 0; t < count(); ++t)
        if (t != consumer_id() && s.pc[t] != place::Done) return true;
      return !asleep(s);
    });
    p.invariant("TerminateNotLost", [this](const state& s) {
      return !asleep(s) || (at_parent(s) != place::Drop && at_parent(s) != place::Done);
    });
    p.invariant("OnlyParentNotifies", [this](const state& s) {
      for (unsigned t = 0; t < count(); ++t)
        if (t != parent_id() && (notifies(s.pc[t]) || s.pc[t] == place::Steal)) return false;
      return true;
    });
    p.invariant("NoSignalSleptOn", [this](const state& s) { return !asleep(s) || !s.signaled; });
    if (watches())
      p.invariant("AnswerWakes", [this](const state& s) { return !asleep(s) || !s.answered; });
    p.eventually("Termination", [this](const state& s) { return everybody_is(s, place::Done); });
    p.leads_to(
        "SignalUsedUp", [this](const state& s) { return parks(at_consumer(s)) && s.signaled; },
        [](const state& s) { return !s.signaled; });
    p.leads_to(
        "WakeUsedUp",
        [this](const state& s) { return at_consumer(s) == place::Wait && s.cond_var; },
        [](const state& s) { return !s.cond_var; });
    if (!Repaired) p.known_to_fail();
    p.invariant("RequestNotLost", [this](const state& s) {
      return !asleep(s) || s.waiting || at_parent(s) == place::Share2 ||
             at_parent(s) == place::Drop || at_parent(s) == place::Done;
    });
    p.invariant("NoSilentSleeper", [this](const state& s) {
      return !(asleep(s) && !s.waiting && at_parent(s) == place::ParentWork &&
               s.tasks[parent_id()] > 0);
    });
  }

  // The coworkers are alike.
  template <class F>
  void permuted(const state& s, F f) const {
    std::vector<unsigned> ids;
    for (unsigned t = 0; t < count(); ++t)
      if (t != parent_id() && t != consumer_id()) ids.push_back(t);
    std::vector<unsigned> from = ids;
    while (std::next_permutation(from.begin(), from.end())) {
      state n = s;
      for (unsigned i = 0; i < ids.size(); ++i) {
        n.pc[ids[i]] = s.pc[from[i]];
        n.tasks[ids[i]] = s.tasks[from[i]];
      }
      f(n);
    }
  }

  template <class F>
  void fields(const state& s, F f) const {
    f("phase", s.phase != 0);
    f("ticket", s.ticket != 0);
    f("signaled", s.signaled != 0);
    f("condVar", s.cond_var != 0);
    f("msgToParent", s.waiting ? "Waiting" : "None");
    f("signaledTerminate", s.terminate != 0);
    if (watches()) f("answered", s.answered != 0);
    for (unsigned t = 0; t < count(); ++t) {
      f("tasks[" + name(t) + "]", unsigned{s.tasks[t]});
      f("pc[" + name(t) + "]", name_of(s.pc[t]));
      f("stack[" + name(t) + "]", stack(s, t));
    }
  }

  std::string parameter(unsigned, unsigned t) const { return name(t); }

 private:
  unsigned count() const { return static_cast<unsigned>(threads); }
  unsigned consumer_id() const { return static_cast<unsigned>(consumer); }
  unsigned parent_id() const { return consumer_id() / 2; }
  place at_parent(const state& s) const { return s.pc[parent_id()]; }
  place at_consumer(const state& s) const { return s.pc[consumer_id()]; }

  static bool has_self(place p) { return worker_tree_labels[static_cast<unsigned>(p)].has_self; }
  static bool notifies(place p) { return place::DontUndoOther <= p && p <= place::RET_Notify; }
  static bool parks(place p) { return place::NotSignaled2 <= p && p <= place::Reset; }

  // What has been answered is no part of the seed's state, so a count leaves it out.
  bool watches() const { return watch || mutant != mistake::none; }

  bool everybody_is(const state& s, place p) const {
    return std::all_of(s.pc.begin(), s.pc.begin() + threads, [p](place q) { return q == p; });
  }
  static bool no_tasks(const state& s) {
    return std::all_of(s.tasks.begin(), s.tasks.end(), [](unsigned n) { return n == 0; });
  }

  // The consumer sleeps and no wake-up is under way.
  bool asleep(const state& s) const {
    return at_consumer(s) == place::Wait && !s.cond_var &&
           std::none_of(s.pc.begin(), s.pc.end(), notifies);
  }

  // Every assignment of tasks to the threads from `t` on.
  template <class Emit>
  void assign_tasks(state s, unsigned t, Emit& emit) const {
    if (t == count()) {
      emit(s);
      return;
    }
    for (int n = 0; n <= tasks; ++n) {
      s.tasks[t] = static_cast<std::uint8_t>(n);
      assign_tasks(s, t + 1, emit);
    }
  }

  // The step of a thread, if it has one. Of the parent's two ways from ParentWork the first.
  bool step(state& s, unsigned t) const {
    const place at = s.pc[t];
    if (at == place::Done) return false;
    if (at == place::Wait && !s.cond_var) return false;
    const auto to = [&](place p) { s.pc[t] = p; };
    switch (at) {
      case place::Coworkers:
        to(s.tasks[t] > 0 ? place::MaySteal : place::Done);
        break;

      case place::MaySteal:
        to(s.tasks[t] > 0 ? place::Work : place::Steal);
        break;
      case place::Work:
        --s.tasks[t];
        to(place::RET_WS);
        break;
      case place::Steal:
        call_notify(s, t, place::RET_WS);
        break;

      case place::MayShare:
        to(s.tasks[t] > 0 ? place::Share0 : place::RET_Share);
        break;
      case place::Share0:
        to(s.waiting ? place::Share1 : place::RET_Share);
        break;
      case place::Share1:
        if (Repaired)
          clear_request(s, t, place::Share2);
        else
          answer(s, t, place::Share2);
        break;
      case place::Share2:
        if (Repaired)
          answer(s, t, place::TaskShared);
        else
          clear_request(s, t, place::TaskShared);
        break;
      case place::TaskShared:
        --s.tasks[t];
        to(place::RET_Share);
        break;
      case place::RET_WS:
      case place::RET_Share:
        return_from_work(s, t);
        break;

      case place::DontUndoOther:
        to(s.signaled ? place::EarlyExit : place::Notify);
        break;
      case place::Notify:
        (mutant == mistake::wake_first ? raise_wake(s) : raise_signal(s));
        to(place::InvalidTicket);
        break;
      case place::InvalidTicket:
        s.phase = !s.phase;
        to(place::Awaken);
        break;
      case place::Awaken:
        (mutant == mistake::wake_first ? raise_signal(s) : raise_wake(s));
        to(place::RET_Notify);
        break;
      case place::EarlyExit:
      case place::RET_Notify:
        return_from_notify(s, t);
        break;

      case place::ParentWork:
        to(place::PMayRW0);
        break;
      case place::PMayRW0:
        call_work(s, t, place::MaySteal, place::PMaySW0);
        break;
      case place::PMaySW0:
        call_work(s, t, place::MayShare, place::OutOfWork);
        break;
      case place::PMaySW1:
        call_work(s, t, place::MayShare, place::PMayRW1);
        break;
      case place::PMayRW1:
        call_work(s, t, place::MaySteal, place::OutOfWork);
        break;
      case place::OutOfWork:
        to(!no_tasks(s)                                 ? place::StillWork
           : mutant == mistake::notify_before_terminate ? place::WakeTerm1
                                                        : place::Terminate0);
        break;
      case place::Terminate0:
        s.terminate = 1;
        to(mutant == mistake::notify_before_terminate ? place::Drop : place::WakeTerm1);
        break;
      case place::WakeTerm1:
        if (mutant == mistake::terminate_without_notify)
          to(place::Drop);
        else
          call_notify(s, t,
                      mutant == mistake::notify_before_terminate ? place::Terminate0 : place::Drop);
        break;
      case place::Drop:
        clear_request(s, t, place::Done);
        break;
      case place::StillWork:
        to(place::ParentWork);
        break;

      case place::ConsumerWork:
        to(s.tasks[t] > 0            ? place::FoundWork
           : use == ticket_use::late ? place::Sleeping1
                                     : place::Sleeping0);
        break;
      case place::FoundWork:
        --s.tasks[t];
        to(place::isEnding);
        break;
      case place::Sleeping0:
        to(place::NotSignaled);
        break;
      case place::Sleeping1:
        s.waiting = 1;
        to(use == ticket_use::late ? place::Sleeping0 : place::Sleeping2);
        break;
      case place::Sleeping2:
        to(place::NotSignaled2);
        break;
      case place::isEnding:
        to(s.terminate ? place::RecvTerminate : place::ConsumerWork);
        break;
      case place::RecvTerminate:
        to(place::Done);
        break;

      case place::NotSignaled:
        to(s.signaled ? place::RET_Int : place::TakeTicket);
        break;
      case place::TakeTicket:
        s.ticket = s.phase;
        to(place::RET_Int);
        break;
      case place::RET_Int:
        to(after_prepare());
        break;

      case place::NotSignaled2:
        to(s.signaled ? place::Reset : place::StillValid);
        break;
      case place::StillValid:
        to(s.ticket == s.phase || use == ticket_use::ignored ? place::Wait : place::Reset);
        break;
      case place::Wait:
        if (mutant != mistake::keep_wake) s.cond_var = 0;
        s.answered = 0;
        to(place::Reset);
        break;
      case place::Reset:
        if (mutant != mistake::forget_reset) s.signaled = 0;
        to(place::RET_Park);
        break;
      case place::RET_Park:
        to(place::isEnding);
        break;

      case place::nowhere:
      case place::Done:
        break;
    }
    return true;
  }

  static void raise_signal(state& s) { s.signaled = 1; }
  void raise_wake(state& s) const {
    if (mutant != mistake::drop_all_wakes) s.cond_var = 1;
  }
  static void clear_request(state& s, unsigned t, place then) {
    s.waiting = 0;
    s.pc[t] = then;
  }
  void answer(state& s, unsigned t, place then) const {
    s.answered = watches() && at_consumer(s) == place::Wait;
    if (mutant == mistake::forgotten_notify)
      s.pc[t] = then;
    else
      call_notify(s, t, then);
  }
  void call_notify(state& s, unsigned t, place then) const {
    if (mutant == mistake::drop_wakes_but_last && !s.terminate) {
      s.pc[t] = then;
      return;
    }
    if (t == parent_id()) s.notify_returns = then;
    s.pc[t] = place::DontUndoOther;
  }
  static void call_work(state& s, unsigned t, place procedure, place then) {
    s.work_returns = then;
    s.pc[t] = procedure;
  }
  void return_from_notify(state& s, unsigned t) const {
    s.pc[t] = notify_returns(s, t);
    if (t == parent_id()) s.notify_returns = place::nowhere;
  }
  void return_from_work(state& s, unsigned t) const {
    s.pc[t] = work_returns(s, t);
    if (t == parent_id()) s.work_returns = place::nowhere;
  }

  // A coworker notifies only when it steals.
  place notify_returns(const state& s, unsigned t) const {
    return t == parent_id() ? s.notify_returns : place::RET_WS;
  }
  place work_returns(const state& s, unsigned t) const {
    return t == parent_id() ? s.work_returns : place::Coworkers;
  }
  place after_prepare() const {
    return use == ticket_use::late ? place::Sleeping2 : place::Sleeping1;
  }

  std::string stack(const state& s, unsigned t) const {
    const place at = s.pc[t];
    std::string all;
    const auto add = [&all](place p) {
      if (p != place::nowhere) all += (all.empty() ? "" : " ") + std::string(name_of(p));
    };
    if (place::NotSignaled <= at && at <= place::RET_Int) add(after_prepare());
    if (parks(at) || at == place::RET_Park) add(place::isEnding);
    if (notifies(at)) add(notify_returns(s, t));
    if ((place::MaySteal <= at && at <= place::RET_Share) || notifies(at)) add(work_returns(s, t));
    return "<" + all + ">";
  }
  std::string name(unsigned t) const {
    if (t == parent_id()) return "parent";
    if (t == consumer_id()) return "consumer";
    return "producer " + std::to_string(t);
  }
};

using event_notifier_seed = basic_worker_tree<false>;
using event_notifier_fix = basic_worker_tree<true>;

}  // namespace rota::verify

#endif
