// Any bytes give a value or an error, any text a schema or an error, any events bytes or an error:
// no crash, no hang, no memory beyond what the bytes account for. Random bytes, messages with
// something changed, and counts that lie; all by seed. What is asked of them is what libFuzzer asks
// (tests/fuzz/cdr_fuzz.cpp).

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "fuzz/any_bytes.h"

namespace rota::cdr_test {
namespace {

using rota::detail::rng;

byte_vector with_mode(int mode, byte_vector bytes) {
  bytes.insert(bytes.begin(), static_cast<std::byte>(mode));
  return bytes;
}

byte_vector from_text(std::string_view s) {
  const auto* data = reinterpret_cast<const std::byte*>(s.data());
  return {data, data + s.size()};
}

// A value in which most things are there, differing by seed.
plain random_plain(rng& random) {
  plain p;
  p.truth = random.below(2) == 1;
  p.i16 = static_cast<std::int16_t>(random.next());
  p.f64 = static_cast<double>(random.below(1000));
  p.text.assign(random.below(9), 't');
  p.blob.resize(random.below(5));
  p.flags.resize(random.below(5), true);
  p.shorts.resize(random.below(5), 7);
  if (random.below(2)) p.note = "note";
  if (random.below(2)) p.perhaps.emplace(3);
  p.table.resize(random.below(3), {"a", "bc"});
  p.nothings.resize(random.below(4));
  p.root.children.resize(random.below(3));
  return p;
}

// One of each mode of wrong_with(), all of them right.
std::vector<byte_vector> right_ones(rng& random) {
  const plain p = random_plain(random);
  const tree t{1, {{2, {}}, {3, {{4, {}}}}}};
  narrow n;
  n.c = colour::blue;
  n.nanos = std::chrono::seconds{3};
  n.words = {{"a", {1, 2}}, {"b", {}}};
  const auto bytes = codec<plain>::encode(p);
  // A sequence of one tree: its struct, its first field, a number, its second, no elements, the
  // ends.
  const std::string events = "\x41\x40\x40\x41\x41\x10\x81\x80";
  byte_vector both = from_text(codec<plain>::schema());
  both.push_back(std::byte{0});
  both.insert(both.end(), bytes.begin(), bytes.end());
  return {
      with_mode(0, codec<scan>::encode({"frame", {1, 2, 3}, 0.5})),
      with_mode(1, bytes),
      with_mode(2, codec<tree>::encode(t)),
      with_mode(3, codec<narrow>::encode(n)),
      with_mode(4, codec<std::vector<std::vector<std::optional<std::string>>>>::encode(
                       {{"a", std::nullopt}, {}, {"bcd"}})),
      with_mode(5, codec<std::map<std::int16_t, empty>>::encode({{std::int16_t{1}, {}}})),
      with_mode(6, codec<std::vector<double>>::encode({1, 2, 3})),
      with_mode(7, from_text(codec<plain>::schema())),
      with_mode(8, both),
      with_mode(9, from_text(events)),
  };
}

// Changes a byte, cuts, repeats, or makes a number in the middle large.
void change(byte_vector& bytes, rng& random) {
  const std::size_t at = random.below(bytes.size());
  const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  const auto some = static_cast<std::ptrdiff_t>(random.below(8));
  switch (random.below(6)) {
    case 0:
      bytes[at] = static_cast<std::byte>(random.below(256));
      break;
    case 1:
      bytes[at] ^= static_cast<std::byte>(1u << random.below(8));
      break;
    case 2:
      bytes.erase(from, from + std::min(some + 1, bytes.end() - from));
      break;
    case 3:
      bytes.insert(from, static_cast<std::byte>(random.below(3)));
      break;
    case 4: {
      const byte_vector copy(from, from + std::min(some, bytes.end() - from));
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(random.below(bytes.size() + 1)),
                   copy.begin(), copy.end());
      break;
    }
    default:
      for (std::size_t i = at; i < std::min(at + 1 + random.below(4), bytes.size()); ++i)
        bytes[i] = std::byte{0xFF};
      break;
  }
  if (bytes.empty()) bytes.push_back(std::byte{0});
}

TEST(CodecRobustness, MessagesThatAreRight) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    rng random{seed};
    for (const byte_vector& b : right_ones(random)) ASSERT_EQ(wrong_with(b), "") << "seed " << seed;
  }
}

