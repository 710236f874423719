// A type is a node; nodes that say the same are one, so a text of n bytes makes O(n) of them and a
// struct may contain sequences of itself. Reading goes down the nodes along with the bytes. It ends
// because every value has a byte and nesting has a limit; a struct that contains itself by value
// would have no end and is refused, and so is what nests too deep before any byte is read.

#include <rota/event/schema.h>

#include <rota/event/describe.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>

namespace rota {

namespace {

using kind = schema::kind;

constexpr std::size_t longest_text = std::size_t{1} << 20;
constexpr std::size_t largest_least = std::size_t{1} << 26;

struct basic_type {
  kind what;
  std::string_view name;
  std::size_t size;  // the least
};

constexpr basic_type basic_types[] = {
    {kind::boolean, "bool", 1},    {kind::character, "char", 1}, {kind::byte, "byte", 1},
    {kind::int8, "int8", 1},       {kind::uint8, "uint8", 1},    {kind::int16, "int16", 2},
    {kind::uint16, "uint16", 2},   {kind::int32, "int32", 4},    {kind::uint32, "uint32", 4},
    {kind::int64, "int64", 8},     {kind::uint64, "uint64", 8},  {kind::float32, "float32", 4},
    {kind::float64, "float64", 8}, {kind::string, "string", 5},  {kind::duration, "duration", 8},
    {kind::time, "time", 8},
};

const basic_type* find_basic(std::string_view name) {
  for (const basic_type& b : basic_types)
    if (b.name == name) return &b;
  return nullptr;
}

bool is_unfit_for_names(char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7F'; }

}  // namespace

// --- what describe() has told, as text ---

namespace detail {

const std::string* schema_builder::find(const void* tag) const noexcept {
  for (const block& b : blocks_)
    if (b.tag == tag) return &b.name;
  return nullptr;
}

bool schema_builder::is_taken(std::string_view name) const noexcept {
  return find_basic(name) != nullptr || std::any_of(blocks_.begin(), blocks_.end(),
                                                    [&](const block& b) { return b.name == name; });
}

std::size_t schema_builder::add(const void* tag, std::string_view name) {
  std::string fit{name};
  std::replace_if(fit.begin(), fit.end(), is_unfit_for_names, '_');
  if (fit.empty() || fit.back() == ']' || fit.back() == '?') fit += '_';
  std::string unique = fit;
  for (int n = 2; is_taken(unique); ++n) unique = fit + '_' + std::to_string(n);
  blocks_.push_back({tag, std::move(unique), {}});
  return blocks_.size() - 1;
}

void schema_builder::add_field(std::size_t at, std::string_view name, std::string type) {
  std::vector<field>& fields = blocks_[at].fields;
  std::string fit{name};
  std::replace_if(fit.begin(), fit.end(), is_unfit_for_names, '_');
  if (fit.empty()) fit = '_';
  const auto is_there = [&](const std::string& s) {
    return std::any_of(fields.begin(), fields.end(), [&](const field& f) { return f.name == s; });
  };
  std::string unique = fit;
  for (int n = 2; is_there(unique); ++n) unique = fit + '_' + std::to_string(n);
  fields.push_back({std::move(unique), std::move(type)});
}

std::string schema_builder::text(std::string_view root) const {
  std::string out;
  const auto add_block = [&](const block& b) {
    out += b.name + '\n';
    for (const field& f : b.fields) out += "  " + f.type + ' ' + f.name + '\n';
  };
  const auto own =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const block& b) { return b.name == root; });
  if (own == blocks_.end())
    out += std::string{root} + '\n';
  else
    add_block(*own);
  for (const block& b : blocks_)
    if (b.name != root) add_block(b);
  return out;
}

}  // namespace detail

// --- parsing ---

struct schema::tables {
  std::deque<type> types;  // stay where they are
  std::vector<const type*> structs;
};

