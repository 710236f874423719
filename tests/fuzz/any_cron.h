// What holds for any text given as a schedule: it is an error that says where, or a schedule whose
// instants go up, are found backwards too, and fire at least once; in words it is one line.
#ifndef ROTA_TESTS_FUZZ_ANY_CRON_H
#define ROTA_TESTS_FUZZ_ANY_CRON_H

#include <rota/cron/schedule.h>

#include <string>
#include <string_view>

namespace rota::cron_test {

// The column of an error is in the text or just behind it, and its message one line.
inline std::string wrong_with_error(std::string_view text, const cron_error& e) {
  if (e.column() < 1 || e.column() > text.size() + 1)
    return "column " + std::to_string(e.column()) + " of " + std::to_string(text.size());
  const std::string_view what = e.what();
  for (const char c : what)
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) >= 0x7f)
      return "a message with a strange byte";
  return what.empty() || what.size() > 300 ? "a message of a strange size" : "";
}

inline std::string wrong_with_instants(const schedule& s, instant from) {
  instant t = from;
  for (int i = 0; i < 4; ++i) {
    const auto next = s.next(t, from);
    if (!next) return "";
    if (*next <= t) return "next does not go up at " + to_text(t);
    if (s.times(*next, from) == 0) return "does not fire at " + to_text(*next);
    if (parse_instant(to_text(*next)) != *next) return "text of " + to_text(*next);
    const auto before = s.prev(*next, from);
    if (before && *before > t) return "prev finds one between " + to_text(t) + " and next";
    if (i > 0 && before != t) return "prev is not the inverse at " + to_text(*next);
    t = *next;
  }
  return "";
}

// Nothing, or what is wrong.
inline std::string wrong_with_schedule(std::string_view text, const schedule::context& c,
                                       instant from) {
  try {
    const schedule s = schedule::parse(text, c);
    if (s != schedule::parse(text, c)) return "read twice, it is two schedules";
    for (const char byte : s.explain())
      if (static_cast<unsigned char>(byte) < ' ') return "words of several lines";
    if (s.explain().empty() || s.explain().size() > 2000) return "words of a strange size";
    (void)s.warnings();
    if (s.what() == schedule::kind::cron && !c.may_never_fire && !s.next(from))
      return "never fires";
    return wrong_with_instants(s, from);
  } catch (const cron_error& e) {
    return wrong_with_error(text, e);
  }
}

// The same in several ways to read it. The first byte says from when on, and in which zone.
inline std::string wrong_with_text(std::string_view text) {
  static const time_zone zones[] = {time_zone{}, time_zone::find("Europe/Paris").value(),
                                    time_zone::find("Australia/Lord_Howe").value(),
                                    time_zone::find("Pacific/Apia").value()};
  const auto byte = text.empty() ? 0U : static_cast<unsigned char>(text[0]);
  const time_zone zone = zones[byte % 4];
  // Around the changes of 2026, and the day that Apia skipped.
  const instant from = instant{std::chrono::hours{byte % 3 == 0   ? 492'955
                                                  : byte % 3 == 1 ? 497'995
                                                                  : 368'070}};
  for (const cron_syntax syntax : {cron_syntax::strict, cron_syntax::vixie})
    for (const dst_rule dst : {dst_rule::wall, dst_rule::vixie})
      for (const bool may : {false, true}) {
        const schedule::context c{
            .name = text, .zone = zone, .dst = dst, .syntax = syntax, .may_never_fire = may};
        if (std::string wrong = wrong_with_schedule(text, c, from); !wrong.empty()) return wrong;
      }
  // As a name and an instant it is read or refused.
  if (const auto z = time_zone::find(text); z && z->name() != text) return "a zone of another name";
  if (const auto t = parse_instant(text, zone); t && !parse_instant(to_text(*t)))
    return "an instant without a text";
  return "";
}

}  // namespace rota::cron_test

#endif
