// The cache of blocks. A block that two threads have at once shows as a data race on what they
// write to it; one that stays behind, in what is reserved after the cache was closed.
//
// The ring of records. One that is read while it is written is a data race; one that is lost and
// not counted, or taken twice, is missing in the sum.

#include <rota/base/block_cache.h>
#include <rota/base/record_ring.h>

#include <array>
#include <cstddef>
#include <new>

#include "explored/scenarios.h"

namespace {

using namespace rota::scenarios;
using rota::detail::block_alignment;
using rota::detail::block_cache;
using rota::detail::block_size;
using rota::detail::record_ring;

// A cache, and who needs a block that it does not have gets the next of `made`. What is written to
// a block stands beside it, since the block itself may be gone.
template <std::size_t Made>
class desk {
 public:
  desk() {
    for (void*& block : made_) block = block_cache::make(0);
  }
  desk(const desk&) = delete;
  desk& operator=(const desk&) = delete;
  ~desk() {
    for (std::size_t i = given_.load(); i < Made; ++i) end(made_[i]);
  }

  // A block to write to.
  void* make(int number) {
    void* block = cache.take(0);
    if (!block) block = made_[given_.fetch_add(1, std::memory_order_relaxed)];
    std::size_t i = 0;
    while (made_[i] != block) ++i;
    written_[i].set(number);
    explore::check(written_[i].get() == number, "a block is one thread's at a time");
    return block;
  }
  void free(void* block) {
    if (!cache.keep(block, 0)) end(block);
  }

  block_cache cache{2 * block_size(0)};

 private:
  static void end(void* block) { block_cache::end(block, 0); }

  std::array<void*, Made> made_;
  std::array<explore::cell<int>, Made> written_{};
  explore::atomic<std::size_t> given_{0};
};

// A thread uses blocks while another gives back those that are idle.
void trimmed() {
  desk<2> d;
  d.cache.open();
  together users;
  users.run([&] {
    d.free(d.make(1));
    d.free(d.make(2));
  });
  d.cache.trim();
  d.cache.trim();
  users.join();
  d.cache.close();
  explore::check(d.cache.reserved() == 0, "a closed cache keeps nothing");
}

// Threads want the block that is there, and another gives it back.
template <unsigned Users>
void wanted() {
  desk<Users + 1> d;
  d.cache.open();
  d.free(d.make(0));
  d.cache.trim();  // from now on it is idle
  std::array<void*, Users> got{};
  together users;
  for (unsigned u = 0; u < Users; ++u) users.run([&, u] { got[u] = d.make(static_cast<int>(u)); });
  d.cache.trim();
  users.join();
  for (void* block : got) d.free(block);
  d.cache.close();
  explore::check(d.cache.reserved() == 0, "a closed cache keeps nothing");
}

// Blocks are freed while the last user closes.
template <unsigned Users>
void closed() {
  desk<Users> d;
  d.cache.open();
  std::array<void*, Users> used{};
  for (unsigned u = 0; u < Users; ++u) used[u] = d.make(static_cast<int>(u));
  together users;
  for (unsigned u = 0; u < Users; ++u) users.run([&, u] { d.free(used[u]); });
  d.cache.close();
  users.join();
  explore::check(d.cache.reserved() == 0, "a closed cache keeps nothing");
}

struct record {
  number value{0};

  record() = default;
  record(const record&) = delete;
  record& operator=(const record& other) {
    value.set(other.value.get());
    return *this;
  }
};

// A thread writes more than fits; another takes what there is, twice, and the rest in the end.
template <int Records>
void records() {
  record_ring<record> ring;
  int taken = 0;
  int last = 0;
  const auto look = [&] {
    ring.take([&](const record& r) {
      explore::check(r.value.get() > last, "records come in order, each once");
      last = r.value.get();
      ++taken;
    });
  };
  together writers;
  writers.run([&] {
    for (int i = 1; i <= Records; ++i) {
      record r;
      r.value.set(i);
      ring.add(r);
    }
  });
  look();
  look();
  writers.join();
  look();
  explore::check(taken + static_cast<int>(ring.lost()) == Records, "what is not taken is counted");
}

const add base{{
    {"base.blocks_closed", "two blocks are freed while the cache is closed", closed<2>, all()},
    {"base.blocks_trimmed", "a thread uses a block twice, another trims", trimmed, all()},
    {"base.blocks_wanted", "two threads want a block that is given back", wanted<2>, all()},
    {"base.records_4", "four records in a ring of two, and who takes them", records<4>, all()},
}};

}  // namespace
