#include <rota/pool/stats.h>

#include <sstream>

namespace rota {

std::uint64_t stats::ready_delay_quantile(double share) const noexcept {
  std::uint64_t total = 0;
  for (const std::uint64_t n : ready_delay) total += n;
  const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(total));
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < ready_delay.size(); ++i) {
    sum += ready_delay[i];
    if (sum >= wanted && sum > 0) {
      const std::uint64_t bucket_end = i == 0 ? 0 : (std::uint64_t{1} << i) - 1;
      return bucket_end < max_ready_delay ? bucket_end : max_ready_delay;
    }
  }
  return max_ready_delay;
}

std::string stats::text() const {
  std::ostringstream out;
  out << "tasks spawned " << spawned << ", finished " << finished << "\n"
      << "scheduling points " << points << "\n"
      << "ready delay in points: p50 " << ready_delay_quantile(0.50) << ", p99 "
      << ready_delay_quantile(0.99) << ", max " << max_ready_delay << "\n"
      << "steals " << steals << " (" << stolen << " tasks), forks taken " << forks_taken << "\n"
      << "parks " << parks << ", wakes " << wakes << ", rests " << rests << "\n";
  return out.str();
}

}  // namespace rota
