// The page of a run. A broken promise shows as data that no longer says what happened, or as text
// that gets out of the script in which it stands. tests/app/coop_test.py holds the data against
// traces.

#include <rota/coop/view.h>

#include <gtest/gtest.h>

#include <sstream>

#include "support.h"

namespace rota::coop::test {
namespace {

struct seen_run {
  std::string data;
  std::string page;
  outcome end;
};

seen_run view_of(const std::string& source, const run_options& options = {},
                 semantics how = semantics::lagc_sched, const std::string& file = "test.cw") {
  const program p = compiled(source, how);
  run_view view{p, options, {file, source}};
  const outcome end = run_by_rules(p, rules_of(p), options, {&view});
  std::ostringstream page;
  view.write_page(page);
  return {view.data(), page.str(), end};
}

// The steps of the data, one in a line.
std::string steps_in(const std::string& data) {
  const std::string key = "\"steps\":[";
  const std::size_t begin = data.find(key) + key.size();
  return data.substr(begin, data.find("],\n\"end\"") - begin);
}

std::string one_value(const std::string& source) {
  const std::string data = view_of(source).data;
  const std::size_t begin = data.rfind("\"u\":[[") + 6;
  return data.substr(begin, data.find(']', begin) - begin);
}

TEST(View, StepsSayWhatTheyChangeAndNothingElse) {
  const std::string steps = steps_in(view_of("m(x) { await x }\n{ spawn(m, 0, t); suspend }").data);
  EXPECT_EQ(line_of(steps, 0), "{\"a\":0,\"t\":[[0,4,4,-1]]},");
  EXPECT_EQ(line_of(steps, 1),
            "{\"r\":0,\"f\":0,\"p\":3,\"e\":[[0,1,0,0]],\"u\":[[0,\"task 1\"]],\"c\":-1,"
            "\"t\":[[0,4,3,-1],[1,1,2,-1]]},");
  EXPECT_EQ(line_of(steps, 2), "{\"r\":1,\"f\":1,\"e\":[[4,-1]],\"q\":[[1,0]]},");
  EXPECT_EQ(line_of(steps, 3),
            "{\"r\":2,\"f\":0,\"p\":4,\"q\":[[0,1]],\"a\":-1,\"t\":[[0,2,3,-1]]},");
}

TEST(View, TheSourceIsCutAtStatementsAndLosesNothing) {
  const std::string data = view_of("m(x) {\n  if x > 0 { skip } }\n{ spawn(m, 1); a := 2 }\n").data;
  const std::string key = "\"text\":";
  const std::size_t begin = data.find(key) + key.size();
  EXPECT_EQ(data.substr(begin, data.find("],", begin) + 1 - begin),
            "[\"\",\"m\",\"(x) {\\u000a  \",\"if x > 0\",\" { \",\"skip\",\" } \",\"}\",\"\\u000a{ "
            "\",\"spawn(m, 1)\",\"; \",\"a := 2\",\" }\\u000a\"]");
  EXPECT_NE(data.find("\"at\":[\"1:1\",\"2:3\",\"2:14\",\"2:21\",\"3:3\",\"3:16\"]"),
            std::string::npos);
}

TEST(View, NoTextGetsOutOfItsScript) {
  const seen_run seen = view_of("// </script><!-- <script> \" \\ \n{ skip }", {},
                                semantics::lagc_sched, "</script>\".cw");
  EXPECT_EQ(seen.data.find('<'), std::string::npos);
  EXPECT_NE(seen.data.find("// \\u003c/script>\\u003c!-- \\u003cscript> \\\" \\\\ "),
            std::string::npos);
  // The two of the page itself.
  std::size_t closed = 0;
  for (std::size_t at = seen.page.find("</script>"); at != std::string::npos;
       at = seen.page.find("</script>", at + 1))
    ++closed;
  EXPECT_EQ(closed, 2u);
}

TEST(View, BytesThatAreNoTextAreReplaced) {
  const std::string data = view_of(
                               "// \xC3\xBC \xE2\x9C\x93 \xF0\x9F\x98\x80 | \xFF \x80 \xC0\xAF "
                               "\xED\xA0\x80 \xE2\x9C \xF4\x90\x80\x80 \x01 \x7F \xC3\n{ skip }")
                               .data;
  EXPECT_NE(data.find("// \xC3\xBC \xE2\x9C\x93 \xF0\x9F\x98\x80 | \\ufffd \\ufffd "
                      "\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd \\ufffd\\ufffd "
                      "\\ufffd\\ufffd\\ufffd\\ufffd \\u0001 \\u007f \\ufffd\\u000a{ "),
            std::string::npos)
      << data;
}

TEST(View, ValuesAreExact) {
  EXPECT_EQ(one_value("{ a := 9007199254740992 }"), "0,9007199254740992");
  EXPECT_EQ(one_value("{ a := 9007199254740993 }"), "0,\"9007199254740993\"");
  EXPECT_EQ(one_value("{ a := -9223372036854775807 }"), "0,\"-9223372036854775807\"");
  EXPECT_EQ(one_value("{ a := 1 == 1 }"), "0,true");
}

TEST(View, SaysHowTheRunEnded) {
  const auto end_of = [](const std::string& source) {
    const std::string data = view_of(source).data;
    return data.substr(data.find("\n\"end\":") + 7);
  };
  EXPECT_EQ(end_of("{ skip }"), "{\"end\":\"done\",\"n\":2,\"state\":{}}}");
  EXPECT_EQ(end_of("{ x := 1 / 0 }"),
            "{\"end\":\"error\",\"n\":0,\"f\":0,\"error\":\"division-by-zero\",\"at\":\"1:10\","
            "\"state\":{}}}");
  EXPECT_EQ(end_of("{ :: false; skip }"),
            "{\"end\":\"deadlock\",\"n\":1,\"blocked\":[{\"f\":0,\"head\":\"guard\",\"at\":\"1:3\"}"
            "],\"state\":{}}}");
}

// Tasks that wait, and one that goes on.
std::string waiting_tasks(int count) {
  return "wait(x) { :: stop; skip }\ngo(x) { while true { suspend } }\n{ stop := false; i := 0; "
         "while i < " +
         std::to_string(count) + " { spawn(wait, i); i := i + 1 } spawn(go, 0) }";
}

TEST(View, ATaskThatStaysAsItIsCostsNothing) {
  const seen_run twenty = view_of(waiting_tasks(20), {.limit = 2000});
  EXPECT_EQ(twenty.end.steps, 2000u);
  EXPECT_LT(twenty.data.size(), 100'000u);
  const seen_run many = view_of(waiting_tasks(200), {.limit = 2000});
  EXPECT_LT(many.data.size(), 2 * twenty.data.size());
}

}  // namespace
}  // namespace rota::coop::test
