#include <rota/job/units.h>

#include <array>
#include <charconv>
#include <limits>

namespace rota::job {

namespace {

struct duration_unit {
  std::string_view name;
  std::int64_t milliseconds;
};

// From the largest to the smallest, as they are written.
constexpr std::array<duration_unit, 6> duration_units{{{"w", 7LL * 86'400'000},
                                                       {"d", 86'400'000},
                                                       {"h", 3'600'000},
                                                       {"m", 60'000},
                                                       {"s", 1'000},
                                                       {"ms", 1}}};

constexpr std::int64_t longest_duration = 365'250LL * 86'400'000;

struct size_unit {
  std::string_view name;
  std::uint64_t bytes;
};

// The first that divides a size is the one it is written in.
constexpr std::array<size_unit, 7> size_units{{{"GB", 1'000'000'000},
                                               {"GiB", 1ULL << 30},
                                               {"MB", 1'000'000},
                                               {"MiB", 1ULL << 20},
                                               {"kB", 1'000},
                                               {"KiB", 1ULL << 10},
                                               {"B", 1}}};

// Takes the digits at the front. Nothing if there are none, or too many.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{}) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::string_view take_letters(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of("0123456789"), text.size());
  const std::string_view letters = text.substr(0, end);
  text.remove_prefix(end);
  return letters;
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (text == "0") return std::chrono::milliseconds{0};
  if (text.empty()) return {};
  std::int64_t sum = 0;
  std::size_t next = 0;  // units before this one have had their turn
  while (!text.empty()) {
    const auto number = take_number(text);
    const std::string_view letters = take_letters(text);
    while (next < duration_units.size() && duration_units[next].name != letters) ++next;
    if (!number || next == duration_units.size()) return {};
    const std::int64_t unit = duration_units[next++].milliseconds;
    if (*number > static_cast<std::uint64_t>((longest_duration - sum) / unit)) return {};
    sum += static_cast<std::int64_t>(*number) * unit;
  }
  return std::chrono::milliseconds{sum};
}

std::string duration_text(std::chrono::milliseconds d) {
  std::int64_t rest = d.count();
  std::string text;
  for (const duration_unit& u : duration_units) {
    // Weeks only where nothing else is needed: 10d reads better than 1w3d.
    if (u.name == "w" && rest % u.milliseconds != 0) continue;
    if (rest >= u.milliseconds) text += std::to_string(rest / u.milliseconds) + std::string(u.name);
    if (rest > 0) rest %= u.milliseconds;
  }
  return text.empty() ? "0s" : text;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const auto number = take_number(text);
  if (!number) return {};
  if (text.empty()) return number;
  for (const size_unit& u : size_units) {
    if (u.name != text) continue;
    if (*number > std::numeric_limits<std::uint64_t>::max() / u.bytes) return {};
    return *number * u.bytes;
  }
  return {};
}

std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return "0B";
  for (const size_unit& u : size_units)
    if (bytes % u.bytes == 0) return std::to_string(bytes / u.bytes) + std::string(u.name);
  return {};
}

}  // namespace rota::job
