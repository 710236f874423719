// Bytes along with their schema. Reading goes down the types along with the bytes. It ends because
// every value has a byte and nesting has a limit.

#include <rota/event/schema.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rota {

namespace {

using kind = schema::kind;

// Bytes along with their type, told to a visitor.
class schema_reader {
 public:
  schema_reader(detail::cdr_reader& in, schema::visitor& to) : in_(in), to_(to) {}

  bool read(const schema::type& t) {
    switch (t.what) {
      case kind::boolean: {
        bool x = false;
        if (!in_.boolean(x)) return false;
        to_.boolean(x);
        return true;
      }
      case kind::character: {
        char x = 0;
        if (!in_.number(x)) return false;
        to_.text({&x, 1});
        return true;
      }
      case kind::byte:
      case kind::uint8:
        return read_unsigned<std::uint8_t>();
      case kind::uint16:
        return read_unsigned<std::uint16_t>();
      case kind::uint32:
        return read_unsigned<std::uint32_t>();
      case kind::uint64:
        return read_unsigned<std::uint64_t>();
      case kind::int8:
        return read_signed<std::int8_t>();
      case kind::int16:
        return read_signed<std::int16_t>();
      case kind::int32:
        return read_signed<std::int32_t>();
      case kind::int64:
      case kind::duration:
      case kind::time:
        return read_signed<std::int64_t>();
      case kind::float32: {
        float x = 0;
        if (!in_.number(x)) return false;
        to_.real32(x);
        return true;
      }
      case kind::float64: {
        double x = 0;
        if (!in_.number(x)) return false;
        to_.real(x);
        return true;
      }
      case kind::string: {
        std::string_view x;
        if (!in_.text(x)) return false;
        to_.text(x);
        return true;
      }
      case kind::optional:
      case kind::sequence:
      case kind::array:
      case kind::structure:
        break;
    }
    if (!in_.enter() || !read_inside(t)) return false;
    in_.leave();
    return true;
  }

 private:
  template <class N>
  bool read_unsigned() {
    N x = 0;
    if (!in_.number(x)) return false;
    to_.unsigned_integer(x);
    return true;
  }
  template <class N>
  bool read_signed() {
    N x = 0;
    if (!in_.number(x)) return false;
    to_.integer(x);
    return true;
  }

  bool read_inside(const schema::type& t) {
    if (t.what == kind::structure) return read_struct(t);
    if (t.what == kind::optional) {
      bool there = false;
      if (!in_.boolean(there)) return false;
      there ? to_.something() : to_.nothing();
      return !there || read(*t.element);
    }
    std::size_t count = t.size;
    if (t.what == kind::sequence && !in_.count(count, t.element->least)) return false;
    return read_elements(*t.element, count);
  }

  bool read_struct(const schema::type& t) {
    to_.begin_struct(t.name);
    for (const schema::field& f : t.fields) {
      to_.field(f.name);
      if (!read(*f.of)) {
        in_.failed_in(f.name);
        return false;
      }
    }
    std::uint8_t any = 0;
    if (t.fields.empty() && !in_.number(any)) return false;
    to_.end_struct();
    return true;
  }

  bool read_elements(const schema::type& element, std::size_t count) {
    if (element.what == kind::byte) {
      std::span<const std::byte> some;
      if (!in_.bytes(some, count)) return false;
      to_.bytes(some);
      return true;
    }
    to_.begin_sequence(count);
    for (std::size_t i = 0; i < count; ++i)
      if (!read(element)) {
        in_.failed_at(i);
        return false;
      }
    to_.end_sequence();
    return true;
  }

  detail::cdr_reader& in_;
  schema::visitor& to_;
};

}  // namespace

decode_result schema::read(std::span<const std::byte> bytes, visitor& to) const {
  detail::cdr_reader in{bytes};
  if (in.ok()) schema_reader{in, to}.read(*root_);
  return in.finish();
}

}  // namespace rota
