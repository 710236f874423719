#include "memory.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace rota::app {

namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream in{path};
  std::uint64_t n = 0;
  if (in >> n) return n;
  return std::nullopt;  // not there, or "max"
}

std::uint64_t free_in_system() {
  std::ifstream in{"/proc/meminfo"};
  std::string name;
  std::string unit;
  for (std::uint64_t kib = 0; in >> name >> kib; std::getline(in, unit))
    if (name == "MemAvailable:") return kib * 1024;
  return unlimited;
}

std::uint64_t free_in_group(const char* limit, const char* used) {
  const auto most = number_in(limit);
  const auto now = number_in(used);
  if (!most || !now) return unlimited;
  return *most > *now ? *most - *now : 0;
}

}  // namespace

std::size_t usable_memory() {
  const std::uint64_t free =
      std::min({free_in_system(),
                free_in_group("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
                free_in_group("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                              "/sys/fs/cgroup/memory/memory.usage_in_bytes")});
  return free == unlimited ? 0 : static_cast<std::size_t>(free / 10 * 9);
}

}  // namespace rota::app
