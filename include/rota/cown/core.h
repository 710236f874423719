// Cowns and behaviours underneath: what is in memory, and the functions of the library that the
// templates of cown.h and when.h end in. A program needs none of it.
//
// The words:
//   cown        a value, and the queue of those who want it
//   behaviour   a function and the cowns that it needs: one block of memory
//   slot        a behaviour's place in the queue of one cown
//   message     a behaviour on its way, as specs/backpressure calls it
//
// A behaviour takes its cowns in the order of their addresses, one after the other, and waits in at
// most one queue at a time. A queue is a list of slots, first come, first served; its first holds
// the cown. Whoever is done gives the cown to the next slot and lets that behaviour take its next
// cowns, so cowns themselves are never scheduled.
//
// Specs: specs/backpressure (variant `backpressure_built`), specs/access.
// Threads: as each says; what is in a cown is for who holds it, or for the board.
#ifndef ROTA_COWN_CORE_H
#define ROTA_COWN_CORE_H

#include <rota/base/frame_pool.h>
#include <rota/base/inspect.h>
#include <rota/base/job.h>
#include <rota/base/prefetch.h>
#include <rota/base/sync.h>
#include <rota/task/core.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

namespace rota {

namespace detail {

class cown_base;
class dispatch;
class pump_state;
class pool;
struct behaviour;
struct cown_side;

// --- cowns --------------------------------------------------------------------------------------

// What to do with a cown whose last pointer is gone.
struct cown_type {
  void (*destroy)(cown_base& c) noexcept;  // the value, and the memory
};

// One place in the queue of one cown.
struct slot {
  // The cown's address; in the low bits how it is accessed, in the high ones the slot's number
  // among those of its behaviour.
  sync::cell<std::uintptr_t> word;

  // Who comes after us, by its name() here. A reader that has not got the cown yet holds `waiting`,
  // so that a reader behind it knows in one exchange whether the cown is open to readers. After the
  // cown was given on nobody else looks here, and it holds `released`.
  sync::atomic<std::uintptr_t> next{0};

  static constexpr std::uintptr_t reads = 1;
  static constexpr std::uintptr_t low_bits = 15;
  static constexpr unsigned number_shift = 48;
  static constexpr std::uintptr_t most_numbers = 0xFFFF;

  static constexpr std::uintptr_t waiting = 1;
  static constexpr std::uintptr_t released = 4;

  // The address, and whether it reads: a reader may outlive the reader behind it, and then must not
  // look at it.
  static constexpr std::uintptr_t name_reads = 2;
  std::uintptr_t name() const noexcept { return writer_name() | (is_read() ? name_reads : 0); }
  std::uintptr_t writer_name() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
  static slot& named(std::uintptr_t name) noexcept {
    return *reinterpret_cast<slot*>(name & ~name_reads);
  }

  cown_base& cown() const noexcept {
    constexpr std::uintptr_t mask = ((std::uintptr_t{1} << number_shift) - 1) & ~low_bits;
    return *reinterpret_cast<cown_base*>(word.get() & mask);
  }
  bool is_read() const noexcept { return (word.get() & reads) != 0; }
  bool is_writer_of(const cown_base& c) const noexcept {
    constexpr unsigned number_bits = 64 - number_shift;
    return word.get() << number_bits == reinterpret_cast<std::uintptr_t>(&c) << number_bits;
  }
  bool is_first() const noexcept { return word.get() >> number_shift == 0; }
  bool is_released() const noexcept { return next.load(sync::memory_order_relaxed) == released; }
  void set_released() noexcept { next.store(released, sync::memory_order_relaxed); }

  void set(std::uintptr_t wish, std::size_t number) noexcept {
    word.set(wish | (number < most_numbers ? number : most_numbers) << number_shift);
  }

  // The first slot of the same behaviour. A number that is too large says: so many to the left,
  // and ask there again.
  slot* first() noexcept {
    slot* s = this;
    std::uintptr_t n;
    do {
      n = s->word.get() >> number_shift;
      s -= n;
    } while (n == most_numbers);
    return s;
  }
};

class cown_base {
 public:
  explicit cown_base(const cown_type& type) noexcept : type_(&type) {}
  cown_base(const cown_base&) = delete;
  cown_base& operator=(const cown_base&) = delete;

  void add_ref() noexcept { refs_.fetch_add(1, sync::memory_order_relaxed); }
  void drop_ref() noexcept {
    // acq_rel: what others did with the value comes before its end.
    if (static_cast<std::uint32_t>(refs_.fetch_sub(1, sync::memory_order_acq_rel)) == 1)
        [[unlikely]]
      end();
  }

