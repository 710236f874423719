// Stacks of their own for the threads of an explored program, and how to change between them.
#ifndef ROTA_VERIFY_EXPLORE_FIBER_H
#define ROTA_VERIFY_EXPLORE_FIBER_H

#include <cstddef>

namespace rota::explore::detail {

class fiber {
 public:
  // Who runs already: has no stack of its own.
  fiber() = default;

  // `entry` never returns. `index` says which of the fixed places of memory the stack takes, so
  // that addresses are the same in every process.
  fiber(unsigned index, void (*entry)());
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;
  ~fiber();

  // Starts anew at `entry`; what was on the stack is forgotten.
  void reset();

  // One beyond the highest address of its stack.
  const void* top() const noexcept;

  // Leaves `from`, which runs, and goes on with `to`.
  static void change(fiber& from, fiber& to);

 private:
  friend void begin_fiber();

  void* stack_ = nullptr;  // with a guard page at its low end
  void* sp_ = nullptr;
  void (*entry_)() = nullptr;
  // The exceptions that are being handled, which the language keeps for each thread.
  void* caught_ = nullptr;
  unsigned uncaught_ = 0;
  void* shadow_ = nullptr;  // AddressSanitizer's
};

// Overwrites what calls that have returned left below the caller on the stack: functions that are
// called next do not fill all of their frames, and would show it.
void clean_stack() noexcept;

// Whether an address is on the stack of some fiber.
bool is_stack_memory(const void* p) noexcept;

}  // namespace rota::explore::detail

#endif
