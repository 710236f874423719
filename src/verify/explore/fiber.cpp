#include "verify/explore/fiber.h"

#include <rota/base/sync.h>

#include <cxxabi.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#ifdef ROTA_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
// Keeps what a call must keep, and changes the stack.
extern "C" void rota_change_stack(void** from, void* to);
asm(R"(
.text
.globl rota_change_stack
.type rota_change_stack, @function
rota_change_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size rota_change_stack, .-rota_change_stack
)");
#else
#include <ucontext.h>
#endif

namespace rota::explore::detail {

namespace {

constexpr std::size_t stack_size = std::size_t{256} * 1024;
constexpr std::size_t page = 4096;

// Far from where programs and libraries are put.
constexpr std::uintptr_t region = 0x2100'0000'0000;
constexpr std::uintptr_t region_end = 0x2200'0000'0000;

// What __cxa_get_globals() points to, by the Itanium ABI.
struct exceptions {
  void* caught;
  unsigned uncaught;
};

exceptions& handled() { return *reinterpret_cast<exceptions*>(abi::__cxa_get_globals()); }

fiber* running = nullptr;

#ifdef ROTA_ASAN
// The thread's own stack, as the sanitizer knows it: told when it is first left.
bool leaves_own_stack = false;
const void* own_bottom = nullptr;
std::size_t own_size = 0;

// The sanitizer keeps local variables of a fiber in megabytes of its own, which it gives back only
// when the fiber leaves for good. Those that are given up never do: so we pretend to be one of them
// for a moment. No local variable may be made meanwhile.
[[gnu::no_sanitize_address]] void free_shadow(void* shadow, const void* bottom) {
  void* mine = nullptr;
  const void* here = nullptr;
  std::size_t size = 0;
  __sanitizer_start_switch_fiber(&mine, bottom, stack_size);
  __sanitizer_finish_switch_fiber(shadow, &here, &size);
  __sanitizer_start_switch_fiber(nullptr, here, size);
  __sanitizer_finish_switch_fiber(mine, nullptr, nullptr);
}
#endif

}  // namespace

void begin_fiber() {
#ifdef ROTA_ASAN
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(running->shadow_, &bottom, &size);
  if (leaves_own_stack) {
    own_bottom = bottom;
    own_size = size;
  }
#endif
  running->entry_();
}

fiber::fiber(unsigned index, void (*entry)()) : entry_(entry) {
  void* wanted = reinterpret_cast<void*>(region + index * (stack_size + page));
  stack_ = mmap(wanted, stack_size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(stack_, page, PROT_NONE);
  reset();
}

fiber::~fiber() {
  if (!stack_) return;
#ifdef ROTA_ASAN
  if (shadow_) free_shadow(shadow_, stack_);
  ASAN_UNPOISON_MEMORY_REGION(stack_, stack_size);
#endif
  munmap(stack_, stack_size);
}

const void* fiber::top() const noexcept { return static_cast<const char*>(stack_) + stack_size; }

bool is_stack_memory(const void* p) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  return address >= region && address < region_end;
}

[[gnu::noinline]] void clean_stack() noexcept {
#ifndef ROTA_ASAN  // Its local variables are not on the stack.
  // Some more than the explorer's own calls take.
  char below[4096];
  std::memset(below, 0, sizeof below);
  asm volatile("" : : "r"(below) : "memory");
#endif
}

void fiber::reset() {
  caught_ = nullptr;
  uncaught_ = 0;
#ifdef ROTA_ASAN
  if (shadow_) free_shadow(shadow_, stack_);
  shadow_ = nullptr;
  ASAN_UNPOISON_MEMORY_REGION(static_cast<char*>(stack_) + page, stack_size - page);
#endif
#if defined(__x86_64__)
  // Six registers, where to go, and a return address of nobody. At its entry a function expects the
  // stack 8 bytes off 16.
  auto* top = reinterpret_cast<void**>(static_cast<char*>(stack_) + stack_size);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&begin_fiber);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  sp_ = top;
#else
  // The context lives at the low end of the stack, above the guard page.
  auto* context = new (static_cast<char*>(stack_) + page) ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = static_cast<char*>(stack_) + 2 * page;
  context->uc_stack.ss_size = stack_size - 2 * page;
  context->uc_link = nullptr;
  makecontext(context, &begin_fiber, 0);
  sp_ = context;
#endif
}

void fiber::change(fiber& from, fiber& to) {
  exceptions& now = handled();
  from.caught_ = now.caught;
  from.uncaught_ = now.uncaught;
  now.caught = to.caught_;
  now.uncaught = to.uncaught_;
  running = &to;
#ifdef ROTA_ASAN
  leaves_own_stack = !from.stack_;
  __sanitizer_start_switch_fiber(&from.shadow_, to.stack_ ? to.stack_ : own_bottom,
                                 to.stack_ ? stack_size : own_size);
#endif
#if defined(__x86_64__)
  rota_change_stack(&from.sp_, to.sp_);
#else
  ucontext_t own;
  auto* mine = from.stack_ ? static_cast<ucontext_t*>(from.sp_) : &own;
  if (!from.stack_) from.sp_ = mine;
  swapcontext(mine, static_cast<ucontext_t*>(to.sp_));
#endif
#ifdef ROTA_ASAN
  __sanitizer_finish_switch_fiber(from.shadow_, nullptr, nullptr);
#endif
}

}  // namespace rota::explore::detail