  // Messages in the queue, the running one included. Exact for who holds the cown, or while nobody
  // sends; others may see one leave that they have not seen come, and then find less than none.
  std::int32_t load() const noexcept {
    return static_cast<std::int32_t>(sent_of(refs_.load(sync::memory_order_relaxed)) +
                                     came_.load(sync::memory_order_relaxed) -
                                     gone_.load(sync::memory_order_relaxed));
  }

  // A queue that is longer is overloaded, and remains so until it is no longer than half of that.
  // Then some of those who were muted can add to it for a while, and others when their turn comes.
  static constexpr std::uint32_t default_threshold = 32;
  static constexpr std::int32_t mark(std::uint32_t threshold, bool lasts) noexcept {
    return static_cast<std::int32_t>(threshold >> (lasts ? 1 : 0));
  }

 private:
  friend class dispatch;
  friend class pressure_board;
  friend struct cown_access;
  friend struct inspect;

  // Bits of state_; above them is the threshold. They change only under the lock of the board
  // (src/cown/pressure_board.h), and are read by anyone.
  enum : std::uint32_t {
    high = 1,                         // overloaded, or somebody of high priority waits for it
    low = 2,                          // muted: not given to the next until the mutor has caught up
    awaited = 4,                      // somebody waits for admission
    pinned = 8,                       // behaviours that need it run in a pump
    strained = 16,                    // muted; or high, and has not caught up with its queue
    pressing = high | low | awaited,  // what makes the slow path necessary
  };
  static constexpr unsigned threshold_shift = 5;
  static constexpr std::uint32_t most_threshold = ~std::uint32_t{0} >> threshold_shift;

  static constexpr std::uint64_t one_sent = std::uint64_t{1} << 32;
  static std::uint32_t sent_of(std::uint64_t refs) noexcept {
    return static_cast<std::uint32_t>(refs >> 32);
  }

  bool is(unsigned bits) const noexcept {
    return (state_.load(sync::memory_order_relaxed) & bits) != 0;
  }

  // Caught up, but high for those whom it has muted.
  static bool is_eased(std::uint32_t state) noexcept { return (state & (high | strained)) == high; }

  // seq_cst: see pressure_board::went_idle().
  bool is_high() const noexcept { return (state_.load(sync::memory_order_seq_cst) & high) != 0; }

  std::uint32_t threshold() const noexcept {
    return state_.load(sync::memory_order_relaxed) >> threshold_shift;
  }

  // Whether the next of those whom a cown that has caught up has muted is to be freed, however much
  // the others send: after so many messages. The holder's.
  bool is_turn_over() const noexcept {
    constexpr std::uint32_t turn = sync::is_explored ? 2 : 32;
    return gone_.load(sync::memory_order_relaxed) % turn == 0;
  }

  // A message has come, and who tells it is a writer and the first in the queue.
  void one_came() noexcept {
    came_.store(came_.load(sync::memory_order_relaxed) + 1, sync::memory_order_relaxed);
  }

  // A message has left the queue. The holder's; readers may do it at the same time.
  void one_left(bool alone) noexcept {
    if (alone)
      gone_.store(gone_.load(sync::memory_order_relaxed) + 1, sync::memory_order_relaxed);
    else
      gone_.fetch_add(1, sync::memory_order_relaxed);
  }

  void end() noexcept;
  cown_side& side();

  // The last slot of the queue; null: nobody has the cown or wants it.
  sync::atomic<slot*> tail_{nullptr};

  // Below: pointers to the cown, and one more while the queue is not empty. Above: how many
  // messages have come, but for those in came_.
  sync::atomic<std::uint64_t> refs_{1};

  // How many messages have come that were counted by the first in the queue, a writer: by the
  // holder those that it sent, or by one that came to an empty queue itself. That takes no
  // read-modify-write.
  sync::atomic<std::uint32_t> came_{0};
  sync::atomic<std::uint32_t> gone_{0};  // how many messages have left the queue
  sync::atomic<std::uint32_t> state_{default_threshold << threshold_shift};

  // How many readers have the cown, times two; plus one if the next writer waits for their end.
  sync::atomic<std::uint32_t> readers_{0};

  // What the behaviour that holds this cown for writing waits for next.
  sync::atomic<cown_base*> blocker_{nullptr};

  // What few cowns have: made on demand.
  sync::atomic<cown_side*> side_{nullptr};

