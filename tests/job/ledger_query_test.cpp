// What the page and `rota job` ask, compared with the same asked of a plain list of the runs.

#include <rota/job/sqlite_ledger.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "job/ledger_support.h"
#include "support/strength.h"

namespace {

using namespace rota_ledger_test;

constexpr std::int64_t day = 86'400'000;

// Runs of all kinds, the newest first; their keys are their ids.
std::vector<run> many_runs(std::uint32_t seed, run_id count) {
  std::mt19937 random{seed};
  const std::vector<std::string> jobs = {"a", "b", "c", "it's", "rare"};
  std::vector<run> runs;
  for (run_id id = 1; id <= count; ++id) {
    const auto& job = jobs[random() % 200 == 0 ? 4 : random() % 4];
    auto r = over_run(id, job, id * 1'000'000, static_cast<outcome>(1 + random() % 10));
    if (random() % 20 == 0) {
      r.phase = random() % 2 == 0 ? phase::due : phase::launched;
      r.outcome = outcome::none;
    }
    r.count = r.outcome == outcome::skipped ? static_cast<std::uint32_t>(1 + random() % 5) : 1;
    runs.insert(runs.begin(), r);
  }
  return runs;
}

bool fits(const run& r, const history_filter& f) {
  return (!f.jobs || std::count(f.jobs->begin(), f.jobs->end(), r.job) > 0) &&
         (!f.phase || *f.phase == r.phase) && (!f.outcome || *f.outcome == r.outcome) &&
         (f.before == 0 || r.id < f.before);
}

std::vector<run_id> expected_ids(const std::vector<run>& runs, const history_filter& f) {
  std::vector<run_id> ids;
  for (const run& r : runs) {
    if (ids.size() < f.limit && fits(r, f)) {
      ids.push_back(r.id);
    }
  }
  return ids;
}

changes of_runs(std::vector<run> runs) {
  changes c;
  c.runs = std::move(runs);
  return c;
}

// Of this thread alone, since others may be busy: the disk's time is not in it.
double seconds_of(const std::function<void()>& f) {
  const auto now = [] {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
  };
  const double begin = now();
  f();
  return now() - begin;
}

}  // namespace

TEST(ledger_query, history_has_what_the_filter_says_newest_first) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  const auto runs = many_runs(1, 500);
  l.commit(of_runs(runs));
  using names = std::optional<std::vector<std::string>>;
  for (const names& jobs : {names{}, names{{"a"}}, names{{"rare", "it's", "a", "a"}},
                            names{{"none"}}, names{std::vector<std::string>{}}}) {
    for (int p = -1; p <= 2; ++p) {
      for (int o = -1; o <= 10; ++o) {
        for (const run_id before : {0, 1, 250, 10'000}) {
          for (const std::size_t limit : {0UL, 1UL, 7UL, 1'000UL}) {
            history_filter filter{.jobs = jobs, .before = before, .limit = limit};
            if (p >= 0) {
              filter.phase = static_cast<phase>(p);
            }
            if (o >= 0) {
              filter.outcome = static_cast<outcome>(o);
            }
            const auto page = l.history(filter);
            auto all = filter;
            all.limit = 1'000;
            const auto more = expected_ids(runs, all).size() > limit;
            ASSERT_EQ(ids_of(page.runs), expected_ids(runs, filter))
                << "jobs " << (jobs ? static_cast<int>(jobs->size()) : -1) << " phase " << p
                << " outcome " << o << " before " << before << " limit " << limit;
            ASSERT_EQ(page.more, more);
          }
        }
      }
    }
  }
}

TEST(ledger_query, the_last_run_of_a_job_is_its_newest_row) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  EXPECT_TRUE(l.last_runs().empty());
  EXPECT_TRUE(l.last_runs(true).empty());
  auto c = of_runs(many_runs(2, 300));
  std::map<std::string, run_id> last;
  for (const run& r : c.runs) {
    last[r.job] = std::max(last[r.job], r.id);
  }
  c.jobs = {row_of("a", 1), row_of("it's", 1), row_of("never ran", 1)};
  l.commit(c);
  const auto found_of = [&](bool removed) {
    std::map<std::string, run_id> found;
    for (const run& r : l.last_runs(removed)) {
      found[r.job] = r.id;
    }
    return found;
  };
  EXPECT_EQ(found_of(true), last);
  EXPECT_EQ(found_of(false),
            (std::map<std::string, run_id>{{"a", last["a"]}, {"it's", last["it's"]}}));
}

