// check_log() must accept what the schedulers and the relation write, and find fault with logs that
// no run has. A broken promise shows as a log that passes, or does not, with its program.

#include <rota/coop/check_log.h>

#include <rota/coop/generate.h>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support.h"

namespace rota::coop::test {
namespace {

using records = std::vector<log_record>;

struct logged_run {
  outcome end;
  records log;

  log_options claim() const {
    log_options options{.end = end.end};
    if (end.end != ending::limit) options.state = end.state;
    return options;
  }
};

logged_run run_logged(const program& p, const run_options& options) {
  log_keeper log;
  log_observer observer{log};
  outcome end = run_by_rules(p, rules_of(p), options, {&observer});
  return {std::move(end), log.records()};
}

std::string fault_of(const program& p, const records& log, const log_options& options) {
  const auto fault = check_log(p, log, options);
  if (!fault) return "";
  return std::to_string(fault->record) + ": " + fault->expected + " | " + fault->found;
}

// Three tasks that start, give way once and end; main awaits the first.
constexpr const char* three =
    "m(x) { suspend; a := a + x }"
    "{ a := 0; spawn(m, 1, t); spawn(m, 2); spawn(m, 3); await t }";

TEST(CheckLog, AcceptsWhatTheSchedulerWrites) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const std::string source = random_program(seed, {.in = language::coopwhile});
    const program p = compiled(source);
    const logged_run r = run_logged(p, {.limit = 300});
    ASSERT_EQ(fault_of(p, r.log, r.claim()), "") << source;
  }
}

TEST(CheckLog, AcceptsWhatTheRelationWritesButForOvertaking) {
  std::uint64_t overtaken = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const std::string source = random_program(seed, {.in = language::coopwhile});
    const program p = compiled(source, semantics::lagc);
    const logged_run r = run_logged(p, {.limit = 300, .seed = seed});
    log_options options = r.claim();
    overtaken += fault_of(p, r.log, options).empty() ? 0 : 1;
    options.overtaking = overtaking::any;
    ASSERT_EQ(fault_of(p, r.log, options), "") << source;
  }
  EXPECT_GT(overtaken, 100u) << "chance is not fair";
}

// Whatever is taken from, put into or changed in a log of a run that ended shows, unless two
// records were exchanged that any order allows.
TEST(CheckLog, FindsEveryRecordThatIsMissingTwiceOrChanged) {
  const program p = compiled(three);
  const logged_run r = run_logged(p, {});
  ASSERT_EQ(r.end.end, ending::done);
  ASSERT_EQ(fault_of(p, r.log, r.claim()), "");
  for (std::size_t i = 0; i < r.log.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    records missing = r.log;
    missing.erase(missing.begin() + at);
    EXPECT_NE(fault_of(p, missing, r.claim()), "") << "without record " << i;
    records twice = r.log;
    twice.insert(twice.begin() + at, r.log[i]);
    EXPECT_NE(fault_of(p, twice, r.claim()), "") << "twice record " << i;
    records renamed = r.log;
    renamed[i].task += 1;
    EXPECT_NE(fault_of(p, renamed, r.claim()), "") << "another task in record " << i;
    if (r.log[i].procedure != no_procedure) {
      records other = r.log;
      other[i].argument = value::integer(7);
      EXPECT_NE(fault_of(p, other, r.claim()), "") << "another argument in record " << i;
      other = r.log;
      other[i].procedure = 77;
      EXPECT_NE(fault_of(p, other, r.claim()), "") << "another procedure in record " << i;
    }
    if (r.log[i].by != no_task) {
      records other = r.log;
      other[i].by = 1;
      EXPECT_NE(fault_of(p, other, r.claim()), "") << "another waiter in record " << i;
    }
    EXPECT_NE(fault_of(p, records(r.log.begin(), r.log.begin() + at), r.claim()), "")
        << "only " << i << " records";
  }
}

TEST(CheckLog, SaysWhatIsWrongAndWhere) {
  const program p = compiled("m(x) { await t } { spawn(m, 0, t); suspend }");
  const log_record call{log_kind::call, 1, 0, value::integer(0)};
  const log_record start{log_kind::call_reaction, 1, 0, value::integer(0)};
  const log_record main_goes_on{.kind = log_kind::resume, .task = 0};
  EXPECT_EQ(fault_of(p, {start}, {}),
            "0: {\"ev\":\"callEv\",\"m\":\"m\",\"v\":0,\"f\":1} | "
            "{\"ev\":\"callREv\",\"m\":\"m\",\"v\":0,\"f\":1}");
  EXPECT_EQ(fault_of(p, {call, start, {.kind = log_kind::resume, .task = 1}}, {}),
            "2: one of these to move: task 0 | {\"ev\":\"resume\",\"f\":1}");
  EXPECT_EQ(fault_of(p, {call, main_goes_on}, {.end = ending::done}),
            "2: one of these to move: task 1 | the end, done");
  EXPECT_EQ(fault_of(p, {call, start, main_goes_on}, {.end = ending::done}),
            "3: a deadlock | the end, done");
  EXPECT_EQ(fault_of(p, {call, start, main_goes_on}, {.end = ending::error}),
            "3: a deadlock | the end, error");
  EXPECT_EQ(fault_of(p, {call, start, main_goes_on}, {.end = ending::deadlock}), "");
  EXPECT_EQ(fault_of(p, {call, start, main_goes_on, main_goes_on}, {}),
            "3: a deadlock | {\"ev\":\"resume\",\"f\":0}");
}

