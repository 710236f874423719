// The reference programs: their traces are known byte for byte. A broken rule shows as the first
// line that differs.

#include <gtest/gtest.h>

#include <sstream>

#include "support.h"

namespace rota::coop::test {
namespace {

std::uint64_t limit_of(const std::string& trace) {
  const std::string key = "\"limit\":";
  return std::stoull(trace.substr(trace.find(key) + key.size()));
}

// Compares line by line, to say where.
void expect_same_lines(const std::string& found, const std::string& expected) {
  std::istringstream f{found};
  std::istringstream e{expected};
  std::string a;
  std::string b;
  while (std::getline(e, b)) {
    ASSERT_TRUE(std::getline(f, a)) << "the trace ends before " << b;
    ASSERT_EQ(a, b);
  }
  EXPECT_EQ(found, expected);
}

TEST(Trace, OfTheReferenceProgramsIsExact) {
  std::size_t compared = 0;
  for (const std::string& name : reference_programs()) {
    for (semantics how : {semantics::lagc_sched, semantics::sos_sched}) {
      const auto file = programs_folder() / (name + (is_sos(how) ? ".sos" : "") + ".trace.jsonl");
      if (!std::filesystem::exists(file)) continue;
      SCOPED_TRACE(file.string());
      const std::string expected = read_file(file);
      const program p = compiled(reference_source(name), how);
      expect_same_lines(run_shown(p, {.limit = limit_of(expected)}).trace, expected);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 24u);
}

// --- what the reference programs do not show ----------------------------------------------------

TEST(Trace, NumbersAreExactAndNamesAreSortedByBytes) {
  const program p = compiled(
      "m(x) { skip }\n"
      "{ x1 := 9223372036854775807; x1 := -x1 - 1; B := true; a := 1;\n"
      "  while a < 12 { spawn(m, a); a := a + 1 } }");
  EXPECT_EQ(last_line_of(run_shown(p, {.limit = 1000}).trace),
            "{\"end\":\"done\",\"n\":94,\"state\":{\"B\":true,\"a\":12,\"x#1\":1,\"x#10\":10,"
            "\"x#11\":11,\"x#2\":2,\"x#3\":3,\"x#4\":4,\"x#5\":5,\"x#6\":6,\"x#7\":7,\"x#8\":8,"
            "\"x#9\":9,\"x1\":-9223372036854775808}}");
}

TEST(Trace, OfARelationHasItsSeedItsPicksAndItsOpenCalls) {
  const program p = compiled("m(x) { skip }\n{ spawn(m, 1, t); spawn(m, t) }", semantics::lagc);
  const std::string trace = run_shown(p, {.limit = 50, .seed = 3}).trace;
  EXPECT_EQ(
      line_of(trace, 0),
      "{\"trace\":\"coopwhile/1\",\"language\":\"coopwhile\",\"semantics\":\"lagc\",\"seed\":3,"
      "\"limit\":50,\"globals\":[\"t\"]}");
  EXPECT_EQ(line_of(trace, 1),
            "{\"n\":0,\"rule\":\"init\",\"active\":{\"f\":0,\"head\":\"spawn\",\"at\":\"2:3\"},"
            "\"queue\":[],\"open\":[],\"state\":{\"t\":0}}");
  EXPECT_EQ(
      line_of(trace, 2),
      "{\"n\":1,\"rule\":\"16\",\"f\":0,\"at\":\"2:3\",\"ev\":[{\"ev\":\"callEv\",\"m\":\"m\","
      "\"v\":1,\"f\":1}],\"set\":[[\"t\",{\"task\":1}]],\"active\":{\"f\":0,\"head\":\"spawn\","
      "\"at\":\"2:19\"},\"queue\":[],\"open\":[1]}");
  EXPECT_EQ(
      line_of(trace, 3),
      "{\"n\":2,\"rule\":\"16\",\"f\":0,\"at\":\"2:19\",\"ev\":[{\"ev\":\"callEv\",\"m\":\"m\","
      "\"v\":{\"task\":1},\"f\":2}],\"active\":null,\"queue\":[],\"open\":[1,2]}");
  // The first output for seed 3 is odd: the second of two.
  EXPECT_EQ(
      line_of(trace, 4),
      "{\"n\":3,\"rule\":\"17\",\"f\":2,\"at\":\"1:1\",\"ev\":[{\"ev\":\"callREv\",\"m\":\"m\","
      "\"v\":{\"task\":1},\"f\":2}],\"set\":[[\"x#2\",{\"task\":1}]],\"pick\":[1,2],"
      "\"active\":{\"f\":2,\"head\":\"skip\",\"at\":\"1:8\"},\"queue\":[],\"open\":[1]}");
}

TEST(Trace, OfInterleavedRelationsListsOpenCallsWithTheirValues) {
  const program p = compiled(
      "language spawn; m(x) { skip } n(x) { skip }\n"
      "{ spawn(m, 1); spawn(n, true); spawn(m, 1) }",
      semantics::lagc);
  // Some seed makes all calls before it starts a task.
  for (std::uint64_t seed = 0;; ++seed) {
    ASSERT_LT(seed, 1000u);
    const std::string trace = run_shown(p, {.limit = 50, .seed = seed}).trace;
    const std::string line = line_of(trace, 4);
    if (line.find("\"rule\":\"5\"") != std::string::npos) continue;
    if (line_of(trace, 3).find("\"rule\":\"5\"") != std::string::npos) continue;
    EXPECT_NE(
        line.find("\"active\":null,\"queue\":[],\"open\":[[\"m\",1],[\"n\",true],[\"m\",1]]}"),
        std::string::npos)
        << line;
    // Of two equal open calls one step, the earliest first.
    EXPECT_NE(line_of(trace, 5).find(",2],\"active\""), std::string::npos) << line_of(trace, 5);
    break;
  }
}

TEST(Trace, OfSequentialCodeHasNeitherDistancesNorOpenCalls) {
  for (semantics how : {semantics::lagc_sched, semantics::lagc}) {
    const std::string trace = run_shown(compiled("language while; { x := 1 }", how), {}).trace;
    EXPECT_EQ(line_of(trace, 2),
              "{\"n\":1,\"rule\":\"2\",\"f\":0,\"at\":\"1:19\",\"set\":[[\"x\",1]],\"active\":null,"
              "\"queue\":[]}");
  }
}

TEST(Trace, OfSosNamesNoPositionForTheReturnOfMain) {
  const std::string trace =
      run_shown(compiled("{ skip; suspend }", semantics::sos), {.seed = 9}).trace;
  EXPECT_EQ(line_of(trace, 3),
            "{\"n\":2,\"rule\":\"YIELDSUSPEND\",\"f\":0,\"at\":\"1:9\",\"active\":null,"
            "\"queue\":[{\"f\":0,\"head\":\"return\"}]}");
  EXPECT_EQ(line_of(trace, 4),
            "{\"n\":3,\"rule\":\"SCHEDULESIMPLE\",\"f\":0,\"active\":{\"f\":0,\"head\":\"return\"},"
            "\"queue\":[]}");
  EXPECT_EQ(line_of(trace, 5),
            "{\"n\":4,\"rule\":\"RETURN\",\"f\":0,\"active\":null,\"queue\":[]}");
}

// --- how runs end -------------------------------------------------------------------------------

// Section 8: done, then deadlock, then the limit, then an error.
TEST(Trace, EndsByTheFirstReasonThatHolds) {
  const auto end = [](const std::string& source, std::uint64_t limit) {
    return std::string(name_of(run_shown(compiled(source), {.limit = limit}).end.end));
  };
  EXPECT_EQ(end("{ skip }", 2), "done");
  EXPECT_EQ(end("{ skip }", 1), "limit");
  EXPECT_EQ(end("{ :: false; skip }", 1), "deadlock");
  EXPECT_EQ(end("{ :: false; skip }", 0), "limit");
  EXPECT_EQ(end("{ x := 1 / 0 }", 0), "limit");
  EXPECT_EQ(end("{ x := 1 / 0 }", 1), "error");
  EXPECT_EQ(end("language guard; { :: false; skip }", 0), "deadlock");
}

TEST(Trace, ADeadlockNamesWhoWaitsForWhomInTheOrderOfTheQueue) {
  const program p = compiled("m(x) { await t }\n{ spawn(m, 0, t); :: false; skip }");
  EXPECT_EQ(
      last_line_of(run_shown(p, {}).trace),
      "{\"end\":\"deadlock\",\"n\":5,\"blocked\":[{\"f\":0,\"head\":\"guard\",\"at\":\"2:19\"},"
      "{\"f\":1,\"head\":\"await\",\"at\":\"1:8\",\"on\":1}],\"state\":{\"t\":{\"task\":1},"
      "\"x#1\":0}}");
}

// The step that fails is not performed; the rotations before it are.
TEST(Trace, AnErrorAtAVisitComesAfterTheRotationsBeforeIt) {
  const program p = compiled("m(x) { :: x == 1; skip }\n{ spawn(m, 0); suspend; await a; a := 0 }");
  const shown_run r = run_shown(p, {});
  EXPECT_EQ(last_line_of(r.trace),
            "{\"end\":\"error\",\"n\":8,\"f\":0,\"error\":\"not-a-task\",\"at\":\"2:31\",\"state\":"
            "{\"a\":0,\"x#1\":0}}");
}

}  // namespace
}  // namespace rota::coop::test
