// The memory of an explored program: taken from one stretch, given back all at once.
//
// Addresses are the same in every schedule and every process, nothing is used twice within a
// schedule, and a schedule that is given up in its middle leaves nothing behind.
#ifndef ROTA_VERIFY_EXPLORE_HEAP_H
#define ROTA_VERIFY_EXPLORE_HEAP_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rota::explore::detail {

class heap {
 public:
  static constexpr std::size_t size = std::size_t{1} << 30;

  heap();
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;
  ~heap();

  void* allocate(std::size_t size, std::size_t alignment);

  enum class freed : std::uint8_t { well, twice };
  freed free(void* p) noexcept;

  // Hands out again what was freed.
  void reuse(void* p) noexcept;
  std::size_t size_of(const void* p) const noexcept;

  struct leak {
    std::size_t blocks = 0;
    std::size_t bytes = 0;
    std::size_t first_size = 0;
  };
  leak leaked() const noexcept;

  // All bytes that were handed out.
  std::span<const std::byte> bytes() const noexcept { return {begin_, used_}; }

  void reset() noexcept;

 private:
  struct block;

  std::byte* begin_ = nullptr;
  std::size_t used_ = 0;
  std::size_t live_ = 0;
  std::vector<const block*> blocks_;
};

// Brings the operator new that allocates here into the program.
void use_own_new() noexcept;

// Whether an address is of some heap, also of one that is gone.
bool is_explored_memory(const void* p) noexcept;

}  // namespace rota::explore::detail

#endif
