// What a message type says about itself, once: its name and its fields.
//
//   struct scan { std::string frame; std::vector<float> ranges; double angle = 0; };
//
//   template <class V>
//   void describe(V& v, scan& s) {      // in the namespace of scan, or a friend
//     v.type("lab/scan");               // first; without it the compiler's name is taken
//     v.field("frame", s.frame);        // in the order of the wire, the same each time
//     v.field("ranges", s.ranges);
//     v.field("angle", s.angle);
//   }
//
// From that come the bytes both ways and the schema (codec.h). The object is not const, so that one
// function serves both ways; to encode it is only looked at.
//
// Fields, and messages too, may be:
//
//   C++                                       schema              bytes (cdr.h)
//   bool, char, std::byte                     bool, char, byte    1
//   integers                                  int8 ... uint64     by size, not by name
//   float, double                             float32, float64    4, 8
//   enum with a stated underlying type        int32, uint32       4
//     of 8 bytes                              int64, uint64       8
//   std::string                               string              may have NULs inside
//   std::vector<U>                            U[]                 sequence
//   std::array<U, N>, U[N] (N > 0)            U[N]                array
//   std::optional<U>                          U?                  optional
//   std::chrono::duration                     duration            int64 nanoseconds
//   time_point of system_clock                time                the same, since 1970
//   std::pair<A, B>                           pair<A,B>           struct of first and second
//   std::map<K, V>                            pair<K,V>[]         sequence
//   a described struct                        its name            struct
//
// Durations are cut to whole nanoseconds, those of floats rounded, and to whole ticks when they are
// read; beyond some 292 years the last nanosecond is taken. A type is made by its default
// constructor, before its fields are read and to ask for its schema. A class that derives from a
// described one needs its own describe, which may begin with that of its base: describe(v,
// static_cast<base&>(d)).
//
// Not described: pointers and references, long double, wide characters, unions, variants.
//
// Threads: describe() is called by whoever encodes or decodes, several at once.
#ifndef ROTA_EVENT_DESCRIBE_H
#define ROTA_EVENT_DESCRIBE_H

#include <rota/event/cdr.h>

#include <array>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ratio>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota {
namespace detail {

// How a type goes over a wire:
//
//   supported        whether it does
//   least            it has at least so many bytes
//   put, get         writes and reads it
//   expression       its name in a schema, to which the structs that it needs are added
//
// The general one is for structs; those of the other types are below.
template <class T>
struct wire;

// --- names ---

template <class T>
constexpr std::string_view signature_with() noexcept {
  return std::source_location::current().function_name();
}

// What the compiler calls a type. Readable, but each compiler has its own spelling.
template <class T>
constexpr std::string_view readable_name() noexcept {
  constexpr std::string_view known = signature_with<double>();
  constexpr std::size_t before = known.find("double");
  constexpr std::size_t after = known.size() - before - std::string_view{"double"}.size();
  std::string_view name = signature_with<T>();
  name.remove_prefix(before);
  name.remove_suffix(after);
  return name;
}

// Its address stands for a type.
template <class T>
inline char type_tag = 0;

// Collects the structs that a type needs. The text of a schema is in schema.h.
class schema_builder {
 public:
  // The name of a struct that is there already, or null.
  const std::string* find(const void* tag) const noexcept;
  // Begins a struct. Its name is changed where it could not be read back or is taken.
  std::size_t add(const void* tag, std::string_view name);
  void add_field(std::size_t at, std::string_view name, std::string type);
  const std::string& name_of(std::size_t at) const noexcept { return blocks_[at].name; }

  std::string text(std::string_view root) const;

 private:
  struct field {
    std::string name;
    std::string type;
  };
  struct block {
    const void* tag;
    std::string name;
    std::vector<field> fields;
  };
  bool is_taken(std::string_view name) const noexcept;

