#include <rota/event/cdr.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

namespace rota::detail {

namespace {

constexpr std::size_t header_size = 4;
constexpr std::size_t most_countable = std::numeric_limits<std::uint32_t>::max();

std::string number_of(std::size_t n, const char* one, const char* many) {
  return std::to_string(n) + (n == 1 ? one : many);
}

}  // namespace

// --- cdr_writer ---

cdr_writer::cdr_writer(std::vector<std::byte>& out) : out_(out) {
  constexpr std::byte little_endian[header_size] = {std::byte{0}, std::byte{1}};
  append(little_endian, header_size);
  origin_ = out_.size();
}

// With room for what may come behind a large block, or else the block would be copied once more for
// a number. It is all that most small messages need, too.
void cdr_writer::grow(std::size_t size) {
  constexpr std::size_t more = 128;
  out_.reserve(std::max(2 * out_.capacity(), out_.size() + size + more));
}

void cdr_writer::count(std::size_t n) {
  if (n > most_countable) throw std::bad_array_new_length{};
  number(static_cast<std::uint32_t>(n));
}

void cdr_writer::text(std::string_view s) {
  if (s.size() >= most_countable) throw std::bad_array_new_length{};
  count(s.size() + 1);
  append(s.data(), s.size());
  number('\0');
}

// --- cdr_reader ---

cdr_reader::cdr_reader(std::span<const std::byte> bytes)
    : begin_(bytes.data()),
      origin_(bytes.data()),
      at_(bytes.data()),
      end_(bytes.data() + bytes.size()) {
  if (bytes.size() < header_size) {
    fail("a header of 4 bytes, but only " + number_of(bytes.size(), " is there", " are there"));
    return;
  }
  const auto high = std::to_integer<unsigned>(bytes[0]);
  const auto low = std::to_integer<unsigned>(bytes[1]);
  if (high != 0 || low > 1) {
    fail("encapsulation " + std::to_string(high * 256 + low) +
         " is not plain CDR, which is 0 (big endian) or 1 (little endian)");
    return;
  }
  const bool little = low == 1;
  swap_ = little != (std::endian::native == std::endian::little);
  origin_ = at_ = begin_ + header_size;
  const auto padding = std::to_integer<std::size_t>(bytes[3]) & 3;
  if (padding > left()) {
    fail("the header tells of " + number_of(padding, " byte", " bytes") + " of padding, but only " +
         number_of(left(), " is left", " are left"));
    return;
  }
  end_ -= padding;
}

bool cdr_reader::boolean(bool& x) {
  std::uint8_t byte = 0;
  if (!number(byte)) return false;
  if (byte > 1) {
    --at_;
    return fail("a bool of " + std::to_string(byte) + " (0 or 1)");
  }
  x = byte == 1;
  return true;
}

bool cdr_reader::text(std::string_view& s) {
  std::uint32_t size = 0;
  if (!number(size)) return false;
  if (size > left())
    return fail("a string of " + number_of(size, " byte", " bytes") + ", but only " +
                number_of(left(), " is left", " are left"));
  if (size == 0) return fail("a string of 0 bytes, but its NUL is counted too");
  if (at_[size - 1] != std::byte{0}) return fail("a string that does not end with its NUL");
  s = {reinterpret_cast<const char*>(at_), size - 1};
  at_ += size;
  return true;
}

bool cdr_reader::count(std::size_t& n, std::size_t least) {
  std::uint32_t given = 0;
  if (!number(given)) return false;
  if (given > left() / least)
    return fail("a sequence of " + number_of(given, " element", " elements") + ", but only " +
                number_of(left(), " byte is left", " bytes are left"));
  n = given;
  return true;
}

bool cdr_reader::bytes(std::span<const std::byte>& some, std::size_t n) {
  if (!align(1, n)) return false;
  some = {at_, n};
  at_ += n;
  return true;
}

bool cdr_reader::fail(std::string what) {
  if (!ok()) return false;
  wrong_ = std::move(what);
  end_ = at_;  // nobody reads on
  where_ = {};
  return false;
}

bool cdr_reader::too_short(std::size_t width, std::size_t n) {
  return fail((n == 1 ? "a number" : number_of(n, " number", " numbers")) +
              (n == 1 ? " of " : ", each of ") + number_of(width, " byte", " bytes") +
              ", but only " + number_of(left(), " is left", " are left"));
}

bool cdr_reader::too_deep() {
  return fail("nested more than " + std::to_string(max_nesting) + " deep");
}

void cdr_reader::failed_in(std::string_view field) {
  if (!where_.empty() && where_.front() != '[') where_.insert(where_.begin(), '.');
  where_.insert(0, field);
}

void cdr_reader::failed_at(std::size_t index) {
  if (!where_.empty() && where_.front() != '[') where_.insert(where_.begin(), '.');
  where_.insert(0, '[' + std::to_string(index) + ']');
}

decode_result cdr_reader::finish() {
  if (ok() && left() > 0)
    fail("the value has ended, but " + number_of(left(), " byte is left", " bytes are left"));
  if (ok()) return {};
  return decode_result::wrong("cdr: byte " + std::to_string(at_ - begin_) +
                              (where_.empty() ? "" : ", in " + where_) + ": " + wrong_);
}

}  // namespace rota::detail
