// The words of the inspector: requests come as words, answers go as lines of JSON, messages are
// hex both ways.
#ifndef ROTA_EVENT_INSPECTOR_TEXT_H
#define ROTA_EVENT_INSPECTOR_TEXT_H

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rota::detail {

// Writes JSON, whatever it is given: text that is no UTF-8 has U+FFFD in its place.
//
//   json_text j;
//   j.begin_object().key("name").text("/pose").key("ends").begin_array()...end_array().end_object();
class json_text {
 public:
  json_text& begin_object() { return open('{'); }
  json_text& end_object() { return close('}'); }
  json_text& begin_array() { return open('['); }
  json_text& end_array() { return close(']'); }
  json_text& key(std::string_view name);
  json_text& text(std::string_view x);
  json_text& boolean(bool x) { return plain(x ? "true" : "false"); }
  json_text& number(std::uint64_t x) { return plain(std::to_string(x)); }
  json_text& number(std::int64_t x) { return plain(std::to_string(x)); }
  json_text& real(double x);                         // null if it is not finite
  json_text& hex(std::span<const std::byte> bytes);  // as a text

  template <std::unsigned_integral N>
  json_text& field(std::string_view name, N x) {
    return key(name).number(std::uint64_t{x});
  }
  template <std::signed_integral N>
  json_text& field(std::string_view name, N x) {
    return key(name).number(std::int64_t{x});
  }
  json_text& field(std::string_view name, std::string_view x) { return key(name).text(x); }

  std::string take() && { return std::move(out_); }

 private:
  json_text& open(char c);
  json_text& close(char c);
  json_text& plain(std::string_view x);
  void quote(std::string_view x);

  std::string out_;
  bool first_ = true;  // nothing stands in front of what comes next
};

// The words of a line, without the blanks between them.
std::vector<std::string_view> words_of(std::string_view line);

// A number in decimal, all of the word.
std::optional<std::uint64_t> parse_number(std::string_view word) noexcept;
std::optional<double> parse_real(std::string_view word) noexcept;

// Bytes, or nothing if it is no hex.
std::optional<std::vector<std::byte>> parse_hex(std::string_view hex);

}  // namespace rota::detail

#endif
