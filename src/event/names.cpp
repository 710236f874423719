#include "event/names.h"

#include <cstddef>
#include <stdexcept>

namespace rota::detail {

namespace {

constexpr std::size_t longest_name = 255;

bool is_plain(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

[[noreturn]] void refuse(std::string_view what, std::string_view name, const std::string& why) {
  throw std::invalid_argument(std::string(what) + " name " + quoted(name) + ": " + why +
                              "; letters, digits, '_', '-' and '.' make a part, and '/' stands "
                              "between parts or in front");
}

}  // namespace

std::string quoted(std::string_view name) {
  static constexpr std::string_view digits = "0123456789abcdef";
  static constexpr std::size_t shown = 64;
  std::string text = "'";
  for (const char c : name.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && c != '\'' && c != '\\')
      text += c;
    else
      text.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
  }
  return text + (name.size() > shown ? "...'" : "'");
}

void check_name(std::string_view what, std::string_view name) {
  if (name.empty()) refuse(what, name, "it is empty");
  if (name.size() > longest_name)
    refuse(what, name, "it is longer than " + std::to_string(longest_name) + " characters");
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_slash = name[i] == '/';
    if (!is_slash && !is_plain(name[i]))
      refuse(what, name, "character " + std::to_string(i + 1) + " is none that a name may have");
    if (is_slash && (i + 1 == name.size() || name[i + 1] == '/'))
      refuse(what, name, "a part is empty after character " + std::to_string(i + 1));
  }
}

}  // namespace rota::detail