// An end that the run does not have; a state that it does not end in.
TEST(CheckLog, HoldsTheEndAgainstTheRun) {
  const program p = compiled(three);
  const logged_run r = run_logged(p, {});
  for (ending e : {ending::deadlock, ending::error}) {
    EXPECT_NE(fault_of(p, r.log, {.end = e}), "");
  }
  log_options other_state = r.claim();
  other_state.state->front().second = value::integer(5);
  EXPECT_EQ(fault_of(p, r.log, other_state),
            std::to_string(r.log.size()) + ": another value of a | the end, done");
  const program failing = compiled("{ suspend; a := 1 / 0 }");
  const records resumed{{.kind = log_kind::resume, .task = 0}};
  EXPECT_EQ(fault_of(failing, resumed, {.end = ending::error}), "");
  EXPECT_NE(fault_of(failing, resumed, {.end = ending::done}), "");
  EXPECT_NE(fault_of(failing, {}, {.end = ending::error}), "");
  // At an await the error comes when the task is visited.
  EXPECT_EQ(fault_of(compiled("{ a := 0; await a }"), {}, {.end = ending::error}), "");
  // A loop without a record is not replayed for ever.
  EXPECT_NE(fault_of(compiled("{ while true { skip } }"), {}, {.end = ending::done}), "");
  EXPECT_EQ(fault_of(compiled("{ while true { skip } }"), {}, {.end = ending::limit}), "");
}

// Task 1 gives way again and again, and task 2 waits for its start.
TEST(CheckLog, CountsTheTurnsOfOthers) {
  const program p = compiled("m(x) { while true { suspend } } { spawn(m, 0); spawn(m, 0) }");
  records log{{log_kind::call, 1, 0, value::integer(0)},
              {log_kind::call, 2, 0, value::integer(0)},
              {log_kind::call_reaction, 1, 0, value::integer(0)}};
  EXPECT_EQ(fault_of(p, log, {}), "");
  for (int i = 0; i < 9; ++i) log.push_back({.kind = log_kind::resume, .task = 1});
  EXPECT_EQ(fault_of(p, log, {}),
            "3: a turn of task 2, which could move at each of the last 2 turns | "
            "{\"ev\":\"resume\",\"f\":1}");
  const auto within = [](std::uint64_t slack) {
    return log_options{.overtaking = overtaking::within, .slack = slack};
  };
  // Two tasks are live, and task 1 has ten turns.
  EXPECT_EQ(fault_of(p, log, within(8)), "");
  EXPECT_EQ(fault_of(p, log, within(7)).substr(0, 3), "11:");
  EXPECT_EQ(fault_of(p, log, {.overtaking = overtaking::any}), "");
}

// A guard that does not hold at one of the points has no claim to a turn.
TEST(CheckLog, CountsOnlyWhileATaskCouldMove) {
  const program p = compiled(
      "flip(x) { while true { n := 1 - n; suspend } } wait(x) { :: n == 0; skip }"
      "{ n := 0; spawn(flip, 0); spawn(wait, 0) }");
  records log{{log_kind::call, 1, 0, value::integer(0)},
              {log_kind::call, 2, 1, value::integer(0)},
              {log_kind::call_reaction, 1, 0, value::integer(0)},
              {log_kind::call_reaction, 2, 1, value::integer(0)}};
  for (int i = 0; i < 20; ++i) log.push_back({.kind = log_kind::resume, .task = 1});
  EXPECT_EQ(fault_of(p, log, {}), "");
}

TEST(AwaitWatch, SeesWhatIsOverwrittenWhileItIsAwaited) {
  const auto is_stable = [](const std::string& source) {
    const program p = compiled(source);
    await_watch watch{p};
    run_by_rules(p, rules_of(p), {}, {&watch});
    return watch.is_stable();
  };
  EXPECT_FALSE(is_stable(reference_source("13_overwritten_await")));
  EXPECT_TRUE(is_stable(reference_source("04_place_in_queue")));
  const std::string slow = "slow(x) { suspend; suspend }";
  EXPECT_TRUE(is_stable(slow + "{ spawn(slow, 0, t); await t; spawn(slow, 0, t); await t }"));
  EXPECT_FALSE(is_stable(slow + "set(x) { t := x } { spawn(slow, 0, t); spawn(set, t); t := t;"
                                "  spawn(set, 1); await t }"));
}

// In the relation a task that goes on may be suspended again in the same step.
TEST(AwaitWatch, TellsTheNextAwaitFromAnOverwrittenOne) {
  const program p = compiled(
      "slow(x) { suspend } { spawn(slow, 0, t); spawn(slow, 0, u); await t; await u; await t }");
  const logged_run r = run_logged(p, {});
  await_watch watch{p};
  log_options options = r.claim();
  options.observers = {&watch};
  EXPECT_EQ(fault_of(p, r.log, options), "");
  EXPECT_TRUE(watch.is_stable());
}

}  // namespace
}  // namespace rota::coop::test
