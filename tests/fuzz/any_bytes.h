// What holds for any bytes given to the codec and the schema: they are an error that says where, or
// a value that comes back the same; the codec and the schema that it gives agree on which; and no
// text and no order of events confuses a schema.
#ifndef ROTA_TESTS_FUZZ_ANY_BYTES_H
#define ROTA_TESTS_FUZZ_ANY_BYTES_H

#include <rota/event/codec.h>
#include <rota/event/schema.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rota::cdr_test {

using byte_vector = std::vector<std::byte>;
using byte_span = std::span<const std::byte>;

// --- messages ---

struct point {
  double x = 0;
  double y = 0;
  bool operator==(const point&) const = default;
};
template <class V>
void describe(V& v, point& p) {
  v.type("lab/point");
  v.field("x", p.x);
  v.field("y", p.y);
}

struct scan {
  std::string frame;
  std::vector<float> ranges;
  double angle = 0;
  bool operator==(const scan&) const = default;
};
template <class V>
void describe(V& v, scan& s) {
  v.type("lab/scan");
  v.field("frame", s.frame);
  v.field("ranges", s.ranges);
  v.field("angle", s.angle);
}

struct tree {
  std::int16_t value = 0;
  std::vector<tree> children;
  bool operator==(const tree&) const = default;
};
template <class V>
void describe(V& v, tree& t) {
  v.type("lab/tree");
  v.field("value", t.value);
  v.field("children", t.children);
}

struct empty {
  bool operator==(const empty&) const = default;
};
template <class V>
void describe(V& v, empty&) {
  v.type("lab/empty");
}

// One field of each type whose bytes say all there is to the value.
struct plain {
  bool truth = false;
  char letter = 0;
  std::byte raw{};
  std::int8_t i8 = 0;
  std::uint8_t u8 = 0;
  std::int16_t i16 = 0;
  std::uint16_t u16 = 0;
  std::int32_t i32 = 0;
  std::uint32_t u32 = 0;
  std::int64_t i64 = 0;
  std::uint64_t u64 = 0;
  float f32 = 0;
  double f64 = 0;
  std::string text;
  std::chrono::nanoseconds wait{0};
  std::chrono::sys_time<std::chrono::nanoseconds> when{};
  std::vector<std::byte> blob;
  std::vector<bool> flags;
  std::vector<std::uint16_t> shorts;
  std::array<point, 2> corners;
  std::array<std::int64_t, 3> big{};
  std::int16_t grid[2][3] = {};
  std::optional<std::string> note;
  std::optional<std::optional<std::int32_t>> perhaps;
  std::vector<std::vector<std::string>> table;
  std::pair<std::uint8_t, std::string> entry;
  std::vector<empty> nothings;
  tree root;
  bool operator==(const plain&) const = default;
};
template <class V>
void describe(V& v, plain& p) {
  v.type("lab/plain");
  v.field("truth", p.truth);
  v.field("letter", p.letter);
  v.field("raw", p.raw);
  v.field("i8", p.i8);
  v.field("u8", p.u8);
  v.field("i16", p.i16);
  v.field("u16", p.u16);
  v.field("i32", p.i32);
  v.field("u32", p.u32);
  v.field("i64", p.i64);
  v.field("u64", p.u64);
  v.field("f32", p.f32);
  v.field("f64", p.f64);
  v.field("text", p.text);
  v.field("wait", p.wait);
  v.field("when", p.when);
  v.field("blob", p.blob);
  v.field("flags", p.flags);
  v.field("shorts", p.shorts);
  v.field("corners", p.corners);
  v.field("big", p.big);
  v.field("grid", p.grid);
  v.field("note", p.note);
  v.field("perhaps", p.perhaps);
  v.field("table", p.table);
  v.field("entry", p.entry);
  v.field("nothings", p.nothings);
  v.field("root", p.root);
}

// Those that have fewer values than their bytes.
enum class colour : std::uint8_t { red, green, blue };
enum sign : std::int64_t { minus = -1, plus = 1 };
struct narrow {
  colour c = colour::red;
  sign s = plus;
  std::chrono::duration<std::int8_t, std::ratio<60>> minutes{0};
  std::chrono::duration<float, std::nano> nanos{0};
  std::map<std::string, std::vector<std::uint32_t>> words;
  bool operator==(const narrow&) const = default;
};
template <class V>
void describe(V& v, narrow& n) {
  v.type("lab/narrow");
  v.field("c", n.c);
  v.field("s", n.s);
  v.field("minutes", n.minutes);
  v.field("nanos", n.nanos);
  v.field("words", n.words);
}

// --- what holds ---

// Empty if all is well.
inline std::string wrong_with_error(const std::string& what, std::size_t size) {
  constexpr std::string_view head = "cdr: byte ";
  if (!what.starts_with(head)) return "an error without a place: " + what;
  if (std::stoull(what.substr(head.size())) > size) return "an error outside of the bytes: " + what;
  return what.find('\n') == what.npos ? "" : "an error of two lines: " + what;
}

