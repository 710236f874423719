// What a large crontab leaves behind once it is read, checked, in the ledger and in the engine: all
// that malloc has given out and not got back. A broken promise shows as more bytes an entry.
//
// The sanitizers have another heap, of which this cannot be asked.
#include <rota/job/engine.h>
#include <rota/job/interner.h>
#include <rota/job/table.h>

#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "ledger_support.h"
#include "support/job_world.h"

namespace rota_ledger_test {
namespace {

using rota::job::test::fake_launcher;
using rota::job::test::noon;
using rota::job::test::run_files;

constexpr std::size_t many_entries = 100'000;

std::string large_crontab() {
  std::string text;
  for (std::size_t n = 0; n < many_entries; ++n)
    text += std::to_string(n % 60) + " " + std::to_string(n / 60 % 24) + " " +
            std::to_string(n / 1440 % 28 + 1) + " 12 * /usr/local/bin/job --number " +
            std::to_string(n) + "\n";
  return text;
}

std::size_t bytes_in_use() {
  const struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

TEST(TableMemory, AnEntryOfACrontabIsSmallAllInAll) {
  const folder place;
  const std::string text = large_crontab();
  run_files files;
  fake_launcher launch{files};
  rota::job::interner shared;
  for (const char* const which : {"first", "again"}) {
    malloc_trim(0);
    const std::size_t before = bytes_in_use();
    sqlite_ledger book{place.store(), {.now = noon}};
    rota::job::engine e{{.tell_first_table = false}, book, launch};
    e.restore(noon);
    {
      rota::job::table_options o;
      o.file = "crontab";
      o.form = rota::job::table_form::user_crontab;
      o.owner = "root";
      o.shared = &shared;
      rota::job::table t = rota::job::read_table(text, o);
      ASSERT_TRUE(t.ok());
      ASSERT_TRUE(rota::job::check_together({&t}).empty());
      e.set_jobs(std::move(t.jobs), noon);
    }
    ASSERT_EQ(e.job_count(), many_entries);
    const std::size_t after = bytes_in_use();
    if (after <= before) return;
    const std::size_t each = (after - before - text.size()) / many_entries;
    std::printf("%s: %zu bytes an entry beyond its line of %zu\n", which, each,
                text.size() / many_entries);
    EXPECT_LT(each, 165u) << which;
  }
}

}  // namespace
}  // namespace rota_ledger_test
