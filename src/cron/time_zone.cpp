// Zones are kept in a table, each name once, for as long as the program runs: so a zone is a
// pointer. The table does not grow without end, since only names that the database has get in.
//
// The library never reads a name twice. To it "./Europe/Paris" is another name, of the same file:
// so a zone that is read for the second time has one "./", for the third time two. What it had
// before stays in memory, some kilobytes with each update of the database, and so nobody who looks
// at it meanwhile looks at nothing.

#include <rota/cron/time_zone.h>

#include <rota/base/sync.h>

#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>

#include "cron/wall_clock.h"

namespace rota {

namespace {

// Tells a file from the one that takes its place.
struct file_identity {
  dev_t device = 0;
  ino_t number = 0;
  off_t size = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  friend bool operator==(const file_identity&, const file_identity&) = default;
};

struct known_zone {
  known_zone(std::string_view n, absl::TimeZone z, const file_identity& f) : name(n), file(f) {
    set(z);
  }

  // release and acquire: who sees the pointer sees what it points to.
  absl::TimeZone get() const { return *zone.load(std::memory_order_acquire); }
  void set(absl::TimeZone z) {
    all.push_back(std::make_unique<const absl::TimeZone>(z));
    zone.store(all.back().get(), std::memory_order_release);
  }

  const std::string name;
  // The last of `all`. Written by read_again(), read by all.
  sync::atomic<const absl::TimeZone*> zone{nullptr};
  std::vector<std::unique_ptr<const absl::TimeZone>> all;  // guarded by the table's mutex, as are:
  file_identity file;
  unsigned times = 1;  // that it was read, or was to be
};

struct zone_table {
  sync::mutex mutex;
  std::map<std::string, std::unique_ptr<known_zone>, std::less<>> zones;  // guarded by mutex
};

// Never destroyed: schedules of static lifetime may look at their zones when the program ends.
zone_table& known_zones() {
  static zone_table* const t = new zone_table;
  return *t;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '+';
}

// The name becomes a path below the database: words with slashes between them, no dots, and none of
// what the library reads as something else ("libc:localtime", "Fixed/UTC+01:00").
bool is_zone_name(std::string_view name) {
  if (name.empty() || name.size() > 64) return false;
  if (name.starts_with("right/") || name.starts_with("posix/")) return false;
  if (name == "localtime" || name == "posixrules" || name == "UTC0") return false;
  char before = '/';
  for (const char c : name) {
    if (c == '/' ? before == '/' : !is_name_character(c)) return false;
    before = c;
  }
  return before != '/';
}

constexpr std::string_view usual_folder = "/usr/share/zoneinfo/";
constexpr const char* machines_zone = "/etc/localtime";

constexpr std::string_view nameless = "localtime";  // a file rather than a link

// Where the library looks, too.
std::string path_of(std::string_view name) {
  if (name == nameless) return machines_zone;
  const char* const folder = ::getenv("TZDIR");
  return std::string(folder != nullptr ? folder : "/usr/share/zoneinfo") + "/" + std::string(name);
}

// The library keeps every name that it was asked for, also those that are none: so it is asked only
// for files that are there.
bool is_zone_file(const std::string& path) {
  std::array<char, 4> magic{};
  std::ifstream{path, std::ios::binary}.read(magic.data(), magic.size());
  return std::string_view{magic.data(), magic.size()} == "TZif";
}

// Nothing: there is no file.
std::optional<file_identity> identity_of(const std::string& path) {
  struct stat is{};
  if (::stat(path.c_str(), &is) != 0) return std::nullopt;
  return file_identity{is.st_dev, is.st_ino, is.st_size, is.st_mtim.tv_sec, is.st_mtim.tv_nsec};
}

// A name that the library does not know yet.
std::string fresh_name(std::string_view name, unsigned times) {
  std::string same_folder;
  for (; times > 0; --times) same_folder += "./";
  return name == nameless ? "/" + same_folder + (machines_zone + 1)
                          : same_folder + std::string(name);
}

}  // namespace

struct zone_access {
  static const known_zone* get(const time_zone& z) {
    return static_cast<const known_zone*>(z.zone_);
  }
  static time_zone keep(std::string_view name, absl::TimeZone zone, const file_identity& file) {
    zone_table& t = known_zones();
    const std::lock_guard lock{t.mutex};
    auto& place = t.zones[std::string(name)];
    if (!place) place = std::make_unique<known_zone>(name, zone, file);
    time_zone z;
    z.zone_ = place.get();
    return z;
  }
  static std::optional<time_zone> kept(std::string_view name) {
    zone_table& t = known_zones();
    const std::lock_guard lock{t.mutex};
    const auto found = t.zones.find(name);
    if (found == t.zones.end()) return std::nullopt;
    time_zone z;
    z.zone_ = found->second.get();
    return z;
  }
};

std::optional<time_zone> time_zone::find(std::string_view name) {
  if (name == "UTC") return time_zone{};
  if (!is_zone_name(name)) return std::nullopt;
  if (auto known = zone_access::kept(name)) return known;
  const std::string path = path_of(name);
  // Before it is read: if another one comes in between, that is found later.
  const auto file = identity_of(path);
  absl::TimeZone zone;
  if (!file || !is_zone_file(path) || !absl::LoadTimeZone(std::string(name), &zone))
    return std::nullopt;
  return zone_access::keep(name, zone, *file);
}

std::vector<std::string> time_zone::read_again() {
  std::vector<std::string> names;
  zone_table& t = known_zones();
  const std::lock_guard lock{t.mutex};
  for (const auto& [name, known] : t.zones) {
    const std::string path = path_of(name);
    const auto file = identity_of(path);
    if (!file || *file == known->file || !is_zone_file(path)) continue;
    known->file = *file;
    absl::TimeZone zone;
    if (!absl::LoadTimeZone(fresh_name(name, known->times++), &zone)) continue;
    known->set(zone);
    names.push_back(name);
  }
  return names;
}

std::optional<time_zone> time_zone::find_local() {
  if (const char* set = ::getenv("TZ"); set != nullptr) {
    std::string_view text{set};
    if (text.starts_with(':')) text.remove_prefix(1);
    if (text.empty() || text == "UTC0") return time_zone{};
    if (text.starts_with(usual_folder)) return find(text.substr(usual_folder.size()));
    if (text != machines_zone) return find(text);
  }
  std::array<char, 512> link{};
  const ssize_t size = ::readlink(machines_zone, link.data(), link.size());
  if (size < 0 && errno == ENOENT) return time_zone{};
  const std::string_view target{link.data(), static_cast<std::size_t>(size < 0 ? 0 : size)};
  constexpr std::string_view folder = "/zoneinfo/";
  if (const std::size_t at = target.rfind(folder); at != std::string_view::npos)
    if (const auto found = find(target.substr(at + folder.size()))) return found;
  // A file rather than a link has no name.
  if (::access(machines_zone, R_OK) != 0) return std::nullopt;
  const auto file = identity_of(machines_zone);
  return zone_access::keep(nameless, absl::LocalTimeZone(), file.value_or(file_identity{}));
}

time_zone time_zone::local() {
  if (const auto found = find_local()) return *found;
  const char* const set = ::getenv("TZ");
  if (set != nullptr && std::string_view{set}.find(machines_zone) == std::string_view::npos)
    throw std::invalid_argument(
        std::string("TZ is '") + set +
        "', and there is no such time zone; give a name such as Europe/Paris, "
        "or leave it out for that of /etc/localtime");
  throw std::invalid_argument(
      "/etc/localtime leads to no time zone that can be read; set TZ to a name such as "
      "Europe/Paris");
}

std::string time_zone::name() const {
  return zone_ == nullptr ? "UTC" : zone_access::get(*this)->name;
}

std::optional<clock_change> time_zone::next_change(instant t) const {
  if (zone_ == nullptr) return std::nullopt;
  constexpr std::chrono::sys_days end{std::chrono::year{2400} / 1 / 1};
  auto from = std::chrono::floor<std::chrono::seconds>(std::min<instant>(t, end));
  const absl::TimeZone zone = zone_access::get(*this)->get();
  absl::TimeZone::CivilTransition found;
  for (;;) {
    const absl::Time time = absl::FromUnixSeconds(from.time_since_epoch().count());
    if (!zone.NextTransition(time, &found)) return std::nullopt;
    // Where the clock shows `to`; of two instants it is the second, since the clock was set back.
    const absl::TimeZone::TimeInfo at = zone.At(found.to);
    from = std::chrono::sys_seconds{std::chrono::seconds{absl::ToUnixSeconds(at.post)}};
    if (from >= end) return std::nullopt;
    // The database also has changes of a name alone.
    const std::int64_t real = from.time_since_epoch().count();
    const std::chrono::seconds before{detail::wall_at(*this, real - 1) - (real - 1)};
    const std::chrono::seconds after{detail::wall_at(*this, real) - real};
    if (before != after) return clock_change{from, before, after};
  }
}

namespace detail {

namespace {

constexpr absl::CivilSecond wall_epoch{1970, 1, 1};

std::int64_t seconds_of(absl::Time t) { return absl::ToUnixSeconds(t); }

}  // namespace

std::int64_t wall_at(const time_zone& zone, std::int64_t real) {
  if (is_utc(zone)) return real;
  const absl::Time t = absl::FromUnixSeconds(real);
  return real + zone_access::get(zone)->get().At(t).offset;
}

wall_place find_wall(const time_zone& zone, std::int64_t wall) {
  if (is_utc(zone)) return {.first = wall, .second = wall};
  const absl::TimeZone tz = zone_access::get(zone)->get();
  const absl::TimeZone::TimeInfo info = tz.At(wall_epoch + wall);
  wall_place p{.first = seconds_of(info.pre), .second = seconds_of(info.post)};
  if (info.kind == absl::TimeZone::TimeInfo::UNIQUE) return p;
  p.change = seconds_of(info.trans);
  const std::int64_t before = wall_at(zone, p.change - 1) + 1;
  const std::int64_t after = wall_at(zone, p.change);
  const bool skipped = info.kind == absl::TimeZone::TimeInfo::SKIPPED;
  p.what = skipped ? wall_place::kind::skipped : wall_place::kind::twice;
  p.begin = skipped ? before : after;
  p.end = skipped ? after : before;
  return p;
}

}  // namespace detail

}  // namespace rota
