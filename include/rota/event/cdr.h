// Bytes as DDS and ROS 2 write them: classic CDR (XCDR1), number by number.
//
// A message is four bytes of header and then its values, one after the other:
//
//   00 01 00 00   little endian (00 00 00 00: big endian); the last two bits of the header
//                 count the bytes of padding at the end, which some writers add
//   number        aligned to its size, counted from behind the header; the gap is anything
//   bool          one byte, 0 or 1
//   string        uint32 length with the NUL, the bytes, the NUL
//   sequence      uint32 count, then the elements
//   array         the elements
//   optional      a bool, then the value if there is one (as in XCDR2; XCDR1 has no short form)
//   struct        the fields; one without fields is one byte, as in ROS 2
//
// So every value has at least one byte, and a count is wrong if fewer bytes than that are left.
//
// Promised: we write little endian with zeros in the gaps, so equal values give equal bytes, and
// read both. Reading is total: any bytes give a value or an error that names the byte. What is read
// is never more than what is there, and nesting has a limit (max_nesting).
//
// Threads: a reader or writer is one thread's.
#ifndef ROTA_EVENT_CDR_H
#define ROTA_EVENT_CDR_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rota {

// Whether something could be read, and if not, why.
//
//   if (auto r = rota::codec<scan>::decode(bytes, s); !r) log(r.what());
class [[nodiscard]] decode_result {
 public:
  decode_result() noexcept = default;  // it could
  static decode_result wrong(std::string what) {
    decode_result r;
    r.what_ = std::move(what);
    return r;
  }

  explicit operator bool() const noexcept { return what_.empty(); }
  // "cdr: byte 12, in pose.frame: a string of 4000000000 bytes, but only 8 are left"
  const std::string& what() const noexcept { return what_; }

 private:
  std::string what_;
};

// A value that was read, or why there is none.
template <class T>
class [[nodiscard]] decoded {
 public:
  decoded(T value) : value_(std::move(value)) {}
  decoded(decode_result wrong) : result_(std::move(wrong)) {}

  explicit operator bool() const noexcept { return value_.has_value(); }
  const std::string& what() const noexcept { return result_.what(); }

  // Only if there is one.
  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T&& operator*() && noexcept { return std::move(*value_); }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

 private:
  std::optional<T> value_;
  decode_result result_;
};

// How deep structs, sequences, arrays and optionals may stand in each other in what we read. Types
// that contain sequences of themselves could go on for ever otherwise.
inline constexpr std::size_t max_nesting = 128;

namespace detail {

// Appends one message to a vector. Throws only std::bad_alloc, also for what CDR cannot count: a
// string or a sequence of 2^32 or more.
class cdr_writer {
 public:
  explicit cdr_writer(std::vector<std::byte>& out);  // writes the header

  template <class N>
  void number(N x) {
    align(sizeof(N));
    if constexpr (std::endian::native == std::endian::big) reverse(&x, sizeof(N), 1);
    append(&x, sizeof(N));
  }
  void boolean(bool x) { number<std::uint8_t>(x ? 1 : 0); }
  void count(std::size_t n);
  void text(std::string_view s);

  // Numbers of one size that stand side by side: one copy.
  void block(const void* from, std::size_t n, std::size_t width) {
    if (n == 0) return;  // no number, so no gap in front of it
    align(width);
    const std::size_t at = out_.size();
    append(from, n * width);
    if constexpr (std::endian::native == std::endian::big) reverse(out_.data() + at, width, n);
  }

  // Turns round each of n numbers.
  static void reverse(void* numbers, std::size_t width, std::size_t n) noexcept {
    auto* bytes = static_cast<std::byte*>(numbers);
    for (; n > 0; --n, bytes += width) std::reverse(bytes, bytes + width);
  }

 private:
  void align(std::size_t width) {
    const std::size_t gap = (origin_ - out_.size()) & (width - 1);
    if (gap > 0) out_.resize(out_.size() + gap);
  }
  void append(const void* from, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(from);
    if (out_.capacity() - out_.size() < size) grow(size);
    out_.insert(out_.end(), bytes, bytes + size);
  }

  void grow(std::size_t size);

  std::vector<std::byte>& out_;
  std::size_t origin_;  // what alignment counts from
};

// Reads one message. Whatever gives false has failed, and nothing is read after that.
class cdr_reader {
 public:
  explicit cdr_reader(std::span<const std::byte> bytes);  // reads the header

  bool ok() const noexcept { return wrong_.empty(); }
  std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

  template <class N>
  bool number(N& x) {
    if (!align(sizeof(N), 1)) [[unlikely]]
      return false;
    std::memcpy(&x, at_, sizeof(N));
    at_ += sizeof(N);
    if (swap_) cdr_writer::reverse(&x, sizeof(N), 1);
    return true;
  }
  bool boolean(bool& x);
  bool text(std::string_view& s);  // stays in the bytes

  // The count of a sequence whose elements have at least so many bytes each.
  bool count(std::size_t& n, std::size_t least);

  // Numbers of one size that stand side by side: one copy, if our byte order is theirs.
  bool block(void* to, std::size_t n, std::size_t width) {
    if (n == 0) return true;
    if (!align(width, n)) return false;
    std::memcpy(to, at_, n * width);
    at_ += n * width;
    if (swap_) cdr_writer::reverse(to, width, n);
    return true;
  }
  bool bytes(std::span<const std::byte>& some, std::size_t n);  // stays in the bytes

  // Around what stands in something else.
  bool enter() { return ++depth_ <= max_nesting || too_deep(); }
  void leave() noexcept { --depth_; }

  // The first failure counts.
  bool fail(std::string what);
  // Says where the failure was, from the inside to the outside.
  void failed_in(std::string_view field);
  void failed_at(std::size_t index);

  // What became of it: nothing may be left.
  decode_result finish();

 private:
  // Steps over the gap in front of n numbers, if all of them are there.
  bool align(std::size_t width, std::size_t n) {
    const std::size_t gap = static_cast<std::size_t>(origin_ - at_) & (width - 1);
    if (left() < gap || (left() - gap) / width < n) [[unlikely]]
      return too_short(width, n);
    at_ += gap;
    return true;
  }
  bool too_short(std::size_t width, std::size_t n);
  bool too_deep();

  const std::byte* begin_;
  const std::byte* origin_;  // what alignment counts from
  const std::byte* at_;
  const std::byte* end_;
  bool swap_ = false;
  std::size_t depth_ = 0;
  std::string wrong_;
  std::string where_;
};

}  // namespace detail
}  // namespace rota

#endif
