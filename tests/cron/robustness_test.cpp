// Any text is an error that says where, or a schedule that keeps what tests/fuzz/any_cron.h asks.
// Texts of the corpus with something changed, and random ones; all by seed.

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/any_cron.h"
#include "support/strength.h"

namespace rota::cron_test {
namespace {

using rota::detail::rng;

std::uint64_t often(std::uint64_t n) { return rota::test::long_tests() ? 100 * n : n; }

std::vector<std::string> corpus_texts() {
  const auto folder = std::filesystem::path(__FILE__).parent_path().parent_path() / "fuzz" / "cron";
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file{entry.path(), std::ios::binary};
    all.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
  }
  std::sort(all.begin(), all.end());
  return all;
}

void alter(std::string& text, rng& random) {
  const std::string_view letters = "0123456789*/-,?LWH#()@ \tmonjanfri=Z:+T.\xff";
  const std::size_t at = random.below(text.size() + 1);
  const std::size_t some = 1 + random.below(4);
  const std::size_t digit = text.find_first_of("0123456789", std::min(at, text.size()));
  switch (random.below(8)) {
    case 0:
      text.insert(at, 1, letters[random.below(letters.size())]);
      break;
    case 1:
      text.erase(std::min(at, text.size()), some);
      break;
    case 2:
      text.insert(at, text.substr(random.below(text.size() + 1), some));
      break;
    case 3:
      if (at < text.size()) text[at] = letters[random.below(letters.size())];
      break;
    case 4:
      if (at < text.size()) text[at] = static_cast<char>(random.below(256));
      break;
    default:  // what stays right more often
      if (digit != std::string::npos) text[digit] = static_cast<char>('0' + random.below(10));
      break;
  }
}

bool is_schedule(const std::string& text) {
  try {
    return schedule::parse(text).what() != schedule::kind::never;
  } catch (const cron_error&) {
    return false;
  }
}

TEST(CronRobustness, TheCorpus) {
  const auto texts = corpus_texts();
  ASSERT_GT(texts.size(), 30U);
  for (const std::string& text : texts) EXPECT_EQ(wrong_with_text(text), "") << text;
}

TEST(CronRobustness, TheCorpusWithSomethingChanged) {
  const auto texts = corpus_texts();
  std::size_t right = 0;
  for (std::uint64_t seed = 0; seed < often(3000); ++seed) {
    rng random{seed};
    std::string text = texts[random.below(texts.size())];
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) alter(text, random);
    ASSERT_EQ(wrong_with_text(text), "") << "seed " << seed << ": " << text;
    right += is_schedule(text) ? 1 : 0;
  }
  EXPECT_GT(right, 300U);  // else only errors are tried
}

TEST(CronRobustness, RandomBytes) {
  for (std::uint64_t seed = 0; seed < often(2000); ++seed) {
    rng random{seed};
    std::string text(random.below(40), ' ');
    for (char& c : text) c = static_cast<char>(random.below(256));
    ASSERT_EQ(wrong_with_text(text), "") << "seed " << seed;
  }
}

TEST(CronRobustness, LongTexts) {
  for (const std::string& text :
       {std::string(100'000, '*'), std::string(100'000, ' '), std::string(100'000, '9'),
        std::string(100'000, ','), std::string(100'000, '\0'),
        "@every " + std::string(100'000, '1') + "s",
        "CRON_TZ=" + std::string(100'000, 'A') + " * * * * *", "H(" + std::string(100'000, '('),
        "0 0 * * " + std::string(100'000, '#'), "@" + std::string(100'000, 'a'),
        "1" + std::string(50'000, ' ') + "2 * * *"})
    EXPECT_EQ(wrong_with_text(text), "") << text.substr(0, 20);
  std::string list = "0";
  for (int i = 0; i < 50'000; ++i) list += "," + std::to_string(i % 60);
  EXPECT_EQ(wrong_with_text(list + " * * * *"), "");
}

}  // namespace
}  // namespace rota::cron_test