TEST(ledger_query, heat_counts_each_day_between_the_given_instants) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  const auto runs = many_runs(3, 400);
  l.commit(of_runs(runs));
  // Days of 23 and 25 hours among them, as in spring and autumn.
  const std::vector<instant> days = {at(day / 2), at(day), at(2 * day - 3'600'000), at(3 * day),
                                     at(4 * day)};
  using names = std::optional<std::vector<std::string>>;
  for (const names& jobs : {names{}, names{{"b"}}, names{{"b", "c", "b"}}}) {
    std::vector<day_counts> expected(4);
    for (const run& r : runs) {
      for (std::size_t i = 0; i < 4; ++i) {
        if (r.scheduled < days[i] || r.scheduled >= days[i + 1] || !fits(r, {.jobs = jobs})) {
          continue;
        }
        const std::string word{to_text(r.outcome)};
        if (word == "success") {
          expected[i].success += r.count;
        } else if (word == "skipped") {
          expected[i].skipped += r.count;
        } else if (word == "cancelled" || word == "replaced" || word == "lost" ||
                   word == "unknown") {
          expected[i].other += r.count;
        } else if (word != "none") {
          expected[i].failed += r.count;
        }
      }
    }
    EXPECT_EQ(l.heat(jobs, days), expected);
  }
  EXPECT_TRUE(l.heat({}, {}).empty());
  EXPECT_TRUE(l.heat({}, {at(0)}).empty());
  EXPECT_EQ(l.heat({}, {at(3 * day), at(0)}), std::vector<day_counts>(1));
}

TEST(ledger_query, totals_count_each_run_once_and_outlive_it) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  const auto total = [&](outcome o) { return l.totals()[static_cast<std::size_t>(o)]; };
  l.commit(of_runs({due_run(1, "a", 1), over_run(2, "a", 2, outcome::failed)}));
  EXPECT_EQ(total(outcome::success), 0U);
  l.commit(of_runs({over_run(1, "a", 1)}));
  auto noted = over_run(1, "a", 1);
  noted.note = "the same run, told more of";
  l.commit(of_runs({noted}));
  auto skipped = over_run(3, "a", 3, outcome::skipped);
  skipped.count = 5;
  l.commit(of_runs({skipped}));
  l.prune("a", {.runs = 0}, at(10));
  EXPECT_EQ(l.sizes().runs, 0U);
  EXPECT_EQ(total(outcome::success), 1U);
  EXPECT_EQ(total(outcome::failed), 1U);
  EXPECT_EQ(total(outcome::skipped), 5U);
  EXPECT_EQ(total(outcome::none), 0U);
}

TEST(ledger_query, definitions_are_kept_changed_and_removed) {
  const folder f;
  {
    sqlite_ledger l{f.store(), when(1)};
    l.put_definition({.name = "b", .owner = "eve", .toml = "old"});
    l.put_definition({.name = "a", .owner = "eve", .toml = "x = 1\n"});
    l.put_definition({.name = "b", .owner = "bob", .toml = "new"});
    l.put_definition({.name = "c", .owner = "bob", .toml = ""});
    EXPECT_TRUE(l.remove_definition("c"));
    EXPECT_FALSE(l.remove_definition("c"));
  }
  sqlite_ledger l{f.store(), when(1)};
  EXPECT_EQ(l.definitions(),
            (std::vector<stored_definition>{{"a", "eve", "x = 1\n"}, {"b", "bob", "new"}}));
  EXPECT_EQ(l.sizes().definitions, 2U);
}

