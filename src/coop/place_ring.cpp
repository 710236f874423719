#include "place_ring.h"

#include <rota/base/rng.h>

namespace rota::coop {

void place_ring::push(task_id f) {
  const index n = f + 1;
  if (n >= nodes_.size()) nodes_.resize(n + 1);
  // Chance balances the trees; the same chance in every run.
  if (nodes_[n].priority == 0)
    nodes_[n].priority = static_cast<std::uint32_t>(rota::detail::rng{n}.next()) | 1u;
  const index rope = nodes_[rear].gap;
  link_before(rear, n);
  set_gap(n, rope);
  set_gap(rear, 0);
  ++size_;
}

// What was ahead of the first candidate is behind the last one now.
void place_ring::pass_first() {
  const index n = nodes_[rear].next;
  unlink(n);
  set_gap(rear, join(nodes_[rear].gap, nodes_[n].gap));
}

void place_ring::take_first() {
  pass_first();
  --size_;
}

void place_ring::park_first() {
  const index n = nodes_[rear].next;
  pass_first();
  nodes_[n].left = nodes_[n].right = nodes_[n].parent = 0;
  nodes_[n].size = 1;
  set_gap(rear, join(nodes_[rear].gap, n));
}

// Splits the rope at f on the way up to its root: what hangs to the left of the way is before f,
// the rest behind. Parents keep a higher priority than their children, so both parts are treaps.
void place_ring::wake(task_id f) {
  const index n = f + 1;
  index before = nodes_[n].left;
  index behind = nodes_[n].right;
  index child = n;
  for (index up = nodes_[n].parent; up != 0;) {
    const index next = nodes_[up].parent;
    if (nodes_[up].left == child) {
      nodes_[up].left = behind;
      update(up);
      behind = up;
    } else {
      nodes_[up].right = before;
      update(up);
      before = up;
    }
    child = up;
    up = next;
  }
  const index owner = nodes_[child].owner;
  link_before(owner, n);
  set_gap(n, before);
  set_gap(owner, behind);
}

std::vector<task_id> place_ring::blocked_at_rear() const {
  std::vector<task_id> all;
  std::vector<index> above;
  index n = nodes_[rear].gap;
  while (n != 0 || !above.empty()) {
    for (; n != 0; n = nodes_[n].left) above.push_back(n);
    n = above.back();
    above.pop_back();
    all.push_back(n - 1);
    n = nodes_[n].right;
  }
  return all;
}

void place_ring::link_before(index candidate, index n) {
  const index previous = nodes_[candidate].previous;
  nodes_[n].next = candidate;
  nodes_[n].previous = previous;
  nodes_[previous].next = n;
  nodes_[candidate].previous = n;
}

void place_ring::unlink(index n) {
  nodes_[nodes_[n].previous].next = nodes_[n].next;
  nodes_[nodes_[n].next].previous = nodes_[n].previous;
}

void place_ring::set_gap(index candidate, index rope) {
  nodes_[candidate].gap = rope;
  if (rope == 0) return;
  nodes_[rope].owner = candidate;
  nodes_[rope].parent = 0;
}

// After a change of its children.
void place_ring::update(index n) {
  node& changed = nodes_[n];
  changed.size = 1 + nodes_[changed.left].size + nodes_[changed.right].size;
  if (changed.left != 0) nodes_[changed.left].parent = n;
  if (changed.right != 0) nodes_[changed.right].parent = n;
}

// All of a, then all of b. As deep as the trees, whose depth is logarithmic.
place_ring::index place_ring::join(index a, index b) {
  if (a == 0) return b;
  if (b == 0) return a;
  if (nodes_[a].priority > nodes_[b].priority) {
    const index right = join(nodes_[a].right, b);
    nodes_[a].right = right;
    update(a);
    return a;
  }
  const index left = join(a, nodes_[b].left);
  nodes_[b].left = left;
  update(b);
  return b;
}

}  // namespace rota::coop
