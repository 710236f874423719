#include <rota/queue/strict_queue.h>

namespace rota::detail {

namespace {

// Room between neighbours after renumbering: this many jobs may give way between two of them
// before labels run out again.
constexpr std::uint64_t spacing = std::uint64_t{1} << 20;

}  // namespace

strict_queue::label strict_queue::place(job* j) {
  // The cursor's own label is free: it belongs to the job that was taken last, and each new place
  // moves the cursor on by one, so the newest place is the last to be reached.
  auto next = places_.upper_bound(cursor_);
  if (next != places_.end() && next->first == cursor_ + 1) {
    renumber();
    next = places_.upper_bound(cursor_);
  }
  ++cursor_;
  places_.emplace(cursor_, j);
  labels_.emplace(j, cursor_);
  return cursor_;
}

void strict_queue::renumber() {
  std::map<label, job*> places;
  std::map<label, job*> enabled;
  label fresh = 0;
  label cursor = 0;
  for (const auto& [old, j] : places_) {
    fresh += spacing;
    if (old <= cursor_) cursor = fresh;
    places.emplace_hint(places.end(), fresh, j);
    if (enabled_.contains(old)) enabled.emplace_hint(enabled.end(), fresh, j);
    labels_[j] = fresh;
  }
  places_.swap(places);
  enabled_.swap(enabled);
  cursor_ = cursor;
}

void strict_queue::push(job* j) { enabled_.emplace(place(j), j); }

void strict_queue::hold(job* j) { place(j); }

void strict_queue::enable(job* j) {
  if (const auto it = labels_.find(j); it != labels_.end()) enabled_.emplace(it->second, j);
}

job* strict_queue::pop() {
  auto next = enabled_.upper_bound(cursor_);
  if (next == enabled_.end()) next = enabled_.begin();
  if (next == enabled_.end()) return nullptr;
  job* j = next->second;
  cursor_ = next->first;
  remove(j);
  return j;
}

void strict_queue::remove(job* j) {
  const auto it = labels_.find(j);
  if (it == labels_.end()) return;
  places_.erase(it->second);
  enabled_.erase(it->second);
  labels_.erase(it);
}

}  // namespace rota::detail
