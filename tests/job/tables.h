// What the tests of tables share.
#ifndef ROTA_TESTS_JOB_TABLES_H
#define ROTA_TESTS_JOB_TABLES_H

#include <rota/job/table.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace rota::job::test {

inline std::vector<std::string> texts(const std::vector<problem>& problems) {
  std::vector<std::string> all;
  for (const problem& p : problems) all.push_back(to_text(p));
  return all;
}

inline std::string joined(const std::vector<problem>& problems) {
  std::string all;
  for (const problem& p : problems) all += to_text(p) + '\n';
  return all;
}

inline table read_user(std::string_view text, table_options o = {}) {
  if (o.file.empty()) o.file = "tab";
  return read_table(text, o);
}

inline table read_system(std::string_view text, table_options o = {}) {
  o.form = table_form::system_crontab;
  return read_user(text, std::move(o));
}

inline table read_native(std::string_view text, table_options o = {}) {
  if (o.file.empty()) o.file = "jobs/one.toml";
  o.form = table_form::toml;
  return read_table(text, o);
}

inline std::filesystem::path tree() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace rota::job::test

#endif
