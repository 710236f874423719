// The labels of seed 003: where a thread can be, and the step that it takes from there.
#ifndef ROTA_VERIFY_MODELS_EVENT_NOTIFIER_PLACES_H
#define ROTA_VERIFY_MODELS_EVENT_NOTIFIER_PLACES_H

#include <array>
#include <cstdint>

namespace rota::verify {

// As the seed spells them, and in this order: a procedure's labels stand together.
enum class worker_tree_place : std::uint8_t {
  nowhere,
  // producer
  Coworkers,
  // mayRequestWork
  MaySteal,
  Work,
  Steal,
  RET_WS,
  // mayShareWork
  MayShare,
  Share0,
  Share1,
  Share2,
  TaskShared,
  RET_Share,
  // notify
  DontUndoOther,
  EarlyExit,
  Notify,
  InvalidTicket,
  Awaken,
  RET_Notify,
  // prepareParking
  NotSignaled,
  TakeTicket,
  RET_Int,
  // park
  NotSignaled2,
  StillValid,
  Wait,
  Reset,
  RET_Park,
  // parent
  ParentWork,
  PMayRW0,
  PMaySW0,
  PMaySW1,
  PMayRW1,
  OutOfWork,
  Terminate0,
  WakeTerm1,
  Drop,
  StillWork,
  // consumer
  ConsumerWork,
  FoundWork,
  Sleeping0,
  Sleeping1,
  Sleeping2,
  isEnding,
  RecvTerminate,
  Done,
};

struct worker_tree_label {
  worker_tree_place at;
  const char* name;
  const char* group;  // the procedure or process: fairness is promised to each as a whole
  bool has_self;      // an action for each thread
};

// One per place but Done, so that a place's number is its action's. The first is the seed's
// Terminating: the end stutters rather than deadlocks.
inline constexpr auto worker_tree_labels = [] {
  using enum worker_tree_place;
  return std::array{
      worker_tree_label{nowhere, "Terminating", "", false},
      worker_tree_label{Coworkers, "Coworkers", "producer", true},
      worker_tree_label{MaySteal, "MaySteal", "mayRequestWork", true},
      worker_tree_label{Work, "Work", "mayRequestWork", true},
      worker_tree_label{Steal, "Steal", "mayRequestWork", true},
      worker_tree_label{RET_WS, "RET_WS", "mayRequestWork", true},
      worker_tree_label{MayShare, "MayShare", "mayShareWork", true},
      worker_tree_label{Share0, "Share0", "mayShareWork", true},
      worker_tree_label{Share1, "Share1", "mayShareWork", true},
      worker_tree_label{Share2, "Share2", "mayShareWork", true},
      worker_tree_label{TaskShared, "TaskShared", "mayShareWork", true},
      worker_tree_label{RET_Share, "RET_Share", "mayShareWork", true},
      worker_tree_label{DontUndoOther, "DontUndoOther", "notify", true},
      worker_tree_label{EarlyExit, "EarlyExit", "notify", true},
      worker_tree_label{Notify, "Notify", "notify", true},
      worker_tree_label{InvalidTicket, "InvalidTicket", "notify", true},
      worker_tree_label{Awaken, "Awaken", "notify", true},
      worker_tree_label{RET_Notify, "RET_Notify", "notify", true},
      worker_tree_label{NotSignaled, "NotSignaled", "prepareParking", true},
      worker_tree_label{TakeTicket, "TakeTicket", "prepareParking", true},
      worker_tree_label{RET_Int, "RET_Int", "prepareParking", true},
      worker_tree_label{NotSignaled2, "NotSignaled2", "park", true},
      worker_tree_label{StillValid, "StillValid", "park", true},
      worker_tree_label{Wait, "Wait", "park", true},
      worker_tree_label{Reset, "Reset", "park", true},
      worker_tree_label{RET_Park, "RET_Park", "park", true},
      worker_tree_label{ParentWork, "ParentWork", "parent", false},
      worker_tree_label{PMayRW0, "PMayRW0", "parent", false},
      worker_tree_label{PMaySW0, "PMaySW0", "parent", false},
      worker_tree_label{PMaySW1, "PMaySW1", "parent", false},
      worker_tree_label{PMayRW1, "PMayRW1", "parent", false},
      worker_tree_label{OutOfWork, "OutOfWork", "parent", false},
      worker_tree_label{Terminate0, "Terminate0", "parent", false},
      worker_tree_label{WakeTerm1, "WakeTerm1", "parent", false},
      worker_tree_label{Drop, "Drop", "parent", false},
      worker_tree_label{StillWork, "StillWork", "parent", false},
      worker_tree_label{ConsumerWork, "ConsumerWork", "consumer", false},
      worker_tree_label{FoundWork, "FoundWork", "consumer", false},
      worker_tree_label{Sleeping0, "Sleeping0", "consumer", false},
      worker_tree_label{Sleeping1, "Sleeping1", "consumer", false},
      worker_tree_label{Sleeping2, "Sleeping2", "consumer", false},
      worker_tree_label{isEnding, "isEnding", "consumer", false},
      worker_tree_label{RecvTerminate, "RecvTerminate", "consumer", false},
  };
}();

constexpr const char* name_of(worker_tree_place p) {
  return p == worker_tree_place::Done ? "Done" : worker_tree_labels[static_cast<unsigned>(p)].name;
}

static_assert([] {
  for (unsigned i = 0; i < worker_tree_labels.size(); ++i)
    if (static_cast<unsigned>(worker_tree_labels[i].at) != i) return false;
  return worker_tree_labels.size() == static_cast<unsigned>(worker_tree_place::Done);
}());

}  // namespace rota::verify

#endif
