#include "configuration.h"

#include <rota/base/nearest_word.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string_view>

#include "command_line.h"

namespace rota::app {

namespace {

std::string in_ticks(std::string_view word) { return "`" + std::string(word) + "`"; }

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : between) + w;
  return all;
}

// "did you mean `x`?", or all that there are.
std::string hint(const std::string& unknown, const std::vector<std::string>& there_are) {
  const std::vector<std::string_view> words(there_are.begin(), there_are.end());
  if (const auto near = detail::nearest_word(unknown, words); !near.empty())
    return "; did you mean " + in_ticks(near) + "?";
  return there_are.empty() ? "" : "; there are " + joined(there_are, ", ");
}

// Several values of a variable.
std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> all;
  for (;;) {
    const std::size_t end = std::min(text.find(';'), text.size());
    all.emplace_back(text.substr(0, end));
    if (end == text.size()) return all;
    text.remove_prefix(end + 1);
  }
}

// The keys that may stand in the section of a command: its own, and those of all below.
void collect_keys(const command& c, std::vector<std::string>& keys) {
  for (const option& o : c.options())
    if (const std::string key = key_of(o); !key.empty() && key != "config") keys.push_back(key);
  for (const auto& below : c.below()) collect_keys(*below, keys);
}

void collect_shared_keys(const command& c, std::vector<std::string>& keys) {
  for (const option& o : c.options())
    if (o.everywhere) keys.push_back(key_of(o));
  for (const auto& below : c.below()) collect_shared_keys(*below, keys);
}

void check_setting(const command& program, const setting& s) {
  const command* c = &program;
  for (const std::string& word : s.section) {
    std::vector<std::string> names;
    const command* next = nullptr;
    for (const auto& below : c->below()) {
      names.push_back(below->name());
      if (below->name() == word) next = below.get();
    }
    if (!next)
      throw bad_setting_file(s.where + ": there is no command " + in_ticks(word) +
                             (c == &program ? "" : " of " + in_ticks("rota " + c->name())) +
                             hint(word, names));
    c = next;
  }
  if (s.key.empty()) return;
  std::vector<std::string> keys;
  if (c == &program)
    collect_shared_keys(program, keys);
  else
    collect_keys(*c, keys);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  if (std::binary_search(keys.begin(), keys.end(), s.key)) return;
  throw bad_setting_file(
      s.where + ": " +
      (c == &program
           ? in_ticks(s.key) + " is in no section; write [serve], say, above it"
           : "[" + joined(s.section, ".") + "] has no " + in_ticks(s.key) + hint(s.key, keys)));
}

}  // namespace

std::string key_of(const option& o) {
  const std::size_t at = o.name.find("--");
  return at == o.name.npos ? "" : o.name.substr(at + 2, o.name.find(',', at) - at - 2);
}

std::string variable_of(const std::vector<std::string>& words, const std::string& key) {
  std::string name = "rota_";
  for (const std::string& w : words) name += w + '_';
  name += key;
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  return name;
}

configuration::configuration(const command& program, std::vector<setting> settings)
    : settings_(std::move(settings)) {
  for (const setting& s : settings_) check_setting(program, s);
}

std::optional<configuration::found> configuration::find(const std::vector<std::string>& words,
                                                        const option& o) const {
  const std::string key = key_of(o);
  if (key.empty()) return std::nullopt;
  const std::size_t shortest = o.everywhere ? 0 : 1;
  // The nearer section comes first; and the file, with all of its sections, before the environment.
  for (std::size_t n = words.size() + 1; n-- > shortest;) {
    const std::span<const std::string> section(words.data(), n);
    for (const setting& s : settings_)
      if (s.key == key && std::ranges::equal(s.section, section))
        return found{s.values, s.where + ": " + key, true};
  }
  for (std::size_t n = words.size() + 1; n-- > shortest;) {
    const std::string name =
        variable_of({words.begin(), words.begin() + static_cast<long>(n)}, key);
    const char* const value = std::getenv(name.c_str());
    if (!value || !*value) continue;
    const bool takes_several = std::holds_alternative<std::vector<std::string>*>(o.value);
    return found{takes_several ? split_values(value) : std::vector<std::string>{value}, name,
                 false};
  }
  return std::nullopt;
}

}  // namespace rota::app
