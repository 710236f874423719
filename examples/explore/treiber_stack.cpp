// Treiber's stack over an array of nodes. A pop reads the first node and the one behind it, and
// then exchanges the head, if that is still the first node. It may be so again: popped and pushed
// meanwhile, with another node behind it (the ABA problem). A tag that changes with the head helps.

#include <rota/verify/explore/explore.h>

#include <array>
#include <cstdint>
#include <iostream>

namespace explore = rota::explore;

class stack {
 public:
  static constexpr std::uint32_t none = 0;

  explicit stack(bool with_tag) : step_(with_tag ? 1u << 16 : 0) {}

  void push(std::uint32_t node) {
    std::uint32_t head = head_.load(std::memory_order_relaxed);
    do {
      next_[node].store(head & index, std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, changed(head, node), std::memory_order_release));
  }

  std::uint32_t pop() {
    std::uint32_t head = head_.load(std::memory_order_acquire);
    while ((head & index) != none) {
      // The node may be somebody else's by now; then the exchange is to fail.
      const std::uint32_t next = next_[head & index].load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, changed(head, next), std::memory_order_acquire)) break;
    }
    return head & index;
  }

 private:
  static constexpr std::uint32_t index = 0xFFFF;

  // The head with another first node and, if there is a tag, another tag.
  std::uint32_t changed(std::uint32_t head, std::uint32_t node) const {
    return ((head & ~index) + step_) | node;
  }

  const std::uint32_t step_;
  explore::atomic<std::uint32_t> head_{none};
  std::array<explore::atomic<std::uint32_t>, 4> next_;
};

void try_out(const char* name, bool with_tag) {
  const auto result = explore::run([with_tag] {
    stack free_nodes(with_tag);
    free_nodes.push(2);
    free_nodes.push(1);
    std::array<explore::cell<int>, 4> held;

    const auto take_one = [&] {
      const auto mine = free_nodes.pop();
      if (mine != stack::none) held[mine].set(1);
    };
    explore::thread other(take_one);
    const auto first = free_nodes.pop();
    const auto second = free_nodes.pop();
    if (second != stack::none) held[second].set(1);
    if (first != stack::none) free_nodes.push(first);
    other.join();

    while (const auto left = free_nodes.pop())
      explore::check(held[left].get() == 0, "who holds a node has it alone");
  });
  std::cout << name << ": ";
  if (!result.failed) {
    std::cout << (result.exhaustive ? "proven" : "not proven") << ", " << result.schedules
              << " schedules\n";
    return;
  }
  std::cout << name_of(result.failure->kind) << "\n" << result.failure->schedule;
}

int main() {
  try_out("with a tag", true);
  try_out("without", false);
}