  std::vector<block> blocks_;
};

// --- what describe() is called with ---

// An enum whose underlying type is not stated has values that no integer may be turned into.
template <class T>
concept open_enum = std::is_enum_v<T> && requires { T{std::underlying_type_t<T>{}}; };

template <class T>
constexpr void check_described() {
  static_assert(!std::is_const_v<T>, "rota: a const member cannot be decoded into");
  static_assert(!std::is_pointer_v<T> && !std::is_member_pointer_v<T>,
                "rota: a pointer means nothing elsewhere: send the value, a name or a number");
  static_assert(!std::is_same_v<T, long double>,
                "rota: long double differs between machines: send a double");
  static_assert(!std::is_enum_v<T> || open_enum<T> || std::is_same_v<T, std::byte>,
                "rota: say the underlying type of the enum (enum e : int), so that any number that "
                "comes is a value of it");
  static_assert(std::is_const_v<T> || wire<T>::supported,
                "rota: this type cannot go over a wire. A struct needs, in its namespace, "
                "template <class V> void describe(V& v, T& x) (rota/event/describe.h has the types "
                "that need nothing)");
}

class encoder {
 public:
  explicit encoder(cdr_writer& out) noexcept : out_(out) {}
  void type(std::string_view) noexcept {}
  template <class U>
  void field(std::string_view, U& x) {
    check_described<U>();
    empty_ = false;
    wire<U>::put(out_, x);
  }
  void end() {
    if (empty_) out_.number(std::uint8_t{0});
  }

 private:
  cdr_writer& out_;
  bool empty_ = true;
};

class decoder {
 public:
  explicit decoder(cdr_reader& in) noexcept : in_(in) {}
  void type(std::string_view) noexcept {}
  template <class U>
  void field(std::string_view name, U& x) {
    check_described<U>();
    empty_ = false;
    if (in_.ok() && !wire<U>::get(in_, x)) in_.failed_in(name);
  }
  bool end() {
    std::uint8_t any = 0;
    return empty_ ? in_.number(any) : in_.ok();
  }

 private:
  cdr_reader& in_;
  bool empty_ = true;
};

class schema_maker {
 public:
  schema_maker(schema_builder& builder, const void* tag, std::string_view fallback) noexcept
      : builder_(builder), tag_(tag), fallback_(fallback) {}
  void type(std::string_view name) {
    if (!at_) at_ = builder_.add(tag_, name);  // that of a base comes too late
  }
  template <class U>
  void field(std::string_view name, U&) {
    check_described<U>();
    type(fallback_);
    builder_.add_field(*at_, name, wire<U>::expression(builder_));
  }
  std::string end() {
    type(fallback_);
    return builder_.name_of(*at_);
  }

 private:
  schema_builder& builder_;
  const void* tag_;
  std::string_view fallback_;
  std::optional<std::size_t> at_;
};

// --- structs ---

template <class T>
concept has_describe = std::is_class_v<T> && std::default_initializable<T> &&
                       requires(encoder& v, T& x) { describe(v, x); };

template <class T>
struct wire {
  static constexpr bool supported = has_describe<T>;
  static constexpr std::size_t least = 1;

  static void put(cdr_writer& out, const T& x) {
    encoder v{out};
    describe(v, const_cast<T&>(x));  // an encoder changes nothing
    v.end();
  }
  static bool get(cdr_reader& in, T& x) {
    if (!in.enter()) return false;
    decoder v{in};
    describe(v, x);
    in.leave();
    return v.end();
  }
  static std::string expression(schema_builder& b) {
    if (const std::string* known = b.find(&type_tag<T>)) return *known;
    schema_maker v{b, &type_tag<T>, readable_name<T>()};
    const auto sample = std::make_unique<T>();  // may be too large for a stack
    describe(v, *sample);
    return v.end();
  }
};

// --- numbers ---

template <class T, class... Us>
concept one_of = (std::same_as<T, Us> || ...);

template <class T>
concept wire_number = (std::integral<T> && sizeof(T) <= 8 &&
                       !one_of<std::remove_cv_t<T>, bool, wchar_t, char8_t, char16_t, char32_t> &&
                       !std::is_const_v<T>) ||
                      one_of<T, float, double, std::byte>;

template <wire_number N>
constexpr const char* number_name() noexcept {
  if constexpr (std::same_as<N, char>) return "char";
  if constexpr (std::same_as<N, std::byte>) return "byte";
  if constexpr (std::floating_point<N>) return sizeof(N) == 4 ? "float32" : "float64";
  constexpr const char* names[2][4] = {{"uint8", "uint16", "uint32", "uint64"},
                                       {"int8", "int16", "int32", "int64"}};
  return names[std::is_signed_v<N>][std::bit_width(sizeof(N)) - 1];
}

template <wire_number N>
struct wire<N> {
  static constexpr bool supported = true;
  static constexpr std::size_t least = sizeof(N);
  static void put(cdr_writer& out, N x) { out.number(x); }
  static bool get(cdr_reader& in, N& x) { return in.number(x); }
  static std::string expression(schema_builder&) { return number_name<N>(); }
};

template <>
struct wire<bool> {
  static constexpr bool supported = true;
  static constexpr std::size_t least = 1;
  static void put(cdr_writer& out, bool x) { out.boolean(x); }
  static bool get(cdr_reader& in, bool& x) { return in.boolean(x); }
  static std::string expression(schema_builder&) { return "bool"; }
};

template <class E>
  requires(open_enum<E> && !std::same_as<E, std::byte>)
struct wire<E> {
  using underlying = std::underlying_type_t<E>;
  static constexpr bool is_signed = std::is_signed_v<underlying>;
  using number = std::conditional_t<(sizeof(E) <= 4),
                                    std::conditional_t<is_signed, std::int32_t, std::uint32_t>,
                                    std::conditional_t<is_signed, std::int64_t, std::uint64_t>>;
  static constexpr bool supported = true;
  static constexpr std::size_t least = sizeof(number);

