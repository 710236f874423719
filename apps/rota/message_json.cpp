#include "message_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "door.h"

namespace rota::app {

using nlohmann::ordered_json;

const char* const message_json_help =
    "Messages are JSON: structs are objects with all their fields, T? may be null or left out,\n"
    "duration and time are nanoseconds, byte[] is hex in a text; \"nan\", \"inf\" and \"-inf\" "
    "are\n"
    "texts.";

namespace {

constexpr const char* digits = "0123456789abcdef";

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte b : bytes) {
    text += digits[std::to_integer<unsigned>(b >> 4)];
    text += digits[std::to_integer<unsigned>(b & std::byte{15})];
  }
  return text;
}

std::optional<std::vector<std::byte>> bytes_of(const std::string& hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* at = hex.data() + 2 * i;
    unsigned value = 0;
    const auto [end, error] = std::from_chars(at, at + 2, value, 16);
    if (error != std::errc{} || end != at + 2) return std::nullopt;
    bytes[i] = static_cast<std::byte>(value);
  }
  if (hex.size() % 2 != 0) return std::nullopt;
  return bytes;
}

// --- from bytes ---

class json_builder final : public schema::visitor {
 public:
  ordered_json take() { return std::move(root_); }

  void begin_struct(std::string_view) override { open(ordered_json::object()); }
  void field(std::string_view name) override { name_ = name; }
  void end_struct() override { inside_.pop_back(); }
  void begin_sequence(std::size_t) override { open(ordered_json::array()); }
  void end_sequence() override { inside_.pop_back(); }
  void nothing() override { put(nullptr); }
  void boolean(bool x) override { put(x); }
  void integer(std::int64_t x) override { put(x); }
  void unsigned_integer(std::uint64_t x) override { put(x); }
  void real(double x) override {
    if (std::isfinite(x))
      put(x);
    else
      put(std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
  }
  // As short as a float can be: 0.1, not 0.10000000149011612.
  void real32(float x) override {
    char text[32];
    double shorter = static_cast<double>(x);
    if (std::isfinite(x)) {
      const auto end = std::to_chars(text, text + sizeof text, x).ptr;
      std::from_chars(text, end, shorter);
    }
    real(shorter);
  }
  void text(std::string_view x) override { put(x); }
  void bytes(std::span<const std::byte> x) override { put(hex_of(x)); }

 private:
  ordered_json& put(ordered_json value) {
    if (inside_.empty()) return root_ = std::move(value);
    ordered_json& in = *inside_.back();
    if (in.is_object()) return in[name_] = std::move(value);
    in.push_back(std::move(value));
    return in.back();
  }
  // What it stands in does not change before it has ended, so the pointer stays good.
  void open(ordered_json value) { inside_.push_back(&put(std::move(value))); }

  ordered_json root_;
  std::vector<ordered_json*> inside_;
  std::string name_;
};

// --- to bytes ---

// Where we are, from the inside to the outside.
struct place {
  const place* around = nullptr;
  const std::string* field = nullptr;  // or an element:
  std::size_t index = 0;

  std::string text() const {
    if (!around) return "message";
    return around->text() + (field ? "." + *field : "[" + std::to_string(index) + "]");
  }
};

[[noreturn]] void wrong(const place& at, const std::string& what) {
  throw bad_input(at.text() + ": " + what);
}

std::string words_for(const ordered_json& j) {
  if (j.is_null()) return "null";
  if (j.is_object()) return "an object";
  if (j.is_array()) return "an array";
  if (j.is_string()) return "a text";
  return line_of(j);
}

[[noreturn]] void wrong_kind(const place& at, const schema::type& t, const ordered_json& j) {
  wrong(at, "expected " + t.name + ", not " + words_for(j));
}

class json_reader {
 public:
  explicit json_reader(schema s) : schema_(s), to_(std::move(s)) {}

  std::string read(const ordered_json& j) && {
    put(schema_.root(), j, place{});
    auto made = std::move(to_).finish();
    if (!made) throw bad_input(made.what());
    return hex_of(*made);
  }

