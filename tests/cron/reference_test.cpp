// The firing times of next.jsonl, one expression a line, with what Debian's cron makes of it where
// it takes it (`vixie`); `rejected` ones are refused, for their zone too. A broken rule shows as a
// line of the file.

#include <rota/cron/schedule.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace rota {
namespace {

// A line of the file: a flat object of texts, numbers and lists of texts.
class reference_line {
 public:
  explicit reference_line(const std::string& line) : line_(line) {}

  bool has(const std::string& key) const { return find(key) != std::string::npos; }
  std::string text(const std::string& key) const {
    std::size_t at = find(key);
    return quoted_at(at);
  }
  std::size_t number(const std::string& key) const { return std::stoul(line_.substr(find(key))); }
  std::vector<std::string> list(const std::string& key) const {
    std::vector<std::string> all;
    for (std::size_t at = find(key) + 1; line_[at] != ']';)
      if (line_[at] == '"')
        all.push_back(quoted_at(at));
      else
        ++at;
    return all;
  }

 private:
  std::size_t find(const std::string& key) const {
    const std::size_t at = line_.find("\"" + key + "\": ");
    return at == std::string::npos ? at : at + key.size() + 4;
  }
  // The text whose quote is at `at`, which moves behind it. There are no escapes in the file.
  std::string quoted_at(std::size_t& at) const {
    const std::size_t end = line_.find('"', at + 1);
    std::string text = line_.substr(at + 1, end - at - 1);
    at = end + 1;
    return text;
  }

  const std::string& line_;
};

std::vector<std::string> reference_lines() {
  std::ifstream in{std::filesystem::path(__FILE__).parent_path() / "next.jsonl"};
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> firings(const cron_expression& e, const time_zone& zone, dst_rule dst,
                                 instant from, std::size_t count) {
  std::vector<std::string> all;
  for (auto t = e.next(from, zone, dst); t && all.size() < count; t = e.next(*t, zone, dst)) {
    const std::size_t times = e.times(*t, zone, dst);
    EXPECT_GT(times, 0U);
    for (std::size_t i = 0; i < times && all.size() < count; ++i) all.push_back(to_text(*t));
  }
  return all;
}

// The same instants, found backwards from behind the last.
void expect_the_same_backwards(const cron_expression& e, const time_zone& zone, dst_rule dst,
                               const std::vector<std::string>& expected) {
  if (expected.empty()) return;
  instant t = parse_instant(expected.back()).value() + std::chrono::milliseconds{1};
  std::string after;
  for (std::size_t i = expected.size(); i-- > 0;) {
    if (expected[i] == after) continue;
    after = expected[i];
    const auto before = e.prev(t, zone, dst);
    ASSERT_TRUE(before);
    EXPECT_EQ(to_text(*before), after);
    t = *before;
  }
}

void check_line(const reference_line& line) {
  const std::string text = line.text("expr");
  const auto zone = time_zone::find(line.text("tz"));
  if (line.has("rejected")) {
    if (!zone) return;
    EXPECT_THROW(cron_expression::parse(text), cron_error);
    return;
  }
  ASSERT_TRUE(zone);
  const instant from = parse_instant(line.text("from")).value();
  const std::size_t count = line.number("count");
  const auto e = cron_expression::parse(text);
  EXPECT_EQ(firings(e, *zone, dst_rule::wall, from, count), line.list("next"));
  expect_the_same_backwards(e, *zone, dst_rule::wall, line.list("next"));

  if (!line.has("vixie")) {  // What Debian's cron does not take.
    EXPECT_THROW(cron_expression::parse(text, {}, cron_syntax::vixie), cron_error);
    return;
  }
  const auto debian = cron_expression::parse(text, {}, cron_syntax::vixie);
  EXPECT_EQ(firings(debian, *zone, dst_rule::vixie, from, count), line.list("vixie"));
  expect_the_same_backwards(debian, *zone, dst_rule::vixie, line.list("vixie"));
}

TEST(CronReference, AllLines) {
  const auto lines = reference_lines();
  ASSERT_EQ(lines.size(), 222U);
  for (const std::string& line : lines) {
    SCOPED_TRACE(line);
    check_line(reference_line{line});
  }
}

}  // namespace
}  // namespace rota
