// Where options come from besides the command line: a file, and behind it the environment.
//
//   [serve]                      ROTA_SERVE_MAX_ACTIVE=4
//   max-active = 4
//
// An option of `rota job list` is looked for in [job.list], then in [job], and likewise as
// ROTA_JOB_LIST_..., then as ROTA_JOB_...; one that says `everywhere` also above all sections, and
// as ROTA_... alone. docs/configuration.md is the guide.
#ifndef ROTA_APPS_CONFIGURATION_H
#define ROTA_APPS_CONFIGURATION_H

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rota::app {

class command;
struct option;

// A key of a file.
struct setting {
  std::vector<std::string> section;  // the words of [job.list]
  std::string key;                   // empty: the section itself
  std::vector<std::string> values;   // as text
  std::string where;                 // file:line:column
};

// Reads a file. One that is missing has nothing to say unless it is wanted. Throws
// bad_setting_file.
using file_reader = std::function<std::vector<setting>(const std::string& path, bool wanted)>;

// The message begins with the place.
struct bad_setting_file : std::runtime_error {
  using runtime_error::runtime_error;
};

class configuration {
 public:
  struct found {
    std::vector<std::string> values;
    std::string where;  // file:line:column: key, or the name of a variable
    bool in_file = false;
  };

  // Throws bad_setting_file for a section or a key that is none of the program's.
  configuration(const command& program, std::vector<setting> settings);

  // What file or environment say about an option of the command that these words name.
  std::optional<found> find(const std::vector<std::string>& words, const option& o) const;

 private:
  std::vector<setting> settings_;
};

// "max-active" for an option that is called --max-active, "output" for -o,--output; empty for what
// stands by itself.
std::string key_of(const option& o);

// ROTA_SERVE_MAX_ACTIVE, of the command that these words name.
std::string variable_of(const std::vector<std::string>& words, const std::string& key);

}  // namespace rota::app

#endif