  const cown_type* type_;
};

static_assert(sizeof(cown_base) == 56 || sync::is_explored);

// A cown with its value. 64 bytes with a word in it.
template <class T>
class cown final : public cown_base {
 public:
  template <class... Args>
  explicit cown(Args&&... args) : cown_base(type), value(static_cast<Args&&>(args)...) {}

  template <class... Args>
  static cown* make(Args&&... args) {
    void* memory = is_pooled() ? allocate_frame(sizeof(cown))
                               : ::operator new(sizeof(cown), std::align_val_t{alignof(T)});
    try {
      return ::new (memory) cown(static_cast<Args&&>(args)...);
    } catch (...) {
      give_back(memory);
      throw;
    }
  }

  T value;

 private:
  static constexpr bool is_pooled() noexcept { return fits_frame(sizeof(cown), alignof(T)); }
  static void give_back(void* memory) noexcept {
    if constexpr (is_pooled())
      free_frame(memory, sizeof(cown));
    else
      ::operator delete(memory, std::align_val_t{alignof(T)});
  }
  static void destroy(cown_base& c) noexcept {
    auto& self = static_cast<cown&>(c);
    self.~cown();
    give_back(&self);
  }
  static constexpr cown_type type{destroy};
};

// Weak pointers and counters; see cown.h.
struct cown_access {
  static cown_side* make_weak(cown_base& c);
  static void add_weak(cown_side& s) noexcept;
  static void drop_weak(cown_side& s) noexcept;
  static cown_base* lock(cown_side& s) noexcept;
  static bool is_muted(const cown_base& c) noexcept { return c.is(cown_base::low); }
  static bool is_overloaded(const cown_base& c) noexcept { return c.is(cown_base::high); }
  static std::uint32_t pending(const cown_base& c) noexcept {
    const std::int32_t load = c.load();
    return load < 0 ? 0 : static_cast<std::uint32_t>(load);
  }
  static std::uint32_t gone(const cown_base& c) noexcept {
    return c.gone_.load(sync::memory_order_relaxed);
  }
  static void set_threshold(cown_base& c, std::uint32_t threshold) noexcept;
  static void pin(cown_base& c, std::shared_ptr<pump_state> to);
  static bool is_pinned(const cown_base& c) noexcept { return c.is(cown_base::pinned); }

  // Whether any cown was ever pinned: who knows that need not look at each. relaxed: a cown is
  // pinned before it is shared.
  static bool has_pinned() noexcept { return has_pinned_.load(sync::memory_order_relaxed); }

 private:
  friend class pressure_board;
  static inline sync::atomic<bool> has_pinned_{false};
};

// --- behaviours ---------------------------------------------------------------------------------

// The head of a behaviour; its slots follow, then what it runs. To a worker it looks like a
// coroutine: job::frame points to `run`, which is where a coroutine's frame has the function that
// resumes it (clang and g++ agree on that).
struct behaviour : job {
  using body = void (*)(void* frame);

  // Bits of state_. Only who has the behaviour in its hands touches them.
  enum : std::uint32_t {
    on_pump = 4,    // has a pinned cown
    member = 8,     // belongs to a batch, which gives it its cowns
    mixed = 16,     // has a cown for reading, and others
    listed = 32,    // is noted as waiting while it reads
    holding = 64,   // has a pointer to each cown that it has yet to come to
    as_task = 128,  // a task runs it, and ends it
  };
  static constexpr unsigned size_shift = 16;  // granules of its memory; 0: not from the pool
  static constexpr std::uint32_t size_mask = 0xFF;

  union {
    body run;  // until it has begun

    // Who mutes the cowns of this behaviour when it ends: one of those that it has sent to.
    // A pointer that counts.
    cown_base* mutor;
  };

  // Of a behaviour that was given a cown: the number of its slot. Of a member of a batch: how many
  // cowns it has not got yet. Of one that has ended: how many of its cowns are muted.
  sync::atomic<std::uint32_t> left{0};

  std::uint32_t count = 0;  // of slots

  explicit behaviour(body b) noexcept : run(b) {
    frame = std::coroutine_handle<>::from_address(static_cast<void*>(&run));
  }

  // The behaviour that a worker resumes by its frame: it says its name if asked for it, or begins.
  static behaviour& resumed(void* frame) noexcept {
    return *reinterpret_cast<behaviour*>(static_cast<std::byte*>(frame) - head_size());
  }
  bool says(const char* name) noexcept {
    if (!is(says_name)) [[likely]]
      return false;
    link = reinterpret_cast<job*>(const_cast<char*>(name));
    return true;
  }
  void begin() noexcept { mutor = nullptr; }
  static behaviour& of(slot& s) noexcept { return *(reinterpret_cast<behaviour*>(s.first()) - 1); }

