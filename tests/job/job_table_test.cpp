// The table of jobs: found by name, in the order of their next instants, and small.
#include "job/job_table.h"

#include <rota/base/rng.h>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "support/job_world.h"

namespace rota::job::test {
namespace {

using rota::detail::rng;

TEST(JobTable, GivesBackTheDefinition) {
  job_table t;
  definition d = job_of("backup", "30 2 * * mon-fri");
  d.owner = "root";
  d.source = {std::make_shared<const std::string>("jobs/backup.toml"), 3};
  d.command = {.shell = false, .argv = {"tar", "", std::string(300, 'x')}, .input = "yes\n"};
  const job_index i = t.insert(d.name);
  t.define(i, d);
  const definition back = t.definition_of(i);
  EXPECT_TRUE(same(back, d));
  EXPECT_EQ(back.text, d.text);
  EXPECT_EQ(*back.source.file, "jobs/backup.toml");
  EXPECT_EQ(back.source.line, 3u);
  EXPECT_TRUE(t.same(i, d));
  EXPECT_EQ(t.size(), 1u);
}

TEST(JobTable, TellsADifferenceInEachPart) {
  job_table t;
  const definition d = job_of("a", "0 * * * *");
  const job_index i = t.insert("a");
  t.define(i, d);
  const auto other = [&](auto change) {
    definition n = job_of("a", "0 * * * *");
    change(n);
    return !t.same(i, n);
  };
  EXPECT_FALSE(other([](definition&) {}));
  EXPECT_FALSE(other([](definition& n) { n.text = "0  *  * * *"; }));
  EXPECT_FALSE(other([](definition& n) { n.source.line = 9; }));
  EXPECT_TRUE(other([](definition& n) { n.owner = "you"; }));
  EXPECT_TRUE(other([](definition& n) { n.when = schedule::parse("1 * * * *"); }));
  EXPECT_TRUE(other([](definition& n) { n.command.shell = false; }));
  EXPECT_TRUE(other([](definition& n) { n.command.argv.push_back(""); }));
  EXPECT_TRUE(other([](definition& n) { n.command.argv = {"tru", "e"}; }));
  EXPECT_TRUE(other([](definition& n) { n.command.input = "x"; }));
  EXPECT_TRUE(other([](definition& n) {
    rules r;
    r.timeout = 1s;
    n.rules = std::make_shared<const rules>(r);
  }));
  EXPECT_TRUE(other([](definition& n) {
    surroundings s;
    s.nice = 5;
    n.surroundings = std::make_shared<const surroundings>(s);
  }));
}

TEST(JobTable, FindsAndOrdersAtRandom) {
  rng random{1};
  job_table t;
  std::map<std::string, instant> expected;
  for (int n = 0; n < 20'000; ++n) {
    const std::string name = "job " + std::to_string(random.below(300));
    const job_index i = t.find(name);
    ASSERT_EQ(i != no_job, expected.contains(name));
    if (i == no_job) {
      const job_index fresh = t.insert(name);
      t.define(fresh, job_of(name, ""));
      t[fresh].wake = expected[name] = noon + milliseconds{random.below(1'000)};
      t.arm(fresh);
    } else if (random.below(2)) {
      t.erase(i);
      expected.erase(name);
    } else {
      t[i].wake = expected[name] = noon + milliseconds{random.below(1'000)};
      t.arm(i);
    }
    ASSERT_EQ(t.size(), expected.size());
    if (expected.empty()) {
      ASSERT_EQ(t.first(), no_job);
      continue;
    }
    const auto first = std::min_element(expected.begin(), expected.end(),
                                        [](auto& a, auto& b) { return a.second < b.second; });
    ASSERT_EQ(t[t.first()].wake, first->second);
  }
}

// The usual ones are packed, the others are kept whole; nobody sees which.
TEST(JobTable, KeepsEachKindOfSchedule) {
  job_table t;
  std::vector<schedule> all;
  for (const std::string_view text :
       {"* * * * *", "17 4 1-5 * mon", "*/5 0-6/2 31 12 sun", "30 0 0 * * mon", "0 0 L * *",
        "0 0 L-3 * *", "0 0 15W * *", "0 0 LW * *", "0 0 * * 5#2", "0 0 * * 5L", "@every 90s",
        "@at 2026-12-24T18:00:00Z", "@reboot", "@daily"})
    for (const char* zone : {"UTC", "Europe/Paris", "Asia/Tokyo"})
      for (const dst_rule dst : {dst_rule::wall, dst_rule::vixie})
        all.push_back(schedule::parse(text, {.zone = *time_zone::find(zone), .dst = dst}));
  all.emplace_back();
  for (const schedule& s : all) {
    definition d = job_of("job " + std::to_string(t.size()), "");
    d.when = s;
    t.define(t.insert(d.name), d);
  }
  for (job_index i = 0; i < all.size(); ++i) {
    EXPECT_EQ(t.when(i), all[i]) << all[i].explain();
    EXPECT_EQ(t.definition_of(i).when, all[i]);
    t.define(i, job_of("job " + std::to_string(i), "1 1 1 1 *"));
    EXPECT_EQ(t.when(i), schedule::parse("1 1 1 1 *"));
  }
}

// Blocks of texts are moved when many of them are gone. A mix-up shows as another job's command.
TEST(JobTable, KeepsTextsWhileOthersComeAndGo) {
  rng random{2};
  job_table t;
  std::map<std::string, std::string> expected;  // commands
  for (int n = 0; n < 20'000; ++n) {
    const std::string name = "job " + std::to_string(random.below(200));
    const job_index i = t.find(name);
    if (i != no_job && random.below(4) == 0) {
      t.erase(i);
      expected.erase(name);
    } else if (i != no_job && random.below(8) == 0) {
      t.undefine(i);
      expected[name] = "";
    } else {
      definition d = job_of(name, "@reboot");
      d.command.argv = {std::to_string(n),
                        std::string(random.below(n % 16 == 0 ? 9'000 : 90), 'x')};
      expected[name] = d.command.argv[0] + d.command.argv[1];
      t.define(i == no_job ? t.insert(name) : i, d);
    }
    if (n % 64 != 0) continue;
    for (const auto& [known, command] : expected) {
      const job_index at = t.find(known);
      ASSERT_NE(at, no_job);
      std::string kept;
      for (const std::string& word : t.definition_of(at).command.argv) kept += word;
      ASSERT_EQ(kept, command);
    }
  }
}

// What is changed for ever does not grow: texts that are gone are given back.
TEST(JobTable, GivesBackTextsThatAreGone) {
  const auto used = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  job_table t;
  const std::size_t before = used();
  const job_index i = t.insert("a");
  for (int n = 0; n < 2'000; ++n) {
    definition d = job_of("a", "@reboot");
    d.command.argv = {std::string(10'000 + static_cast<std::size_t>(n % 2), 'x')};
    t.define(i, d);
  }
  EXPECT_LT(used(), before + 200'000);  // where a sanitizer's heap cannot be asked, it is zero
}

// 100,000 idle jobs: what they take beyond their text, and how long the table takes to be read.
// The sanitizers have another heap, of which this cannot be asked.
TEST(JobTable, AnIdleJobIsSmall) {
  constexpr std::size_t many = 100'000;
  const auto shared_rules = std::make_shared<const rules>();
  const auto shared_surroundings = std::make_shared<const surroundings>();
  const auto make_all = [&] {
    std::vector<definition> all;
    all.reserve(many);
    const schedule hourly = schedule::parse("17 * * * *");
    for (std::size_t n = 0; n < many; ++n) {
      definition d;
      d.name = "user" + std::to_string(n % 100) + "/cron-" + std::to_string(n);
      d.owner = "user" + std::to_string(n % 100);
      d.text = "17 * * * *";
      d.when = hourly;
      d.rules = shared_rules;
      d.surroundings = shared_surroundings;
      d.command = {
          .shell = true, .argv = {"/usr/local/bin/job --number " + std::to_string(n)}, .input = {}};
      all.push_back(std::move(d));
    }
    return all;
  };
  std::size_t text = 0;
  for (const definition& d : make_all())
    text += d.name.size() + d.text.size() + d.command.argv[0].size();

  memory_ledger book;
  run_files files;
  fake_launcher launch{files};
  engine e{{}, book, launch};
  const auto used = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  malloc_trim(0);
  const std::size_t before = used();
  const auto since = std::chrono::steady_clock::now();
  e.set_jobs(make_all(), noon);
  const auto took = std::chrono::steady_clock::now() - since;
  const std::size_t after = used();
  EXPECT_EQ(e.job_count(), many);
  EXPECT_EQ(e.wake_at(), noon + 17min);
  RecordProperty("milliseconds",
                 static_cast<int>(std::chrono::duration_cast<milliseconds>(took).count()));
  if (after <= before) return;  // a sanitizer's heap, which cannot be asked
  const std::size_t each = (after - before - text) / many;
  RecordProperty("bytes_beyond_text", static_cast<int>(each));
  std::printf("%zu bytes a job beyond its text of %zu, %lld ms for all\n", each, text / many,
              static_cast<long long>(std::chrono::duration_cast<milliseconds>(took).count()));
  EXPECT_LT(each, 150u);
}

}  // namespace
}  // namespace rota::job::test
