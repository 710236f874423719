#include "event/inspector_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace rota::detail {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

// How many bytes the character at the front of a text has; 0 if that is no UTF-8.
std::size_t utf8_size(std::string_view s) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const auto follows = [&](std::size_t i) { return i < s.size() && (at(i) & 0xC0) == 0x80; };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return follows(1) ? 2 : 0;
  if (lead < 0xF0) {
    if (!follows(1) || !follows(2)) return 0;
    const unsigned second = at(1);
    const bool is_long = lead == 0xE0 && second < 0xA0;
    const bool is_surrogate = lead == 0xED && second >= 0xA0;
    return is_long || is_surrogate ? 0 : 3;
  }
  if (lead > 0xF4 || !follows(1) || !follows(2) || !follows(3)) return 0;
  const unsigned second = at(1);
  return (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90) ? 0 : 4;
}

int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

json_text& json_text::open(char c) {
  plain({&c, 1});
  first_ = true;
  return *this;
}

json_text& json_text::close(char c) {
  out_ += c;
  first_ = false;
  return *this;
}

json_text& json_text::plain(std::string_view x) {
  if (!first_) out_ += ',';
  out_ += x;
  first_ = false;
  return *this;
}

json_text& json_text::key(std::string_view name) {
  plain("");
  quote(name);
  out_ += ':';
  first_ = true;  // its value has no comma in front
  return *this;
}

json_text& json_text::text(std::string_view x) {
  plain("");
  quote(x);
  return *this;
}

json_text& json_text::real(double x) {
  if (!std::isfinite(x)) return plain("null");
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, x).ptr;
  return plain({digits, static_cast<std::size_t>(end - digits)});
}

json_text& json_text::hex(std::span<const std::byte> bytes) {
  plain("\"");
  const std::size_t at = out_.size();
  out_.resize(at + 2 * bytes.size());
  char* to = out_.data() + at;
  for (const std::byte b : bytes) {
    *to++ = hex_digits[std::to_integer<unsigned>(b >> 4)];
    *to++ = hex_digits[std::to_integer<unsigned>(b & std::byte{15})];
  }
  out_ += '"';
  return *this;
}

void json_text::quote(std::string_view x) {
  out_ += '"';
  while (!x.empty()) {
    const std::size_t size = utf8_size(x);
    const auto byte = static_cast<unsigned char>(x.front());
    if (size == 0)
      out_ += "\\ufffd";
    else if (byte == '"' || byte == '\\')
      out_.append(1, '\\').append(1, x.front());
    else if (byte == '\n')
      out_ += "\\n";
    else if (byte < 0x20 || byte == 0x7F)
      out_.append("\\u00").append(1, hex_digits[byte >> 4]).append(1, hex_digits[byte & 15]);
    else
      out_ += x.substr(0, size);
    x.remove_prefix(size == 0 ? 1 : size);
  }
  out_ += '"';
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

std::optional<std::uint64_t> parse_number(std::string_view word) noexcept {
  std::uint64_t x = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), x);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return x;
}

std::optional<double> parse_real(std::string_view word) noexcept {
  double x = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), x);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return x;
}

std::optional<std::vector<std::byte>> parse_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit_of(hex[2 * i]);
    const int low = digit_of(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return bytes;
}

}  // namespace rota::detail
