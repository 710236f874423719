// Durations and sizes as people write them.
//
//   rota::job::parse_duration("1h30m");   // 90 minutes
//   rota::job::parse_size("10MB");        // 10'000'000
//
// A duration is one or more whole numbers, each with its unit, from the largest to the smallest:
// w d h m s ms. A size is a whole number, alone or with B, kB, MB, GB (powers of 1000) or KiB, MiB,
// GiB. "0" is both.
//
// Promised: what is not wholly a duration or a size is nothing. Threads: anyone's.
#ifndef ROTA_JOB_UNITS_H
#define ROTA_JOB_UNITS_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rota::job {

// Nothing if it is none, or longer than 1000 years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// The shortest that parses to the same: "1h30m". Negative durations have no text and give "0s".
std::string duration_text(std::chrono::milliseconds d);

// Nothing if it is none, or does not fit.
std::optional<std::uint64_t> parse_size(std::string_view text);

// The largest unit that leaves a whole number: "10MB".
std::string size_text(std::uint64_t bytes);

}  // namespace rota::job

#endif
