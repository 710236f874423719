#include "configuration_file.h"

#include <rota/job/table_file.h>

#include <toml++/toml.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace rota::app {

namespace {

class settings_reader {
 public:
  explicit settings_reader(std::string path) : path_(std::move(path)) {}

  std::vector<setting> read(const std::string& text) {
    try {
      read_section(toml::parse(text), {});
    } catch (const toml::parse_error& e) {
      throw bad_setting_file(place(e.source().begin) +
                             ": this is no TOML: " + std::string(e.description()));
    }
    return std::move(settings_);
  }

 private:
  std::string place(const toml::source_position& p) const {
    return path_ + ':' + std::to_string(p.line) + ':' + std::to_string(p.column);
  }

  void read_section(const toml::table& t, const std::vector<std::string>& section) {
    for (const auto& [key, node] : t) {
      const std::string where = place(key.source().begin);
      if (const toml::table* inner = node.as_table()) {
        std::vector<std::string> words = section;
        words.emplace_back(key.str());
        settings_.push_back({words, "", {}, where});
        read_section(*inner, words);
      } else {
        settings_.push_back({section, std::string(key.str()), values_of(node), where});
      }
    }
  }

  std::vector<std::string> values_of(const toml::node& n) const {
    std::vector<std::string> values;
    if (const toml::array* list = n.as_array())
      for (const toml::node& one : *list) values.push_back(value_of(one));
    else
      values.push_back(value_of(n));
    return values;
  }

  std::string value_of(const toml::node& n) const {
    if (const auto* text = n.as_string()) return text->get();
    if (const auto* flag = n.as_boolean()) return flag->get() ? "true" : "false";
    if (const auto* whole = n.as_integer()) return std::to_string(whole->get());
    if (const auto* number = n.as_floating_point()) {
      std::array<char, 64> room{};
      const auto end = std::to_chars(room.data(), room.data() + room.size(), number->get()).ptr;
      return {room.data(), end};
    }
    throw bad_setting_file(
        place(n.source().begin) +
        ": a value is a text in quotes, a number, true or false, or a list of them");
  }

  std::string path_;
  std::vector<setting> settings_;
};

}  // namespace

std::string default_configuration_file() {
  if (::geteuid() == 0) return "/etc/rota/config.toml";
  if (const char* given = std::getenv("XDG_CONFIG_HOME"); given && *given == '/')
    return std::string(given) + "/rota/config.toml";
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return std::string(home) + "/.config/rota/config.toml";
  return "";
}

std::vector<setting> read_configuration_file(const std::string& path, bool wanted) {
  const job::opened_table opened = job::open_table(path);
  if (!wanted && ::access(path.c_str(), F_OK) != 0) return {};  // not there, as far as we can see
  if (!opened) throw bad_setting_file(path + ": " + opened.text);
  return settings_reader{path}.read(opened.text);
}

}  // namespace rota::app