class schema::parser {
 public:
  decoded<schema> parse(std::string_view text) {
    if (text.size() > longest_text)
      return decode_result::wrong("schema: longer than " + std::to_string(longest_text) + " bytes");
    if (!read_lines(text) || !check_structs() || !measure_all())
      return decode_result::wrong(wrong_);
    schema s;
    s.root_ = root_;
    s.all_ = all_;
    return s;
  }

 private:
  // What is known of a type besides what users see.
  struct details {
    std::size_t line;        // where it is named first
    bool is_defined = true;  // false for structs that are only named yet
    bool is_being_measured = false;
    std::size_t depth = 0;  // by value, of what has been measured
  };

  bool fail(std::size_t line, std::string what) {
    wrong_ = "schema: line " + std::to_string(line) + ": " + std::move(what);
    return false;
  }

  bool read_lines(std::string_view text) {
    type* open = nullptr;
    for (line_ = 1; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line_ == 1 ? !read_root(line, open)
                     : (line.starts_with("  ") ? !read_field(line.substr(2), open)
                                               : !read_block(line, open)))
        return false;
    }
    return root_ || fail(1, "empty, but the type of the message is in its first line");
  }

  bool read_root(std::string_view line, type*& open) {
    type* t = intern(line);
    if (!t) return false;
    root_ = t;
    if (t->what == kind::structure) open = define(*t);
    return true;
  }

  bool read_block(std::string_view line, type*& open) {
    type* t = intern(line);
    if (!t) return false;
    if (t->what != kind::structure)
      return fail(line_, quoted(line) + " is no name for a struct; fields begin with two spaces");
    if (known_[t].is_defined) return fail(line_, quoted(line) + " is there already");
    open = define(*t);
    return true;
  }

  bool read_field(std::string_view line, type* open) {
    const std::size_t space = line.find(' ');
    if (!open) return fail(line_, "a field without a struct");
    if (space == line.npos) return fail(line_, "a field is two spaces, a type, a space, a name");
    const std::string_view name = line.substr(space + 1);
    if (!is_name(name)) return fail(line_, quoted(name) + " is no name for a field");
    if (!names_[open].emplace(name, true).second)
      return fail(line_, "a field " + quoted(name) + " is there already");
    const type* of = intern(line.substr(0, space));
    if (!of) return false;
    open->fields.push_back({std::string{name}, of});
    return true;
  }

  // The node of a type, which is made if it is new. Null after an error.
  type* intern(std::string_view name) {
    // From the outside to the inside: what comes last is outermost.
    std::vector<std::string_view> levels;
    std::string_view rest = name;
    for (;;) {
      levels.push_back(rest);
      std::size_t size = 0;
      const std::size_t suffix = suffix_of(rest, size);
      if (suffix == 0) break;
      rest.remove_suffix(suffix);
      if (levels.size() > max_nesting) {
        fail(line_, "a type that is nested more than " + std::to_string(max_nesting) + " deep");
        return nullptr;
      }
    }
    type* t = nullptr;
    for (; !levels.empty(); levels.pop_back())
      if (!(t = intern_level(levels.back(), t))) return nullptr;
    return t;
  }

  type* intern_level(std::string_view name, const type* element) {
    if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
    type made{.what = kind::structure, .name = std::string{name}, .element = element};
    bool is_defined = true;
    if (element) {
      suffix_of(name, made.size);
      made.what = name.back() == '?'     ? kind::optional
                  : name.ends_with("[]") ? kind::sequence
                                         : kind::array;
    } else if (const basic_type* basic = find_basic(name)) {
      made.what = basic->what;
      made.least = basic->size;
    } else if (is_name(name) && name.back() != ']') {
      is_defined = false;
    } else {
      fail(line_, quoted(name) + " is no type");
      return nullptr;
    }
    type& t = all_->types.emplace_back(std::move(made));
    by_name_.emplace(t.name, &t);
    known_[&t] = {.line = line_, .is_defined = is_defined};
    return &t;
  }

  // How many characters "?", "[]" or "[7]" has at the end of a type, or 0.
  static std::size_t suffix_of(std::string_view name, std::size_t& size) {
    if (name.ends_with('?') && name.size() > 1) return 1;
    if (!name.ends_with(']')) return 0;
    const std::size_t open = name.rfind('[');
    if (open == name.npos || open == 0) return 0;
    const std::string_view digits = name.substr(open + 1, name.size() - open - 2);
    if (!digits.empty()) {
      std::uint32_t n = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
      if (error != std::errc{} || end != digits.data() + digits.size() || digits.front() == '0')
        return 0;
      size = n;
    }
    return name.size() - open;
  }

  type* define(type& t) {
    known_[&t].is_defined = true;
    all_->structs.push_back(&t);
    return &t;
  }

  bool check_structs() {
    for (const type& t : all_->types)
      if (!known_[&t].is_defined)
        return fail(known_[&t].line,
                    "no type " + quoted(t.name) +
                        "; a struct has a line with its name, and then its fields");
    return true;
  }

  bool measure_all() {
    for (type& t : all_->types)
      if (!measure(t, 1)) return false;
    return true;
  }

  // Finds `least`, and with it what contains itself or too much.
  bool measure(type& t, std::size_t level) {
    details& d = known_[&t];
    if (d.depth > 0) return true;
    if (d.is_being_measured)
      return fail(d.line, quoted(t.name) + " contains itself; put it into a sequence");
    if (level > max_nesting) return too_deep(t);
    d.is_being_measured = true;
    std::size_t depth = 0;
    std::uint64_t least = t.least;
    const auto add = [&](const type& inner, std::size_t times) {
      // All of them are in all_, which is ours.
      if (!measure(const_cast<type&>(inner), level + 1)) return false;
      depth = std::max(depth, known_[&inner].depth);
      // Neither overflows: least has at most 26 bits and an array's size 32.
      least += std::uint64_t{inner.least} * times;
      if (least <= largest_least) return true;
      return fail(d.line, quoted(t.name) + " has more than " + std::to_string(largest_least) +
                              " bytes even if it is empty");
    };
    if (t.what == kind::array && !add(*t.element, t.size)) return false;
    for (const field& f : t.fields)
      if (!add(*f.of, 1)) return false;
    if (t.what == kind::sequence) least = 4;
    if (t.what == kind::optional) least = 1;
    t.least =
        static_cast<std::size_t>(std::max<std::uint64_t>(least, 1));  // a struct without fields
    d.depth = depth + 1;
    d.is_being_measured = false;
    return d.depth <= max_nesting || too_deep(t);
  }

  bool too_deep(const type& t) {
    return fail(known_[&t].line,
                quoted(t.name) + " nests more than " + std::to_string(max_nesting) + " deep");
  }

  static bool is_name(std::string_view s) {
    return !s.empty() && std::none_of(s.begin(), s.end(), is_unfit_for_names);
  }

  // In a message, which is to be a line and not too long.
  static std::string quoted(std::string_view s) {
    constexpr std::size_t longest = 80;
    std::string q = '\'' + std::string{s.substr(0, longest)} + (s.size() > longest ? "...'" : "'");
    std::replace_if(
        q.begin(), q.end(), [](char c) { return c != ' ' && is_unfit_for_names(c); }, '_');
    return q;
  }

  std::shared_ptr<tables> all_ = std::make_shared<tables>();
  std::map<std::string_view, type*> by_name_;  // the names of all_->types
  std::map<const type*, details> known_;
  std::map<const type*, std::map<std::string_view, bool>> names_;  // of fields
  const type* root_ = nullptr;
  std::size_t line_ = 0;
  std::string wrong_;
};

decoded<schema> schema::parse(std::string_view text) { return parser{}.parse(text); }

std::string schema::text() const {
  std::string out;
  if (root_->what != kind::structure) out += root_->name + '\n';
  for (const type* t : all_->structs) {
    out += t->name + '\n';
    for (const field& f : t->fields) out += "  " + f.of->name + ' ' + f.name + '\n';
  }
  return out;
}

// --- reading ---

namespace {

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

// --- writing ---

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
