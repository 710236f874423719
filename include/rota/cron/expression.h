// A cron expression: which minutes (or seconds) of the calendar, and the instants they are.
//
//   auto expr = rota::cron_expression::parse("30 2 * * mon-fri");
//   auto next = expr.next(now, rota::time_zone::find("Europe/Paris").value());
//
// Five fields, or six with seconds first; docs/cron.md has the syntax and what clock changes do.
//
// Promised: next() and prev() give the same instants, in order (rules T1 to T3); both take time for
// the months they look at rather than for the minutes, and look through 400 years, after which the
// calendar repeats. Instants lie in the years 1 to 9999.
//
// Threads: const members are anyone's.
#ifndef ROTA_CRON_EXPRESSION_H
#define ROTA_CRON_EXPRESSION_H

#include <rota/cron/time_zone.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rota {

// The text is no expression. what() is one line: what, and what would be right.
class cron_error : public std::invalid_argument {
 public:
  cron_error(const std::string& what, std::size_t column)
      : std::invalid_argument(what), column_(column) {}
  std::size_t column() const noexcept { return column_; }  // from 1, in the text that was given

 private:
  std::size_t column_;
};

// What becomes of wall times that a clock change skips or repeats (rule T2).
enum class dst_rule : std::uint8_t {
  wall,   // an hour that starts with * follows real time; others fire once, also out of a gap
  vixie,  // as Debian's cron: see times(), and a minute that starts with * follows real time too
};

enum class cron_syntax : std::uint8_t {
  strict,
  vixie,  // what Debian's cron takes, and as it takes it: what follows a number is ignored
};

namespace detail {

struct schedule_parts;

// The fields as sets of bits.
struct cron_fields {
  std::uint64_t seconds = 1;        // bit n: second n
  std::uint64_t minutes = 0;        // likewise
  std::uint64_t nth_weekdays = 0;   // bit 7 * (k - 1) + d: d#k; bit 35 + d: dL
  std::uint32_t hours = 0;          // bit n: hour n
  std::uint32_t days = 0;           // bit n: day n of the month
  std::uint32_t days_from_end = 0;  // bit n: L-n, bit 0: L
  std::uint32_t working_days = 0;   // bit n: nW, bit 0: LW
  std::uint16_t months = 0;         // bit n: month n, from 1
  std::uint8_t weekdays = 0;        // bit n: weekday n, 0 is Sunday
  std::uint8_t flags = 0;

  // The field begins with a star (or ?), whatever follows.
  static constexpr std::uint8_t minute_star = 1;
  static constexpr std::uint8_t hour_star = 2;
  static constexpr std::uint8_t day_star = 4;
  static constexpr std::uint8_t weekday_star = 8;
  static constexpr std::uint8_t six_fields = 16;
  static constexpr std::uint8_t hashed = 32;        // some of it is from H
  static constexpr std::uint8_t junk_ignored = 64;  // vixie: `5#2` was read as `5`

  bool has(std::uint8_t flag) const noexcept { return (flags & flag) != 0; }

  friend bool operator==(const cron_fields&, const cron_fields&) = default;
};

}  // namespace detail

class cron_expression {
 public:
  // `name` is what H hashes. Throws cron_error. What never fires (31 February) is an expression:
  // ever_fires() tells.
  static cron_expression parse(std::string_view text, std::string_view name = {},
                               cron_syntax syntax = cron_syntax::strict);

  // The first instant after `t`; nothing if there is none (31 February).
  std::optional<instant> next(instant t, const time_zone& zone = {},
                              dst_rule dst = dst_rule::wall) const;
  // The last instant before `t`.
  std::optional<instant> prev(instant t, const time_zone& zone = {},
                              dst_rule dst = dst_rule::wall) const;

  // How often it fires at `t`: 0 if not, otherwise 1, but for dst_rule::vixie at the end of a gap:
  // there it fires once for each minute that the gap has swallowed.
  std::uint32_t times(instant t, const time_zone& zone = {}, dst_rule dst = dst_rule::wall) const;

  // Whether there is any date that matches.
  bool ever_fires() const;

  // In words: "at 02:30 on Monday to Friday".
  std::string explain() const;

  // What is allowed and surprising: `*/2` with a weekday, say. One line each.
  std::vector<std::string> warnings() const;

  friend bool operator==(const cron_expression&, const cron_expression&) = default;

 private:
  friend class schedule;
  friend struct detail::schedule_parts;

  cron_expression() = default;

  [[no_unique_address]] detail::cron_fields fields_;
};

}  // namespace rota

#endif
