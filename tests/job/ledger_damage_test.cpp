// A ledger that was damaged says so, keeps what is left aside, and goes on; no run is run twice, no
// id is used twice, and nothing crashes.

#include <rota/job/sqlite_ledger.h>

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "job/ledger_db.h"
#include "job/ledger_support.h"
#include "support/strength.h"

namespace {

using namespace rota_ledger_test;

// 2026-03-29T01:02:03Z
constexpr std::int64_t damage_noticed = 1'774'746'123'000;

bool tells(const sqlite_ledger& l, const std::string& part) {
  return all_notes(l).find(part) != std::string::npos;
}

// A ledger with a copy of its first half: runs 1 to 200 are in the copy (3 of them unfinished),
// 201 to 400 came later.
void fill(const folder& f) {
  sqlite_ledger l{f.store(), when(1)};
  changes c;
  for (run_id id = 1; id <= 200; ++id) {
    c.runs.push_back(over_run(id, "job " + std::to_string(id % 20), id));
  }
  c.runs[9] = due_run(10, "late", 10);
  c.runs[10] = due_run(11, "late", 11);
  c.runs[11] = due_run(12, "late", 12);
  c.runs[11].phase = phase::launched;
  c.runs[11].launched = at(13);
  for (int i = 0; i < 20; ++i) {
    c.jobs.push_back(row_of("job " + std::to_string(i), 200));
  }
  c.jobs.push_back(row_of("ahead", damage_noticed + 5));
  l.commit(c);
  l.put_definition({.name = "added", .owner = "eve", .toml = "x"});
  l.backup();
  c = {};
  for (run_id id = 201; id <= 400; ++id) {
    c.runs.push_back(over_run(id, "job " + std::to_string(id % 20), id));
  }
  c.runs.push_back(over_run(10, "late", 10));
  c.jobs.push_back(row_of("job 1", 400));
  l.commit(c);
}

// What has to hold however the ledger came back from the copy.
void expect_restored(sqlite_ledger& l) {
  const auto s = l.load();
  EXPECT_EQ(s.jobs.size(), 21U);
  for (const auto& j : s.jobs) {
    EXPECT_EQ(j.cursor, at(j.name == "ahead" ? damage_noticed + 5 : damage_noticed)) << j.name;
  }
  EXPECT_GT(s.next_id, 400);
  EXPECT_TRUE(s.unfinished.empty());
  EXPECT_TRUE(l.find_run(1));
  EXPECT_FALSE(l.find_run(201));
  for (const run_id id : {10, 11, 12}) {
    ASSERT_TRUE(l.find_run(id));
    EXPECT_EQ(l.find_run(id)->outcome, outcome::unknown);
    EXPECT_EQ(l.find_run(id)->finished, at(damage_noticed));
  }
  EXPECT_EQ(l.definitions().size(), 1U);
  EXPECT_TRUE(tells(l, "goes on from the last good copy")) << all_notes(l);
  // And it works.
  l.commit(
      {.runs = {due_run(s.next_id, "job 1", damage_noticed + 1)}, .jobs = {}, .forgotten = {}});
  EXPECT_EQ(ids_of(l.load().unfinished), std::vector<run_id>{s.next_id});
}

void flip(std::string& bytes, std::size_t from, std::size_t count, std::uint32_t seed) {
  std::mt19937 random{seed};
  for (std::size_t i = from; i < std::min(bytes.size(), from + count); ++i) {
    bytes[i] = static_cast<char>(bytes[i] ^ static_cast<char>(1 + random() % 255));
  }
}

}  // namespace

