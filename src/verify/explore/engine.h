// One schedule of a program: its threads, its memory, its clock.
//
// Every thread that does not run stands before its next step, which is known (`pending`). Between
// two steps a thread runs without interruption: what it does there nobody else sees. A step is
// announced, when the thread may lose its turn; taken; and told to those whom it concerns.
//
// All choices, which thread goes on, which of several values a load returns, go through the
// chooser, where 0 is the choice of least surprise: go on with this thread, read the newest value.
// So the list of choices is the schedule.
#ifndef ROTA_VERIFY_EXPLORE_ENGINE_H
#define ROTA_VERIFY_EXPLORE_ENGINE_H

#include <rota/verify/explore/explore.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/explore/fiber.h"
#include "verify/explore/heap.h"
#include "verify/explore/stamps.h"
#include "verify/explore/story.h"

namespace rota::explore::detail {

using thread_set = std::uint32_t;  // a bit for each thread, and for time

constexpr thread_set bit(unsigned index) noexcept { return thread_set{1} << index; }

// What a step touches, which decides whether two steps commute.
struct step {
  enum class kind : std::uint8_t {
    local,  // nothing that others see
    load,
    store,
    update,
    read,   // of a cell
    write,  // of a cell
    fence,
    light,
    heavy,
    lock,
    unlock,
    wait,
    asleep,
    wake,
    join,
    now,
    time,
    memory,
  };
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};

  kind what = kind::local;
  bool writes = false;
  bool sc = false;     // takes part in the order of sequentially consistent operations
  bool ticks = false;  // time has gone on before it
  std::uint32_t object = nothing;

  bool is_fence() const noexcept { return what == kind::fence || what == kind::heavy; }
};

bool dependent(const step& a, const step& b) noexcept;

// Which of several threads goes on.
struct turn {
  std::array<std::uint8_t, 16> candidates{};
  unsigned count = 0;
  bool goes_on = false;          // the first is the one that ran, and it could go on
  thread_set idle_spinners = 0;  // those that wait for others and would only look again
};

class chooser {
 public:
  static constexpr unsigned give_up = ~0u;

  virtual ~chooser() = default;
  // An index into the candidates, or give_up. `sleeping` are threads whose step was taken here
  // before, in an equivalent schedule; to be changed to what holds for the one that is chosen.
  virtual unsigned thread(const turn& t, thread_set& sleeping) = 0;
  virtual unsigned value(unsigned count) = 0;
};

// A store that a load may still return.
struct message {
  std::uint64_t value = 0;
  std::uint32_t stored_at = 0;  // the step
  std::uint8_t by = 0;
  bool followed = false;  // the next one read it and wrote in one step: nothing comes between
  std::array<std::uint8_t, most_threads> again{};  // how often a thread read it again
  vector_clock first_seen;
  stamp released;
};

struct location {
  const void* object = nullptr;
  std::vector<message> messages;  // in modification order
  std::uint32_t last_sc = 0;      // the newest that a sequentially consistent access touched
  std::uint32_t sc_step = 0;      // the last step of such an access
  vector_clock touched;           // per thread its last access
  std::uint8_t maker = most_threads;
  tick made_at = 0;
  bool is_gone = false;
  std::string name;
};

// Plain memory. For each thread its last read and write.
struct plain {
  const void* object = nullptr;
  vector_clock reads;
  vector_clock writes;
  std::array<where_t, most_threads> read_where{};
  std::array<where_t, most_threads> write_where{};
  bool is_gone = false;
};

struct lock_state {
  const void* object = nullptr;
  int holder = -1;
  stamp released;
  bool is_gone = false;
};

struct thread_state {
  enum mode : std::uint8_t { ready, asleep, finished };

  std::unique_ptr<detail::fiber> fiber;
  const void* frame = nullptr;  // of the last call that it made of us
  std::function<void()> body;
  mode is = ready;
  step pending;
  where_t where{};
  std::string name;

  stamp now;
  stamp acquired;  // by relaxed loads, for an acquire fence
  stamp released;  // by the last release fence
  // The step before which it could not have come to where it is, whatever the order of the others:
  // its last store or the youngest store that it has read since, for example.
  std::uint32_t not_before = 0;
  std::uint64_t steps = 0;
  unsigned awaited = 0;  // by join

