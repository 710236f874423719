// Expressions in words, from their sets: "at 02:30 on Monday to Friday". When of the day comes
// first, then which days.

#include <rota/cron/schedule.h>

#include <array>
#include <bit>

namespace rota {

using detail::cron_fields;

namespace {

using word_list = std::vector<std::string>;

constexpr std::array<const char*, 7> weekday_names{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<const char*, 13> month_names{
    "",     "January", "February",  "March",   "April",    "May",     "June",
    "July", "August",  "September", "October", "November", "December"};
constexpr std::array<const char*, 6> nth_names{"", "first", "second", "third", "fourth", "fifth"};

// "a", "a and b", "a, b and c".
std::string listed(const word_list& items, const char* last = " and ") {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += i + 1 == items.size() ? last : ", ";
    text += items[i];
  }
  return text;
}

std::string two_digits(int n) { return (n < 10 ? "0" : "") + std::to_string(n); }

std::string ordinal(int n) {
  const int ten = n % 100 / 10;
  const char* const end = ten == 1      ? "th"
                          : n % 10 == 1 ? "st"
                          : n % 10 == 2 ? "nd"
                          : n % 10 == 3 ? "rd"
                                        : "th";
  return std::to_string(n) + end;
}

std::vector<int> members(std::uint64_t set) {
  std::vector<int> all;
  for (; set != 0; set &= set - 1) all.push_back(std::countr_zero(set));
  return all;
}

// Members in words; three and more in a row as "a to c".
template <class ToText>
word_list in_words(std::uint64_t set, ToText to_words) {
  word_list words;
  const std::vector<int> all = members(set);
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end + 1 < all.size() && all[end + 1] == all[end] + 1) ++end;
    if (end - i >= 2) {
      words.push_back(to_words(all[i]) + " to " + to_words(all[end]));
    } else {
      for (std::size_t k = i; k <= end; ++k) words.push_back(to_words(all[k]));
    }
    i = end + 1;
  }
  return words;
}

constexpr std::uint64_t first_bits(int count) { return (std::uint64_t{1} << count) - 1; }

// n if the set is 0, n, 2n ... below `size`, and there are two at least; otherwise 0.
int step_of(std::uint64_t set, int size) {
  if ((set & 1) == 0 || std::popcount(set) < 2) return 0;
  const int step = std::countr_zero(set & ~std::uint64_t{1});
  std::uint64_t steps = 0;
  for (int n = 0; n < size; n += step) steps |= std::uint64_t{1} << n;
  return set == steps ? step : 0;
}

// --- the time of day
// ------------------------------------------------------------------------------

// "every minute", "every 15 minutes", "at minutes 1, 2 and 58".
std::string of_sixty(std::uint64_t set, const std::string& unit) {
  if (set == first_bits(60)) return "every " + unit;
  if (const int n = step_of(set, 60); n != 0 && 60 % n == 0)
    return "every " + std::to_string(n) + " " + unit + "s";
  const auto words = in_words(set, [](int n) { return std::to_string(n); });
  return "at " + unit + (std::popcount(set) > 1 ? "s " : " ") + listed(words);
}

bool all_hours(const cron_fields& f) { return f.hours == first_bits(24); }

// Few enough to name each time.
bool is_few_times(const cron_fields& f) {
  return !all_hours(f) &&
         std::popcount(f.seconds) * std::popcount(f.minutes) * std::popcount(f.hours) <= 6;
}

std::string clock_times(const cron_fields& f) {
  word_list times;
  for (const int hour : members(f.hours))
    for (const int minute : members(f.minutes))
      for (const int second : members(f.seconds)) {
        std::string t = two_digits(hour) + ":" + two_digits(minute);
        if (f.seconds != 1) t += ":" + two_digits(second);
        times.push_back(t);
      }
  return "at " + listed(times);
}

// "from 09:00 to 17:59", "in the hours 9, 11 and 13".
std::string hours_text(const cron_fields& f) {
  const std::vector<int> hours = members(f.hours);
  if (hours.empty()) return "in no hour";
  if (hours.size() == 1 || hours.back() - hours.front() + 1 == static_cast<int>(hours.size()))
    return "from " + two_digits(hours.front()) + ":00 to " + two_digits(hours.back()) + ":59";
  if (const int n = step_of(f.hours, 24); n != 0 && 24 % n == 0)
    return "of every " + ordinal(n) + " hour";
  return "in the hours " + listed(in_words(f.hours, [](int h) { return std::to_string(h); }));
}

