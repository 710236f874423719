// What bytes mean, for programs that do not have the type: a tool shows and sends any message.
//
// The text, as codec<T>::schema() gives it, has the message's type in its first line and then the
// structs that it needs, each with a line per field. A message that is a struct opens its own
// block:
//
//   lab/path                    float32[]
//     string frame
//     lab/point[] points
//     float64[9]? covariance
//   lab/point
//     float64 x
//     float64 y
//
// A type is bool, char, byte, int8 ... uint64, float32, float64, string, duration, time
// (describe.h) or a struct of the text, followed by any of [] for a sequence, [N] for an array, ?
// for what may be missing; the last is the outermost.
//
//   auto s = rota::schema::parse(text);                      // or s.what()
//   printer p;                                               // a schema::visitor
//   if (auto r = s->read(bytes, p); !r) log(r.what());
//
//   rota::schema::writer w{*s};                              // a visitor too, that makes bytes
//   put(w, s->root(), json);
//   if (auto made = std::move(w).finish()) send(*made);      // or made.what()
//
//   void put(schema::writer& w, const schema::type& t, const json& j) {
//     switch (t.what) {
//       case schema::kind::structure:
//         w.begin_struct();
//         for (const auto& f : t.fields) {
//           w.field(f.name);
//           j.contains(f.name) ? put(w, *f.of, j[f.name]) : w.zero();
//         }
//         w.end_struct();  ...
//
// Promised: all of it is total. Any text is a schema or an error with its line; read() takes and
// refuses the same bytes as the codec that the schema is from (but for what a C++ type narrows:
// enums, durations, keys of maps); a writer makes bytes that read() takes, from whatever it is
// told, or an error. What read() tells a writer gives the same message again.
//
// Threads: a schema never changes, so any may read it; copies are cheap. A writer is one thread's.
#ifndef ROTA_EVENT_SCHEMA_H
#define ROTA_EVENT_SCHEMA_H

#include <rota/event/cdr.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rota {

class schema {
 public:
  enum class kind : std::uint8_t {
    boolean,
    character,
    byte,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    float32,
    float64,
    string,
    duration,  // int64, nanoseconds
    time,      // int64, nanoseconds since 1970
    optional,
    sequence,
    array,
    structure,
  };

  struct type;
  struct field {
    std::string name;
    const type* of;
  };
  struct type {
    kind what;
    std::string name;               // as in the text: "lab/point[]"
    const type* element = nullptr;  // of an optional, a sequence, an array
    std::size_t size = 0;           // of an array
    std::vector<field> fields = {};
    std::size_t least = 0;  // it has at least so many bytes
  };

  class visitor;
  class writer;

  // The limits are those of a text from elsewhere: 1 MiB of text, max_nesting, and no type that has
  // 64 MiB when it is empty.
  static decoded<schema> parse(std::string_view text);

  // The text, which parses to the same.
  std::string text() const;
  // Lives as long as any copy of the schema.
  const type& root() const noexcept { return *root_; }

  // Tells the visitor what is in the bytes. It has heard the beginning when there is an error.
  decode_result read(std::span<const std::byte> bytes, visitor& to) const;

 private:
  struct tables;
  class parser;
  schema() = default;

  std::shared_ptr<const tables> all_;
  const type* root_ = nullptr;
};

// Hears of a value, from the outside to the inside. What it does not care for it leaves out.
class schema::visitor {
 public:
  virtual ~visitor() = default;

  virtual void begin_struct(std::string_view /*type*/) {}
  virtual void field(std::string_view /*name*/) {}  // its value comes next
  virtual void end_struct() {}

  virtual void begin_sequence(std::size_t /*count*/) {}  // arrays too
  virtual void end_sequence() {}

  // Optionals: nothing(), or something() and then the value.
  virtual void nothing() {}
  virtual void something() {}

  virtual void boolean(bool) {}
  virtual void integer(std::int64_t) {}            // signed ones, durations, times
  virtual void unsigned_integer(std::uint64_t) {}  // unsigned ones, a byte
  virtual void real(double) {}
  virtual void real32(float x) { real(static_cast<double>(x)); }  // float32
  virtual void text(std::string_view) {}             // a string; a char is one of one byte
  virtual void bytes(std::span<const std::byte>) {}  // byte[], byte[N]
};

// Makes bytes of what it hears, in the order of the schema. It is content with any number that has
// the value: a real or an integer, signed or not. An optional need not be announced by something().
// bytes() are for byte[] and uint8[], and both can be sequences of numbers too.
//
// The first thing that does not fit is kept as the error, and the rest is ignored.
class schema::writer final : public visitor {
 public:
  explicit writer(schema s);
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  // What comes next: null if nothing does, as when a field has to be named first.
  const type* expects() const noexcept;

  void begin_struct(std::string_view type = {}) override;  // the type is not looked at
  void field(std::string_view name) override;
  void end_struct() override;
  void begin_sequence(std::size_t count) override;
  void end_sequence() override;
  void nothing() override;
  void something() override;
  void boolean(bool x) override;
  void integer(std::int64_t x) override;
  void unsigned_integer(std::uint64_t x) override;
  void real(double x) override;
  void real32(float x) override;
  void text(std::string_view x) override;
  void bytes(std::span<const std::byte> x) override;

  // The value of whatever comes next that is all zeros: 0, false, empty, nothing.
  void zero();

  bool ok() const noexcept { return wrong_.empty(); }
  decoded<std::vector<std::byte>> finish() &&;

 private:
  // One per struct, sequence, array or optional that has begun and not ended.
  struct frame {
    const type* of;
    std::size_t next;   // field or element
    std::size_t count;  // elements
    bool named;         // the field has been named
  };

  const type* take(std::string_view what);  // what a plain value is for; null after an error
  bool push(const type& t, std::size_t count);
  void done();  // with the value that came
  void put_zero(const type& t);
  bool put_integer(const type& t, bool negative, std::uint64_t bits);
  void fail(std::string what);
  std::string where() const;

  schema schema_;
  std::vector<std::byte> out_;
  detail::cdr_writer cdr_;
  std::vector<frame> frames_;
  bool complete_ = false;
  std::string wrong_;
};

}  // namespace rota

#endif
