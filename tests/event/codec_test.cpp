// Messages as bytes and back, and what a schema tells of them. The bytes that stand here were made
// by hand from the rules in rota/event/cdr.h, so a broken promise shows as bytes that others cannot
// read.

#include <rota/event/codec.h>

#include <rota/event/schema.h>
#include <rota/event/type_support.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "fuzz/any_bytes.h"

namespace rota::cdr_test {
namespace {

using namespace std::chrono_literals;

byte_vector bytes_of(std::initializer_list<int> list) {
  byte_vector v;
  for (int i : list) v.push_back(static_cast<std::byte>(i));
  return v;
}

byte_vector little(std::initializer_list<int> list) {
  byte_vector v = bytes_of({0, 1, 0, 0});
  for (int i : list) v.push_back(static_cast<std::byte>(i));
  return v;
}

byte_vector big(std::initializer_list<int> list) {
  byte_vector v = little(list);
  v[1] = std::byte{0};
  return v;
}

template <class T>
std::string error_of(byte_span bytes) {
  T x{};
  return codec<T>::decode(bytes, x).what();
}

template <class T>
T back(const T& x) {
  auto d = codec<T>::decode(codec<T>::encode(x));
  EXPECT_TRUE(d) << d.what();
  return d ? *d : T{};
}

plain full() {
  plain p;
  p.truth = true;
  p.letter = 'x';
  p.raw = std::byte{200};
  p.i8 = -8;
  p.u8 = 250;
  p.i16 = -1600;
  p.u16 = 65000;
  p.i32 = -320000;
  p.u32 = 4'000'000'000;
  p.i64 = std::numeric_limits<std::int64_t>::min();
  p.u64 = std::numeric_limits<std::uint64_t>::max();
  p.f32 = 0.1F;
  p.f64 = -0.0;
  p.text = "rota";
  p.wait = -5ns;
  p.when += 123456789ns;
  p.blob = bytes_of({1, 2, 3});
  p.flags = {true, false, true};
  p.shorts = {1, 2, 3};
  p.corners = {point{1, 2}, point{3, 4}};
  p.big = {1, -2, 3};
  p.grid[1][2] = 12;
  p.note = "note";
  p.perhaps.emplace();  // something that is nothing
  p.table = {{"a", ""}, {}, {"b"}};
  p.entry = {std::uint8_t{7}, "seven"};
  p.nothings.resize(3);
  p.root = {1, {{2, {}}, {3, {{4, {}}}}}};
  return p;
}

// --- which types ---

static_assert(described<scan> && described<plain> && described<tree> && described<narrow>);
static_assert(described<std::int32_t> && described<long> && described<unsigned long long>);
static_assert(described<std::vector<std::map<std::string, std::optional<scan>>>>);
static_assert(!described<int*> && !described<const char*> && !described<std::string_view>);
static_assert(!described<long double> && !described<wchar_t> && !described<char16_t>);
static_assert(!described<void> && !described<int&> && !described<const int>);
static_assert(!described<std::vector<int*>> && !described<std::pair<int, int*>>);
static_assert(!described<std::array<int, 0>> && !described<std::unique_ptr<int>>);
enum unstated { some_value };
static_assert(!described<unstated> && described<colour>);

// --- the bytes ---

TEST(Codec, NumbersAreAlignedToTheirSizeFromBehindTheHeader) {
  using message =
      std::pair<std::pair<std::uint8_t, double>, std::pair<std::int16_t, std::uint32_t>>;
  const message m{{std::uint8_t{1}, 1.0}, {std::int16_t{-2}, 0x01020304u}};
  // 1.0 is 3FF0 0000 0000 0000, and seven bytes before it take it to a multiple of 8; -2 is FFFE,
  // and two bytes take the uint32 behind it to a multiple of 4.
  EXPECT_EQ(codec<message>::encode(m), little({1,    0,    0, 0, 0, 0, 0,    0,     //
                                               0,    0,    0, 0, 0, 0, 0xF0, 0x3F,  //
                                               0xFE, 0xFF, 0, 0, 4, 3, 2,    1}));
}

TEST(Codec, ABigEndianMessageIsRead) {
  using message = std::pair<std::uint16_t, std::pair<double, std::vector<std::uint32_t>>>;
  const auto m = codec<message>::decode(big({1,    2,    9, 9, 9, 9, 9, 9,  // a gap may be anything
                                             0x3F, 0xF0, 0, 0, 0, 0, 0, 0,  // 1.0
                                             0,    0,    0, 2,              // two elements
                                             0,    0,    0, 1, 1, 2, 3, 4}));
  ASSERT_TRUE(m) << m.what();
  EXPECT_EQ(m->first, 0x0102);
  EXPECT_EQ(m->second.first, 1.0);
  EXPECT_EQ(m->second.second, (std::vector<std::uint32_t>{1, 0x01020304}));
}

TEST(Codec, AnEmptyStringHasItsNul) {
  EXPECT_EQ(codec<std::string>::encode(""), little({1, 0, 0, 0, 0}));
}

TEST(Codec, AStringKeepsTheNulsInsideIt) {
  const std::string s{"a\0b", 3};
  EXPECT_EQ(codec<std::string>::encode(s), little({4, 0, 0, 0, 'a', 0, 'b', 0}));
  EXPECT_EQ(back(s), s);
}

TEST(Codec, SequencesNest) {
  const std::vector<std::vector<std::uint16_t>> v{{1, 2, 3}, {}, {4}};
  EXPECT_EQ(codec<std::vector<std::vector<std::uint16_t>>>::encode(v),
            little({3, 0, 0, 0,                    // three sequences
                    3, 0, 0, 0, 1, 0, 2, 0, 3, 0,  // of three
                    0, 0,                          // the gap before a count
                    0, 0, 0, 0,                    // of none
                    1, 0, 0, 0, 4, 0}));           // of one
}

TEST(Codec, AnEmptySequenceHasNoGapForItsElements) {
  EXPECT_EQ(codec<std::vector<double>>::encode({}), little({0, 0, 0, 0}));
  EXPECT_EQ(codec<std::vector<double>>::encode({1.0}),
            little({1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F}));
}

TEST(Codec, AStructIsItsFields) {
  // 1.5F is 3FC0 0000. The string ends at 7, the count is at 8, the number at 12, the double at 16.
  EXPECT_EQ(codec<scan>::encode({"ab", {1.5F}, 1.0}), little({3, 0, 0, 0, 'a', 'b', 0,    0,     //
                                                              1, 0, 0, 0, 0,   0,   0xC0, 0x3F,  //
                                                              0, 0, 0, 0, 0,   0,   0xF0, 0x3F}));
}

TEST(Codec, OptionalsEnumsDurationsBoolsAndEmptyStructs) {
  EXPECT_EQ(codec<std::optional<std::int16_t>>::encode({}), little({0}));
  EXPECT_EQ(codec<std::optional<std::int16_t>>::encode(std::int16_t{5}), little({1, 0, 5, 0}));
  EXPECT_EQ(codec<colour>::encode(colour::blue), little({2, 0, 0, 0}));  // 32 bits, for a uint8_t
  EXPECT_EQ(codec<sign>::encode(minus), little({255, 255, 255, 255, 255, 255, 255, 255}));
  EXPECT_EQ(codec<std::chrono::microseconds>::encode(1us), little({0xE8, 3, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(codec<std::vector<bool>>::encode({true, false}), little({2, 0, 0, 0, 1, 0}));
  EXPECT_EQ(codec<std::vector<empty>>::encode({{}, {}}), little({2, 0, 0, 0, 0, 0}));
}

TEST(Codec, AMessageIsAppendedAndAlignedByItself) {
  byte_vector out = bytes_of({7});
  codec<double>::encode(1.0, out);
  EXPECT_EQ(out, bytes_of({7, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F}));
}

TEST(Codec, PaddingThatTheHeaderTellsOfIsSkipped) {
  byte_vector bytes = little({5, 9, 9, 9});
  EXPECT_EQ(error_of<std::uint8_t>(bytes),
            "cdr: byte 5: the value has ended, but 3 bytes are left");
  bytes[3] = std::byte{3};
  EXPECT_EQ(*codec<std::uint8_t>::decode(bytes), 5);
  EXPECT_EQ(error_of<std::uint8_t>(byte_span{bytes}.first(6)),
            "cdr: byte 4: the header tells of 3 bytes of padding, but only 2 are left");
}

// --- and back ---

TEST(Codec, EveryTypeComesBack) {
  const plain p = full();
  EXPECT_EQ(back(p), p);
  EXPECT_EQ(back(p).text, "rota");
  EXPECT_EQ(back(p).root, p.root);
  EXPECT_TRUE(std::signbit(back(p).f64));
  EXPECT_TRUE(back(p).perhaps);
  EXPECT_FALSE(*back(p).perhaps);
  const narrow n{colour::green, minus, std::chrono::minutes{-7}, 64ns, {{"a", {1}}, {"b", {}}}};
  EXPECT_EQ(back(n), n);
}

// All numbers turned round by hand, since we only write little endian.
TEST(Codec, NumbersInBulkComeInBothByteOrders) {
  std::vector<double> v(1000);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i) / 7;
  EXPECT_EQ(back(v), v);
  byte_vector bytes = codec<std::vector<double>>::encode(v);
  ASSERT_EQ(bytes.size(), 4 + 8 + 8000u);
  bytes[1] = std::byte{0};
  std::reverse(bytes.begin() + 4, bytes.begin() + 8);
  for (auto at = bytes.begin() + 12; at != bytes.end(); at += 8) std::reverse(at, at + 8);
  EXPECT_EQ(*codec<std::vector<double>>::decode(bytes), v);
}

TEST(Codec, WhatWasThereBeforeIsGoneAfterDecoding) {
  plain p = full();
  ASSERT_TRUE(codec<plain>::decode(codec<plain>::encode(plain{}), p));
  EXPECT_EQ(p, plain{});
  narrow n{colour::green, minus, std::chrono::minutes{-7}, 64ns, {{"a", {1}}}};
  ASSERT_TRUE(codec<narrow>::decode(codec<narrow>::encode(narrow{}), n));
  EXPECT_EQ(n, narrow{});
}

TEST(Codec, DurationsThatDoNotFitAreTheLongestOrAnError) {
  using std::chrono::hours;
  using std::chrono::nanoseconds;
  const auto sent = [](auto d) {
    return *codec<nanoseconds>::decode(codec<decltype(d)>::encode(d));
  };
  EXPECT_EQ(sent(hours{1}), 1h);
  EXPECT_EQ(sent(hours::max()), nanoseconds::max());
  EXPECT_EQ(sent(hours::min()), nanoseconds::min());
  EXPECT_EQ(sent(std::chrono::duration<double>{1e300}), nanoseconds::max());
  EXPECT_EQ(sent(std::chrono::duration<double>{-INFINITY}), nanoseconds::min());
  EXPECT_EQ(sent(std::chrono::duration<double>{NAN}), 0ns);
  for (auto n = -1000ns; n < 1000ns; ++n) EXPECT_EQ(sent(std::chrono::duration<double>{n}), n);
  EXPECT_EQ(sent(std::chrono::duration<std::uint64_t>{~std::uint64_t{0}}), nanoseconds::max());
  EXPECT_EQ(sent(std::chrono::duration<std::int64_t, std::pico>{-1999}), -1ns);
  EXPECT_EQ(sent(std::chrono::duration<std::int64_t, std::ratio<1, 3>>{4}), 1333333333ns);
  using tiny = std::chrono::duration<std::int8_t, std::ratio<60>>;
  EXPECT_EQ(error_of<tiny>(codec<nanoseconds>::encode(128min)),
            "cdr: byte 12: a duration of 7680000000000 ns, which does not fit");
}

struct stamped : point {
  std::uint8_t seq = 0;
};
template <class V>
void describe(V& v, stamped& s) {
  v.type("lab/stamped");
  describe(v, static_cast<point&>(s));
  v.field("seq", s.seq);
}

TEST(Codec, ADerivedTypeMayBeginWithItsBase) {
  EXPECT_EQ(codec<stamped>::schema(), "lab/stamped\n  float64 x\n  float64 y\n  uint8 seq\n");
  stamped s;
  s.seq = 9;
  EXPECT_EQ(back(s).seq, 9);
}

// --- errors ---

TEST(Codec, AnErrorSaysWhereAndWhy) {
  EXPECT_EQ(error_of<scan>(little({0, 0x28, 0x6B, 0xEE, 1, 2, 3, 4, 5, 6, 7, 8})),
            "cdr: byte 8, in frame: a string of 4000000000 bytes, but only 8 are left");
  EXPECT_EQ(error_of<scan>({}), "cdr: byte 0: a header of 4 bytes, but only 0 are there");
  EXPECT_EQ(error_of<scan>(bytes_of({0, 7, 0, 0})),
            "cdr: byte 0: encapsulation 7 is not plain CDR, which is 0 (big endian) or 1 (little "
            "endian)");
  EXPECT_EQ(error_of<double>(little({0, 0, 0})),
            "cdr: byte 4: a number of 8 bytes, but only 3 are left");
  EXPECT_EQ(error_of<bool>(little({2})), "cdr: byte 4: a bool of 2 (0 or 1)");
  EXPECT_EQ(error_of<std::string>(little({0, 0, 0, 0})),
            "cdr: byte 8: a string of 0 bytes, but its NUL is counted too");
  EXPECT_EQ(error_of<std::string>(little({1, 0, 0, 0, 7})),
            "cdr: byte 8: a string that does not end with its NUL");
  EXPECT_EQ(error_of<std::vector<float>>(little({255, 255, 255, 255, 0, 0, 0, 0})),
            "cdr: byte 8: a sequence of 4294967295 elements, but only 4 bytes are left");
  EXPECT_EQ(error_of<std::vector<empty>>(little({255, 255, 255, 255})),
            "cdr: byte 8: a sequence of 4294967295 elements, but only 0 bytes are left");
  EXPECT_EQ(error_of<colour>(little({0, 1, 0, 0})),
            "cdr: byte 8: an enum of 256, which does not fit");
  EXPECT_EQ((error_of<std::map<std::uint8_t, bool>>(little({2, 0, 0, 0, 1, 0, 1, 0}))),
            "cdr: byte 12, in [1]: a key that was there already");
  EXPECT_EQ((error_of<std::vector<std::pair<std::uint8_t, std::array<bool, 2>>>>(
                little({1, 0, 0, 0, 1, 0, 9}))),
            "cdr: byte 10, in [0].second[1]: a bool of 9 (0 or 1)");
  EXPECT_EQ(error_of<std::uint8_t>(little({1, 1})),
            "cdr: byte 5: the value has ended, but 1 byte is left");
}

TEST(Codec, EveryMessageThatIsCutShortIsAnError) {
  const byte_vector bytes = codec<plain>::encode(full());
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_NE(error_of<plain>(byte_span{bytes}.first(n)), "") << n;
}

TEST(Codec, NestingHasALimit) {
  const auto of_depth = [](std::size_t n) {
    tree t;
    for (; n > 1; --n) {
      tree outer;
      outer.children.push_back(std::move(t));
      t = std::move(outer);
    }
    return codec<tree>::encode(t);
  };
  // Each level is a struct and a sequence.
  EXPECT_EQ(error_of<tree>(of_depth(max_nesting / 2)), "");
  const std::string error = error_of<tree>(of_depth(max_nesting / 2 + 1));
  EXPECT_TRUE(error.ends_with(": nested more than 128 deep")) << error;
}

TEST(Codec, WhatStandsSideBySideIsNotNested) {
  using side = std::pair<std::optional<point>, std::vector<std::array<bool, 1>>>;
  const std::vector<side> sides(200, {point{1, 2}, {{true}, {false}}});
  EXPECT_EQ(back(sides), sides);
  std::map<int, std::vector<std::uint8_t>> words;
  for (int i = 0; i < 200; ++i) words[i] = {1, 2};
  EXPECT_EQ((back(std::vector{words, words})), (std::vector{words, words}));
  EXPECT_EQ(wrong_with_message<std::vector<side>>(codec<std::vector<side>>::encode(sides), true),
            "");
}

// --- names and schemas ---

TEST(Codec, TypesHaveNames) {
  EXPECT_EQ(codec<scan>::type_name(), "lab/scan");
  EXPECT_EQ(codec<std::string>::type_name(), "string");
  EXPECT_EQ(codec<std::int32_t>::type_name(), "int32");
  EXPECT_EQ(codec<long long>::type_name(), "int64");
  EXPECT_EQ(codec<unsigned char>::type_name(), "uint8");
  EXPECT_EQ(codec<std::vector<float>>::type_name(), "float32[]");
  EXPECT_EQ((codec<std::vector<std::optional<std::array<scan, 3>>>>::type_name()),
            "lab/scan[3]?[]");
  EXPECT_EQ((codec<std::map<std::string, double>>::type_name()), "pair<string,float64>[]");
  EXPECT_EQ(codec<std::chrono::seconds>::type_name(), "duration");
  EXPECT_EQ(codec<std::chrono::system_clock::time_point>::type_name(), "time");
}

// Another type that says it is a point, and one that says nothing but has a field twice.
struct other_point {
  std::int8_t z = 0;
};
template <class V>
void describe(V& v, other_point& p) {
  v.type("lab/point");
  v.field("z", p.z);
}
struct nameless {
  point a;
  other_point b;
};
template <class V>
void describe(V& v, nameless& n) {
  v.field("same name", n.a);
  v.field("same name", n.b);
}

TEST(Codec, ASchemaHasALinePerField) {
  EXPECT_EQ(codec<scan>::schema(),
            "lab/scan\n  string frame\n  float32[] ranges\n  float64 angle\n");
  EXPECT_EQ(codec<std::vector<float>>::schema(), "float32[]\n");
  EXPECT_EQ(codec<tree>::schema(), "lab/tree\n  int16 value\n  lab/tree[] children\n");
  EXPECT_EQ(codec<empty>::schema(), "lab/empty\n");
  EXPECT_EQ((codec<std::optional<std::pair<point, tree>>>::schema()),
            "pair<lab/point,lab/tree>?\n"
            "lab/point\n  float64 x\n  float64 y\n"
            "lab/tree\n  int16 value\n  lab/tree[] children\n"
            "pair<lab/point,lab/tree>\n  lab/point first\n  lab/tree second\n");
}

TEST(Codec, ASchemaCanBeReadWhateverTheNames) {
  const std::string text{codec<nameless>::schema()};
  EXPECT_NE(text.find("lab/point_2 same_name_2\n"), text.npos) << text;
  EXPECT_NE(text.find("nameless"), text.npos) << text;
  const auto s = schema::parse(text);
  ASSERT_TRUE(s) << s.what();
  EXPECT_EQ(s->text(), text);
}

TEST(Codec, TransportsKnowTypesByTheirTable) {
  const detail::type_support* t = detail::type_support_of<scan>();
  EXPECT_EQ(t, detail::type_support_of<scan>());
  EXPECT_EQ(t->name(), "lab/scan");
  EXPECT_EQ(t->schema(), codec<scan>::schema());
  const scan sent{"a", {1, 2}, 3};
  byte_vector bytes;
  t->encode(&sent, bytes);
  scan received;
  ASSERT_TRUE(t->decode(bytes, &received));
  EXPECT_EQ(received, sent);
  bytes.pop_back();
  EXPECT_FALSE(t->decode(bytes, &received));

  struct local_only {
    int* p;
  };
  const detail::type_support* u = detail::type_support_of<local_only>();
  EXPECT_FALSE(u->is_described());
  EXPECT_EQ(u->decode, nullptr);
  EXPECT_NE(u->name().find("local_only"), u->name().npos) << u->name();
  EXPECT_EQ(detail::type_support_of<int*>()->name(), detail::readable_name<int*>());
  EXPECT_TRUE(detail::readable_name<point>().ends_with("cdr_test::point"));
}

// --- schemas without the type ---

// A value as a line of text.
class printer : public schema::visitor {
 public:
  void begin_struct(std::string_view type) override { add(std::string{type} + '{'); }
  void field(std::string_view name) override { out += ' ' + std::string{name} + '='; }
  void end_struct() override { out += '}'; }
  void begin_sequence(std::size_t count) override { add(std::to_string(count) + '['); }
  void end_sequence() override { out += ']'; }
  void nothing() override { add("nothing"); }
  void something() override { add("some"); }
  void boolean(bool x) override { add(x ? "true" : "false"); }
  void integer(std::int64_t x) override { add(std::to_string(x)); }
  void unsigned_integer(std::uint64_t x) override { add(std::to_string(x) + 'u'); }
  void real(double x) override { add(std::to_string(x)); }
  void real32(float x) override { add(std::to_string(x) + 'f'); }
  void text(std::string_view x) override { add('"' + std::string{x} + '"'); }
  void bytes(std::span<const std::byte> x) override { add(std::to_string(x.size()) + " bytes"); }
  std::string out;

 private:
  void add(const std::string& s) { out += (out.empty() || out.back() == '=' ? "" : " ") + s; }
};

TEST(Schema, AVisitorHearsAllThatIsInTheBytes) {
  const auto s = schema::parse(codec<plain>::schema());
  ASSERT_TRUE(s) << s.what();
  printer p;
  ASSERT_TRUE(s->read(codec<plain>::encode(full()), p));
  EXPECT_EQ(p.out,
            "lab/plain{ truth=true letter=\"x\" raw=200u i8=-8 u8=250u i16=-1600 u16=65000u "
            "i32=-320000 u32=4000000000u i64=-9223372036854775808 u64=18446744073709551615u "
            "f32=0.100000f f64=-0.000000 text=\"rota\" wait=-5 when=123456789 blob=3 bytes "
            "flags=3[ true false true] shorts=3[ 1u 2u 3u] "
            "corners=2[ lab/point{ x=1.000000 y=2.000000} lab/point{ x=3.000000 y=4.000000}] "
            "big=3[ 1 -2 3] grid=2[ 3[ 0 0 0] 3[ 0 0 12]] note=some \"note\" perhaps=some nothing "
            "table=3[ 2[ \"a\" \"\"] 0[] 1[ \"b\"]] "
            "entry=pair<uint8,string>{ first=7u second=\"seven\"} "
            "nothings=3[ lab/empty{} lab/empty{} lab/empty{}] "
            "root=lab/tree{ value=1 children=2[ lab/tree{ value=2 children=0[]} "
            "lab/tree{ value=3 children=1[ lab/tree{ value=4 children=0[]}]}]}}");
}

TEST(Schema, AWriterMakesTheSameBytesAgain) {
  const auto s = schema::parse(codec<plain>::schema());
  const byte_vector bytes = codec<plain>::encode(full());
  schema::writer w{*s};
  ASSERT_TRUE(s->read(bytes, w));
  const auto made = std::move(w).finish();
  ASSERT_TRUE(made) << made.what();
  EXPECT_EQ(*made, bytes);
}

TEST(Schema, ZeroIsTheValueOfAllZeros) {
  const auto s = schema::parse(codec<plain>::schema());
  schema::writer w{*s};
  w.zero();
  EXPECT_EQ(*std::move(w).finish(), codec<plain>::encode(plain{}));
}

// What becomes of events, as an error or as what codec<T> reads.
template <class T, class F>
auto told(F events) {
  schema::writer w{*schema::parse(codec<T>::schema())};
  events(w);
  auto made = std::move(w).finish();
  if (!made) return std::pair{T{}, made.what()};
  auto d = codec<T>::decode(*made);
  return d ? std::pair{*d, std::string{}} : std::pair{T{}, d.what()};
}

TEST(Schema, AWriterTakesAnyNumberThatFits) {
  EXPECT_EQ(told<std::uint8_t>([](auto& w) { w.real(255); }).first, 255);
  EXPECT_EQ(told<std::int8_t>([](auto& w) { w.integer(-128); }).first, -128);
  EXPECT_EQ(told<std::int64_t>([](auto& w) { w.real(-0x1p63); }).first,
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(told<double>([](auto& w) { w.integer(-3); }).first, -3.0);
  EXPECT_EQ(told<float>([](auto& w) { w.real(0.1); }).first, 0.1F);
  EXPECT_EQ(told<char>([](auto& w) { w.text("q"); }).first, 'q');
  EXPECT_EQ(told<std::optional<int>>([](auto& w) { w.integer(5); }).first, 5);
  EXPECT_EQ(told<std::optional<int>>([](auto& w) { w.nothing(); }).first, std::nullopt);
  EXPECT_EQ(told<std::vector<std::uint8_t>>([](auto& w) { w.bytes(bytes_of({1, 2})); }).first,
            (std::vector<std::uint8_t>{1, 2}));

  EXPECT_EQ(told<std::uint8_t>([](auto& w) { w.integer(256); }).second, "schema: 256 is no uint8");
  EXPECT_EQ(told<std::uint8_t>([](auto& w) { w.integer(-1); }).second, "schema: -1 is no uint8");
  EXPECT_EQ(told<int>([](auto& w) { w.real(1.5); }).second, "schema: 1.500000 is no int32");
  EXPECT_EQ(told<std::int64_t>([](auto& w) { w.real(0x1p63); }).second,
            "schema: 9223372036854775808.000000 is no int64");
  EXPECT_EQ(told<int>([](auto& w) { w.real(NAN); }).second, "schema: nan is no int32");
  EXPECT_NE(told<float>([](auto& w) { w.real(1e300); }).second, "");
  EXPECT_NE(told<std::string>([](auto& w) { w.integer(1); }).second, "");
}

TEST(Schema, AWriterSaysWhatDoesNotFit) {
  const auto error = [](auto events) { return told<std::vector<point>>(events).second; };
  EXPECT_EQ(error([](auto&) {}), "schema: the value is not complete, a lab/point[] is expected");
  EXPECT_EQ(error([](auto& w) {
              w.begin_sequence(2);
              w.zero();
              w.begin_struct();
              w.field("x");
              w.text("no");
            }),
            "schema: in [1].x: a text where a float64 is expected");
  EXPECT_EQ(error([](auto& w) {
              w.begin_sequence(1);
              w.begin_struct();
              w.field("y");
            }),
            "schema: in [0]: a field 'y' where 'x' is expected");
  EXPECT_EQ(error([](auto& w) {
              w.begin_sequence(1);
              w.begin_struct();
              w.real(1);
            }),
            "schema: in [0]: a number without the name of its field");
  EXPECT_EQ(error([](auto& w) {
              w.begin_sequence(1);
              w.begin_struct();
              w.end_struct();
            }),
            "schema: in [0]: the struct ends, but 'x' is expected");
  EXPECT_EQ(error([](auto& w) {
              w.begin_sequence(1);
              w.end_sequence();
            }),
            "schema: in [0]: the sequence ends, but is to have 1 elements");
  EXPECT_EQ(error([](auto& w) {
              w.begin_sequence(0);
              w.end_sequence();
              w.zero();
            }),
            "schema: a value after the end of the value");
  EXPECT_NE(error([](auto& w) { w.begin_sequence(std::size_t{1} << 32); }), "");
  EXPECT_NE(error([](auto& w) { w.end_struct(); }), "");
  EXPECT_EQ((told<std::array<int, 3>>([](auto& w) { w.begin_sequence(2); }).second),
            "schema: 2 elements for a int32[3]");
  EXPECT_EQ((told<std::array<std::byte, 3>>([](auto& w) { w.bytes(bytes_of({1})); }).second),
            "schema: 1 elements for a byte[3]");
  EXPECT_NE(error([](auto& w) { w.nothing(); }), "");
}

std::string parse_error(std::string_view text) { return schema::parse(text).what(); }

TEST(Schema, AnErrorInATextSaysWhereAndWhy) {
  EXPECT_EQ(parse_error(""),
            "schema: line 1: empty, but the type of the message is in its first line");
  EXPECT_EQ(parse_error("a\n  b x\n"),
            "schema: line 2: no type 'b'; a struct has a line with its name, and then its fields");
  EXPECT_EQ(parse_error("a\n  int32 x\n  int8 x\n"),
            "schema: line 3: a field 'x' is there already");
  EXPECT_EQ(parse_error("a\n  int32\n"),
            "schema: line 2: a field is two spaces, a type, a space, a name");
  EXPECT_EQ(parse_error("int32\n  int32 x\n"), "schema: line 2: a field without a struct");
  EXPECT_EQ(parse_error("a\na\n"), "schema: line 2: 'a' is there already");
  EXPECT_EQ(parse_error("int8\nint16[]\n"),
            "schema: line 2: 'int16[]' is no name for a struct; fields begin with two spaces");
  EXPECT_EQ(parse_error("int8[0]\n"), "schema: line 1: 'int8[0]' is no type");
  EXPECT_EQ(parse_error("int8[99999999999]\n"), "schema: line 1: 'int8[99999999999]' is no type");
  EXPECT_EQ(parse_error("a\n  a x\n"),
            "schema: line 1: 'a' contains itself; put it into a sequence");
  EXPECT_EQ(parse_error("a\n  b[2] x\nb\n  a y\n"),
            "schema: line 1: 'a' contains itself; put it into a sequence");
  EXPECT_EQ(parse_error("a\n  a? x\n  a[] y\n"), "");
}

TEST(Schema, ATextFromElsewhereHasLimits) {
  std::string chain = "s0\n";  // each contains the next twice: 2^n values
  for (int i = 0; i < 40; ++i) {
    const std::string next = 's' + std::to_string(i + 1);
    chain += "  " + next + " a\n  " + next + " b\n" + next + '\n';
  }
  EXPECT_NE(parse_error(chain).find("bytes even if it is empty"), std::string::npos);
  EXPECT_NE(parse_error("int8[4000000000]").find("bytes even if it is empty"), std::string::npos);
  EXPECT_NE(parse_error("int8[4000000000][4000000000][4000000000]"), "");
  std::string deep = "s0\n";
  for (int i = 0; i < 10000; ++i) {
    const std::string next = 's' + std::to_string(i + 1);
    deep += "  " + next + " a\n" + next + '\n';
  }
  EXPECT_NE(parse_error(deep).find("nests more than 128 deep"), std::string::npos);
  std::string suffixes = "int8";
  for (int i = 0; i < 10000; ++i) suffixes += "[]";
  EXPECT_NE(parse_error(suffixes).find("nested more than 128 deep"), std::string::npos);
  EXPECT_NE(parse_error(std::string(2'000'000, 'a')).find("longer than"), std::string::npos);
}

// Sequences in sequences, by events alone.
TEST(Schema, AWriterHasTheSameLimitToNestingAsReaders) {
  const auto of_depth = [](std::size_t n) {
    return told<tree>([n](schema::writer& w) {
             for (std::size_t i = 1; i < n; ++i) {
               w.begin_struct();
               w.field("value");
               w.zero();
               w.field("children");
               w.begin_sequence(1);
             }
             w.zero();
             for (std::size_t i = 1; i < n; ++i) {
               w.end_sequence();
               w.end_struct();
             }
           })
        .second;
  };
  EXPECT_EQ(of_depth(max_nesting / 2), "");
  const std::string error = of_depth(max_nesting / 2 + 1);
  EXPECT_TRUE(error.starts_with("schema: in ")) << error;
  EXPECT_TRUE(error.ends_with(": nested more than 128 deep")) << error;

  // Nothing is as deep as something.
  std::string text = "s";
  for (std::size_t i = 1; i < max_nesting; ++i) text += "[]";
  schema::writer w{*schema::parse(text + "\ns\n  int8? x\n")};
  for (std::size_t i = 1; i < max_nesting; ++i) w.begin_sequence(1);
  w.begin_struct();
  w.field("x");
  EXPECT_TRUE(w.ok());
  w.nothing();
  EXPECT_FALSE(w.ok());
}

}  // namespace
}  // namespace rota::cdr_test