// What the fuzz target begins with: each file is a first byte that says what it is, and the rest.
TEST(CodecRobustness, TheCorpusHasEveryKindOfBytes) {
  const auto folder = std::filesystem::path(__FILE__).parent_path().parent_path() / "fuzz" / "cdr";
  std::set<int> modes;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file{entry.path(), std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    ASSERT_FALSE(text.empty()) << entry.path();
    EXPECT_EQ(wrong_with(from_text(text)), "") << entry.path();
    modes.insert(text[0]);
  }
  EXPECT_EQ(modes, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(CodecRobustness, MessagesWithSomethingChanged) {
  std::size_t still_right = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    rng random{seed};
    for (byte_vector& b : right_ones(random)) {
      const std::byte mode = b[0];
      for (std::uint64_t n = 1 + random.below(3); n > 0; --n) change(b, random);
      b[0] = mode;
      ASSERT_EQ(wrong_with(b), "") << "seed " << seed << ", mode " << std::to_integer<int>(mode);
      if (mode == std::byte{1})
        still_right += codec<plain>::decode(byte_span{b}.subspan(1)) ? 1 : 0;
    }
  }
  EXPECT_GT(still_right, 300u);  // else nothing but the header is tried
}

TEST(CodecRobustness, RandomBytes) {
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    rng random{seed};
    // A header that is right, so that something is read at all.
    byte_vector bytes(5 + random.below(60));
    const std::uint64_t largest = random.below(2) ? 4 : 256;
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(largest));
    bytes[0] = static_cast<std::byte>(seed % 10);
    bytes[1] = bytes[3] = bytes[4] = std::byte{0};
    bytes[2] = static_cast<std::byte>(random.below(2));
    ASSERT_EQ(wrong_with(bytes), "") << "seed " << seed;
  }
}

TEST(CodecRobustness, RandomSchemas) {
  const std::vector<std::string> words{"a",    "b",      "int8", "float64", "string", "byte", "[]",
                                       "[3]",  "?",      "\n",   "\n  ",    " ",      "x",    "y",
                                       " x\n", " y\n  ", "time", "a\n  ",   "[0]",    "[9]",  "\t"};
  std::size_t right = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    rng random{seed};
    std::string text;
    for (std::uint64_t n = 1 + random.below(12); n > 0; --n)
      text += words[random.below(words.size())];
    byte_vector bytes(4 + random.below(40));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(3));
    bytes[0] = bytes[3] = std::byte{0};
    bytes[1] = std::byte{1};
    ASSERT_EQ(wrong_with_schema(text, bytes), "") << "seed " << seed << '\n' << text;
    right += schema::parse(text) ? 1 : 0;
  }
  EXPECT_GT(right, 500u);
}

TEST(CodecRobustness, RandomEvents) {
  const schema s = *schema::parse(codec<std::vector<tree>>::schema());
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    rng random{seed};
    byte_vector events(random.below(30));
    for (std::byte& b : events) b = static_cast<std::byte>(random.below(256));
    ASSERT_EQ(wrong_with_events(s, events), "") << "seed " << seed;
  }
}

// --- memory ---

std::size_t in_use = 0;
std::size_t most_in_use = 0;

template <class T>
struct counting {
  using value_type = T;
  counting() = default;
  template <class U>
  counting(const counting<U>&) noexcept {}
  T* allocate(std::size_t n) {
    in_use += n * sizeof(T);
    most_in_use = std::max(most_in_use, in_use);
    return std::allocator<T>{}.allocate(n);
  }
  void deallocate(T* p, std::size_t n) noexcept {
    in_use -= n * sizeof(T);
    std::allocator<T>{}.deallocate(p, n);
  }
  bool operator==(const counting&) const = default;
};

using counted_string = std::basic_string<char, std::char_traits<char>, counting<char>>;

struct bag {
  std::vector<counted_string, counting<counted_string>> names;
  std::vector<float, counting<float>> numbers;
  std::vector<bag, counting<bag>> bags;
};
template <class V>
void describe(V& v, bag& b) {
  v.type("lab/bag");
  v.field("names", b.names);
  v.field("numbers", b.numbers);
  v.field("bags", b.bags);
}

std::size_t memory_for(byte_span bytes) {
  const std::size_t before = most_in_use = in_use;
  bag b;
  (void)codec<bag>::decode(bytes, b).what();
  return most_in_use - before;
}

// A bag has 12 bytes on the wire and sizeof(bag) in memory; growing holds an old and a new vector,
// the new one half empty.
constexpr std::size_t memory_limit(std::size_t size) {
  return size * (3 * sizeof(bag) / 12) + 2048;  // and the first room of a few vectors
}

TEST(CodecRobustness, MemoryIsAccountedForByTheBytes) {
  bag inner;
  inner.names = {"a", "a string that is too long for its object"};
  inner.numbers = {1, 2, 3};
  bag b = inner;
  b.bags = {inner, inner, inner};
  const byte_vector right = codec<bag>::encode(b);
  EXPECT_LE(memory_for(right), memory_limit(right.size()));
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    rng random{seed};
    byte_vector bytes = right;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) change(bytes, random);
    ASSERT_LE(memory_for(bytes), memory_limit(bytes.size())) << "seed " << seed;
  }
}

// Counts that are as large as they may be, with nothing behind them that would account for them.
TEST(CodecRobustness, ACountThatLiesTakesNoMemory) {
  for (std::uint32_t count : {100'000u, 50'000u, 0xFFFFFFFFu}) {
    for (std::size_t field = 0; field < 3; ++field) {
      byte_vector bytes(100'000, std::byte{0xFF});
      const std::byte header[] = {std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0}};
      std::copy(std::begin(header), std::end(header), bytes.begin());
      std::fill_n(bytes.begin() + 4, 12, std::byte{0});
      for (std::size_t i = 0; i < 4; ++i)
        bytes[4 + 4 * field + i] = static_cast<std::byte>(count >> (8 * i));
      EXPECT_LE(memory_for(bytes), 4096u) << count << " in field " << field;
    }
  }
}

}  // namespace
}  // namespace rota::cdr_test