 private:
  using kind = schema::kind;

  void put(const schema::type& t, const ordered_json& j, const place& at) {
    switch (t.what) {
      case kind::boolean:
        if (!j.is_boolean()) wrong_kind(at, t, j);
        to_.boolean(j.get<bool>());
        break;
      case kind::float32:
      case kind::float64:
        put_real(t, j, at);
        break;
      case kind::string:
        if (!j.is_string()) wrong_kind(at, t, j);
        to_.text(j.get_ref<const std::string&>());
        break;
      case kind::character:
        if (j.is_string() && j.get_ref<const std::string&>().size() == 1)
          to_.text(j.get_ref<const std::string&>());
        else if (j.is_string())
          wrong(at, "expected char, a text of one byte");
        else
          put_integer(t, j, at);
        break;
      case kind::optional:
        if (j.is_null()) return to_.nothing();
        to_.something();
        put(*t.element, j, at);
        break;
      case kind::sequence:
      case kind::array:
        put_elements(t, j, at);
        break;
      case kind::structure:
        put_struct(t, j, at);
        break;
      default:
        put_integer(t, j, at);
    }
    // Such as what is nested too deep.
    if (!to_.ok()) throw bad_input(std::move(to_).finish().what());
  }

  struct range {
    std::int64_t least;
    std::uint64_t most;
  };
  template <class N>
  static constexpr range range_of() {
    return {std::numeric_limits<N>::min(),
            static_cast<std::uint64_t>(std::numeric_limits<N>::max())};
  }
  static range range_of(kind k) {
    switch (k) {
      case kind::int8:
        return range_of<std::int8_t>();
      case kind::int16:
        return range_of<std::int16_t>();
      case kind::uint16:
        return range_of<std::uint16_t>();
      case kind::int32:
        return range_of<std::int32_t>();
      case kind::uint32:
        return range_of<std::uint32_t>();
      case kind::int64:
      case kind::duration:
      case kind::time:
        return range_of<std::int64_t>();
      case kind::uint64:
        return {0, std::numeric_limits<std::uint64_t>::max()};
      default:
        return range_of<std::uint8_t>();
    }
  }

  void put_integer(const schema::type& t, const ordered_json& j, const place& at) {
    if (!j.is_number()) wrong_kind(at, t, j);
    const range r = range_of(t.what);
    bool fits = false;
    if (j.is_number_float()) {
      const double x = j.get<double>();
      fits = std::trunc(x) == x && x >= static_cast<double>(r.least) &&
             (x <= static_cast<double>(r.most) && x < 0x1p64);
      fits = fits && !(r.most == range_of<std::int64_t>().most && x >= 0x1p63);
      if (fits) to_.real(x);
    } else if (j.is_number_unsigned()) {
      const auto x = j.get<std::uint64_t>();
      fits = x <= r.most;
      if (fits) to_.unsigned_integer(x);
    } else {
      const auto x = j.get<std::int64_t>();
      fits = x >= r.least;  // it is negative
      if (fits) to_.integer(x);
    }
    if (!fits)
      wrong(at, "expected " + t.name + ", from " + std::to_string(r.least) + " to " +
                    std::to_string(r.most) + ", not " + line_of(j));
  }

  void put_real(const schema::type& t, const ordered_json& j, const place& at) {
    if (j.is_string()) {
      const std::string& text = j.get_ref<const std::string&>();
      constexpr double infinity = std::numeric_limits<double>::infinity();
      if (text == "nan") return to_.real(std::numeric_limits<double>::quiet_NaN());
      if (text == "inf" || text == "-inf") return to_.real(text == "inf" ? infinity : -infinity);
    }
    if (!j.is_number()) wrong_kind(at, t, j);
    const double x = j.get<double>();
    if (t.what == kind::float32 &&
        std::abs(x) > static_cast<double>(std::numeric_limits<float>::max()))
      wrong(at, "expected float32, at most 3.4e38, not " + line_of(j));
    to_.real(x);
  }

