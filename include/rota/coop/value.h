// What variables hold, and what can go wrong while a program runs.
//
//   to_string(value::task(3));   // "task 3"
//
// Threads: as any value.
#ifndef ROTA_COOP_VALUE_H
#define ROTA_COOP_VALUE_H

#include <rota/coop/source.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rota::coop {

// Main is task 0.
using task_id = std::uint32_t;
inline constexpr task_id no_task = 0xFFFFFFFF;

enum class value_kind : std::uint8_t { integer, boolean, task };

// Two values are the same if kind and number are: 1 and true differ here, whatever == says of them
// inside a program.
struct value {
  std::int64_t number = 0;
  value_kind kind = value_kind::integer;

  static constexpr value integer(std::int64_t n) { return {n, value_kind::integer}; }
  static constexpr value boolean(bool b) { return {b, value_kind::boolean}; }
  static constexpr value task(task_id f) { return {f, value_kind::task}; }

  constexpr bool is_task() const noexcept { return kind == value_kind::task; }
  constexpr task_id as_task() const noexcept { return static_cast<task_id>(number); }
  bool operator==(const value&) const = default;
};

// For people: "7", "true", "task 3".
std::string to_string(const value& v);

enum class run_time_error : std::uint8_t { division_by_zero, overflow, not_a_number, not_a_task };

// As it stands in traces: "division-by-zero".
std::string_view name_of(run_time_error error) noexcept;
// In words, for people.
std::string_view message_of(run_time_error error) noexcept;

// An evaluation that gave no value.
struct failure {
  run_time_error error = run_time_error::overflow;
  position at;

  bool operator==(const failure&) const = default;
};

}  // namespace rota::coop

#endif
