// Makes bytes of what it is told, held against the schema: a frame for each struct, sequence and
// optional that is open, and each call is checked against what the innermost expects.

#include <rota/event/schema.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rota {

namespace {

using kind = schema::kind;

}  // namespace

schema::writer::writer(schema s) : schema_(std::move(s)), cdr_(out_) {}

const schema::type* schema::writer::expects() const noexcept {
  if (!ok() || complete_) return nullptr;
  if (frames_.empty()) return &schema_.root();
  const frame& f = frames_.back();
  if (f.of->what == kind::structure) return f.named ? f.of->fields[f.next].of : nullptr;
  return f.next < f.count ? f.of->element : nullptr;
}

// Where the error is, as a path from the root.
std::string schema::writer::where() const {
  std::string path;
  for (const frame& f : frames_) {
    if (f.of->what == kind::structure) {
      if (f.named) path += (path.empty() ? "" : ".") + f.of->fields[f.next].name;
    } else if (f.of->what != kind::optional) {
      path += '[' + std::to_string(f.next) + ']';
    }
  }
  return path;
}

void schema::writer::fail(std::string what) {
  if (!ok()) return;
  const std::string path = where();
  wrong_ = "schema: " + (path.empty() ? "" : "in " + path + ": ") + std::move(what);
  out_.clear();
}

bool schema::writer::push(const type& t, std::size_t count) {
  if (frames_.size() >= max_nesting) {
    fail("nested more than " + std::to_string(max_nesting) + " deep");
    return false;
  }
  frames_.push_back({&t, 0, count, false});
  return true;
}

void schema::writer::done() {
  for (;;) {
    if (frames_.empty()) {
      complete_ = true;
      return;
    }
    frame& f = frames_.back();
    ++f.next;
    f.named = false;
    if (f.of->what != kind::optional) return;
    frames_.pop_back();  // it has its value, and is one
  }
}

const schema::type* schema::writer::take(std::string_view what) {
  if (!ok()) return nullptr;
  const type* t = expects();
  while (t && t->what == kind::optional) {
    something();
    if (!ok()) return nullptr;
    t = expects();
  }
  if (!t) {
    if (complete_)
      fail(std::string{what} + " after the end of the value");
    else if (frames_.back().of->what == kind::structure)
      fail(std::string{what} + " without the name of its field");
    else
      fail(std::string{what} + " behind the " + std::to_string(frames_.back().count) + " elements");
  }
  return t;
}

void schema::writer::begin_struct(std::string_view) {
  const type* t = take("a struct");
  if (!t) return;
  if (t->what != kind::structure) return fail("a struct where a " + t->name + " is expected");
  push(*t, t->fields.size());
}

void schema::writer::field(std::string_view name) {
  if (!ok()) return;
  if (frames_.empty() || frames_.back().of->what != kind::structure)
    return fail("a field '" + std::string{name} + "' outside of a struct");
  frame& f = frames_.back();
  if (f.named) return fail("a field '" + std::string{name} + "' where a value is expected");
  if (f.next == f.count)
    return fail("a field '" + std::string{name} + "', but " + f.of->name + " has no more");
  if (f.of->fields[f.next].name != name)
    return fail("a field '" + std::string{name} + "' where '" + f.of->fields[f.next].name +
                "' is expected");
  f.named = true;
}

void schema::writer::end_struct() {
  if (!ok()) return;
  if (frames_.empty() || frames_.back().of->what != kind::structure)
    return fail("the end of a struct outside of one");
  const frame f = frames_.back();
  if (f.next < f.count)
    return fail("the struct ends, but '" + f.of->fields[f.next].name + "' is expected");
  if (f.count == 0) cdr_.number(std::uint8_t{0});
  frames_.pop_back();
  done();
}

