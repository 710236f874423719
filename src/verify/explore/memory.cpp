// The memory of C++20, as an abstract machine.
//
// A location keeps its stores in modification order. A load may return any of them that is not
// hidden: a store is hidden from a thread that has seen a later one, where a thread has seen what
// it read or wrote itself and whatever was seen before a release that it has acquired. So each
// store notes when each thread first saw it, and a thread needs no more than a clock for each other
// thread.
//
// A store may also be put before newer ones that its thread has not seen; a read-modify-write
// stands directly behind what it read.
//
// Sequentially consistent operations take part in one order, that of the schedule. A fence shows to
// later fences, and to later such accesses, what its thread has seen; what such an access reads or
// writes is shown to later fences and to later such accesses of its location. Light and heavy
// fences do the same between each other, unless both are light.
//
// Two kinds of choices are not offered, since another schedule has the same outcome.
//   R1  A step that could have been earlier: the thread could have come here before all of the
//       newer stores that it passes over. In another schedule it does.
//   R2  A load of a value that an older store offers as well: who reads the older one has seen less
//       and can do all that it could do otherwise.
// For a sequentially consistent access R1 also asks that the newer stores came after the last
// fence, and the last such access of the location, since it cannot change places with those. This
// loses nothing: of all schedules with one outcome take one that reads the oldest stores and, of
// those, passes over newer ones in the fewest steps. It uses neither R1 nor R2: a step that could
// have been earlier, just before the first of the stores that it passes over, would leave fewer, as
// those that it moved over and that now pass over it came after that store and passed over it
// already. The other schedules have to be run for this, so only the exhaustive search does it.

#include <algorithm>
#include <cstdio>

#include "verify/explore/engine.h"