TEST(ledger_damage, a_damaged_store_is_kept_aside_and_the_last_good_copy_goes_on) {
  const std::vector<std::pair<std::string, std::function<void(std::string&)>>> kinds = {
      {"the magic", [](std::string& b) { flip(b, 0, 16, 1); }},
      {"the whole header", [](std::string& b) { flip(b, 0, 100, 2); }},
      {"the application id", [](std::string& b) { flip(b, 68, 4, 3); }},
      {"the table of tables", [](std::string& b) { flip(b, 100, 3'000, 4); }},
      {"cut to half", [](std::string& b) { b.resize(b.size() / 2); }},
      {"cut within a page", [](std::string& b) { b.resize(b.size() / 2 + 1'000); }},
      {"cut within the header", [](std::string& b) { b.resize(50); }},
      {"one byte", [](std::string& b) { b.resize(1); }},
      {"empty", [](std::string& b) { b.clear(); }},
      {"garbage", [](std::string& b) { b = std::string(20'000, '\xa5'); }},
      {"zeros", [](std::string& b) { b = std::string(20'000, '\0'); }},
      {"every page but the first", [](std::string& b) { flip(b, 4'096, b.size(), 5); }},
  };
  for (const auto& [name, damage] : kinds) {
    SCOPED_TRACE(name);
    const folder f;
    fill(f);
    auto bytes = bytes_of(f.store());
    damage(bytes);
    write_bytes(f.store(), bytes);
    {
      sqlite_ledger l{f.store(), when(damage_noticed)};
      expect_restored(l);
      const auto aside = f.files("ledger.db.damaged-20260329T010203Z");
      ASSERT_EQ(aside.size(), 1U);
      EXPECT_TRUE(bytes_of(aside[0]) == bytes);
      EXPECT_TRUE(tells(l, aside[0]) || bytes.empty()) << all_notes(l);
    }
    sqlite_ledger l{f.store(), when(damage_noticed + 9)};
    EXPECT_EQ(all_notes(l), "");  // said once
    EXPECT_EQ(l.load().jobs.at(1).cursor, at(damage_noticed));
  }
}

TEST(ledger_damage, a_missing_store_is_restored) {
  const folder f;
  fill(f);
  std::filesystem::remove(f.store());
  sqlite_ledger l{f.store(), when(damage_noticed)};
  expect_restored(l);
}

TEST(ledger_damage, a_wal_without_its_store_is_not_taken_for_that_of_another) {
  const folder f;
  std::filesystem::create_directory(f.path() + "/copy");
  const std::string copy = f.path() + "/copy/ledger.db";
  {
    sqlite_ledger l{f.store(), when(1)};
    l.commit({.runs = {over_run(1, "a", 1)}, .jobs = {row_of("a", 1)}, .forgotten = {}});
    l.backup();
    l.commit({.runs = {over_run(2, "a", 2)}, .jobs = {row_of("b", 1)}, .forgotten = {}});
    for (const char* suffix : {"-wal", ".lock", ".good"}) {  // killed, and the store deleted
      std::filesystem::copy_file(f.store() + suffix, copy + suffix);
    }
  }
  for (const bool with_copy : {true, false}) {
    if (!with_copy) {
      std::filesystem::remove(copy);
      std::filesystem::remove(copy + ".good");
      std::filesystem::copy_file(f.files("copy")[0] + "/ledger.db.damaged-20260329T010203Z-wal",
                                 copy + "-wal");
    }
    sqlite_ledger l{copy, when(damage_noticed)};
    EXPECT_EQ(l.load().jobs.size(), with_copy ? 1U : 0U);
    EXPECT_FALSE(l.find_run(2));
    EXPECT_GT(l.load().next_id, 2);
  }
}

TEST(ledger_damage, without_a_copy_it_starts_anew_beyond_all_ids) {
  const folder f;
  fill(f);
  std::filesystem::remove(f.store() + ".good");
  write_bytes(f.store(), "nonsense");
  sqlite_ledger l{f.store(), when(damage_noticed)};
  EXPECT_TRUE(tells(l, "there is no good copy")) << all_notes(l);
  EXPECT_GT(l.load().next_id, 400);
  EXPECT_TRUE(l.load().jobs.empty());
}

TEST(ledger_damage, a_damaged_copy_is_kept_aside_too) {
  const folder f;
  fill(f);
  auto bytes = bytes_of(f.store() + ".good");
  flip(bytes, 5'000, 10'000, 7);
  write_bytes(f.store() + ".good", bytes);
  write_bytes(f.store(), "nonsense");
  sqlite_ledger l{f.store(), when(damage_noticed)};
  EXPECT_TRUE(tells(l, "the copy is damaged too")) << all_notes(l);
  EXPECT_EQ(f.files("ledger.db.good.damaged-").size(), 1U);
  EXPECT_GT(l.load().next_id, 400);
}

TEST(ledger_damage, a_run_with_files_is_left_to_rule_K3) {
  const folder f;
  fill(f);
  write_bytes(f.store(), "nonsense");
  auto o = when(damage_noticed);
  o.has_files = [](run_id id) { return id != 11; };
  sqlite_ledger l{f.store(), o};
  const auto s = l.load();
  EXPECT_EQ(ids_of(s.unfinished), (std::vector<run_id>{10, 12}));
  EXPECT_EQ(s.unfinished[0].phase, phase::launched);
  EXPECT_EQ(s.unfinished[0].launched, at(damage_noticed));
  EXPECT_EQ(s.unfinished[1].launched, at(13));
  EXPECT_EQ(l.find_run(11)->outcome, outcome::unknown);
}

TEST(ledger_damage, damage_that_load_meets_is_recovered_from) {
  const folder f;
  fill(f);
  auto bytes = bytes_of(f.store());
  // Closed in order, so opening does not check; every page behind the schema and meta is broken.
  flip(bytes, 2 * 4'096, bytes.size(), 8);
  write_bytes(f.store(), bytes);
  sqlite_ledger l{f.store(), when(damage_noticed)};
  expect_restored(l);
}

TEST(ledger_damage, damage_met_at_work_stays_until_recover) {
  const folder f;
  fill(f);
  auto o = when(1);
  sqlite_ledger l{f.store(), o};
  {
    store::connection other{f.store(), store::access::write, {}};
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  // Under its hands, as a failing disk does.
  auto bytes = bytes_of(f.store());
  flip(bytes, 2 * 4'096, bytes.size(), 9);
  write_bytes(f.store(), bytes);
  EXPECT_THROW(l.history({.limit = 400}), ledger_damaged);
  EXPECT_THROW(l.commit({.runs = {}, .jobs = {row_of("a", 1)}, .forgotten = {}}), ledger_damaged);
  EXPECT_THROW(l.backup(), ledger_damaged);
  l.recover(at(damage_noticed));
  expect_restored(l);
}

TEST(ledger_damage, damage_met_at_work_is_checked_for_at_the_next_start) {
  const folder f;
  fill(f);
  {
    sqlite_ledger l{f.store(), when(1)};
    store::connection other{f.store(), store::access::write, {}};
    other.execute("PRAGMA ignore_check_constraints = ON; UPDATE run SET outcome = 99 WHERE id = 5");
    EXPECT_THROW(l.find_run(5), ledger_damaged);
  }
  sqlite_ledger l{f.store(), when(damage_noticed)};
  expect_restored(l);
}

TEST(ledger_damage, recover_leaves_a_sound_store_as_it_is) {
  const folder f;
  fill(f);
  sqlite_ledger l{f.store(), when(1)};
  l.recover(at(damage_noticed));
  EXPECT_TRUE(l.find_run(400));
  EXPECT_EQ(l.load().next_id, 401);
  EXPECT_TRUE(f.files("ledger.db.damaged").empty());
}

TEST(ledger_damage, a_damaged_store_does_not_become_the_good_copy) {
  const folder f;
  fill(f);
  const auto good = bytes_of(f.store() + ".good");
  auto bytes = bytes_of(f.store());
  flip(bytes, bytes.size() - 3 * 4'096, 3 * 4'096, 10);
  write_bytes(f.store(), bytes);
  auto o = when(damage_noticed);
  {
    sqlite_ledger l{f.store(), o};
    EXPECT_THROW(l.backup(), ledger_damaged);
  }
  EXPECT_TRUE(bytes_of(f.store() + ".good") == good);
  EXPECT_TRUE(f.files("ledger.db.good.partial").empty());
  sqlite_ledger l{f.store(), o};
  expect_restored(l);
}

// The WAL is gone: the store is sound, but lacks what was committed last.
TEST(ledger_damage, a_deleted_wal_is_noticed_and_nothing_runs_again) {
  const folder f;
  std::filesystem::create_directory(f.path() + "/copy");
  std::filesystem::permissions(f.path() + "/copy", std::filesystem::perms::owner_all);
  const std::string copy = f.path() + "/copy/ledger.db";
  {
    sqlite_ledger l{f.store(), when(1)};
    l.commit({.runs = {due_run(1, "a", 1)}, .jobs = {row_of("a", 1)}, .forgotten = {}});
    {
      store::connection other{f.store(), store::access::write, {}};
      other.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    l.commit({.runs = {over_run(1, "a", 1), over_run(2, "a", 2)},
              .jobs = {row_of("a", 2)},
              .forgotten = {}});
    // As a daemon that is killed leaves them, but for the WAL.
    std::filesystem::copy_file(f.store(), copy);
    std::filesystem::copy_file(f.store() + ".lock", copy + ".lock");
  }
  {
    sqlite_ledger l{copy, when(damage_noticed)};
    EXPECT_TRUE(tells(l, "1 commits are missing")) << all_notes(l);
    const auto s = l.load();
    EXPECT_GT(s.next_id, 2);
    EXPECT_EQ(s.jobs.at(0).cursor, at(damage_noticed));
    EXPECT_TRUE(s.unfinished.empty());
    EXPECT_EQ(l.find_run(1)->outcome, outcome::unknown);
  }
  sqlite_ledger l{copy, when(damage_noticed + 1)};
  EXPECT_EQ(all_notes(l), "");
}

TEST(ledger_damage, a_wal_that_another_program_has_emptied_is_no_loss) {
  const folder f;
  std::filesystem::create_directory(f.path() + "/copy");
  const std::string copy = f.path() + "/copy/ledger.db";
  {
    sqlite_ledger l{f.store(), when(1)};
    l.commit({.runs = {due_run(1, "a", 1)}, .jobs = {row_of("a", 1)}, .forgotten = {}});
    for (const char* suffix : {"", "-wal", ".lock"}) {  // killed
      std::filesystem::copy_file(f.store() + suffix, copy + suffix);
    }
  }
  {
    store::connection other{copy, store::access::write, {}};  // sqlite3 ledger.db "SELECT ..."
    EXPECT_EQ(other.ask("SELECT count(*) FROM run"), 1);
  }
  ASSERT_FALSE(std::filesystem::exists(copy + "-wal"));
  sqlite_ledger l{copy, when(damage_noticed)};
  EXPECT_EQ(all_notes(l), "");
  EXPECT_EQ(ids_of(l.load().unfinished), std::vector<run_id>{1});
}

TEST(ledger_damage, an_older_copy_in_its_place_is_noticed) {
  const folder f;
  fill(f);
  std::filesystem::copy_file(f.store() + ".good", f.store(),
                             std::filesystem::copy_options::overwrite_existing);
  sqlite_ledger l{f.store(), when(damage_noticed)};
  EXPECT_TRUE(tells(l, "commits are missing")) << all_notes(l);
  EXPECT_GT(l.load().next_id, 400);
  EXPECT_TRUE(l.load().unfinished.empty());
}

// Whatever a few changed bytes do, anywhere in the store or its WAL: it opens or says why, and no
// id is given out again. (That a changed row is noticed is not promised.)
TEST(ledger_damage, random_bytes_do_no_more_than_damage) {
  const int rounds = rota::test::long_tests() ? 2'000 : 60;
  const folder original;
  fill(original);
  const auto bytes = bytes_of(original.store());
  const auto good = bytes_of(original.store() + ".good");
  const auto lock = bytes_of(original.store() + ".lock");
  int restored = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const auto seed = static_cast<std::uint32_t>(round);
    std::mt19937 random{seed};
    const folder f;
    auto changed = bytes;
    for (auto n = 1 + random() % 20; n > 0; --n) {
      flip(changed, random() % changed.size(), 1 + random() % 30, seed);
    }
    write_bytes(f.store(), changed);
    write_bytes(f.store() + ".good", good);
    auto lock_then = lock;
    if (const auto at_word = lock_then.find("closed  "); round % 2 == 0) {
      ASSERT_NE(at_word, std::string::npos);
      lock_then.replace(at_word, 8, "open    ");  // killed, so it is checked
    }
    write_bytes(f.store() + ".lock", lock_then);
    try {
      sqlite_ledger l{f.store(), when(damage_noticed)};
      const auto s = l.load();
      restored += tells(l, "goes on from the last good copy") ? 1 : 0;
      EXPECT_GT(s.next_id, 400);
      l.history({.limit = 1'000});
      l.last_runs(true);
      l.heat({}, {at(0), at(500)});
      l.prune("job 3", {.runs = 1}, at(1'000));
      l.prune_removed({.runs = 1}, at(1'000));
      l.commit({.runs = {due_run(s.next_id, "x", 1)}, .jobs = {row_of("x", 1)}, .forgotten = {}});
      l.backup();
    } catch (const ledger_error& e) {
      EXPECT_NE(std::string(e.what()).find("ledger.db"), std::string::npos) << e.what();
    }
  }
  EXPECT_GT(restored, rounds / 4);
}