void schema::writer::begin_sequence(std::size_t count) {
  const type* t = take("a sequence");
  if (!t) return;
  if (t->what == kind::array) {
    if (count != t->size) return fail(std::to_string(count) + " elements for a " + t->name);
  } else if (t->what == kind::sequence) {
    if (count > std::numeric_limits<std::uint32_t>::max())
      return fail(std::to_string(count) + " elements, which CDR cannot count");
    cdr_.count(count);
  } else {
    return fail("a sequence where a " + t->name + " is expected");
  }
  push(*t, count);
}

void schema::writer::end_sequence() {
  if (!ok()) return;
  if (frames_.empty() || frames_.back().of->what == kind::structure ||
      frames_.back().of->what == kind::optional)
    return fail("the end of a sequence outside of one");
  if (frames_.back().next < frames_.back().count)
    return fail("the sequence ends, but is to have " + std::to_string(frames_.back().count) +
                " elements");
  frames_.pop_back();
  done();
}

void schema::writer::nothing() {
  if (!ok()) return;
  const type* t = expects();
  if (!t) {
    take("nothing");
    return;
  }
  if (t->what != kind::optional) return fail("nothing where a " + t->name + " is expected");
  if (!push(*t, 1)) return;  // as deep as something()
  frames_.pop_back();
  cdr_.boolean(false);
  done();
}

void schema::writer::something() {
  if (!ok()) return;
  const type* t = expects();
  if (!t) {
    take("something");
    return;
  }
  if (t->what != kind::optional) return;  // it is there anyway
  if (push(*t, 1)) cdr_.boolean(true);
}

void schema::writer::boolean(bool x) {
  const type* t = take("a bool");
  if (!t) return;
  if (t->what != kind::boolean) return fail("a bool where a " + t->name + " is expected");
  cdr_.boolean(x);
  done();
}

namespace {

template <class N>
bool put_if_fits(detail::cdr_writer& out, bool negative, std::uint64_t bits) {
  const auto as_signed = static_cast<std::int64_t>(bits);
  if (negative ? !std::in_range<N>(as_signed) : !std::in_range<N>(bits)) return false;
  out.number(static_cast<N>(bits));
  return true;
}

}  // namespace

// The integer is an int64_t if it is negative, else a uint64_t.
bool schema::writer::put_integer(const type& t, bool negative, std::uint64_t bits) {
  const auto value = [&] {
    return negative ? static_cast<double>(static_cast<std::int64_t>(bits))
                    : static_cast<double>(bits);
  };
  switch (t.what) {
    case kind::int8:
      return put_if_fits<std::int8_t>(cdr_, negative, bits);
    case kind::int16:
      return put_if_fits<std::int16_t>(cdr_, negative, bits);
    case kind::int32:
      return put_if_fits<std::int32_t>(cdr_, negative, bits);
    case kind::int64:
    case kind::duration:
    case kind::time:
      return put_if_fits<std::int64_t>(cdr_, negative, bits);
    case kind::character:
    case kind::byte:
    case kind::uint8:
      return put_if_fits<std::uint8_t>(cdr_, negative, bits);
    case kind::uint16:
      return put_if_fits<std::uint16_t>(cdr_, negative, bits);
    case kind::uint32:
      return put_if_fits<std::uint32_t>(cdr_, negative, bits);
    case kind::uint64:
      return put_if_fits<std::uint64_t>(cdr_, negative, bits);
    case kind::float32:
      cdr_.number(static_cast<float>(value()));
      return true;
    case kind::float64:
      cdr_.number(value());
      return true;
    default:
      return false;
  }
}

void schema::writer::integer(std::int64_t x) {
  const type* t = take("an integer");
  if (!t) return;
  if (!put_integer(*t, x < 0, static_cast<std::uint64_t>(x)))
    return fail(std::to_string(x) + " is no " + t->name);
  done();
}

void schema::writer::unsigned_integer(std::uint64_t x) {
  const type* t = take("an integer");
  if (!t) return;
  if (!put_integer(*t, false, x)) return fail(std::to_string(x) + " is no " + t->name);
  done();
}

