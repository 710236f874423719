// The text of a schema: made from what describe() has told, and parsed.
//
// A type is a node; nodes that say the same are one, so a text of n bytes makes O(n) of them and a
// struct may contain sequences of itself. A struct that contains itself by value would have no end
// and is refused, and so is what nests too deep, before any byte is read.

#include <rota/event/schema.h>

#include <rota/event/describe.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>

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

}  // namespace rota