  bool waits = false;       // has paused, and nobody has stored since
  bool has_paused = false;  // since its last step
  tick paused_at = 0;
  unsigned idle_pauses = 0;  // since the last change of anything

  std::uint32_t futex = step::nothing;
  time_point deadline = time_point::max();
  std::uint64_t asleep_since = 0;
  bool is_woken = false;  // from a futex, and has not gone on yet
  std::array<void*, 8> slots{};
};

class engine {
 public:
  explicit engine(const options& o);
  ~engine();

  enum class ending : std::uint8_t { ended, given_up, failed };

  // Runs one schedule.
  ending run(const std::function<void()>& program, chooser& c, bool with_story);

  // All that the rest of the schedule depends on, as a number: the same in schedules that go on in
  // the same ways. Nothing if that is not known. signature.cpp.
  struct signature {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    friend bool operator==(const signature&, const signature&) = default;
  };
  std::optional<signature> sign() const;

  void note_frame(const void* frame) noexcept { running_->frame = frame; }

  // Before the program goes on: what the explorer leaves on its stack is no part of its state.
  void leave_no_traces() const noexcept {
    if (options_.merge_states) clean_stack();
  }

  const std::vector<std::uint16_t>& choices() const noexcept { return choices_; }
  std::uint64_t steps() const noexcept { return step_; }
  unsigned thread_count() const noexcept { return count_; }
  const failure& what_failed() const noexcept { return failure_; }
  detail::story& story() noexcept { return story_; }

  // --- what the program does ---

  void make(const place& p, const void* object, std::uint64_t value);
  void destroy(const place& p, const void* object);
  std::uint64_t load(const place& p, const void* object, std::uint64_t first,
                     std::memory_order order, const where_t& where);
  void store(const place& p, const void* object, std::uint64_t first, std::uint64_t value,
             std::memory_order order, const where_t& where);
  std::uint64_t update(const place& p, const void* object, std::uint64_t first, change how,
                       std::uint64_t operand, std::uint64_t mask, std::memory_order order,
                       const where_t& where);
  bool compare_exchange(const place& p, const void* object, std::uint64_t first,
                        std::uint64_t& expected, std::uint64_t desired, bool weak,
                        std::memory_order success, std::memory_order failure, const where_t& where);
  std::uint64_t peek(const place& p, const void* object, std::uint64_t first) const noexcept;
  void touch(const place& p, const void* object, plain_access how, const where_t& where);
  void fence(std::memory_order order, const where_t& where);
  void light_fence(const where_t& where);
  void heavy_fence(const where_t& where);

  void lock(const place& p, const void* object, const where_t& where);
  bool try_lock(const place& p, const void* object, const where_t& where);
  void unlock(const place& p, const void* object, const where_t& where);
  void destroy_lock(const place& p, const void* object);

  unsigned start_thread(std::function<void()> body, const where_t& where);
  void join_thread(unsigned index, const where_t& where);
  void futex_wait(const place& p, const void* object, std::uint64_t first, std::uint64_t expected,
                  time_point deadline, const where_t& where);
  void futex_wake(const place& p, const void* object, int count, const where_t& where);

  time_point now(const where_t& where);
  time_point time() const noexcept { return time_; }
  void advance(std::chrono::nanoseconds by);
  void settle();
  void pause();
  unsigned choose(unsigned count);

  void* allocate(std::size_t size, std::size_t alignment);
  void free(void* p);

  void name(const place& p, const void* object, std::string what);
  void name_thread(std::string what) { running_->name = std::move(what); }
  void note(std::string what, const where_t& where);
  void observe(std::function<void()> f) { observer_ = std::move(f); }
  standing where_is(unsigned thread) const;
  unsigned running_index() const noexcept { return index_of(*running_); }
  void** slot(std::size_t key) { return &running_->slots.at(key); }
  unsigned processors() const noexcept { return options_.processors; }

  [[noreturn]] void fail(failure_kind kind, std::string what, const where_t& where);

  // Where a fiber begins and ends.
  void thread_main();

