// The models of seed 001, as written and extended. Where TLC has counted, the counts are TLC's: a
// step that is missing or one too many changes them.

#include <rota/verify/checker/catalogue.h>
#include <rota/verify/checker/check.h>
#include <rota/verify/checker/report.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/model_check.h"
#include "verify/models/backpressure.h"

namespace rota::verify::test {
namespace {

constexpr const char* all_variants[] = {
    "backpressure",       "backpressure_eager",   "backpressure_propagation",
    "backpressure_naive", "backpressure_acquire", "backpressure_full",
    "backpressure_built", "backpressure_pressed"};

constexpr backpressure_variant as_built = backpressure_variant::built();
constexpr backpressure_variant under_pressure = as_built.with_pressure();

// What the code does: as built, and who looks at a queue may miss what is not counted yet.
constexpr backpressure_variant access_by_access = as_built.with_lag();

// "3/2/1": cowns, fuel, threshold.
std::vector<setting> size(std::string_view text, std::vector<setting> more = {}) {
  const auto fuel = text.find('/') + 1;
  const auto threshold = text.find('/', fuel) + 1;
  more.push_back({"Cowns", std::string(text.substr(0, fuel - 1))});
  more.push_back({"BehaviourLimit", std::string(text.substr(fuel, threshold - 1 - fuel))});
  more.push_back({"OverloadThreshold", std::string(text.substr(threshold))});
  return more;
}

TEST(BackpressureModel, HasTheStatesThatTlcCounts) {
  const auto counts = [](const char* at) {
    return check_model("backpressure", size(at), {.properties = {"deadlock_free"}}).counts();
  };
  EXPECT_EQ(counts("2/2/1"), "266 distinct, 532 generated, depth 12");
  EXPECT_EQ(counts("2/3/1"), "929 distinct, 2075 generated, depth 15");
  EXPECT_EQ(counts("2/4/2"), "1908 distinct, 4379 generated, depth 18");
  EXPECT_EQ(counts("3/2/1"), "5190 distinct, 14093 generated, depth 14");
  EXPECT_EQ(counts("3/3/2"), "20270 distinct, 58054 generated, depth 17");
}

TEST(BackpressureModel, SettingsAtTheEdgesAreCounted) {
  const auto counts = [](const char* at) {
    return check_model("backpressure", size(at), {.properties = {"deadlock_free"}}).counts();
  };
  EXPECT_EQ(counts("1/0/0"), "3 distinct, 4 generated, depth 3");
  EXPECT_EQ(counts("1/14/15"), "241 distinct, 347 generated, depth 45");
  EXPECT_EQ(counts("5/0/1"), "243 distinct, 812 generated, depth 11");
}

TEST(BackpressureModel, RefusesWhatDoesNotFitIntoAState) {
  EXPECT_THROW(model_named("backpressure").make(size("6/14/1")), bad_setting);
  EXPECT_NO_THROW(model_named("backpressure").make(size("6/4/1")));
  EXPECT_NO_THROW(model_named("backpressure").make(size("5/11/1")));
}

TEST(BackpressureModel, EveryPropertyHolds) {
  for (const char* model : all_variants) {
    const auto seen = check_model(model, size("3/2/1"));
    EXPECT_EQ(seen.violated(), "") << model;
    EXPECT_TRUE(seen.decided()) << model;
    EXPECT_EQ(seen.never_taken(), "") << model;
  }
  EXPECT_EQ(check_model("backpressure", size("3/3/2")).violated(), "");
  EXPECT_EQ(check_model("backpressure_full", size("3/3/1")).violated(), "");
  EXPECT_EQ(check_model("backpressure_built", size("3/3/1")).violated(), "");
}

// As counted when the variants were designed: 42 at 3/4/2, and 506 at 4/4/2, which takes too long
// here.
TEST(BackpressureModel, PropagationNeedsEagerUnmuting) {
  const auto deadlocks = [](const char* model, const char* at) {
    return check_model(model, size(at), {.properties = {"deadlock_free"}}).result.deadlocks;
  };
  EXPECT_EQ(deadlocks("backpressure_naive", "2/3/1"), 2u);
  EXPECT_EQ(deadlocks("backpressure_naive", "3/3/1"), 12u);
  EXPECT_EQ(deadlocks("backpressure_naive", "3/4/2"), 42u);
  EXPECT_EQ(deadlocks("backpressure_propagation", "2/3/1"), 0u);
  EXPECT_EQ(deadlocks("backpressure_propagation", "3/3/1"), 0u);
  EXPECT_EQ(deadlocks("backpressure_propagation", "3/4/2"), 0u);

  const char* progress[] = {"deadlock_free", "WillScheduleCown", "Termination",
                            "SomeCownWillBeScheduled"};
  for (const char* property : progress)
    EXPECT_TRUE(check_model("backpressure_naive", size("2/3/1"), {.properties = {property}})
                    .fails(property))
        << property;
}

TEST(BackpressureModel, VariantsHaveTheirStates) {
  const auto distinct = [](const char* model, const char* at) {
    return check_model(model, size(at), {.properties = {"deadlock_free"}}).result.distinct;
  };
  EXPECT_EQ(distinct("backpressure_eager", "3/3/1"), 40141u);
  EXPECT_EQ(distinct("backpressure_propagation", "3/3/1"), 40370u);
  EXPECT_EQ(distinct("backpressure_naive", "3/3/1"), 41940u);
  EXPECT_EQ(distinct("backpressure_acquire", "3/3/1"), 39846u);
  EXPECT_EQ(distinct("backpressure_full", "3/3/1"), 36311u);
  EXPECT_EQ(distinct("backpressure_built", "3/3/1"), 51903u);
  EXPECT_EQ(distinct("backpressure_pressed", "2/3/1"), 4411u);
}

// What one might expect of mute sets and priorities, and does not hold in the seed.
TEST(BackpressureModel, MuteSetsAreTidyOnlyIfCleared) {
  const auto violated = [](const char* model, const char* clears) {
    return check_model(model, size("3/2/1", {{"ClearOnPriority", clears}}),
                       {.properties = {"MuteSetIsLow", "NoMuteLeftAtEnd", "HighPriorityHasWork",
                                       "SleepingIsNormal"}})
        .violated();
  };
  EXPECT_EQ(violated("backpressure", "FALSE"),
            "MuteSetIsLow NoMuteLeftAtEnd HighPriorityHasWork SleepingIsNormal");
  EXPECT_EQ(violated("backpressure", "TRUE"), "HighPriorityHasWork SleepingIsNormal");
  EXPECT_EQ(violated("backpressure_eager", "FALSE"),
            "MuteSetIsLow HighPriorityHasWork SleepingIsNormal");
  EXPECT_EQ(violated("backpressure_full", "TRUE"), "HighPriorityHasWork SleepingIsNormal");
}

TEST(BackpressureModel, MuteSetsOverlapFromFourBehavioursOn) {
  const auto overlap = [](const char* at) {
    return check_model("backpressure", size(at), {.properties = {"MuteSetsDisjoint"}})
        .fails("MuteSetsDisjoint");
  };
  EXPECT_FALSE(overlap("3/3/1"));
  EXPECT_TRUE(overlap("3/4/1"));
}

TEST(BackpressureModel, EndsOnlyIfItIsFair) {
  for (const char* group : {"Run", "Unmute"}) {
    const auto seen =
        check_model("backpressure", size("2/2/1"),
                    {.properties = {"Termination"}, .fairness = {{group, fairness::none}}});
    EXPECT_TRUE(seen.fails("Termination")) << group;
  }
  const auto eager =
      check_model("backpressure_eager", size("2/2/1"),
                  {.properties = {"Termination"}, .fairness = {{"Run", fairness::none}}});
  EXPECT_TRUE(eager.fails("Termination"));
}

// Nobody else frees those whom a cown under pressure has muted.
TEST(BackpressureModel, EndsUnderPressureOnlyIfItIsTakenAway) {
  const auto seen =
      check_model("backpressure_pressed", size("2/2/1"),
                  {.properties = {"Termination"}, .fairness = {{"Release", fairness::none}}});
  EXPECT_TRUE(seen.fails("Termination"));
}

// All steps of all states, each looked at once.
template <class F>
void for_each_step(const typed_system<backpressure>& system, F f) {
  std::set<std::vector<word>> seen;
  std::vector<std::vector<word>> open;
  step_list steps{system.words()};
  const auto take = [&] {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::vector<word> to{steps.state_of(i), steps.state_of(i) + system.words()};
      if (seen.insert(to).second) open.push_back(std::move(to));
    }
  };
  const auto state = [&](const word* s) {
    backpressure::packed words;
    std::copy_n(s, words.size(), words.begin());
    return system.model().unpack(words);
  };
  system.initial(steps);
  take();
  while (!open.empty()) {
    const std::vector<word> from = std::move(open.back());
    open.pop_back();
    steps.clear();
    system.steps(from.data(), steps);
    for (std::size_t i = 0; i < steps.size(); ++i)
      f(state(from.data()), steps.label_of(i), state(steps.state_of(i)));
    take();
  }
}

// So Termination is deadlock freedom: nothing goes on for ever.
TEST(BackpressureModel, AMeasureFallsInEveryStep) {
  const backpressure_variant variants[] = {{},
                                           {.eager = true},
                                           {.propagate = true},
                                           {.eager = true, .propagate = true, .acquire = true},
                                           as_built,
                                           under_pressure,
                                           access_by_access};
  for (const auto& variant : variants) {
    backpressure model{variant, false};
    if (variant.pressed) model.cowns = 2;
    model.fuel = 2;
    model.threshold = 1;
    std::size_t wrong = 0;
    for_each_step(
        typed_system<backpressure>{model}, [&](const auto& from, label by, const auto& to) {
          if (by.action != backpressure::terminating && model.measure(to) >= model.measure(from))
            ++wrong;
        });
    EXPECT_EQ(wrong, 0u);
  }
}

// What is built is as good when others come between its accesses.
TEST(BackpressureModel, HoldsAccessByAccess) {
  backpressure_variant pressed = access_by_access;
  pressed.pressed = true;
  const std::pair<backpressure_variant, std::uint64_t> counts[] = {{access_by_access, 7150},
                                                                   {pressed, 47'337}};
  for (const auto& [variant, states] : counts) {
    backpressure model{variant, true};
    model.fuel = 2;
    model.threshold = 1;
    const typed_system<backpressure> system{model};
    const check_result result = check(system);
    EXPECT_EQ(result.distinct, states);
    for (const property_result& p : result.properties)
      EXPECT_EQ(p.result, verdict::holds) << title_of(system, p);
  }
}

// Pressure acts like load: senders to a cown with a short queue are muted, until it is taken away.
TEST(BackpressureModel, PressureAloneMutesAndItsEndFrees) {
  backpressure model{under_pressure, true};
  model.cowns = 2;
  model.fuel = 1;
  std::size_t muted = 0;
  std::size_t freed = 0;
  for_each_step(typed_system<backpressure>{model}, [&](const auto& from, label by, const auto& to) {
    if (by.action == backpressure::complete) muted += to.low != from.low;
    if (by.action == backpressure::release) freed += to.low != from.low;
  });
  EXPECT_GT(muted, 0u) << "although no queue can be longer than 2";
  EXPECT_GT(freed, 0u);
}

// Sends after which a receiver with too long a queue is normal, or its sender goes on although it
// could be muted: nothing is found out until the receiver takes its next step. The receivers are
// read off the new message.
std::size_t unnoticed_sends(backpressure_variant variant) {
  backpressure model{variant, true};
  model.fuel = 2;
  model.threshold = 1;
  std::size_t unnoticed = 0;
  for_each_step(typed_system<backpressure>{model}, [&](const auto& from, label by, const auto& to) {
    if (by.action != backpressure::send) return;
    const unsigned all = (1u << model.cowns) - 1;
    unsigned receivers = 0;
    unsigned too_long = 0;
    for (unsigned c = 0; c < static_cast<unsigned>(model.cowns); ++c) {
      if (to.length[c] > from.length[c])
        receivers = static_cast<unsigned>(to.queue[c] >> from.length[c] * model.cowns) & all;
      const int on_its_way = from.passing >> c & 1;
      if (from.length[c] - on_its_way > model.threshold) too_long |= 1u << c;
    }
    too_long &= receivers;
    const unsigned senders = static_cast<unsigned>(from.queue[by.parameter]) & all;
    const bool mutable_senders = !(senders & (to.special() | receivers));
    if ((too_long & ~to.special()) || (too_long && mutable_senders && !to.mutor[by.parameter]))
      ++unnoticed;
  });
  return unnoticed;
}

TEST(BackpressureModel, WhoLooksAtALongQueueLeavesNeitherItNorItselfNormal) {
  backpressure_variant looks = as_built;
  looks.overlook = false;
  EXPECT_EQ(unnoticed_sends(looks), 0u);
  EXPECT_GT(unnoticed_sends(as_built), 0u) << "who overlooks it may go on";
  looks.notice = false;
  EXPECT_GT(unnoticed_sends(looks), 0u) << "the rule is needed";
}

// Steps after which somebody of high priority is muted.
std::size_t overloaded_and_muted(backpressure_variant variant) {
  backpressure model{variant, true};
  model.cowns = 2;
  model.fuel = 3;
  model.threshold = 1;
  std::size_t muted = 0;
  for_each_step(typed_system<backpressure>{model}, [&](const auto& from, label, const auto& to) {
    if (from.high & to.low) ++muted;
  });
  return muted;
}

// ... or it would push all that it has into the next cown of a chain, which is muted.
TEST(BackpressureModel, AnOverloadedSenderIsMutedToo) {
  backpressure_variant without = as_built;
  without.chain = false;
  EXPECT_GT(overloaded_and_muted(as_built), 0u);
  EXPECT_EQ(overloaded_and_muted(without), 0u) << "the rule is needed";
}

// Nothing locks if it becomes normal, but then it frees others before it has dealt with its queue.
TEST(BackpressureModel, WhoIsFreedWithALongQueueIsHighAndKeepsWhomItHasMuted) {
  backpressure model{under_pressure, true};
  model.cowns = 3;
  model.fuel = 2;
  model.threshold = 0;
  std::size_t freed_with_long_queue = 0;
  std::size_t kept = 0;
  std::size_t wrong = 0;
  for_each_step(typed_system<backpressure>{model}, [&](const auto& from, label by, const auto& to) {
    if (by.action != backpressure::release && by.action != backpressure::prerun) return;
    for (unsigned c = 0; c < 3; ++c) {
      if (!(from.low & ~to.low & 1u << c)) continue;
      const bool is_long = to.length[c] > model.threshold;
      const bool is_high = to.high >> c & 1;
      if (is_high != is_long || (is_high && to.mute[c] != from.mute[c])) ++wrong;
      freed_with_long_queue += is_long;
      kept += is_long && to.mute[c];
    }
  });
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(freed_with_long_queue, 0u);
  EXPECT_GT(kept, 0u);
}

// Between the two halves of Acquire others come to the next cown, and priority comes to this one.
TEST(BackpressureModel, AMessageOnItsWayCanBeOvertaken) {
  backpressure model{as_built, true};
  model.cowns = 2;
  model.fuel = 4;
  model.threshold = 1;
  std::size_t overtaken = 0;
  std::size_t urgent = 0;
  for_each_step(typed_system<backpressure>{model}, [&](const auto& from, label by, const auto& to) {
    if (!(from.passing & to.passing & 1)) return;
    overtaken += by.action == backpressure::send && to.length[1] > from.length[1];
    urgent += (~from.high & to.high & 3) == 3;
  });
  EXPECT_GT(overtaken, 0u);
  EXPECT_GT(urgent, 0u) << "priority goes on without the message";
}

// Nothing that we check needs the line that the seed asks to justify, with or without extensions.
TEST(BackpressureModel, TheTodoLineIsNotNeeded) {
  for (const char* model : all_variants) {
    const auto seen = check_model(model, size("3/2/1", {{"TodoLine", "FALSE"}}));
    EXPECT_EQ(seen.violated(), "") << model;
  }
  const auto more = check_model("backpressure", size("3/2/1", {{"TodoLine", "FALSE"}}));
  EXPECT_GT(more.result.distinct, 5190u) << "it does mute more";
}

struct mistake {
  const char* mutant;
  const char* caught_by;
  const char* at = "3/2/1";
};

constexpr mistake mistakes[] = {
    {"no_blocker_walk", "WaitedForIsHigh"},
    {"no_priority_in_send", "UrgencyPassedOn"},
    {"priority_in_send", "HighPriorityHasWork"},
    {"no_priority_in_acquire", "Nonblocking"},
    {"no_wake_by_priority", "HighPriorityScheduledOrAcquired"},
    {"priority_not_reset", "HighPriorityInQueue"},
    {"keep_blocker", "RunningNotBlocked"},
    {"mute_self", "CownNotMutedBySelf"},
    {"mute_among_receivers", "CownNotMutedBySelf"},
    {"mute_without_entry", "LowPriorityMuted"},
    {"mute_but_schedule", "UnscheduledByMuteOrAcquire"},
    {"mute_in_send", "RunningIsScheduled"},
    {"unmute_never", "Termination"},
    {"unmute_on_idle", "FreedByNormal"},
    {"count_references", "MutedForLoad"},
    {"forget_release", "UnscheduledByMuteOrAcquire"},
    {"drop_in_acquire", "UnscheduledByMuteOrAcquire"},
    {"acquire_out_of_order", "BehaviourAcquisition"},
    {"pass_to_neighbour", "SelfInCurrentMessage"},
    {"schedule_twice", "AcquiredOnce"},
    {"send_twice", "MessageLimit"},
    {"send_to_greatest", "BehaviourAcquisition"},
    {"only_dropped", "NormalMutesNobody"},
    {"no_cascade", "NormalMutesNobody", "3/4/2"},
    {"raise_skips_next", "Nonblocking", "3/3/2"},
    {"prerun_forgets_holder", "WaitedForIsHigh", "2/3/2"},
    {"notice_raises_muted", "RaisedForHolder", "2/5/1"},
    {"notice_skips_chain", "Nonblocking", "2/4/1"},
    {"mute_in_circle", "deadlock_free", "2/3/1"},
    {"no_reset_with_mutor", "deadlock_free", "2/2/0"},
    {"way_forgotten", "WaitedForIsHigh", "2/2/1"},
    {"rest_forgotten", "NormalMutesNobody", "3/3/1"},
    {"freed_too_soon", "FreedByNormal", "3/3/1"},
    {"press_skips_blockers", "Nonblocking", "2/2/1"},
    {"pressure_forgotten", "PressedIsHigh", "2/2/1"},
    {"release_keeps_high", "Termination", "2/2/1"},
    {"release_forgets_holder", "Nonblocking", "2/3/2"},
};

// Plants each mistake of the model from the given one on. Returns all properties that were
// violated.
std::set<std::string> expect_mistakes_caught(const char* model,
                                             std::string_view from = "no_blocker_walk") {
  std::vector<std::string> planted = model_named(model).mutants();
  planted.erase(planted.begin(), std::find(planted.begin(), planted.end(), from));
  std::set<std::string> caught;
  std::set<std::string> violated;
  for (const mistake& m : mistakes) {
    if (std::find(planted.begin(), planted.end(), m.mutant) == planted.end()) continue;
    const auto seen = check_model(model, size(m.at, {{"Mutant", m.mutant}}));
    EXPECT_TRUE(seen.fails(m.caught_by)) << m.mutant << " violates " << seen.violated();
    caught.insert(m.mutant);
    for (const property_result& p : seen.result.properties)
      if (p.result == verdict::violated) violated.insert(seen.model->properties()[p.property].name);
  }
  EXPECT_EQ(caught.size(), planted.size()) << "a mutant of " << model << " is not in the table";
  return violated;
}

TEST(BackpressureModel, MistakesInTheExtensionsAreCaught) {
  expect_mistakes_caught("backpressure_full");
}

TEST(BackpressureModel, MistakesInWhatWeBuildAreCaught) {
  expect_mistakes_caught("backpressure_built");
}

TEST(BackpressureModel, MistakesAboutPressureAreCaught) {
  const auto violated = expect_mistakes_caught("backpressure_pressed", "press_skips_blockers");
  EXPECT_TRUE(violated.contains("PressedIsHigh"));
}

// A property that no mistake can violate would say nothing.
TEST(BackpressureModel, MistakesInTheSeedAreCaughtAndViolateEveryProperty) {
  const auto violated = expect_mistakes_caught("backpressure");
  const auto system = model_named("backpressure").make({});
  for (const property& p : system->properties())
    EXPECT_TRUE(p.known_to_fail || violated.contains(p.name)) << p.name;
}

TEST(BackpressureModel, ACounterexampleNamesCownsAsTheSpecDoes) {
  const auto seen = check_model("backpressure", size("2/2/1", {{"Mutant", "mute_self"}}));
  const trace& t = seen.of("CownNotMutedBySelf").counterexample;
  ASSERT_FALSE(t.steps.empty());
  EXPECT_EQ(seen.model->text_of(*t.steps.back().by), "Complete(1)");
  std::string text;
  for (const auto& [name, value] : seen.model->fields(t.steps.back().state.data()))
    if (name.ends_with(" 1")) text += name + " = " + value + "; ";
  EXPECT_EQ(text,
            "cown 1 = unscheduled, low; queue 1 = <>; mute 1 = {1}; blocker 1 = none; "
            "mutor 1 = none; ");
}

}  // namespace
}  // namespace rota::verify::test
