// Any bytes give errors or a table: no crash, no hang, no job that cannot be written. Random bytes,
// random words, and files of the corpus with something changed; all by seed. What is asked of them
// is what libFuzzer asks (tests/fuzz/crontab_fuzz.cpp, tests/fuzz/toml_jobs_fuzz.cpp).

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include "fuzz/any_table.h"
#include "job/tables.h"
#include "support/strength.h"

namespace rota::job::test {
namespace {

using rota::detail::rng;

struct table_kind {
  const char* name;
  std::string (*wrong)(std::string_view);
};
constexpr table_kind table_kinds[] = {{"crontab", wrong_with_crontab},
                                      {"toml_jobs", wrong_with_toml}};

std::uint64_t table_rounds() { return rota::test::long_tests() ? 100'000 : 2'000; }

std::vector<std::string> table_corpus(const table_kind& k) {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(tree() / "tests" / "fuzz" / k.name))
    all.push_back(read_file(entry.path()));
  std::sort(all.begin(), all.end());
  return all;
}

TEST(TableRobustness, TheCorpus) {
  for (const table_kind& k : table_kinds) {
    EXPECT_GE(table_corpus(k).size(), 5u);
    for (const std::string& text : table_corpus(k)) EXPECT_EQ(k.wrong(text), "") << text;
  }
}

TEST(TableRobustness, RandomBytes) {
  for (const table_kind& k : table_kinds) {
    for (std::uint64_t seed = 0; seed < table_rounds(); ++seed) {
      rng random{seed};
      std::string text(random.below(100), ' ');
      for (char& c : text) c = static_cast<char>(random.below(256));
      ASSERT_EQ(k.wrong(text), "") << "seed " << seed;
    }
  }
}

TEST(TableRobustness, RandomWords) {
  const std::vector<std::string> words{
      "*",   "0",    "4",    "*/5",    "mon-fri", "@daily", "@every", "90s",    "@reboot", "root",
      "x",   "%",    "\\",   "\n",     "#",       "rota:",  "name",   "=",      "a",       "\"",
      "'",   "A",    "TZ",   "MAILTO", "CRON_TZ", "UTC",    "[",      "]",      "{",       "}",
      "job", "run",  "[job", ".a]",    "shell",   "retry",  "after",  "group",  "cap",     "5",
      ",",   "true", ".",    "zone",   "timeout", "\"5m\"", "\r",     "\"\"\"", "H",       "\t"};
  for (const table_kind& k : table_kinds) {
    for (std::uint64_t seed = 0; seed < table_rounds(); ++seed) {
      rng random{seed};
      std::string text;
      for (std::uint64_t n = random.below(40); n > 0; --n)
        text += words[random.below(words.size())] + (random.below(3) ? " " : "");
      ASSERT_EQ(k.wrong(text), "") << "seed " << seed << '\n' << text;
    }
  }
}

TEST(TableRobustness, ChangedTables) {
  for (const table_kind& k : table_kinds) {
    const std::vector<std::string> all = table_corpus(k);
    std::size_t still_tables = 0;
    for (std::uint64_t seed = 0; seed < table_rounds(); ++seed) {
      rng random{seed};
      std::string text = all[random.below(all.size())];
      for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
        const std::size_t at = random.below(text.size());
        switch (random.below(4)) {
          case 0:
            text.erase(at, 1 + random.below(8));
            break;
          case 1:
            text.insert(at, 1, static_cast<char>(random.below(256)));
            break;
          case 2:
            text.insert(at, text.substr(random.below(text.size()), random.below(40)));
            break;
          default:
            std::swap(text[at], text[random.below(text.size())]);
            break;
        }
        if (text.empty()) text = "#";
      }
      const bool is_toml = k.wrong == wrong_with_toml;
      still_tables += (is_toml ? read_native(text) : read_user(text)).ok() ? 1 : 0;
      ASSERT_EQ(k.wrong(text), "") << "seed " << seed << '\n' << text;
    }
    EXPECT_GT(still_tables, table_rounds() / 20) << k.name;
  }
}

TEST(TableRobustness, LongAndDeepTables) {
  const std::string deep_list(5'000, '[');
  const std::string many(200'000, 'x');
  std::string dotted = "a";
  for (int i = 0; i < 5'000; ++i) dotted += ".a";
  for (const std::string& text :
       {"run = " + deep_list, dotted + " = 1", "[" + dotted + "]", "[job." + many + "]",
        many + " = 1", "shell = \"" + many + "\"", "environment = {" + many + " = \"\"}",
        "a = " + std::string(5'000, '{'), std::string(200'000, '\n'), std::string(100'000, '\0')})
    EXPECT_EQ(wrong_with_toml(text), "") << text.substr(0, 40);
  for (const std::string& text :
       {"* * * * * " + many, many, many + "=1", "A=" + many, "# rota: " + many,
        "# rota: name=" + many + "\n@daily x", "@" + many, std::string(200'000, '*'),
        std::string(60'000, '%'), "* * * * * x" + std::string(60'000, '\\'),
        std::string(100'000, '\0'), std::string(100'000, '\xC3')})
    EXPECT_EQ(wrong_with_crontab(text), "") << text.substr(0, 40);
}

}  // namespace
}  // namespace rota::job::test