std::string minutes_text(const cron_fields& f) {
  const bool one_minute = std::popcount(f.minutes) == 1;
  if (all_hours(f)) {
    if (f.minutes == 1) return "every hour";
    const std::string text = of_sixty(f.minutes, "minute");
    return text.starts_with("every") ? text : text + " of every hour";
  }
  if (const int n = step_of(f.hours, 24); f.minutes == 1 && n != 0 && 24 % n == 0)
    return "every " + std::to_string(n) + " hours";
  const std::string hours = hours_text(f);
  if (one_minute && hours.starts_with("from"))
    return of_sixty(f.minutes, "minute") + " of every hour " + hours;
  return of_sixty(f.minutes, "minute") + " " + hours;
}

std::string time_text(const cron_fields& f) {
  if (is_few_times(f)) return clock_times(f);
  if (f.seconds == 1) return minutes_text(f);
  const std::string seconds = of_sixty(f.seconds, "second");
  const bool all_minutes = f.minutes == first_bits(60);
  if (all_minutes && all_hours(f))
    return seconds.starts_with("every") ? seconds : seconds + " of every minute";
  if (all_minutes) return seconds + " " + hours_text(f);
  return seconds + ", " + minutes_text(f);
}

// --- days
// -----------------------------------------------------------------------------------------

// "the 1st and 15th", "the last day", ...
std::string month_days_text(const cron_fields& f) {
  word_list words;
  if (const int n = step_of(f.days >> 1, 31); n > 1 && std::popcount(f.days) > 4)
    words.push_back("every " + ordinal(n) + " day from the 1st");
  else if (f.days != 0)
    words.push_back("the " + listed(in_words(f.days, ordinal)));
  for (const int n : members(f.days_from_end))
    words.push_back(n == 0   ? "the last day"
                    : n == 1 ? "the day before the last"
                             : "the day " + std::to_string(n) + " days before the last");
  for (const int n : members(f.working_days))
    words.push_back(n == 0 ? "the last working day (Monday to Friday)"
                           : "the working day nearest to the " + ordinal(n));
  return listed(words);
}

std::string weekdays_text(const cron_fields& f) {
  // The week of people begins on Monday, so that "Saturday and Sunday" is a range of theirs.
  const std::uint64_t from_monday = (f.weekdays & 0x7eU) | (std::uint64_t{f.weekdays & 1U} << 7);
  word_list words = in_words(
      from_monday, [](int d) { return std::string{weekday_names[static_cast<unsigned>(d) % 7]}; });
  for (const int n : members(f.nth_weekdays)) {
    const auto d = static_cast<unsigned>(n % 7);
    words.push_back(std::string("the ") +
                    (n < 35 ? nth_names[static_cast<unsigned>(n / 7 + 1)] : "last") + " " +
                    weekday_names[d] + " of the month");
  }
  return listed(words);
}

bool any_day(const cron_fields& f) { return f.days == (first_bits(31) << 1); }
bool any_weekday(const cron_fields& f) { return f.weekdays == 0x7f; }
bool any_month(const cron_fields& f) { return f.months == (first_bits(12) << 1); }

std::string days_text(const cron_fields& f) {
  const std::string months = listed(
      in_words(f.months, [](int m) { return std::string{month_names[static_cast<unsigned>(m)]}; }));
  const std::string in_months = any_month(f) ? "" : " in " + months;
  const bool both = f.has(cron_fields::day_star) || f.has(cron_fields::weekday_star);
  const bool no_days = any_day(f) && (both || any_weekday(f));
  const bool no_weekdays = any_weekday(f) && (both || any_day(f));
  if (no_days && no_weekdays) return in_months;
  if (!both && (any_day(f) || any_weekday(f))) return in_months;  // either: one is always true
  const std::string of_month = " of " + (any_month(f) ? std::string("the month") : months);
  if (no_weekdays) return " on " + month_days_text(f) + of_month;
  if (no_days) return " on " + weekdays_text(f) + in_months;
  if (both) return " on " + month_days_text(f) + of_month + ", if that is " + weekdays_text(f);
  return " on " + month_days_text(f) + of_month + ", and on " + weekdays_text(f) + in_months;
}

// --- periods
// --------------------------------------------------------------------------------------

