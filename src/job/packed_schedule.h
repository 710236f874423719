// A schedule in 24 bytes instead of 64: an idle job keeps one of these.
//
// Nearly all schedules are five fields of a crontab, or a number of milliseconds; they lie here as
// they are. Others (seconds, L, W, #) are whole on the heap. Zones are few, so they are numbers of
// a list that all entries of a table have in common.
#ifndef ROTA_SRC_JOB_PACKED_SCHEDULE_H
#define ROTA_SRC_JOB_PACKED_SCHEDULE_H

#include <rota/cron/schedule.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace rota::job {

// Each zone once. There are some six hundred names, so numbers do not run out.
class zone_list {
 public:
  std::uint16_t number_of(const time_zone& z) {
    const auto at = std::find(zones_.begin(), zones_.end(), z) - zones_.begin();
    if (static_cast<std::size_t>(at) == zones_.size()) zones_.push_back(z);
    return static_cast<std::uint16_t>(at);
  }
  const time_zone& operator[](std::uint16_t number) const { return zones_[number]; }

 private:
  std::vector<time_zone> zones_{time_zone{}};
};

class packed_schedule {
 public:
  packed_schedule() = default;  // never
  packed_schedule(const schedule& s, zone_list& zones) {
    const rota::detail::schedule_parts p{s};
    kept_.what = p.what;
    kept_.vixie = p.dst == dst_rule::vixie;
    kept_.zone = zones.number_of(p.zone);
    if (p.what == schedule::kind::cron) {
      kept_.bits = p.fields.minutes;
      kept_.hours = p.fields.hours;
      kept_.days = p.fields.days;
      kept_.months = p.fields.months;
      kept_.weekdays = p.fields.weekdays;
      kept_.flags = p.fields.flags;
    } else {
      kept_.bits = static_cast<std::uint64_t>(p.milliseconds);
    }
    if (unpacked(zones) == s) return;
    kept_.bits = std::bit_cast<std::uint64_t>(new schedule(s));
    kept_.whole = true;
  }
  packed_schedule(packed_schedule&& other) noexcept : kept_(std::exchange(other.kept_, {})) {}
  packed_schedule& operator=(packed_schedule&& other) noexcept {
    packed_schedule taken{std::move(other)};
    std::swap(kept_, taken.kept_);
    return *this;
  }
  packed_schedule(const packed_schedule&) = delete;
  packed_schedule& operator=(const packed_schedule&) = delete;
  ~packed_schedule() {
    if (kept_.whole) delete std::bit_cast<schedule*>(kept_.bits);
  }

  schedule::kind what() const noexcept { return kept_.what; }
  schedule unpacked(const zone_list& zones) const {
    if (kept_.whole) return *std::bit_cast<const schedule*>(kept_.bits);
    rota::detail::schedule_parts p;
    p.what = kept_.what;
    p.dst = kept_.vixie ? dst_rule::vixie : dst_rule::wall;
    p.zone = zones[kept_.zone];
    if (p.what == schedule::kind::cron) {
      p.fields.minutes = kept_.bits;
      p.fields.hours = kept_.hours;
      p.fields.days = kept_.days;
      p.fields.months = kept_.months;
      p.fields.weekdays = kept_.weekdays;
      p.fields.flags = kept_.flags;
    } else {
      p.milliseconds = static_cast<std::int64_t>(kept_.bits);
    }
    return p.together();
  }

 private:
  struct parts {
    // The minutes, or the milliseconds of @every and @at; whole: a schedule* that is ours.
    std::uint64_t bits = 0;
    std::uint32_t hours = 0;
    std::uint32_t days = 0;
    std::uint16_t months = 0;
    std::uint16_t zone = 0;
    std::uint8_t weekdays = 0;
    std::uint8_t flags = 0;
    schedule::kind what = schedule::kind::never;
    bool vixie : 1 = false;
    bool whole : 1 = false;
  };

  parts kept_;
};

static_assert(sizeof(packed_schedule) == 24 && sizeof(void*) <= 8);

}  // namespace rota::job

#endif
