// Memory for what is larger than the frame pool takes: blocks are kept when they are freed, and
// used again by whoever next wants one of about that size.
//
// malloc takes a lock, merges neighbours and splits them again, some 490 instructions a message;
// and with its defaults it gives memory of a mebibyte back to the system and fetches new pages for
// the next. Here a block costs a spin lock and a pointer, whichever thread frees it.
//
// Promised: at most `limit` bytes are kept in all, and never more of a size than were in use at
// once. What nobody has used for a second is given back by the next worker that runs dry, and all
// of it when the last runtime ends; without a runtime nothing is kept. Sizes are rounded up, by an
// eighth at most, and from 64 KiB on by another page.
// Not promised: that anything is given back while all workers sleep, or none runs dry. Nobody wakes
// up for it.
//
// Threads: anyone's. Under AddressSanitizer and ThreadSanitizer, and when the code is explored,
// every block comes from operator new, so that they see each one.
#ifndef ROTA_BASE_BLOCK_CACHE_H
#define ROTA_BASE_BLOCK_CACHE_H

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rota::detail {

inline constexpr std::size_t block_alignment = 64;
// Up to here there is the frame pool.
inline constexpr std::size_t smallest_block = 2048;
inline constexpr std::size_t largest_block =
    sync::is_explored ? smallest_block / 4 * 5 : std::size_t{32} << 20;  // two classes to explore

// Eight classes from one power of two to the next: the three bits behind the highest one.
constexpr std::size_t block_class(std::size_t size) noexcept {
  const std::size_t last = size - 1;
  const auto shift = static_cast<std::size_t>(std::bit_width(last)) - 4;
  return 8 * shift + (last >> shift) - 8 * 8 - 8;
}
constexpr std::size_t block_size(std::size_t c) noexcept { return (c % 8 + 9) << (c / 8 + 8); }

inline constexpr std::size_t block_classes = block_class(largest_block) + 1;
static_assert(block_class(smallest_block + 1) == 0);
static_assert(block_size(block_classes - 1) == largest_block);

// Freed blocks, by class.
class block_cache {
 public:
  explicit constexpr block_cache(std::size_t limit) noexcept : limit_(limit) {}
  block_cache(const block_cache&) = delete;
  block_cache& operator=(const block_cache&) = delete;
  ~block_cache() { give_back(everything); }

  // From the system, and back to it.
  [[nodiscard]] static void* make(std::size_t c);
  static void end(void* block, std::size_t c) noexcept;

  // Blocks are kept from the first open() to the last close().
  void open() noexcept;
  void close() noexcept;

  // A block of the class, or null.
  [[nodiscard]] void* take(std::size_t c) noexcept;

  // False if the block is not kept.
  [[nodiscard]] bool keep(void* block, std::size_t c) noexcept;

  // Gives back to the system what nobody has taken since the last trim().
  void trim() noexcept { give_back(unused); }

  // An upper bound of the bytes that are kept: with the room that a class has for more.
  std::size_t reserved() const noexcept { return reserved_.load(sync::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t most_kept = sync::is_explored ? 2 : 252;  // of a class

  struct alignas(64) blocks {
    spin_lock lock;
    // All below: guarded by lock.
    std::uint32_t count = 0;
    std::uint32_t room = 0;  // how many it may keep; count at least
    std::uint32_t idle = 0;  // the least that count was since the last trim
    std::array<void*, most_kept> kept{};
  };

  enum amount : bool { unused, everything };
  void give_back(amount what) noexcept;
  bool make_room(blocks& of, std::size_t c) noexcept;

  const std::size_t limit_;
  // Written when a class gets room or loses it, and when a runtime begins or ends.
  sync::atomic<std::size_t> reserved_{
      0};  // bytes of all rooms; for a moment, of one that gets none
  sync::atomic<std::uint32_t> users_{0};
  std::array<blocks, block_classes> classes_{};
};

// Memory of at least `size` bytes, which are more than the frame pool takes, at block_alignment.
[[nodiscard]] void* allocate_block(std::size_t size, std::size_t c);
void free_block(void* block, std::size_t size, std::size_t c) noexcept;

[[nodiscard]] inline void* allocate_block(std::size_t size) {
  return allocate_block(size, block_class(size));
}
inline void free_block(void* block, std::size_t size) noexcept {
  free_block(block, size, block_class(size));
}

// While there is one, freed blocks are kept.
class block_keeper {
 public:
  block_keeper() noexcept;
  block_keeper(const block_keeper&) = delete;
  block_keeper& operator=(const block_keeper&) = delete;
  ~block_keeper();
};

// Gives back what has not been used for a while, if it is time to.
void trim_blocks() noexcept;

// How many bytes are kept, at most.
std::size_t reserved_for_blocks() noexcept;

}  // namespace rota::detail

#endif
