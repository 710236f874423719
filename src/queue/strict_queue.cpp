#include <rota/queue/strict_queue.h>

#include <algorithm>

namespace rota::detail {

namespace {

// So far from the one before is a new place, if there is room: whoever gives way at it later has
// half of that.
constexpr std::uint64_t spacing = std::uint64_t{1} << 16;

}  // namespace

// Up to the next place, or the end.
strict_queue::label strict_queue::room() const {
  const auto next = places_.upper_bound(cursor_);
  return (next == places_.end() ? all_labels : (*next)->at) - cursor_;
}

// The newest place is the last to be reached: the cursor moves on to it.
const strict_queue::place* strict_queue::add_place(job* j) {
  if (room() < 2) make_room();
  cursor_ += std::min(room() / 2, spacing);
  place& p = jobs_.emplace(j, place{cursor_, j}).first->second;
  places_.insert(places_.upper_bound(cursor_), &p);
  return &p;
}

// Spreads the places around the cursor evenly over the smallest range of labels that is empty
// enough. Of 2^i labels (3/2)^i may be taken, so the larger the range, the emptier it is left, and
// the longer it takes until it is full again: on average a place is moved a logarithmic number of
// times.
void strict_queue::make_room() {
  double most = 1;
  for (label width = 2; width <= all_labels; width *= 2) {
    most *= 1.5;
    const label from = cursor_ / width * width;
    std::uint64_t taken = 1;  // by the cursor
    for (auto p = places_.lower_bound(from);
         p != places_.end() && (*p)->at - from < width && static_cast<double>(taken) <= most; ++p)
      ++taken;
    const label gap = width / (taken + 1);
    if (static_cast<double>(taken) <= most && gap >= 4) return spread(from, from + width, gap);
  }
}

// The cursor has a label of its own, behind the places that it has passed.
void strict_queue::spread(label from, label to, label gap) {
  const label cursor = cursor_;
  auto p = places_.lower_bound(from);
  for (; p != places_.end() && (*p)->at <= cursor; ++p) (*p)->at = from += gap;
  cursor_ = from += gap;
  for (; p != places_.end() && (*p)->at < to; ++p) (*p)->at = from += gap;
}

void strict_queue::push(job* j) { enabled_.insert(add_place(j)); }

void strict_queue::hold(job* j) { add_place(j); }

void strict_queue::enable(job* j) {
  if (const auto it = jobs_.find(j); it != jobs_.end()) enabled_.insert(&it->second);
}

job* strict_queue::pop() {
  auto next = enabled_.upper_bound(cursor_);
  if (next == enabled_.end()) next = enabled_.begin();
  if (next == enabled_.end()) return nullptr;
  job* j = (*next)->who;
  cursor_ = (*next)->at;
  remove(j);
  return j;
}

void strict_queue::remove(job* j) {
  const auto it = jobs_.find(j);
  if (it == jobs_.end()) return;
  enabled_.erase(&it->second);
  places_.erase(&it->second);
  jobs_.erase(it);
}

}  // namespace rota::detail
