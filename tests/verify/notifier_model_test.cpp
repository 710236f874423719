// The models of seed 003 (a worker and its parent), of its notifier with an inbox, and of the
// notifier that Rota has. The counts of the first two are TLC's, those of the last are
// specs/runs.txt's: a step that is missing or one too many changes them.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/model_check.h"

namespace rota::verify::test {
namespace {

std::vector<setting> tree(int threads, int consumer, int tasks,
                          const std::vector<setting>& more = {}) {
  std::vector<setting> all = {{"NumThreads", std::to_string(threads)},
                              {"ConsumerTID", std::to_string(consumer)},
                              {"MaxTasks", std::to_string(tasks)}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<setting> inbox(int producers, const char* kind, const char* order, int phases,
                           const std::vector<setting>& more = {}) {
  std::vector<setting> all = {{"Producers", std::to_string(producers)},
                              {"Kind", kind},
                              {"Order", order},
                              {"PhaseMod", std::to_string(phases)}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(EventNotifierModel, HasTheStatesThatTlcCounts) {
  EXPECT_EQ(check_model("event_notifier", tree(2, 1, 1)).counts(),
            "5292 distinct, 10264 generated, depth 67");
  EXPECT_EQ(check_model("event_notifier", tree(3, 1, 1)).counts(),
            "50490 distinct, 142091 generated, depth 94");
  EXPECT_EQ(check_model("event_notifier_fix", tree(2, 1, 1)).counts(),
            "4647 distinct, 9012 generated, depth 67");
  EXPECT_EQ(check_model("event_notifier_fix", tree(3, 1, 1)).counts(),
            "40590 distinct, 114079 generated, depth 94");
}

TEST(EventNotifierModel, HasTheStatesOfTheSeedsTextAtOtherSettings) {
  const how safety{.properties = {"TypeOK"}};
  EXPECT_EQ(check_model("event_notifier", tree(2, 1, 2), safety).result.distinct, 6808u);
  EXPECT_EQ(check_model("event_notifier", tree(2, 1, 3), safety).result.distinct, 10899u);
  EXPECT_EQ(check_model("event_notifier", tree(3, 2, 1), safety).result.distinct, 50490u);
  EXPECT_EQ(check_model("event_notifier_fix", tree(2, 1, 2), safety).result.distinct, 5782u);
  EXPECT_EQ(check_model("event_notifier_fix", tree(2, 1, 3), safety).result.distinct, 9987u);
}

TEST(EventNotifierModel, LeavesNoSleeperBehind) {
  for (const char* model : {"event_notifier", "event_notifier_fix"}) {
    const auto seen = check_model(model, tree(3, 1, 1));
    EXPECT_EQ(seen.violated(), "");
    EXPECT_TRUE(seen.decided());
    EXPECT_EQ(seen.never_taken(), "");
    EXPECT_TRUE(seen.holds("deadlock_free"));
    EXPECT_TRUE(seen.holds("OnlyParentNotifies"));
    EXPECT_TRUE(seen.holds("Termination"));
  }
}

TEST(EventNotifierModel, LosesARequestUnlessRepaired) {
  const how asked{.properties = {"RequestNotLost", "NoSilentSleeper"}};
  EXPECT_EQ(check_model("event_notifier", tree(2, 1, 1), asked).violated(), "RequestNotLost");
  EXPECT_EQ(check_model("event_notifier", tree(2, 1, 2), asked).violated(), "RequestNotLost");
  EXPECT_EQ(check_model("event_notifier", tree(2, 1, 3), asked).violated(),
            "RequestNotLost NoSilentSleeper");
  for (int tasks = 1; tasks <= 4; ++tasks)
    EXPECT_EQ(check_model("event_notifier_fix", tree(2, 1, tasks), asked).violated(), "");
}

TEST(EventNotifierModel, EndsOnlyIfEveryProcedureGoesOn) {
  for (const char* group : {"producer", "mayRequestWork", "mayShareWork", "notify", "parent",
                            "consumer", "prepareParking", "park"})
    EXPECT_TRUE(check_model("event_notifier", tree(3, 1, 1),
                            {.properties = {"Termination"}, .fairness = {{group, fairness::none}}})
                    .fails("Termination"))
        << group;
}

TEST(EventNotifierModel, MutantsAreCaught) {
  expect_caught(
      "event_notifier", tree(2, 1, 1, {{"Watch", "TRUE"}}),
      {{"terminate_without_notify", "deadlock_free NoSleeperLeft TerminateNotLost Termination"},
       {"notify_before_terminate", "deadlock_free NoSleeperLeft TerminateNotLost Termination"},
       {"drop_all_wakes",
        "deadlock_free NoSleeperLeft TerminateNotLost NoSignalSleptOn AnswerWakes Termination "
        "SignalUsedUp"},
       {"drop_wakes_but_last", "AnswerWakes"},
       {"forgotten_notify", "AnswerWakes"},
       {"wake_first",
        "deadlock_free NoSleeperLeft TerminateNotLost NoSignalSleptOn Termination SignalUsedUp"},
       {"forget_reset", "SignalUsedUp"},
       {"keep_wake", "WakeUsedUp"}});
  expect_caught(
      "event_notifier_fix", tree(2, 1, 1, {{"Watch", "TRUE"}}),
      {{"terminate_without_notify", "deadlock_free NoSleeperLeft TerminateNotLost Termination"},
       {"notify_before_terminate", "deadlock_free NoSleeperLeft TerminateNotLost Termination"},
       {"drop_all_wakes",
        "deadlock_free NoSleeperLeft TerminateNotLost NoSignalSleptOn AnswerWakes Termination "
        "SignalUsedUp RequestNotLost"},
       {"drop_wakes_but_last", "AnswerWakes RequestNotLost"},
       {"forgotten_notify", "AnswerWakes RequestNotLost"},
       {"wake_first",
        "deadlock_free NoSleeperLeft TerminateNotLost NoSignalSleptOn Termination SignalUsedUp"},
       {"forget_reset", "SignalUsedUp"},
       {"keep_wake", "WakeUsedUp"}});
}

// A flag that stays set makes the ticket superfluous: a finding about the seed, not a promise.
TEST(EventNotifierModel, NeedsNoTicketWhileTheFlagIsSticky) {
  for (const char* model : {"event_notifier", "event_notifier_fix"})
    for (const char* use : {"ignored", "late"})
      EXPECT_EQ(
          check_model(model, tree(3, 1, 1, {{"TicketUse", use}, {"Watch", "TRUE"}})).violated(), "")
          << model << ' ' << use;
}

TEST(EventNotifierModel, CoworkersAreInterchangeable) {
  for (const char* model : {"event_notifier", "event_notifier_fix"}) {
    const how safety{.properties = {"deadlock_free", "TypeOK", "NoSleeperLeft", "TerminateNotLost",
                                    "OnlyParentNotifies", "NoSignalSleptOn", "RequestNotLost"}};
    how merged = safety;
    merged.symmetry = true;
    const auto all = check_model(model, tree(4, 1, 0), safety);
    const auto few = check_model(model, tree(4, 1, 0), merged);
    EXPECT_EQ(few.violated(), all.violated());
    EXPECT_LT(few.result.representatives, all.result.distinct);
  }
}

TEST(EventNotifierModel, WantsAConsumerThatIsAThread) {
  EXPECT_THROW(model_named("event_notifier").make(tree(2, 2, 1)), bad_setting);
}

TEST(NotifierMpscModel, HasTheStatesThatTlcCounts) {
  const how safety{.properties = {"NoLostWakeup"}};
  const auto distinct = [&](int producers, const char* kind, int phases) {
    const auto seen = check_model("notifier_mpsc", inbox(producers, kind, "after", phases), safety);
    EXPECT_TRUE(seen.holds("NoLostWakeup"));
    return seen.result.distinct;
  };
  EXPECT_EQ(distinct(1, "sticky", 2), 865u);
  EXPECT_EQ(distinct(2, "sticky", 2), 32583u);
  EXPECT_EQ(distinct(1, "futex", 2), 828u);
  EXPECT_EQ(distinct(2, "futex", 2), 32510u);
  EXPECT_EQ(distinct(2, "mutex", 16), 16709u);
  EXPECT_EQ(distinct(2, "mutexloop", 16), 16709u);
}

TEST(NotifierMpscModel, LosesWakeupsOnOtherThingsAndInTheOtherOrder) {
  const how safety{.properties = {"NoLostWakeup"}};
  for (int producers : {1, 2}) {
    for (const char* kind : {"bare", "mutex", "mutexloop"})
      EXPECT_TRUE(check_model("notifier_mpsc", inbox(producers, kind, "after", 2), safety)
                      .fails("NoLostWakeup"))
          << kind;
    for (const char* kind : {"sticky", "futex", "bare", "mutex", "mutexloop"})
      for (int phases : {2, 16})
        EXPECT_TRUE(check_model("notifier_mpsc", inbox(producers, kind, "before", phases), safety)
                        .fails("NoLostWakeup"))
            << kind << ' ' << phases;
  }
}

TEST(NotifierMpscModel, DeliversAlsoWithSpuriousWakeups) {
  for (const char* spurious : {"FALSE", "TRUE"}) {
    const std::vector<setting> more = {{"Spurious", spurious}};
    for (const char* kind : {"sticky", "futex"}) {
      const auto seen = check_model("notifier_mpsc", inbox(2, kind, "after", 2, more));
      EXPECT_EQ(seen.violated(), "") << kind;
      EXPECT_EQ(seen.never_taken(), "") << kind;
      EXPECT_TRUE(seen.holds("Delivered"));
    }
    for (const char* kind : {"mutex", "mutexloop"})
      EXPECT_EQ(check_model("notifier_mpsc", inbox(2, kind, "after", 16, more)).violated(), "")
          << kind;
  }
}

TEST(NotifierMpscModel, DeliversOnlyIfBothSidesGoOn) {
  for (const char* group : {"producer", "consumer"})
    EXPECT_TRUE(check_model("notifier_mpsc", {},
                            {.properties = {"Delivered"}, .fairness = {{group, fairness::none}}})
                    .fails("Delivered"))
        << group;
}

TEST(NotifierMpscModel, NeedsTheTicketUnlessTheFlagIsSticky) {
  const std::vector<setting> ignored = {{"TicketUse", "ignored"}};
  for (const char* kind : {"sticky", "futex"})
    EXPECT_EQ(check_model("notifier_mpsc", inbox(2, kind, "after", 2, ignored)).violated(), "");
  for (const char* kind : {"mutex", "mutexloop"})
    EXPECT_TRUE(
        check_model("notifier_mpsc", inbox(2, kind, "after", 16, ignored)).fails("NoLostWakeup"));
}

TEST(NotifierMpscModel, MutantsAreCaught) {
  const std::vector<mutant_row> rows = {
      {"drop_all_wakes", "NoLostWakeup NoSleepForever Delivered SignalUsedUp"},
      {"drop_wakes_but_last", "NoLostWakeup"},
      {"forgotten_notify", "NoLostWakeup NoSleepForever Delivered"},
      {"notify_before_publish", "NoLostWakeup NoSleepForever Delivered"},
      {"wake_first", "NoLostWakeup NoSleepForever Delivered SignalUsedUp"},
      {"forget_reset", "SignalUsedUp"}};
  expect_caught("notifier_mpsc", inbox(2, "sticky", "after", 2), rows);
  expect_caught("notifier_mpsc", inbox(2, "mutexloop", "after", 16, {{"Spurious", "TRUE"}}), rows);
}

TEST(NotifierMpscModel, ProducersAreInterchangeable) {
  const how safety{.properties = {"TypeOK", "NoLostWakeup", "NoSleepForever"}};
  how merged = safety;
  merged.symmetry = true;
  for (const char* kind : {"sticky", "bare"}) {
    const auto all = check_model("notifier_mpsc", inbox(2, kind, "after", 2), safety);
    const auto few = check_model("notifier_mpsc", inbox(2, kind, "after", 2), merged);
    EXPECT_EQ(few.violated(), all.violated());
    EXPECT_LT(few.result.representatives, all.result.distinct);
  }
}

std::vector<setting> parking(int producers, int messages, const char* timeouts) {
  return {{"Producers", std::to_string(producers)},
          {"Messages", std::to_string(messages)},
          {"Timeouts", timeouts}};
}

TEST(ParkingModel, HasTheStatesOfTheSpec) {
  const auto distinct = [](int producers, int messages, const char* timeouts) {
    const auto seen = check_model("parking", parking(producers, messages, timeouts));
    EXPECT_EQ(seen.violated(), "");
    EXPECT_TRUE(seen.decided());
    EXPECT_EQ(seen.never_taken(), "");
    return seen.result.distinct;
  };
  EXPECT_EQ(distinct(2, 2, "TRUE"), 45804u);
  EXPECT_EQ(distinct(2, 2, "FALSE"), 40522u);
  EXPECT_EQ(distinct(1, 3, "TRUE"), 1291u);
  EXPECT_EQ(distinct(2, 1, "TRUE"), 4506u);
  EXPECT_EQ(distinct(3, 1, "TRUE"), 108800u);
}

TEST(ParkingModel, MutantsAreCaught) {
  for (const char* timeouts : {"TRUE", "FALSE"})
    expect_caught("parking", parking(2, 1, timeouts),
                  {{"no_heavy_fence", "NoLostWakeup Delivered"},
                   {"no_light_fence", "NoLostWakeup Delivered"},
                   {"look_before_ticket", "NoLostWakeup Delivered"},
                   {"notify_before_publish", "NoLostWakeup Delivered"},
                   {"park_by_store", "NoLostWakeup Delivered"},
                   {"drop_all_wakes", "WakerUnderWay Delivered"},
                   {"sleep_without_compare", "WakerUnderWay Delivered"}});
}

TEST(ParkingModel, DeliversOnlyIfEverybodyGoesOn) {
  const auto without = [](const char* group) {
    return check_model("parking", parking(2, 1, "FALSE"),
                       {.properties = {"Delivered"}, .fairness = {{group, fairness::none}}});
  };
  for (const char* group : {"Consumer", "Producer", "DrainTicket"})
    EXPECT_TRUE(without(group).fails("Delivered")) << group;
  // The heavy fence empties the producers' buffers, so that nothing else has to.
  EXPECT_TRUE(without("Drain").holds("Delivered"));
}

TEST(ParkingModel, ProducersAreInterchangeable) {
  const how safety{.properties = {"TypeOK", "NoLostWakeup", "WakerUnderWay", "TicketWhileRunning"}};
  how merged = safety;
  merged.symmetry = true;
  for (const char* mutant : {"none", "no_heavy_fence"}) {
    auto settings = parking(2, 1, "TRUE");
    settings.push_back({"Mutant", mutant});
    const auto all = check_model("parking", settings, safety);
    const auto few = check_model("parking", settings, merged);
    EXPECT_EQ(few.violated(), all.violated());
    EXPECT_LT(few.result.representatives, all.result.distinct);
  }
}

}  // namespace
}  // namespace rota::verify::test