namespace rota::explore::detail {

namespace {

bool acquires(std::memory_order o) noexcept {
  return o == std::memory_order_acquire || o == std::memory_order_acq_rel ||
         o == std::memory_order_seq_cst || o == std::memory_order_consume;
}
bool releases(std::memory_order o) noexcept {
  return o == std::memory_order_release || o == std::memory_order_acq_rel ||
         o == std::memory_order_seq_cst;
}
bool is_sc(std::memory_order o) noexcept { return o == std::memory_order_seq_cst; }

step access(step::kind what, bool writes, std::memory_order order, std::uint32_t object) noexcept {
  step s;
  s.what = what;
  s.writes = writes;
  s.sc = is_sc(order);
  s.object = object;
  return s;
}

const char* name_of(std::memory_order o) noexcept {
  switch (o) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

// Numbers as people write them, addresses as such.
std::string text_of(std::uint64_t value) {
  if (value < 1'000'000) return std::to_string(value);
  if (value > ~std::uint64_t{0} - 1'000) return "-" + std::to_string(~value + 1);
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

bool has_seen(const vector_clock& seen, const vector_clock& first_seen) noexcept {
  bool any = false;
  for (unsigned k = 0; k < seen.known.size(); ++k) any |= first_seen.known[k] <= seen.known[k];
  return any;
}

// How often a thread reads a value again that is not the newest: stores become visible some day.
constexpr std::uint8_t most_again = 2;

// History that is kept of a location. Only loads of values older than all of these are missed.
constexpr std::size_t longest_history = 64;

}  // namespace

// --- locations ----------------------------------------------------------------------------------

location& engine::add_location(const place& p, const void* object, std::uint64_t first) {
  if (used_locations_ == locations_.size()) locations_.emplace_back();
  p.index = used_locations_++;
  location& l = locations_[p.index];
  l.object = object;
  l.messages.clear();
  message& m = l.messages.emplace_back();
  m.value = first;
  m.first_seen.known.fill(never);
  l.last_sc = 0;
  l.sc_step = 0;
  l.touched = {};
  l.maker = most_threads;
  l.made_at = 0;
  l.is_gone = false;
  l.name.clear();
  return l;
}

void engine::make(const place& p, const void* object, std::uint64_t value) {
  location& l = add_location(p, object, value);
  const unsigned self = running_index();
  l.maker = static_cast<std::uint8_t>(self);
  l.made_at = ++running_->now.before.known[self];
  running_->now.seen.known[self] = l.made_at;
}

location& engine::at(const place& p, const void* object, std::uint64_t first,
                     const where_t& where) {
  // A static one is met for the first time in this schedule.
  if (!is_known(p, object)) {
    if (is_explored_memory(object) || is_stack_memory(object))
      fail(failure_kind::use_after_free, "an atomic is used that is gone, or was never made",
           where);
    return add_location(p, object, first);
  }
  location& l = locations_[p.index];
  if (l.is_gone)
    fail(failure_kind::use_after_free, describe(l, where) + " is used but gone", where);
  if (l.maker != most_threads && running_->now.before.known[l.maker] < l.made_at)
    fail(failure_kind::data_race,
         describe(l, where) + " is used by a thread to which it was not published: " +
             threads_[l.maker].name + " made it",
         where);
  return l;
}

void engine::destroy(const place& p, const void* object) {
  if (!is_known(p, object)) return;
  location& l = locations_[p.index];
  if (l.is_gone) return;
  for (unsigned i = 0; i < count_; ++i)
    if (l.touched.known[i] > running_->now.before.known[i])
      fail(failure_kind::use_after_free,
           describe(l, running_->where) + " is destroyed while " + threads_[i].name +
               " may still use it: nothing orders its last access before",
           running_->where);
  l.is_gone = true;
}

std::uint64_t engine::peek(const place& p, const void* object, std::uint64_t first) const noexcept {
  return is_known(p, object) ? locations_[p.index].messages.back().value : first;
}

void engine::name(const place& p, const void* object, std::string what) {
  if (is_known(p, object)) locations_[p.index].name = std::move(what);
}

std::string engine::describe(const location& l, const where_t& where) const {
  if (!l.name.empty()) return l.name;
  const std::string read = accessed_name(where);
  return read.empty() ? "an atomic" : read;
}

// It is the thread's turn; while it waited the object may have gone.
void engine::use(location& l, const where_t& where) {
  if (l.is_gone)
    fail(failure_kind::use_after_free, describe(l, where) + " is used but gone", where);
  l.touched.known[running_index()] = running_->now.before.known[running_index()];
}

// --- what can be read and written where -------------------------------------------------------

std::size_t engine::oldest_visible(const location& l, const vector_clock& seen) noexcept {
  std::size_t i = l.messages.size() - 1;
  while (i > 0 && !has_seen(seen, l.messages[i].first_seen)) --i;
  return i;
}

std::size_t engine::oldest_choice(const location& l, bool sc) const noexcept {
  if (!sc) return oldest_visible(l, running_->now.seen);
  vector_clock seen = running_->now.seen;
  seen.join(sc_fenced_);
  return std::max<std::size_t>(oldest_visible(l, seen), l.last_sc);
}

bool engine::could_have_been_earlier(const location& l, std::size_t i, bool sc) const noexcept {
  if (!reduces() || options_.merge_states) return false;
  std::uint32_t since = std::max(running_->not_before, l.messages[i].stored_at);
  // Its place among the sequentially consistent operations is part of the outcome.
  if (sc) since = std::max({since, l.sc_step, sc_fence_step_});
  for (std::size_t j = i + 1; j < l.messages.size(); ++j)
    if (l.messages[j].stored_at <= since) return false;
  return true;
}

// How an access would take a message, if at all: as one that is sequentially consistent, or not.
enum class engine::taken : std::uint8_t { no, weakly, sc };

engine::taken engine::taken_with(std::memory_order order) noexcept {
  return is_sc(order) ? taken::sc : taken::weakly;
}

// The choices of an access, from the newest store to the oldest.
class engine::options_of {
 public:
  options_of(const engine& e, const location& l) : engine_(e), location_(l) {
    newest_ = oldest_ = oldest_sc_ = l.messages.size() - 1;
    if (e.options_.memory == memory::sc) return;
    oldest_ = e.oldest_choice(l, false);
    oldest_sc_ = e.oldest_choice(l, true);
  }

  template <class Wanted>
  void collect(Wanted wanted, bool looks = true) {
    const thread_state& t = *engine_.running_;
    const tick paused = t.paused_at;
    const unsigned self = engine_.running_index();
    for (std::size_t i = newest_ + 1; i-- > oldest_;) {
      const message& m = location_.messages[i];
      const taken how = wanted(m);
      if (how == taken::no || (how == taken::sc && i < oldest_sc_)) continue;
      if (i != newest_) {
        if (engine_.could_have_been_earlier(location_, i, how == taken::sc)) continue;
        // Who waits for others does not see the same old value again, and nobody sees it for ever.
        // A store sees none.
        if (looks && (m.first_seen.known[self] <= paused || m.again[self] == most_again)) continue;
      }
      found_[count_++] = static_cast<std::uint16_t>(i);
      if (count_ == found_.size()) break;
    }
  }

  // Of those with equal values only the oldest (R2).
  void keep_oldest_of_equals() {
    unsigned kept = 0;
    for (unsigned i = 0; i < count_; ++i) {
      const auto equals = [&](std::uint16_t j) {
        return location_.messages[j].value == location_.messages[found_[i]].value;
      };
      if (std::none_of(found_.begin() + i + 1, found_.begin() + count_, equals))
        found_[kept++] = found_[i];
    }
    count_ = kept;
  }

  unsigned count() const noexcept { return count_; }
  std::size_t operator[](unsigned i) const noexcept { return found_[i]; }

 private:
  const engine& engine_;
  const location& location_;
  std::size_t newest_ = 0;
  std::size_t oldest_ = 0;
  std::size_t oldest_sc_ = 0;
  std::array<std::uint16_t, longest_history> found_;
  unsigned count_ = 0;
};

void engine::read_message(location& l, std::size_t i, std::memory_order order) {
  message& m = l.messages[i];
  const unsigned self = running_index();
  tick& first = m.first_seen.known[self];
  const bool is_old = i + 1 < l.messages.size();
  if (first != never && m.again[self] < most_again && is_old && !options_.merge_states)
    ++m.again[self];
  // Who comes from one old value to the next gets somewhere, though nothing changes.
  if (first == never && is_old) running_->idle_pauses = 0;
  first = std::min(first, running_->now.seen.known[self]);
  if (acquires(order))
    running_->now.join(m.released);
  else
    running_->acquired.join(m.released);
  if (!is_sc(order)) return;
  l.last_sc = std::max(l.last_sc, static_cast<std::uint32_t>(i));
  l.sc_step = step_;
  m.first_seen.known[sc_index] = std::min(m.first_seen.known[sc_index], sc_time_);
}

void engine::write_message(location& l, std::size_t base, std::uint64_t value,
                           std::memory_order order, bool read) {
  const unsigned self = running_index();
  message fresh;
  fresh.value = value;
  fresh.stored_at = step_;
  fresh.by = static_cast<std::uint8_t>(self);
  fresh.first_seen.known.fill(never);
  fresh.first_seen.known[self] = running_->now.seen.known[self];
  if (is_sc(order)) fresh.first_seen.known[sc_index] = sc_time_;
  fresh.released = releases(order) ? running_->now : running_->released;
  if (read) {
    // The release sequence goes on.
    fresh.released.join(l.messages[base].released);
    fresh.followed = l.messages[base].followed;
    l.messages[base].followed = true;
  }
  if (value != l.messages.back().value) changed_something();
  const auto index = static_cast<std::uint32_t>(base + 1);
  l.messages.insert(l.messages.begin() + index, std::move(fresh));
  if (l.last_sc >= index) ++l.last_sc;
  if (is_sc(order)) {
    l.last_sc = std::max(l.last_sc, index);
    l.sc_step = step_;
  }
  forget_old(l);
}

void engine::forget_old(location& l) {
  if (l.messages.size() <= longest_history) return;
  const std::size_t surplus = longest_history / 2;
  l.messages.erase(l.messages.begin(), l.messages.begin() + static_cast<std::ptrdiff_t>(surplus));
  l.last_sc -= std::min(l.last_sc, static_cast<std::uint32_t>(surplus));
}

// --- accesses -----------------------------------------------------------------------------------

std::uint64_t engine::load(const place& p, const void* object, std::uint64_t first,
                           std::memory_order order, const where_t& where) {
  location& l = at(p, object, first, where);
  const step s = access(step::kind::load, false, order, p.index);
  announce(s, where);
  use(l, where);
  options_of choices(*this, l);
  choices.collect([&](const message&) { return taken_with(order); });
  if (reduces()) choices.keep_oldest_of_equals();
  const std::size_t i = choices[value(choices.count())];
  read_message(l, i, order);
  const std::uint64_t value = l.messages[i].value;
  if (with_story_) {
    const std::uint64_t newest = l.messages.back().value;
    const bool is_old = i + 1 != l.messages.size();
    tell_story("loads " + describe(l, where) + " = " + text_of(value), order, where,
               !is_old           ? ""
               : newest == value ? ", stored before the newest"
                                 : ", an old value: the newest is " + text_of(newest));
  }
  tell(s, is_sc(order) ? step_ : l.messages[i].stored_at);
  return value;
}

void engine::store(const place& p, const void* object, std::uint64_t first, std::uint64_t value,
                   std::memory_order order, const where_t& where) {
  location& l = at(p, object, first, where);
  const step s = access(step::kind::store, true, order, p.index);
  announce(s, where);
  use(l, where);
  options_of choices(*this, l);
  choices.collect([&](const message& m) { return m.followed ? taken::no : taken_with(order); },
                  false);
  const std::size_t base = choices[this->value(choices.count())];
  if (with_story_)
    tell_story("stores " + describe(l, where) + " = " + text_of(value), order, where,
               base + 1 < l.messages.size() ? ", behind newer values" : "");
  write_message(l, base, value, order, false);
  tell(s);
}

std::uint64_t engine::update(const place& p, const void* object, std::uint64_t first, change how,
                             std::uint64_t operand, std::uint64_t mask, std::memory_order order,
                             const where_t& where) {
  location& l = at(p, object, first, where);
  const step s = access(step::kind::update, true, order, p.index);
  announce(s, where);
  use(l, where);
  options_of choices(*this, l);
  choices.collect([&](const message& m) { return m.followed ? taken::no : taken_with(order); });
  const std::size_t base = choices[value(choices.count())];
  const std::uint64_t old = l.messages[base].value;
  const std::uint64_t fresh = changed(old, how, operand) & mask;
  if (with_story_)
    tell_story("updates " + describe(l, where) + " from " + text_of(old) + " to " + text_of(fresh),
               order, where, base + 1 < l.messages.size() ? ", behind newer values" : "");
  read_message(l, base, order);
  write_message(l, base, fresh, order, true);
  tell(s);
  return old;
}

bool engine::compare_exchange(const place& p, const void* object, std::uint64_t first,
                              std::uint64_t& expected, std::uint64_t desired, bool weak,
                              std::memory_order success, std::memory_order failure,
                              const where_t& where) {
  location& l = at(p, object, first, where);
  step s = access(step::kind::update, true, is_sc(failure) ? failure : success, p.index);
  announce(s, where);
  use(l, where);
  // A weak one may fail on any value that it would take, and then has the order of a failure.
  const bool may_fail = weak && spurious_ < options_.spurious;
  options_of choices(*this, l);
  choices.collect([&](const message& m) {
    if (m.value != expected) return taken_with(failure);
    if (m.followed) return taken::no;
    return taken_with(may_fail && is_sc(failure) ? failure : success);
  });
  const unsigned count = choices.count();
  unsigned chosen = value(may_fail ? 2 * count : count);
  const bool fails = chosen >= count;
  if (fails) {
    chosen -= count;
    ++spurious_;
  }
  const std::size_t base = choices[chosen];
  const std::uint64_t old = l.messages[base].value;
  const bool done = old == expected && !fails;
  if (with_story_) {
    const std::string about = describe(l, where);
    tell_story(done ? "exchanges " + about + " from " + text_of(old) + " to " + text_of(desired)
                    : "finds " + about + " = " + text_of(old) + ", not " + text_of(expected),
               done ? success : failure, where, fails ? ", for no reason" : "");
  }
  read_message(l, base, done ? success : failure);
  if (done) {
    write_message(l, base, desired, success, true);
  } else {
    s.writes = false;
    s.sc = is_sc(failure);
  }
  tell(s);
  expected = old;
  return done;
}

// --- fences -------------------------------------------------------------------------------------

void engine::fence(std::memory_order order, const where_t& where) {
  step s;
  if (is_sc(order)) s.what = step::kind::fence;
  announce(s, where);
  if (with_story_) tell_story("fence", order, where, "");
  if (is_sc(order)) {
    fence_sc();
  } else {
    if (acquires(order)) running_->now.join(running_->acquired);
    if (releases(order)) running_->released = running_->now;
  }
  tell(s);
}

void engine::fence_sc() {
  thread_state& t = *running_;
  t.now.join(t.acquired);
  t.now.seen.join(sc_fenced_);
  t.now.seen.known[sc_index] = sc_time_++;
  sc_fence_step_ = step_;
  sc_fenced_.join(t.now.seen);
  t.released = t.now;
}

void engine::light_fence(const where_t& where) {
  step s;
  s.what = step::kind::light;
  announce(s, where);
  if (with_story_) story_.add(running_->name, "light fence", where);
  running_->now.seen.join(heavy_fenced_);
  light_fenced_.join(running_->now.seen);
  tell(s, last_heavy_);
}

void engine::heavy_fence(const where_t& where) {
  step s;
  s.what = step::kind::heavy;
  announce(s, where);
  if (with_story_) story_.add(running_->name, "heavy fence", where);
  running_->now.seen.join(heavy_fenced_);
  running_->now.seen.join(light_fenced_);
  fence_sc();
  heavy_fenced_.join(running_->now.seen);
  last_heavy_ = step_;
  tell(s);
}

// --- plain memory -------------------------------------------------------------------------------

void engine::touch(const place& p, const void* object, plain_access how, const where_t& where) {
  const unsigned self = running_index();
  const bool is_new = p.index >= used_cells_ || cells_[p.index].object != object;
  const bool is_static = !is_explored_memory(object) && !is_stack_memory(object);
  if (how == plain_access::made || (is_new && is_static)) {
    if (used_cells_ == cells_.size()) cells_.emplace_back();
    p.index = used_cells_++;
    cells_[p.index] = {};
    cells_[p.index].object = object;
  } else if (is_new || cells_[p.index].is_gone) {
    fail(failure_kind::use_after_free, "a cell is used that is gone, or was never made", where);
  }
  const bool writes = how != plain_access::read;
  step s;
  if (options_.cell_steps && (how == plain_access::read || how == plain_access::write)) {
    s.what = writes ? step::kind::write : step::kind::read;
    s.writes = writes;
    s.object = p.index | 0x4000'0000;
    announce(s, where);
  }
  plain& c = cells_[p.index];
  const vector_clock& before = running_->now.before;
  for (unsigned i = 0; i < count_; ++i) {
    if (i == self) continue;
    if (c.writes.known[i] > before.known[i]) race(i, c.write_where[i], true, writes, where);
    if (writes && c.reads.known[i] > before.known[i])
      race(i, c.read_where[i], false, writes, where);
  }
  // Counted from 1, so that a first access is not lost among the zeros.
  const tick now = before.known[self] + 1;
  running_->now.before.known[self] = now;
  running_->now.seen.known[self] = now;
  (writes ? c.writes : c.reads).known[self] = now;
  (writes ? c.write_where : c.read_where)[self] = where;
  c.is_gone = how == plain_access::gone;
  if (with_story_ && (how == plain_access::read || how == plain_access::write))
    story_.add(running_->name, writes ? "writes a cell" : "reads a cell", where);
  if (s.what != step::kind::local) tell(s);
}

void engine::race(unsigned other, const where_t& theirs, bool they_write, bool we_write,
                  const where_t& ours) {
  const std::string place = short_place(theirs);
  fail(failure_kind::data_race,
       running_->name + (we_write ? " writes" : " reads") + " what " + threads_[other].name +
           (they_write ? " wrote" : " read") + (place.empty() ? "" : " at " + place) +
           ", and nothing orders the two",
       ours);
}

void engine::tell_story(std::string what, std::memory_order order, const where_t& where,
                        const std::string& more) {
  story_.add(running_->name, what + more + "  [" + name_of(order) + "]", where);
}

}  // namespace rota::explore::detail