// Empty if all is well. `is_plain` says that bytes and values are one to one.
template <class T>
std::string wrong_with_message(byte_span bytes, bool is_plain) {
  static const schema s = *schema::parse(codec<T>::schema());
  T x{};
  const decode_result typed = codec<T>::decode(bytes, x);
  schema::writer again{s};
  const decode_result untyped = s.read(bytes, again);
  if (!typed)
    if (std::string wrong = wrong_with_error(typed.what(), bytes.size()); !wrong.empty())
      return wrong;
  if (typed && !untyped) return "the schema refuses a message: " + untyped.what();
  if (!typed && untyped && is_plain) return "only the codec refuses a message: " + typed.what();
  if (untyped) {
    const auto made = std::move(again).finish();
    if (!made) return "what was read cannot be written: " + made.what();
    if (typed && is_plain && *made != codec<T>::encode(x)) return "the writer differs";
    if (made->size() > bytes.size()) return "more bytes than before";
  }
  if (typed) {
    const byte_vector first = codec<T>::encode(x);
    T y{};
    if (auto r = codec<T>::decode(first, y); !r) return "what was written is refused: " + r.what();
    if (codec<T>::encode(y) != first) return "not the same again";
  }
  return "";
}

inline std::string wrong_with_schema(std::string_view text, byte_span bytes) {
  const auto s = schema::parse(text);
  if (!s) return s.what().starts_with("schema: ") ? "" : "an error without a head: " + s.what();
  const auto same = schema::parse(s->text());
  if (!same) return "its text is refused: " + same.what();
  if (same->text() != s->text()) return "its text differs";
  if (s->root().least <= 4096) {
    schema::writer zero{*s};
    zero.zero();
    const auto made = std::move(zero).finish();
    if (!made) return "no zeros: " + made.what();
    schema::visitor nobody;
    if (auto r = s->read(*made, nobody); !r) return "zeros are refused: " + r.what();
  }
  schema::writer again{*s};
  if (auto r = s->read(bytes, again); !r) return wrong_with_error(r.what(), bytes.size());
  const auto made = std::move(again).finish();
  if (!made) return "what was read cannot be written: " + made.what();
  schema::writer third{*s};
  if (auto r = s->read(*made, third); !r) return "what was written is refused: " + r.what();
  return *std::move(third).finish() == *made ? "" : "not the same again";
}

// An event for a value of the type, or any other.
inline void tell_event(schema::writer& w, unsigned n) {
  using kind = schema::kind;
  const schema::type* t = w.expects();
  if (!t) {
    const std::string_view names[] = {"value", "children", "x", ""};
    if (n < 128) return w.field(names[n % 4]);
    return n % 2 ? w.end_struct() : w.end_sequence();
  }
  if (n < 32) return w.zero();
  if (t->what == kind::structure) return w.begin_struct();
  if (t->what == kind::sequence) return w.begin_sequence(n % 4);
  if (n < 128) return w.integer(n);
  const std::byte some[2] = {};
  switch (n % 8) {
    case 0:
      return w.nothing();
    case 1:
      return w.something();
    case 2:
      return w.boolean(true);
    case 3:
      return w.unsigned_integer(70000);
    case 4:
      return w.real(n < 192 ? 7.0 : 1e300);
    case 5:
      return w.real32(0.5F);
    case 6:
      return w.text("ab");
    default:
      return w.bytes(some);
  }
}

inline std::string wrong_with_events(const schema& s, byte_span events) {
  schema::writer w{s};
  for (const std::byte b : events) tell_event(w, std::to_integer<unsigned>(b));
  const auto made = std::move(w).finish();
  if (!made) return made.what().starts_with("schema: ") ? "" : "an error without a head";
  schema::visitor nobody;
  const decode_result r = s.read(*made, nobody);
  return r ? "" : "what was written is refused: " + r.what();
}

// Empty if all is well. The first byte says what the others are.
inline std::string wrong_with(byte_span all) {
  if (all.empty()) return "";
  const byte_span rest = all.subspan(1);
  const std::string_view text{reinterpret_cast<const char*>(rest.data()), rest.size()};
  switch (std::to_integer<unsigned>(all[0]) % 10) {
    case 0:
      return wrong_with_message<scan>(rest, true);
    case 1:
      return wrong_with_message<plain>(rest, true);
    case 2:
      return wrong_with_message<tree>(rest, true);
    case 3:
      return wrong_with_message<narrow>(rest, false);
    case 4:
      return wrong_with_message<std::vector<std::vector<std::optional<std::string>>>>(rest, true);
    case 5:
      return wrong_with_message<std::map<std::int16_t, empty>>(rest, false);
    case 6:
      return wrong_with_message<std::vector<double>>(rest, true);
    case 7:
      return wrong_with_schema(text, {});
    case 8: {  // a text, a NUL, bytes
      const std::size_t end = std::min(text.find('\0'), text.size());
      return wrong_with_schema(text.substr(0, end), rest.subspan(std::min(end + 1, rest.size())));
    }
    default: {
      static const schema s = *schema::parse(codec<std::vector<tree>>::schema());
      return wrong_with_events(s, rest);
    }
  }
}

}  // namespace rota::cdr_test

#endif
