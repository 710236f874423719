#include <rota/base/perfetto.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace rota {

namespace {

// --- protobuf -----------------------------------------------------------------------------------

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

enum wire : unsigned { varint = 0, fixed64 = 1, bytes = 2 };

void put_tag(std::string& out, unsigned field, wire type) { put_varint(out, field << 3 | type); }

void put(std::string& out, unsigned field, std::uint64_t value) {
  put_tag(out, field, varint);
  put_varint(out, value);
}

void put(std::string& out, unsigned field, std::string_view value) {
  put_tag(out, field, bytes);
  put_varint(out, value.size());
  out += value;
}

void put_fixed(std::string& out, unsigned field, std::uint64_t value) {
  put_tag(out, field, fixed64);
  for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i));
}

// --- the fields of Perfetto's messages that are used here ----------------------------------------

namespace trace {
constexpr unsigned packet = 1;
}
namespace packet {
constexpr unsigned timestamp = 8;
constexpr unsigned sequence = 10;
constexpr unsigned track_event = 11;
constexpr unsigned interned_data = 12;
constexpr unsigned sequence_flags = 13;
constexpr unsigned track_descriptor = 60;
constexpr std::uint64_t begins_texts = 1;  // flags: no text has a number before this packet
constexpr std::uint64_t needs_texts = 2;   // and this one refers to some
}  // namespace packet
namespace track_descriptor {
constexpr unsigned uuid = 1;
constexpr unsigned name = 2;
constexpr unsigned process = 3;
constexpr unsigned parent = 5;
}  // namespace track_descriptor
namespace process_descriptor {
constexpr unsigned pid = 1;
constexpr unsigned name = 6;
}  // namespace process_descriptor
namespace track_event {
constexpr unsigned category = 3;
constexpr unsigned annotation = 4;
constexpr unsigned type = 9;
constexpr unsigned name = 10;
constexpr unsigned track = 11;
constexpr unsigned place = 34;
constexpr unsigned flow = 47;
constexpr unsigned last_of_flow = 48;
constexpr unsigned slice_begins = 1;
constexpr unsigned slice_ends = 2;
constexpr unsigned instant = 3;
}  // namespace track_event
namespace annotation {
constexpr unsigned name = 1;
constexpr unsigned number = 3;
}  // namespace annotation
namespace interned {
constexpr unsigned categories = 1;
constexpr unsigned names = 2;
constexpr unsigned annotation_names = 3;
constexpr unsigned places = 4;
constexpr unsigned number = 1;  // of each of them
constexpr unsigned text = 2;
constexpr unsigned function = 3;  // of places, whose text is the file
constexpr unsigned line = 4;
}  // namespace interned

// All packets are of one writer.
constexpr std::uint64_t only_sequence = 1;

// The track of the process, above the others.
constexpr std::uint64_t whole_process = 1;

std::string name_of_program() {
  char name[256] = {};
  if (std::FILE* f = std::fopen("/proc/self/comm", "re")) {
    if (!std::fgets(name, sizeof name, f)) name[0] = 0;
    std::fclose(f);
  }
  std::string text = name;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "program" : text;
}

}  // namespace

perfetto_file::perfetto_file(const std::string& path) : path_(path) {
  // Not through a link that somebody else has put there, and for no one else to read.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                        S_IRUSR | S_IWUSR);
  if (fd >= 0) file_ = ::fdopen(fd, "w");
  if (!file_) {
    const std::string why = std::generic_category().message(errno);
    if (fd >= 0) ::close(fd);
    throw std::runtime_error("trace file '" + path + "': " + why);
  }
  std::string process;
  put(process, process_descriptor::pid, static_cast<std::uint64_t>(::getpid()));
  put(process, process_descriptor::name, name_of_program());
  std::string descriptor;
  put(descriptor, track_descriptor::uuid, whole_process);
  put(descriptor, track_descriptor::process, process);
  std::string whole;
  put(whole, packet::track_descriptor, descriptor);
  write_packet(whole);
  tracks_ = whole_process;
}