std::string period_text(std::int64_t ms) {
  struct unit {
    std::int64_t length;
    const char* name;
  };
  constexpr std::array<unit, 5> units{{{86'400'000, "day"},
                                       {3'600'000, "hour"},
                                       {60'000, "minute"},
                                       {1'000, "second"},
                                       {1, "millisecond"}}};
  word_list words;
  for (const unit& u : units) {
    const std::int64_t n = ms / u.length;
    ms %= u.length;
    if (n == 1 && words.empty() && ms == 0) return u.name;
    if (n != 0) words.push_back(std::to_string(n) + " " + u.name + (n == 1 ? "" : "s"));
  }
  return listed(words);
}

// What a clock change does to it.
std::string clock_change_text(const cron_fields& f, dst_rule dst) {
  if (dst == dst_rule::vixie) return "; clock changes as Debian's cron takes them";
  if (f.has(cron_fields::hour_star)) return "; follows real time when the clock is changed";
  return "; once when the clock is set back, and right after it was set forward over it";
}

}  // namespace

std::string cron_expression::explain() const {
  std::string text = time_text(fields_);
  const std::string days = days_text(fields_);
  text += days.empty() && is_few_times(fields_) ? " every day" : days;
  if (fields_.has(cron_fields::hashed)) text += " (H, from the name)";
  return text;
}

std::string schedule::explain() const {
  switch (kind_) {
    case kind::never:
      return "only when asked";
    case kind::reboot:
      return "when the machine has started";
    case kind::every:
      return "every " + period_text(milliseconds_);
    case kind::at:
      return "once, at " + to_text(instant{std::chrono::milliseconds{milliseconds_}});
    case kind::cron:
      break;
  }
  std::string text = expression_.explain() + ", " + zone_.name();
  if (zone_ != time_zone{}) text += " time" + clock_change_text(expression_.fields_, dst_);
  return text;
}

// --- warnings
// -------------------------------------------------------------------------------------

namespace {

// `*/7`: the last step of the hour or day is shorter than the others.
void warn_of_uneven_steps(std::vector<std::string>& all, std::uint64_t set, int size,
                          const char* unit, const char* whole) {
  const int n = step_of(set, size);
  if (n == 0 || size % n == 0) return;
  const int last = (size - 1) / n * n;
  all.push_back("every " + std::to_string(n) + " " + unit + "s starts anew each " + whole +
                ": from " + unit + " " + std::to_string(last) + " to the next are only " +
                std::to_string(size - last));
}

}  // namespace

std::vector<std::string> cron_expression::warnings() const {
  const cron_fields& f = fields_;
  std::vector<std::string> all;
  const bool day = !any_day(f);
  const bool weekday = !any_weekday(f);
  const bool both = f.has(cron_fields::day_star) || f.has(cron_fields::weekday_star);
  if (day && weekday && both)
    all.emplace_back(
        "a day or weekday that begins with * must match together with the other, not instead of "
        "it");
  if (day && weekday && !both)
    all.emplace_back("day of month and weekday are both given: either of them is enough");
  if (!both && day != weekday)
    all.emplace_back(
        "day of month and weekday are both given, one of them as all of them: it fires "
        "every day; write * for the one that does not matter");
  warn_of_uneven_steps(all, f.seconds, 60, "second", "minute");
  warn_of_uneven_steps(all, f.minutes, 60, "minute", "hour");
  warn_of_uneven_steps(all, f.hours, 24, "hour", "day");
  if (f.minutes == 1 && f.has(cron_fields::minute_star))
    all.emplace_back("a step of 60 minutes or more leaves minute 0 alone");
  if (f.hours == 1 && f.has(cron_fields::hour_star))
    all.emplace_back("a step of 24 hours or more leaves hour 0 alone");
  if (f.minutes == first_bits(60) && !all_hours(f))
    all.emplace_back("the minute is *: it fires in every minute of its hours");
  if (!weekday && f.days != 0 && (f.days & first_bits(29)) == 0 && f.days_from_end == 0 &&
      f.working_days == 0 && any_month(f))
    all.emplace_back("not every month has such a day; L is the last one");
  if (f.has(cron_fields::junk_ignored))
    all.emplace_back("Debian's cron ignores what stands behind a number or *, such as #2 in 5#2");
  if (!ever_fires()) all.emplace_back("it never fires: no date matches");
  return all;
}

std::vector<std::string> schedule::warnings() const {
  if (kind_ == kind::cron) return expression_.warnings();
  return {};
}

}  // namespace rota