  slot* slots() noexcept { return reinterpret_cast<slot*>(this + 1); }
  slot& last() noexcept { return slots()[count - 1]; }

  // All cowns are about to be used: their lines may as well come at the same time. If some are
  // repeated, the last slots of those that there was room for are null.
  void will_touch_cowns(std::size_t room) noexcept {
    for (std::size_t i = 0; i < room; ++i) will_write(&slots()[i].cown());
  }

  // The slot of a cown, or null.
  slot* find(const cown_base& c) noexcept;
  bool has(const cown_base& c) noexcept {
    return count == 1 ? &slots()[0].cown() == &c : find(c) != nullptr;
  }

  bool is(std::uint32_t bits) const noexcept {
    return (state_.load(sync::memory_order_relaxed) & bits) != 0;
  }
  void set(std::uint32_t bits) noexcept {
    state_.store(state_.load(sync::memory_order_relaxed) | bits, sync::memory_order_relaxed);
  }
  void clear(std::uint32_t bits) noexcept {
    state_.store(state_.load(sync::memory_order_relaxed) & ~bits, sync::memory_order_relaxed);
  }

  static constexpr std::size_t bytes(std::size_t slots) noexcept {
    return sizeof(behaviour) + slots * sizeof(slot);
  }

  // Memory for a behaviour of `size` bytes in all; free() gives it back. The slots are made here.
  static behaviour* make(body b, std::size_t size, std::uint32_t slots) {
    const std::size_t granules = (size + frame_granule - 1) / frame_granule;
    // A large one is not worth the room for its size, without which it cannot be kept for the next.
    const bool pooled = size <= largest_pooled_frame;
    auto* self = ::new (pooled ? allocate_pooled(granules) : ::operator new(size)) behaviour(b);
    self->state_.store(
        is_behaviour | static_cast<std::uint32_t>(pooled ? granules << size_shift : 0),
        sync::memory_order_relaxed);
    self->count = slots;
    for (std::uint32_t i = 0; i < slots; ++i) ::new (self->slots() + i) slot;
    return self;
  }
  void free() noexcept {
    const std::size_t granules = state_.load(sync::memory_order_relaxed) >> size_shift & size_mask;
    for (std::uint32_t i = 0; i < count; ++i) slots()[i].~slot();
    this->~behaviour();
    if (granules) [[likely]]
      free_pooled(this, granules);
    else
      ::operator delete(static_cast<void*>(this));
  }

 private:
  static constexpr std::size_t head_size() noexcept { return sizeof(job); }
};

static_assert(sizeof(behaviour) == 40 || sync::is_explored);
static_assert(largest_pooled_frame / frame_granule <= behaviour::size_mask);

// Sends a behaviour: it takes its cowns and runs, or waits in a queue. The caller keeps the cowns
// alive until this returns.
void send(behaviour& b, pool& home) noexcept;
void send_one(behaviour& b, pool& home) noexcept;  // the same for one that has one cown

// The behaviour has run: releases its cowns, or mutes them, and frees it.
void complete(behaviour& b) noexcept;
void complete_one(behaviour& b) noexcept;  // the same for one that has one cown

// Gives one cown back before the end.
void release_early(behaviour& b, cown_base& c);

// The behaviour that runs here, also as a task, or null.
behaviour* running_behaviour() noexcept;

// The workers that this thread belongs to. Throws std::logic_error if there are none.
pool& home_here();
pool& home_of(runtime_state& r) noexcept;

// Who is to hear of exceptions that nobody awaits: options::on_unobserved of the runtime here, as
// long as that lives. Null, or later nobody: they go to stderr.
using listener = std::weak_ptr<const std::function<void(std::exception_ptr, const std::string&)>>;
listener listener_here() noexcept;

// An exception that nobody will see.
void report_unobserved(std::exception_ptr error, const char* name, const listener& who) noexcept;

// Begins a task that runs a behaviour: it is the sender of what the task sends.
void begin_behaviour(behaviour& b);
void end_behaviour() noexcept;

// Ends a batch's own behaviour: its members take its place.
void hand_down(behaviour& whole, behaviour* const* members, std::size_t count) noexcept;

// Whether the cown would take another message now without being overloaded.
bool has_room(const cown_base& c) noexcept;

}  // namespace detail
}  // namespace rota

#endif
