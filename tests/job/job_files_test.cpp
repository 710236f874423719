// The samples of examples/jobs and of docs/job_files.md are tables that can be read, one by one and
// together; and the page lists every key. A broken promise shows as a sample that does not.

#include <rota/job/table_file.h>

#include <gtest/gtest.h>

#include "job/table_keys.h"
#include "job/tables.h"

namespace rota::job::test {
namespace {

table sample_table(const std::string& name, std::string owner = "root") {
  table_options o{.file = name, .form = form_of(name), .owner = std::move(owner)};
  if (name == "system.crontab") o.form = table_form::system_crontab;
  return read_table(read_file(tree() / "examples" / "jobs" / name), o);
}

TEST(JobFiles, TheSamplesAreTablesAloneAndTogether) {
  std::vector<table> tables;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tree() / "examples" / "jobs")) {
    const std::string name = entry.path().filename().string();
    tables.push_back(sample_table(name, name == "alice.crontab" ? "alice" : "root"));
    EXPECT_EQ(joined(tables.back().problems), "");
    EXPECT_FALSE(tables.back().jobs.empty()) << name;
    ++files;
  }
  EXPECT_EQ(files, 5u);
  std::vector<const table*> all;
  for (const table& t : tables) all.push_back(&t);
  EXPECT_EQ(joined(check_together(all)), "");
}

TEST(JobFiles, TheFirstJobsAreTables) {
  std::vector<table> tables;
  for (const auto& entry :
       std::filesystem::directory_iterator(tree() / "examples" / "first_jobs")) {
    table_options o{.file = entry.path().filename().string(), .form = table_form::toml};
    tables.push_back(read_table(read_file(entry.path()), o));
    EXPECT_EQ(joined(tables.back().problems), "");
  }
  EXPECT_EQ(tables.size(), 5u);
  std::vector<const table*> all;
  for (const table& t : tables) all.push_back(&t);
  EXPECT_EQ(joined(check_together(all)), "");
}

TEST(JobFiles, TheSamplesMeanWhatTheirCommentsSay) {
  const definition backup = sample_table("backup.toml").jobs.at(0);
  EXPECT_EQ(backup.name, "backup");
  EXPECT_EQ(backup.when.next(parse_instant("2026-07-01T00:00:00Z").value()),
            parse_instant("2026-07-01T00:30:00Z"));
  EXPECT_EQ(backup.rules->retry.factor, 4.0);
  EXPECT_EQ(sample_table("reports.toml").groups, (group_caps{{"database", 2}}));
  const table alice = sample_table("alice.crontab", "alice");
  EXPECT_EQ(alice.jobs.at(2).name, "alice/photos");
  EXPECT_EQ(alice.jobs.at(2).command.argv.at(0), "sync-photos && date +%F > ~/.photos-synced");
  EXPECT_EQ(alice.jobs.at(3).command.input, "Hello Bob,\nsee you on Monday.\n");
  EXPECT_EQ(sample_table("system.crontab").jobs.at(2).surroundings->user, "www-data");
}

// Blocks of TOML and of crontabs on the page.
TEST(JobFiles, ThePageShowsTheSamples) {
  const std::string page = read_file(tree() / "docs" / "job_files.md");
  std::istringstream in{page};
  std::string file;
  std::size_t blocks = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("<!-- from ")) file = line.substr(10, line.size() - 14);
    if (line != "```toml" && line != "```crontab") continue;
    std::string block;
    while (std::getline(in, line) && line != "```") block += line + '\n';
    const std::string text = read_file(tree() / file);
    EXPECT_FALSE(file.empty()) << "this block names no file it comes from:\n" << block;
    EXPECT_NE(text.find(block), std::string::npos) << "this does not stand in " << file << ":\n"
                                                   << block;
    file.clear();
    ++blocks;
  }
  EXPECT_GE(blocks, 5u);
}

TEST(JobFiles, ThePageListsEveryKey) {
  const std::string page = read_file(tree() / "docs" / "job_files.md");
  for (const detail::key_rule& k : detail::key_rules())
    EXPECT_NE(page.find("\n| `" + std::string(k.name) + "` |"), std::string::npos) << k.name;
  for (const char* k : {"run", "environment"})
    EXPECT_NE(page.find("\n| `" + std::string(k) + "` |"), std::string::npos) << k;
}

}  // namespace
}  // namespace rota::job::test