 private:
  unsigned index_of(const thread_state& t) const noexcept {
    return static_cast<unsigned>(&t - threads_.data());
  }
  void reset();
  void forget_program() noexcept;
  thread_state& new_thread(std::function<void()> body);

  // A step begins when it is this thread's turn, and ends by telling whom it concerned.
  void announce(const step& s, const where_t& where);
  void tell(const step& s);
  void tell(const step& s, std::uint32_t not_before);

  void change_turn();
  thread_state& pick();
  turn candidates();
  bool is_enabled(const thread_state& t) const noexcept;
  thread_state& fair_turn();
  bool pass_time();
  time_point next_deadline() const noexcept;
  bool time_helps_spinners();
  [[noreturn]] void standstill();
  [[noreturn]] void leave(ending e);
  unsigned value(unsigned count);
  void changed_something() noexcept;

  // Memory.
  bool is_known(const place& p, const void* object) const noexcept {
    return p.index < used_locations_ && locations_[p.index].object == object;
  }
  location& at(const place& p, const void* object, std::uint64_t first, const where_t& where);
  location& add_location(const place& p, const void* object, std::uint64_t first);
  lock_state& lock_at(const place& p, const void* object, const where_t& where);
  enum class taken : std::uint8_t;
  class options_of;
  class signer;
  // Rules R1 and R2 rely on other schedules that will be run.
  bool reduces() const noexcept { return options_.reduce && options_.how == strategy::exhaustive; }
  static taken taken_with(std::memory_order order) noexcept;
  void use(location& l, const where_t& where);
  static std::size_t oldest_visible(const location& l, const vector_clock& seen) noexcept;
  std::size_t oldest_choice(const location& l, bool sc) const noexcept;
  bool could_have_been_earlier(const location& l, std::size_t i, bool sc) const noexcept;
  void read_message(location& l, std::size_t i, std::memory_order order);
  void write_message(location& l, std::size_t base, std::uint64_t value, std::memory_order order,
                     bool read);
  void forget_old(location& l);
  void fence_sc();
  void wake_thread(thread_state& t);
  std::string describe(const location& l, const where_t& where) const;
  [[noreturn]] void race(unsigned other, const where_t& theirs, bool they_write, bool we_write,
                         const where_t& ours);
  void tell_story(std::string what, std::memory_order order, const where_t& where,
                  const std::string& more);

  options options_;
  fiber outside_;
  chooser* chooser_ = nullptr;
  std::array<thread_state, most_threads> threads_;
  unsigned count_ = 0;
  thread_state* running_ = nullptr;
  thread_set starting_ = 0;  // stand before a local step
  thread_set sleeping_ = 0;
  std::uint32_t step_ = 0;
  std::vector<std::uint16_t> choices_;
  ending ending_ = ending::ended;
  failure failure_;
  std::function<void()> observer_;

  std::deque<location> locations_;
  std::uint32_t used_locations_ = 0;
  std::deque<plain> cells_;
  std::uint32_t used_cells_ = 0;
  std::deque<lock_state> locks_;
  std::uint32_t used_locks_ = 0;
  heap heap_;

  vector_clock sc_fenced_;     // what sequentially consistent fences have shown to all
  vector_clock heavy_fenced_;  // ... and what heavy and light ones show to each other
  vector_clock light_fenced_;
  tick sc_time_ = 1;
  std::uint32_t last_heavy_ = 0;
  std::uint32_t sc_fence_step_ = 0;

  time_point time_{};
  bool clock_was_read_ = false;
  unsigned spurious_ = 0;
  unsigned early_ = 0;

  // What was freed and may be given out again, the newest last; kept only if it may.
  struct freed_block {
    void* where;
    std::size_t size;
    stamp when;  // who is given it comes after who has freed it
  };
  std::vector<freed_block> freed_;
  unsigned reuses_ = 0;

  bool with_story_ = false;
  detail::story story_;
};

// The engine whose schedule runs, or null.
extern engine* active;

// The program's operator new and delete.
void* allocate(std::size_t size, std::size_t alignment);
void release(void* p);

}  // namespace rota::explore::detail

#endif