void schema::writer::real(double x) {
  const type* t = take("a number");
  if (!t) return;
  const auto is_whole = [&] { return std::trunc(x) == x; };
  if (t->what == kind::float64) {
    cdr_.number(x);
  } else if (t->what == kind::float32) {
    constexpr double most = std::numeric_limits<float>::max();
    if (std::isfinite(x) && std::abs(x) > most)
      return fail(std::to_string(x) + " is too large for a float32");
    cdr_.number(static_cast<float>(x));
  } else if (x < 0 && is_whole() && x >= -0x1p63) {
    if (!put_integer(*t, true, static_cast<std::uint64_t>(static_cast<std::int64_t>(x))))
      return fail(std::to_string(x) + " is no " + t->name);
  } else if (x >= 0 && is_whole() && x < 0x1p64) {
    if (!put_integer(*t, false, static_cast<std::uint64_t>(x)))
      return fail(std::to_string(x) + " is no " + t->name);
  } else {
    return fail(std::to_string(x) + " is no " + t->name);
  }
  done();
}

// Not by way of real(), which could change the bits of what is not a number.
void schema::writer::real32(float x) {
  const type* t = take("a number");
  if (!t) return;
  if (t->what != kind::float32) return real(static_cast<double>(x));
  cdr_.number(x);
  done();
}

void schema::writer::text(std::string_view x) {
  const type* t = take("a text");
  if (!t) return;
  if (t->what == kind::string) {
    if (x.size() >= std::numeric_limits<std::uint32_t>::max())
      return fail("a string that CDR cannot count");
    cdr_.text(x);
  } else if (t->what == kind::character) {
    if (x.size() != 1) return fail("a text of " + std::to_string(x.size()) + " bytes is no char");
    cdr_.number(x.front());
  } else {
    return fail("a text where a " + t->name + " is expected");
  }
  done();
}

void schema::writer::bytes(std::span<const std::byte> x) {
  const type* t = take("bytes");
  if (!t) return;
  if ((t->what != kind::sequence && t->what != kind::array) ||
      (t->element->what != kind::byte && t->element->what != kind::uint8))
    return fail("bytes where a " + t->name + " is expected");
  begin_sequence(x.size());
  if (!ok()) return;
  cdr_.block(x.data(), x.size(), 1);
  frames_.pop_back();
  done();
}

void schema::writer::zero() {
  if (!ok()) return;
  const type* t = expects();
  if (!t) {
    take("a value");
    return;
  }
  // What is nested too deep could not be read back.
  put_zero(*t);
  if (ok()) done();
}

// Goes no deeper than the type does by value, and makes type::least bytes and some gaps.
void schema::writer::put_zero(const type& t) {
  switch (t.what) {
    case kind::boolean:
      return cdr_.boolean(false);
    case kind::float32:
      return cdr_.number(0.0F);
    case kind::float64:
      return cdr_.number(0.0);
    case kind::string:
      return cdr_.text("");
    case kind::optional:
    case kind::sequence:
      if (!push(t, 0)) return;
      t.what == kind::optional ? cdr_.boolean(false) : cdr_.count(0);
      break;
    case kind::array:
      if (!push(t, t.size)) return;
      for (std::size_t i = 0; i < t.size && ok(); ++i) put_zero(*t.element);
      break;
    case kind::structure:
      if (!push(t, t.fields.size())) return;
      for (std::size_t i = 0; i < t.fields.size() && ok(); ++i) put_zero(*t.fields[i].of);
      if (t.fields.empty()) cdr_.number(std::uint8_t{0});
      break;
    default:
      put_integer(t, false, 0);
      return;
  }
  frames_.pop_back();
}

decoded<std::vector<std::byte>> schema::writer::finish() && {
  if (ok() && !complete_) {
    const type* t = expects();
    fail("the value is not complete" + (t ? ", a " + t->name + " is expected" : std::string{}));
  }
  if (!ok()) return decode_result::wrong(wrong_);
  return std::move(out_);
}

}  // namespace rota
