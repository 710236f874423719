// The queue of a scheduler that rotates, without the rotating.
//
// Rotating over blocked elements does not change their order in the circle: a blocked element keeps
// its place while the front passes by. So the ring is a list of the elements that may be enabled,
// the candidates, and in front of each the blocked ones between it and the candidate before, as a
// rope that is passed in one go:
//
//   front  [b b b] candidate [] candidate [b] candidate [b b]  rear
//
// To push, to pass a rope and to take a candidate out costs constant time as long as only one of
// two ropes that meet has elements, and the logarithm of their size otherwise, as does waking an
// element in the middle of a rope. Nothing here costs time for each blocked element.
#ifndef ROTA_SRC_COOP_PLACE_RING_H
#define ROTA_SRC_COOP_PLACE_RING_H

#include <rota/coop/value.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rota::coop {

class place_ring {
 public:
  place_ring() : nodes_(1) {}

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

  // Puts f at the rear, as a candidate.
  void push(task_id f);

  // The first candidate, or no_task.
  task_id first() const noexcept { return nodes_[rear].next - 1; }
  // How many blocked elements are ahead of it.
  std::size_t ahead() const noexcept { return nodes_[nodes_[nodes_[rear].next].gap].size; }

  // Rotates until the first candidate is at the front, and takes it out.
  void take_first();
  // Rotates past the first candidate, which is blocked.
  void park_first();

  // Makes a blocked element a candidate, at its place.
  void wake(task_id f);

  // The blocked elements behind the last candidate, in their order.
  std::vector<task_id> blocked_at_rear() const;

 private:
  using index = std::uint32_t;

  // Node 0 stands for the rear: it closes the list of candidates, and its gap is what is behind the
  // last of them. In trees it stands for nothing, and has size 0. Task f is node f + 1.
  static constexpr index rear = 0;

  struct node {
    index next = 0;  // of a candidate
    index previous = 0;
    index gap = 0;    // the rope in front of it
    index owner = 0;  // of the root of a rope: in front of whom it is
    // Of a blocked element: a rope is a treap in the order of the queue.
    index left = 0;
    index right = 0;
    index parent = 0;
    std::uint32_t size = 0;
    std::uint32_t priority = 0;
  };

  void link_before(index candidate, index n);
  void unlink(index n);
  void set_gap(index candidate, index rope);
  void pass_first();
  void update(index n);
  index join(index a, index b);

  std::vector<node> nodes_;
  std::size_t size_ = 0;
};

}  // namespace rota::coop

#endif
