// Messages as bytes, and back.
//
//   std::vector<std::byte> bytes = rota::codec<scan>::encode(s);
//   scan t;
//   if (auto r = rota::codec<scan>::decode(bytes, t); !r) log(r.what());
//   if (auto d = rota::codec<scan>::decode(bytes)) use(d->ranges);   // the same with a value
//   rota::codec<scan>::type_name();                              // "lab/scan"
//   rota::codec<std::vector<float>>::type_name();                // "float32[]"
//   rota::codec<scan>::schema();                                 // "lab/scan\n  string frame..."
//
// describe.h says which types have a codec, cdr.h what the bytes are, schema.h how a program that
// has the schema alone reads and writes them.
//
// Promised: decode(encode(x)) gives x, and equal values give equal bytes. Encoding throws
// std::bad_alloc and nothing else. Decoding is total: any bytes give a value or an error; it takes
// no more memory than the values that are there, some sizeof(element) for the bytes of an element;
// what nests more than max_nesting deep and what is left over are errors. Numbers that stand side
// by side (std::vector<float>) are copied as one.
// Not promised: that what was read into is as before after an error. It has some value of its type.
// Encoding has no limit to nesting, so a value that is too deep can be written, but not read.
//
// Threads: any, as for the value.
#ifndef ROTA_EVENT_CODEC_H
#define ROTA_EVENT_CODEC_H

#include <rota/event/cdr.h>
#include <rota/event/describe.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rota {

template <class T>
class codec {
  static consteval bool check() {
    detail::check_described<T>();
    return true;
  }
  static_assert(check());

 public:
  static std::vector<std::byte> encode(const T& value) {
    std::vector<std::byte> bytes;
    encode(value, bytes);
    return bytes;
  }

  // Appends to what is there.
  static void encode(const T& value, std::vector<std::byte>& bytes) {
    detail::cdr_writer out{bytes};
    detail::wire<T>::put(out, value);
  }

  // Reads into a value that is there, and uses the memory that it has.
  static decode_result decode(std::span<const std::byte> bytes, T& value) {
    detail::cdr_reader in{bytes};
    if (in.ok()) detail::wire<T>::get(in, value);
    return in.finish();
  }

  static decoded<T> decode(std::span<const std::byte> bytes) {
    T value{};
    decode_result r = decode(bytes, value);
    if (!r) return r;
    return value;
  }

  static std::string_view type_name() { return texts.name; }
  static std::string_view schema() { return texts.schema; }

 private:
  struct both {
    std::string name;
    std::string schema;
  };
  // Made when the program begins, not at the first use: that may be inside of an explored schedule,
  // whose memory goes with it.
  static inline const both texts = [] {
    detail::schema_builder builder;
    std::string name = detail::wire<T>::expression(builder);
    std::string text = builder.text(name);
    return both{std::move(name), std::move(text)};
  }();
};

}  // namespace rota

#endif