  static void put(cdr_writer& out, E x) { out.number(static_cast<number>(x)); }
  static bool get(cdr_reader& in, E& x) {
    number n = 0;
    if (!in.number(n)) return false;
    const auto narrow = static_cast<underlying>(n);
    if (static_cast<number>(narrow) != n)
      return in.fail("an enum of " + std::to_string(n) + ", which does not fit");
    x = static_cast<E>(narrow);
    return true;
  }
  static std::string expression(schema_builder&) { return number_name<number>(); }
};

// --- strings ---

template <class Alloc>
struct wire<std::basic_string<char, std::char_traits<char>, Alloc>> {
  using text = std::basic_string<char, std::char_traits<char>, Alloc>;
  static constexpr bool supported = true;
  static constexpr std::size_t least = 5;  // the length and the NUL
  static void put(cdr_writer& out, const text& x) { out.text(x); }
  static bool get(cdr_reader& in, text& x) {
    std::string_view s;
    if (!in.text(s)) return false;
    x.assign(s);
    return true;
  }
  static std::string expression(schema_builder&) { return "string"; }
};

// --- sequences and arrays ---

// Elements that stand in memory as they do on the wire, byte order aside.
template <class U>
concept bulk = wire_number<U>;

template <class U, class Alloc>
struct wire<std::vector<U, Alloc>> {
  using sequence = std::vector<U, Alloc>;
  static constexpr bool supported = wire<U>::supported;
  static constexpr std::size_t least = 4;

  static void put(cdr_writer& out, const sequence& x) {
    out.count(x.size());
    if constexpr (bulk<U>) {
      out.block(x.data(), x.size(), sizeof(U));
    } else if constexpr (std::same_as<U, bool>) {
      for (const bool b : x) out.boolean(b);
    } else {
      for (const U& u : x) wire<U>::put(out, u);
    }
  }
  static bool get(cdr_reader& in, sequence& x) {
    std::size_t n = 0;
    if (!in.enter() || !in.count(n, wire<U>::least)) return false;
    if constexpr (bulk<U>) {
      x.resize(n);
      if (!in.block(x.data(), n, sizeof(U))) return false;
    } else if constexpr (std::same_as<U, bool>) {
      x.resize(n);
      for (std::size_t i = 0; i < n; ++i) {
        bool b = false;
        if (!in.boolean(b)) return fail_at(in, i);
        x[i] = b;
      }
    } else {
      // No more than what has come: the count may be a lie, and elements be larger than their
      // bytes.
      if (x.size() > n) x.erase(x.begin() + static_cast<std::ptrdiff_t>(n), x.end());
      x.reserve(std::min(n, 1 + first_bytes / sizeof(U)));
      for (std::size_t i = 0; i < n; ++i) {
        if (i == x.size()) x.emplace_back();
        if (!wire<U>::get(in, x[i])) return fail_at(in, i);
      }
    }
    in.leave();
    return true;
  }
  static std::string expression(schema_builder& b) { return wire<U>::expression(b) + "[]"; }