  void put_elements(const schema::type& t, const ordered_json& j, const place& at) {
    const bool is_bytes = t.element->what == kind::byte || t.element->what == kind::uint8;
    if (is_bytes && j.is_string()) {
      const auto bytes = bytes_of(j.get_ref<const std::string&>());
      if (!bytes) wrong(at, "expected " + t.name + ", as hex with two digits a byte");
      check_size(t, bytes->size(), at);
      return to_.bytes(*bytes);
    }
    if (!j.is_array()) wrong_kind(at, t, j);
    check_size(t, j.size(), at);
    to_.begin_sequence(j.size());
    if (!to_.ok()) return;
    place inside{&at};
    for (const ordered_json& element : j) {
      put(*t.element, element, inside);
      ++inside.index;
    }
    to_.end_sequence();
  }

  static void check_size(const schema::type& t, std::size_t size, const place& at) {
    if (t.what == kind::array && size != t.size)
      wrong(at, "expected " + t.name + ", so " + std::to_string(t.size) + " elements, not " +
                    std::to_string(size));
  }

  void put_struct(const schema::type& t, const ordered_json& j, const place& at) {
    if (!j.is_object()) wrong_kind(at, t, j);
    std::string known;
    for (const schema::field& f : t.fields) known += (known.empty() ? "" : ", ") + f.name;
    for (const auto& [name, value] : j.items()) {
      const bool is_known = std::any_of(t.fields.begin(), t.fields.end(),
                                        [&, &n = name](const auto& f) { return f.name == n; });
      if (!is_known)
        wrong({&at, &name}, "there is no such field; " + t.name +
                                (known.empty() ? " has none" : " has " + known));
    }
    to_.begin_struct();
    for (const schema::field& f : t.fields) {
      const place inside{&at, &f.name};
      to_.field(f.name);
      if (!to_.ok()) return;
      const auto found = j.find(f.name);
      if (found != j.end())
        put(*f.of, *found, inside);
      else if (f.of->what == kind::optional)
        to_.nothing();
      else
        wrong(inside, "it is missing; expected " + f.of->name);
    }
    to_.end_struct();
  }

  const schema schema_;
  schema::writer to_;
};

// The parser takes the last of two fields of one name; we take none.
ordered_json parse_json(const std::string& text) {
  std::vector<std::set<std::string>> names;
  std::string twice;
  const auto watch = [&](int, ordered_json::parse_event_t event, ordered_json& parsed) {
    using is = ordered_json::parse_event_t;
    if (event == is::object_start) names.emplace_back();
    if (event == is::object_end) names.pop_back();
    if (event == is::key && !names.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  try {
    ordered_json j = ordered_json::parse(text, watch);
    if (!twice.empty()) throw bad_input("the message has the field " + twice + " twice");
    return j;
  } catch (const ordered_json::exception& e) {
    const std::string what = e.what();  // "[json.exception.parse_error.101] parse error at line..."
    const std::size_t end = what.find("] ");
    throw bad_input("the message is no JSON: " +
                    (end == std::string::npos ? what : what.substr(end + 2)));
  }
}

}  // namespace

schema schema_from(const std::string& text) {
  auto s = schema::parse(text);
  if (!s) throw std::runtime_error("the program has sent a schema that is none: " + s.what());
  return *s;
}

ordered_json to_json(const schema& s, std::span<const std::byte> bytes) {
  json_builder b;
  if (auto r = s.read(bytes, b); !r) throw std::runtime_error(r.what());
  return b.take();
}

ordered_json to_json(const schema& s, const std::string& hex) {
  const auto bytes = bytes_of(hex);
  if (!bytes) throw std::runtime_error("the program has sent a message that is no hex");
  return to_json(s, *bytes);
}

std::string to_hex(const schema& s, const std::string& json_text) {
  return json_reader{s}.read(parse_json(json_text));
}

}  // namespace rota::app