perfetto_file::~perfetto_file() {
  if (file_) std::fclose(file_);
}

void perfetto_file::write_packet(std::string_view text) {
  std::string whole;
  put_tag(whole, trace::packet, bytes);
  put_varint(whole, text.size());
  whole += text;
  if (std::fwrite(whole.data(), 1, whole.size(), file_) != whole.size() && error_ == 0)
    error_ = errno;
}

perfetto_file::track_id perfetto_file::track(std::string_view name) {
  const track_id id = ++tracks_;
  std::string descriptor;
  put(descriptor, track_descriptor::uuid, id);
  put(descriptor, track_descriptor::name, name);
  put(descriptor, track_descriptor::parent, whole_process);
  std::string whole;
  put(whole, packet::track_descriptor, descriptor);
  write_packet(whole);
  return id;
}

void perfetto_file::begin(track_id on, std::int64_t at, const event& e) {
  put_event(on, at, track_event::slice_begins, &e);
}

void perfetto_file::end(track_id on, std::int64_t at) {
  put_event(on, at, track_event::slice_ends, nullptr);
}

void perfetto_file::moment(track_id on, std::int64_t at, const event& e) {
  put_event(on, at, track_event::instant, &e);
}

void perfetto_file::put_event(track_id on, std::int64_t at, unsigned type, const event* e) {
  std::string news;  // texts that the file does not have yet
  const auto number_of = [&news](numbered& known, unsigned field, std::string_view key,
                                 auto... more) {
    if (const auto found = known.find(key); found != known.end()) return found->second;
    const std::uint64_t number = known.size() + 1;
    known.emplace(key, number);
    std::string entry;
    put(entry, interned::number, number);
    if constexpr (sizeof...(more) == 0)
      put(entry, interned::text, key);
    else
      (more(entry), ...);
    put(news, field, entry);
    return number;
  };

  std::string body;
  put(body, track_event::type, std::uint64_t{type});
  put(body, track_event::track, on);
  if (e) {
    if (!e->category.empty())
      put(body, track_event::category, number_of(categories_, interned::categories, e->category));
    put(body, track_event::name, number_of(names_, interned::names, e->name));
    if (!e->number_name.empty()) {
      std::string note;
      put(note, annotation::name,
          number_of(number_names_, interned::annotation_names, e->number_name));
      put(note, annotation::number, e->number);
      put(body, track_event::annotation, note);
    }
    if (const auto& where = e->where; where.line() != 0) {
      std::string key = where.file_name();
      key += ':' + std::to_string(where.line()) + ':';
      key += where.function_name();
      const auto fill = [&where](std::string& entry) {
        put(entry, interned::text, std::string_view(where.file_name()));
        put(entry, interned::function, std::string_view(where.function_name()));
        put(entry, interned::line, std::uint64_t{where.line()});
      };
      put(body, track_event::place, number_of(places_, interned::places, key, fill));
    }
    if (e->begins_arrow) put_fixed(body, track_event::flow, e->begins_arrow);
    if (e->ends_arrow) put_fixed(body, track_event::last_of_flow, e->ends_arrow);
  }

  std::string whole;
  put(whole, packet::timestamp, static_cast<std::uint64_t>(at));
  put(whole, packet::sequence, only_sequence);
  put(whole, packet::sequence_flags, packet::needs_texts | (has_begun_ ? 0 : packet::begins_texts));
  has_begun_ = true;
  if (!news.empty()) put(whole, packet::interned_data, news);
  put(whole, packet::track_event, body);
  write_packet(whole);
}

void perfetto_file::close() {
  if (!file_) return;
  if (std::fclose(file_) != 0 && error_ == 0) error_ = errno;
  file_ = nullptr;
  if (error_ != 0)
    throw std::runtime_error("trace file '" + path_ +
                             "': " + std::generic_category().message(error_));
}

}  // namespace rota
