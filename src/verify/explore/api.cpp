// From the program's calls to the schedule that runs.

#include <rota/base/assert.h>
#include <rota/verify/explore/explore.h>

#include <algorithm>
#include <stdexcept>

#include "verify/explore/engine.h"

namespace rota::explore {

namespace detail {

namespace {

// While the explorer itself works, what it uses is ordinary. Where the program's part of the stack
// ends is noted, with all registers that may hold something of the program saved above.
class inside {
 public:
  [[gnu::always_inline]] inside() noexcept {
    exploring = false;
    __builtin_unwind_init();
    active->note_frame(__builtin_frame_address(0));
  }
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;
  ~inside() {
    active->leave_no_traces();
    exploring = true;
  }
};

// A copy that does not live on the program's heap.
std::string kept(std::string_view text) { return {text.data(), text.size()}; }

std::size_t slot_keys = 0;
std::array<void*, 64> outside_slots{};

}  // namespace

void made(place& p, const void* object, std::uint64_t value) {
  const inside here;
  active->make(p, object, value);
}
void gone(place& p, const void* object) {
  const inside here;
  active->destroy(p, object);
}
std::uint64_t load(const place& p, const void* object, std::uint64_t first, std::memory_order order,
                   const where_t& where) {
  const inside here;
  return active->load(p, object, first, order, where);
}
void store(place& p, const void* object, std::uint64_t first, std::uint64_t value,
           std::memory_order order, const where_t& where) {
  const inside here;
  active->store(p, object, first, value, order, where);
}
std::uint64_t update(place& p, const void* object, std::uint64_t first, change how,
                     std::uint64_t operand, std::uint64_t mask, std::memory_order order,
                     const where_t& where) {
  const inside here;
  return active->update(p, object, first, how, operand, mask, order, where);
}
bool compare_exchange(place& p, const void* object, std::uint64_t first, std::uint64_t& expected,
                      std::uint64_t desired, bool weak, std::memory_order success,
                      std::memory_order failure, const where_t& where) {
  const inside here;
  return active->compare_exchange(p, object, first, expected, desired, weak, success, failure,
                                  where);
}
std::uint64_t peek(const place& p, const void* object, std::uint64_t first) noexcept {
  return active ? active->peek(p, object, first) : first;
}
void* allocate(std::size_t size, std::size_t alignment) {
  const inside here;
  return active->allocate(size, alignment);
}
void release(void* p) {
  const inside here;
  active->free(p);
}
void touch(const place& p, const void* object, plain_access how, const where_t& where) {
  const inside here;
  active->touch(p, object, how, where);
}

void lock(place& p, const void* object, const where_t& where) {
  const inside here;
  active->lock(p, object, where);
}
bool try_lock(place& p, const void* object, const where_t& where) {
  const inside here;
  return active->try_lock(p, object, where);
}
void unlock(place& p, const void* object, const where_t& where) {
  const inside here;
  active->unlock(p, object, where);
}
void mutex_gone(place& p, const void* object) {
  const inside here;
  active->destroy_lock(p, object);
}

unsigned start_thread(std::function<void()> body, const where_t& where) {
  if (!exploring)
    throw std::logic_error("explore::thread: threads start only inside of an explored program");
  const inside here;
  return active->start_thread(std::move(body), where);
}
void join_thread(unsigned index, const where_t& where) {
  if (!exploring) return;
  const inside here;
  active->join_thread(index, where);
}
void unjoined_thread() {
  exploring = false;
  active->fail(failure_kind::misuse, "a thread is destroyed that was neither joined nor detached",
               {});
}
unsigned processors() noexcept { return active ? active->processors() : 1; }

void futex_wait(const place& p, const void* object, std::uint64_t first, std::uint64_t expected,
                time_point deadline, const where_t& where) {
  if (!exploring) return;
  const inside here;
  active->futex_wait(p, object, first, expected, deadline, where);
}
void futex_wake(const place& p, const void* object, int count, const where_t& where) {
  if (!exploring) return;
  const inside here;
  active->futex_wake(p, object, count, where);
}

void** slot(std::size_t key) noexcept {
  return exploring ? active->slot(key) : &outside_slots[key];
}
std::size_t new_slot_key() noexcept { return slot_keys++; }

}  // namespace detail

using detail::active;
using detail::exploring;
using detail::inside;
using detail::kept;

time_point now(const where_t& where) noexcept {
  if (!exploring) return active ? active->time() : clock::now();
  const inside here;
  return active->now(where);
}

void light_fence(const where_t& where) noexcept {
  if (!exploring) return;
  const inside here;
  active->light_fence(where);
}
void heavy_fence(const where_t& where) noexcept {
  if (!exploring) return;
  const inside here;
  active->heavy_fence(where);
}
void atomic_thread_fence(std::memory_order order, const where_t& where) noexcept {
  if (!exploring) return;
  const inside here;
  active->fence(order, where);
}

void pause() noexcept {
  if (exploring) active->pause();
}
void yield_thread() noexcept { pause(); }

void adopt_worker_thread(unsigned index) noexcept {
  if (!exploring) return;
  const inside here;
  active->name_thread("worker " + std::to_string(index));
}

void check(bool condition, std::string_view what, std::source_location where) {
  if (condition) return;
  if (!active) throw std::logic_error("explore::check: " + std::string(what));
  exploring = false;
  active->fail(failure_kind::check, kept(what), where);
}
void fail(failure_kind kind, std::string what, std::source_location where) {
  if (!active) throw std::logic_error("explore::fail: " + what);
  exploring = false;
  active->fail(kind, kept(what), where);
}

unsigned choose(unsigned n) {
  if (!exploring) return 0;
  const inside here;
  return active->choose(n);
}

void name(const atomic_base& x, std::string what) {
  if (!exploring) return;
  const inside here;
  active->name(x.at(), &x, kept(what));
}
void name_thread(std::string what) {
  if (!exploring) return;
  const inside here;
  active->name_thread(kept(what));
}
void note(std::string what, std::source_location where) {
  if (!exploring) return;
  const inside here;
  active->note(kept(what), where);
}
void observe(std::function<void()> after_step) {
  if (!exploring) return;
  const inside here;
  active->observe(std::move(after_step));
}
standing where_is(unsigned thread) { return active ? active->where_is(thread) : standing{}; }
unsigned this_thread_index() { return active ? active->running_index() : 0; }

void advance(std::chrono::nanoseconds by) {
  if (!exploring) return;
  const inside here;
  active->advance(by);
}
void settle() {
  if (!exploring) return;
  const inside here;
  active->settle();
}

}  // namespace rota::explore