TEST(ledger_query, pruning_keeps_the_newest_the_young_and_the_unfinished) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  std::vector<run> runs;
  for (run_id id = 1; id <= 20; ++id) {
    runs.push_back(id % 5 == 0 ? due_run(id, "a", id * 100) : over_run(id, "a", id * 100));
  }
  runs.push_back(over_run(21, "b", 1));
  l.commit(of_runs(runs));
  // By number: of 20 rows the 12 newest stay.
  const auto first = l.prune("a", {.runs = 12}, at(2'000));
  EXPECT_EQ(first.ids, (std::vector<run_id>{1, 2, 3, 4, 6, 7, 8}));
  EXPECT_FALSE(first.more);
  EXPECT_TRUE(l.prune("a", {.runs = 14}, at(2'000)).ids.empty());
  // By age: what ended before 1,200 goes.
  const keep_limits young{.runs = 100, .age = std::chrono::milliseconds{800}};
  EXPECT_EQ(l.prune("a", young, at(2'000)).ids, (std::vector<run_id>{9, 11}));
  EXPECT_TRUE(l.prune("a", young, at(2'000)).ids.empty());
  EXPECT_EQ(l.prune("a", {.runs = 0}, at(2'000)).ids,
            (std::vector<run_id>{12, 13, 14, 16, 17, 18, 19}));
  EXPECT_EQ(ids_of(l.load().unfinished), (std::vector<run_id>{5, 10, 15, 20}));
  EXPECT_TRUE(l.find_run(21));
}

TEST(ledger_query, pruning_does_two_hundred_rows_at_a_time) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  std::vector<run> runs;
  for (run_id id = 1; id <= 620; ++id) {
    runs.push_back(over_run(id, "a", id));
  }
  l.commit(of_runs(runs));
  std::set<run_id> gone;
  int calls = 0;
  for (bool more = true; more; ++calls) {
    const auto p = l.prune("a", {.runs = 100}, at(3'000));
    EXPECT_LE(p.ids.size(), 200U);
    gone.insert(p.ids.begin(), p.ids.end());
    more = p.more;
  }
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(gone.size(), 520U);
  EXPECT_EQ(l.sizes().runs, 100U);
}

TEST(ledger_query, history_of_removed_jobs_is_pruned_and_that_of_others_is_not) {
  const folder f;
  sqlite_ledger l{f.store(), when(1)};
  changes c;
  run_id id = 0;
  for (int job = 0; job < 2'500; ++job) {  // more names than one call looks at
    const std::string name = "job " + std::to_string(job);
    if (job % 2 == 0) {
      c.jobs.push_back(row_of(name, 1));
    }
    for (int i = 0; i < 3; ++i) {
      ++id;
      c.runs.push_back(over_run(id, name, i));
    }
  }
  for (int i = 0; i < 2'500; ++i) {  // and one with more rows than one call deletes
    ++id;
    c.runs.push_back(over_run(id, "big", i));
  }
  l.commit(c);
  std::set<run_id> gone;
  int calls = 0;
  for (bool more = true; more && calls < 100; ++calls) {
    const auto p = l.prune_removed({.runs = 2}, at(10));
    EXPECT_LE(p.ids.size(), 200U);
    gone.insert(p.ids.begin(), p.ids.end());
    more = p.more;
  }
  EXPECT_LT(calls, 30);
  EXPECT_EQ(gone.size(), 1'250U + 2'498U);
  EXPECT_EQ(l.history({.jobs = {{"job 0"}}}).runs.size(), 3U);
  EXPECT_EQ(l.history({.jobs = {{"job 1"}}}).runs.size(), 2U);
  EXPECT_EQ(l.history({.jobs = {{"big"}}}).runs.size(), 2U);
  EXPECT_TRUE(l.prune_removed({.runs = 2}, at(10)).ids.empty());
}

// The bounds are many times what is measured in a release build, so that only a change of order
// shows.
TEST(ledger_query, a_hundred_thousand_jobs_are_no_burden) {
  const folder f{true};
  sqlite_ledger l{f.store(), when(1)};
  changes c;
  for (int i = 0; i < 100'000; ++i) {
    c.jobs.push_back(row_of("user/crontab job number " + std::to_string(i * 7'919 % 100'000), i));
  }
  const double put = seconds_of([&] { l.commit(c); });
  saved_state s;
  const double got = seconds_of([&] { s = l.load(); });
  ASSERT_EQ(s.jobs.size(), 100'000U);
  std::printf("100,000 jobs: put %.0f ms, load %.0f ms\n", put * 1e3, got * 1e3);
  EXPECT_LT(put, 10.0);
  EXPECT_LT(got, 5.0);

  run_id id = 0;
  for (const int rows : {1, 100, 1'000}) {
    double best = 1e9;
    for (int round = 0; round < 5; ++round) {
      changes tick;
      for (int i = 0; i < rows; ++i) {
        const auto& job = c.jobs[static_cast<std::size_t>(id * 31 % 100'000)].name;
        ++id;
        tick.runs.push_back(due_run(id, job, id));
        tick.jobs.push_back(row_of(job, id));
      }
      best = std::min(best, seconds_of([&] { l.commit(tick); }));
    }
    std::printf("a commit of %d runs with their cursors: %.2f ms\n", rows, best * 1e3);
    EXPECT_LT(best, 5.0);
  }
}

// A large history: each answer takes as long as what it gives, not as long as what there is.
TEST(ledger_query, a_long_history_is_no_burden) {
  const folder f{true};
  const run_id count = rota::test::long_tests() ? 300'000 : 50'000;
  {
    sqlite_ledger l{f.store(), when(1)};
    changes c;
    for (run_id id = 1; id <= count; ++id) {
      c.runs.push_back(over_run(id, "job " + std::to_string(id * 31 % 1'000), id * 5'000,
                                id % 1'000 == 0 ? outcome::lost : outcome::success));
      if (c.runs.size() == 10'000) {
        l.commit(c);
        c.runs.clear();
      }
    }
    for (int i = 0; i < 1'000; ++i) {
      c.jobs.push_back(row_of("job " + std::to_string(i), 1));
    }
    l.commit(c);
  }
  const double open = seconds_of([&] { sqlite_ledger again(f.store(), when(1)); });
  sqlite_ledger l{f.store(), when(1)};
  const auto shown = [](const char* what, double seconds) {
    std::printf("  %-44s %8.2f ms\n", what, seconds * 1e3);
    EXPECT_LT(seconds, 5.0) << what;
  };
  std::printf("%lld runs of 1,000 jobs, %.0f MB:\n", static_cast<long long>(count),
              static_cast<double>(l.sizes().store_bytes) / 1e6);
  shown("open and close", open);
  shown("load", seconds_of([&] { l.load(); }));
  shown("the newest 100", seconds_of([&] { l.history({}); }));
  shown("of one job", seconds_of([&] { l.history({.jobs = {{"job 7"}}}); }));
  std::vector<std::string> mine;
  for (int i = 0; i < 500; ++i) {
    mine.push_back("job " + std::to_string(i));
  }
  shown("of 500 jobs", seconds_of([&] { l.history({.jobs = mine}); }));
  shown("lost ones", seconds_of([&] { l.history({.outcome = outcome::lost}); }));
  shown("running ones", seconds_of([&] { l.history({.phase = phase::launched}); }));
  shown("last run of each job", seconds_of([&] { l.last_runs(); }));
  std::vector<instant> days;
  for (int i = 0; i <= 84; ++i) {
    days.push_back(at(i * day));
  }
  shown("heat of 84 days", seconds_of([&] { l.heat({}, days); }));
  shown("heat of one job", seconds_of([&] { l.heat({{"job 7"}}, days); }));
  shown("totals", seconds_of([&] { l.totals(); }));
  shown("sizes", seconds_of([&] { l.sizes(); }));
  shown("backup", seconds_of([&] { l.backup(); }));
  shown("prune, nothing to do",
        seconds_of([&] { l.prune("job 7", {.runs = 1'000, .age = {}}, at(0)); }));
  shown("prune 200", seconds_of([&] { l.prune("job 7", {.runs = 0}, at(0)); }));
}