 private:
  static constexpr std::size_t first_bytes = 512;
  static bool fail_at(cdr_reader& in, std::size_t i) {
    in.failed_at(i);
    return false;
  }
};

template <class U, std::size_t N>
struct wire_array {
  static constexpr bool supported = wire<U>::supported && N > 0;  // nothing is no value
  static constexpr std::size_t least = N * wire<U>::least;

  static void put(cdr_writer& out, const U* x) {
    if constexpr (bulk<U>)
      out.block(x, N, sizeof(U));
    else
      for (std::size_t i = 0; i < N; ++i) wire<U>::put(out, x[i]);
  }
  static bool get(cdr_reader& in, U* x) {
    if (!in.enter()) return false;
    if constexpr (bulk<U>) {
      if (!in.block(x, N, sizeof(U))) return false;
    } else {
      for (std::size_t i = 0; i < N; ++i)
        if (!wire<U>::get(in, x[i])) {
          in.failed_at(i);
          return false;
        }
    }
    in.leave();
    return true;
  }
  static std::string expression(schema_builder& b) {
    return wire<U>::expression(b) + '[' + std::to_string(N) + ']';
  }
};

template <class U, std::size_t N>
struct wire<std::array<U, N>> : wire_array<U, N> {
  static void put(cdr_writer& out, const std::array<U, N>& x) {
    wire_array<U, N>::put(out, x.data());
  }
  static bool get(cdr_reader& in, std::array<U, N>& x) {
    return wire_array<U, N>::get(in, x.data());
  }
};

template <class U, std::size_t N>
struct wire<U[N]> : wire_array<U, N> {};

// --- what may be missing ---

template <class U>
struct wire<std::optional<U>> {
  static constexpr bool supported = wire<U>::supported;
  static constexpr std::size_t least = 1;
  static void put(cdr_writer& out, const std::optional<U>& x) {
    out.boolean(x.has_value());
    if (x) wire<U>::put(out, *x);
  }
  static bool get(cdr_reader& in, std::optional<U>& x) {
    bool there = false;
    if (!in.enter() || !in.boolean(there)) return false;
    if (!there) {
      x.reset();
    } else {
      if (!x) x.emplace();
      if (!wire<U>::get(in, *x)) return false;
    }
    in.leave();
    return true;
  }
  static std::string expression(schema_builder& b) { return wire<U>::expression(b) + '?'; }
};

// --- time ---

// x * Num / Den towards zero, or the nearest there is.
template <std::intmax_t Num, std::intmax_t Den>
constexpr std::int64_t scaled(std::int64_t x) noexcept {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  std::int64_t whole = 0;
  std::int64_t rest = 0;
  std::int64_t sum = 0;
  if (__builtin_mul_overflow(x / Den, Num, &whole)) return x < 0 ? least : most;
  // Only ratios beyond any clock overflow here, and then to the right side.
  if (__builtin_mul_overflow(x % Den, Num, &rest)) rest = x < 0 ? least : most;
  if (__builtin_add_overflow(whole, rest / Den, &sum)) return x < 0 ? least : most;
  return sum;
}

// The nearest there is; 0 for what is not a number.
inline std::int64_t nearest_int64(double x) noexcept {
  if (std::isnan(x)) return 0;
  if (x >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  if (x < -0x1p63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(std::round(x));
}

template <class Rep, class Period>
  requires std::is_arithmetic_v<Rep>
struct wire<std::chrono::duration<Rep, Period>> {
  using duration = std::chrono::duration<Rep, Period>;
  using in_nanos = std::ratio_divide<Period, std::nano>;
  static constexpr bool supported = true;
  static constexpr std::size_t least = 8;

  static void put(cdr_writer& out, duration x) { out.number(nanos(x)); }
  static bool get(cdr_reader& in, duration& x) {
    std::int64_t n = 0;
    if (!in.number(n)) return false;
    if constexpr (std::is_floating_point_v<Rep>) {
      x = duration{static_cast<Rep>(static_cast<double>(n) * in_nanos::den / in_nanos::num)};
    } else {
      const std::int64_t ticks = scaled<in_nanos::den, in_nanos::num>(n);
      if (!std::in_range<Rep>(ticks))
        return in.fail("a duration of " + std::to_string(n) + " ns, which does not fit");
      x = duration{static_cast<Rep>(ticks)};
    }
    return true;
  }
  static std::string expression(schema_builder&) { return "duration"; }

 private:
  static std::int64_t nanos(duration x) noexcept {
    if constexpr (std::is_floating_point_v<Rep>) {
      return nearest_int64(static_cast<double>(x.count()) * in_nanos::num / in_nanos::den);
    } else {
      constexpr auto most = std::numeric_limits<std::int64_t>::max();
      if (!std::in_range<std::int64_t>(x.count())) return most;  // an unsigned one
      return scaled<in_nanos::num, in_nanos::den>(static_cast<std::int64_t>(x.count()));
    }
  }
};

template <class D>
struct wire<std::chrono::time_point<std::chrono::system_clock, D>> {
  using time = std::chrono::time_point<std::chrono::system_clock, D>;
  static constexpr bool supported = wire<D>::supported;
  static constexpr std::size_t least = 8;
  static void put(cdr_writer& out, time x) { wire<D>::put(out, x.time_since_epoch()); }
  static bool get(cdr_reader& in, time& x) {
    D d{};
    if (!wire<D>::get(in, d)) return false;
    x = time{d};
    return true;
  }
  static std::string expression(schema_builder&) { return "time"; }
};

// --- pairs and maps ---

template <class A, class B>
struct wire<std::pair<A, B>> {
  static constexpr bool supported = wire<A>::supported && wire<B>::supported;
  static constexpr std::size_t least = wire<A>::least + wire<B>::least;

  static void put(cdr_writer& out, const std::pair<A, B>& x) {
    wire<A>::put(out, x.first);
    wire<B>::put(out, x.second);
  }
  static bool get(cdr_reader& in, std::pair<A, B>& x) {
    if (!in.enter()) return false;
    if (!wire<A>::get(in, x.first)) return fail_in(in, "first");
    if (!wire<B>::get(in, x.second)) return fail_in(in, "second");
    in.leave();
    return true;
  }
  static std::string expression(schema_builder& b) {
    const void* tag = &type_tag<std::pair<A, B>>;
    if (const std::string* known = b.find(tag)) return *known;
    const std::string first = wire<A>::expression(b);
    const std::string second = wire<B>::expression(b);
    // A pair can come to stand in itself by way of a struct, and is there already then.
    if (const std::string* known = b.find(tag)) return *known;
    const std::size_t at = b.add(tag, "pair<" + first + ',' + second + '>');
    b.add_field(at, "first", first);
    b.add_field(at, "second", second);
    return b.name_of(at);
  }

 private:
  static bool fail_in(cdr_reader& in, const char* name) {
    in.failed_in(name);
    return false;
  }
};

template <class K, class V, class Less, class Alloc>
struct wire<std::map<K, V, Less, Alloc>> {
  using map = std::map<K, V, Less, Alloc>;
  using entry = std::pair<K, V>;
  static constexpr bool supported = wire<entry>::supported;
  static constexpr std::size_t least = 4;

  static void put(cdr_writer& out, const map& x) {
    out.count(x.size());
    for (const auto& [key, value] : x) {
      wire<K>::put(out, key);
      wire<V>::put(out, value);
    }
  }
  static bool get(cdr_reader& in, map& x) {
    std::size_t n = 0;
    if (!in.enter() || !in.count(n, wire<entry>::least)) return false;
    x.clear();
    for (std::size_t i = 0; i < n; ++i) {
      entry e{};
      if (!wire<entry>::get(in, e) || (!x.insert(std::move(e)).second && !twice(in))) {
        in.failed_at(i);
        return false;
      }
    }
    in.leave();
    return true;
  }
  static std::string expression(schema_builder& b) { return wire<entry>::expression(b) + "[]"; }

 private:
  static bool twice(cdr_reader& in) { return in.fail("a key that was there already"); }
};

}  // namespace detail

// T can go over a wire.
template <class T>
concept described = std::is_object_v<T> && !std::is_const_v<T> && detail::wire<T>::supported;

}  // namespace rota

#endif
