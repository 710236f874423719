// When a job is due: a cron expression in a zone, every so often, once, at boot, or only when
// asked.
//
//   auto s = rota::schedule::parse("CRON_TZ=Europe/Paris 0 4 * * *");
//   s = rota::schedule::parse("@every 90s");  // also @at 2026-12-24T18:00:00Z, @reboot, @daily
//   for (rota::instant t : s.instants(from, until)) ...
//
// 64 bytes, and nothing on the heap.
//
// Promised: next(t) is the first instant after t, prev(t) the last before it; each is the inverse
// of the other.
//
// Threads: const members are anyone's.
#ifndef ROTA_CRON_SCHEDULE_H
#define ROTA_CRON_SCHEDULE_H

#include <rota/cron/expression.h>

#include <cstddef>
#include <iterator>

namespace rota {

class schedule_instants;

namespace detail {
struct schedule_parts;
}

class schedule {
 public:
  enum class kind : std::uint8_t { never, cron, every, at, reboot };

  struct context {
    std::string_view name = {};  // what H hashes
    time_zone zone = {};
    dst_rule dst = dst_rule::wall;
    cron_syntax syntax = cron_syntax::strict;
    bool may_never_fire = false;  // 31 February is fine, and has no instants
  };

  schedule() = default;  // never: only when asked
  // Throws cron_error, also for what never fires, unless the context says that it may.
  static schedule parse(std::string_view text, const context& c);
  static schedule parse(std::string_view text) { return parse(text, context{}); }
  // A period of a millisecond or more; std::invalid_argument otherwise.
  static schedule every(std::chrono::milliseconds period);

  kind what() const noexcept { return kind_; }
  // Of a cron expression; UTC otherwise.
  const time_zone& zone() const noexcept { return zone_; }
  dst_rule dst() const noexcept { return dst_; }

  // The first instant after `t`. @every counts from `anchor`, the last scheduled instant (or when
  // the job was added), without drift. @reboot and never have none.
  std::optional<instant> next(instant t, instant anchor = {}) const;
  // The last instant before `t`; of @every, after the anchor.
  std::optional<instant> prev(instant t, instant anchor = {}) const;
  // How often it is due at `t`: see cron_expression::times().
  std::uint32_t times(instant t, instant anchor = {}) const;

  // Those after `after` up to `until`, each once, found as they are asked for.
  schedule_instants instants(instant after, instant until, instant anchor = {}) const;

  std::string explain() const;
  std::vector<std::string> warnings() const;

  friend bool operator==(const schedule&, const schedule&) = default;

 private:
  friend struct detail::schedule_parts;

  // Its last bytes, which it does not need, hold the two below.
  [[no_unique_address]] cron_expression expression_;
  kind kind_ = kind::never;
  dst_rule dst_ = dst_rule::wall;
  time_zone zone_;
  std::int64_t milliseconds_ = 0;  // every: the period; at: the instant
};

namespace detail {

// A schedule taken apart, for those who keep many in less room.
struct schedule_parts {
  cron_fields fields;
  schedule::kind what = schedule::kind::never;
  dst_rule dst = dst_rule::wall;
  time_zone zone;
  std::int64_t milliseconds = 0;

  schedule_parts() = default;
  explicit schedule_parts(const schedule& s)
      : fields(s.expression_.fields_),
        what(s.kind_),
        dst(s.dst_),
        zone(s.zone_),
        milliseconds(s.milliseconds_) {}

  schedule together() const {
    schedule s;
    s.expression_.fields_ = fields;
    s.kind_ = what;
    s.dst_ = dst;
    s.zone_ = zone;
    s.milliseconds_ = milliseconds;
    return s;
  }
};

}  // namespace detail

// A range of the instants of a schedule; has a copy of it.
class schedule_instants {
 public:
  class iterator {
   public:
    using value_type = instant;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    instant operator*() const { return *at_; }
    iterator& operator++() {
      find_after(*at_);
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& i, std::default_sentinel_t) { return !i.at_; }

   private:
    friend class schedule_instants;
    iterator(const schedule_instants& range, instant after) : range_(&range) { find_after(after); }

    void find_after(instant t) {
      at_ = range_->schedule_.next(t, range_->anchor_);
      if (at_ && *at_ > range_->until_) at_.reset();
    }

    const schedule_instants* range_ = nullptr;
    std::optional<instant> at_;
  };

  schedule_instants(const schedule& s, instant after, instant until, instant anchor)
      : schedule_(s), after_(after), until_(until), anchor_(anchor) {}

  iterator begin() const { return {*this, after_}; }
  std::default_sentinel_t end() const { return {}; }

 private:
  schedule schedule_;
  instant after_;
  instant until_;
  instant anchor_;
};

inline schedule_instants schedule::instants(instant after, instant until, instant anchor) const {
  return {*this, after, until, anchor};
}

}  // namespace rota

#endif
