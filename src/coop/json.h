// The few pieces of JSON that traces and logs are made of. Names are ASCII and need no escapes.
#ifndef ROTA_SRC_COOP_JSON_H
#define ROTA_SRC_COOP_JSON_H

#include <rota/coop/source.h>
#include <rota/coop/value.h>

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace rota::coop::json {

template <std::integral Number>
void add(std::string& out, Number n) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, n);
  out.append(digits, end);
}

inline void add(std::string& out, std::string_view text) {
  out += '"';
  out += text;
  out += '"';
}

inline void add(std::string& out, position at) {
  out += '"';
  add(out, at.line);
  out += ':';
  add(out, at.column);
  out += '"';
}

inline void add(std::string& out, const value& v) {
  switch (v.kind) {
    case value_kind::integer:
      add(out, v.number);
      break;
    case value_kind::boolean:
      out += v.number ? "true" : "false";
      break;
    case value_kind::task:
      out += "{\"task\":";
      add(out, v.number);
      out += '}';
      break;
  }
}

// Members and elements: a comma before all but the first.
inline void separate(std::string& out) {
  if (out.empty()) return;
  const char last = out.back();
  if (last != '{' && last != '[') out += ',';
}

inline void key(std::string& out, std::string_view name) {
  separate(out);
  add(out, name);
  out += ':';
}

template <class T>
void member(std::string& out, std::string_view name, const T& v) {
  key(out, name);
  add(out, v);
}

}  // namespace rota::coop::json

#endif
