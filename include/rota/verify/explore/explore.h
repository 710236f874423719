// Runs a program under every schedule, or under many, and says which one breaks it.
//
//   namespace explore = rota::explore;
//
//   auto result = explore::run([] {
//     explore::atomic<int> flag{0};
//     explore::cell<int> data{0};
//     explore::thread writer([&] { data = 42; flag.store(1, std::memory_order_relaxed); });
//     if (flag.load(std::memory_order_relaxed) == 1) explore::check(data == 42, "data is there");
//     writer.join();
//   });
//   if (result.failed) std::puts(result.text().c_str());   // "data race", the schedule, a token
//
// The program is called once for each schedule and has to do the same whenever it is scheduled the
// same: what it starts from is made inside of it. Its threads are fibers of one thread. It
// synchronises through the types of rota/verify/explore/types.h; code that names rota::sync, as all
// of Rota, is compiled against them by linking rota::explored.
//
// Memory is that of C++20: a load may return any value that happens-before and coherence allow.
// Left out: load buffering (a load never sees a store that comes later in the schedule), consume,
// and orders of sequentially consistent operations that contradict happens-before, or what was read
// from whom: their order is that of the schedule. Who calls pause() waits for others, and is not
// shown an old value again that it has seen.
//
// What is found: failed checks and assertions, data races on cells, deadlocks, lost wake-ups,
// livelocks, leaks, use of what is gone, exceptions that leave a thread.
//
// Promised: if result.exhaustive, no schedule of this program fails, as far as the memory above
// goes. A failure comes again with its token, in the same build. Not promised: anything about more
// threads.
// Threads: one exploration in a process at a time.
#ifndef ROTA_VERIFY_EXPLORE_EXPLORE_H
#define ROTA_VERIFY_EXPLORE_EXPLORE_H

#include <rota/verify/explore/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

namespace rota::explore {

enum class strategy : std::uint8_t {
  exhaustive,  // all schedules; of those that differ in the order of independent steps, one
  bounded,     // all schedules with at most `preemptions`
  pct,         // random priorities with `changes` random changes (Burckhardt et al.)
  random,      // every choice at random
};

enum class memory : std::uint8_t {
  weak,  // C++20's
  sc,    // every load returns the last store: interleavings only
};

struct progress {
  std::uint64_t schedules = 0;
  std::uint64_t pruned = 0;
  double seconds = 0;
};

struct options {
  strategy how = strategy::exhaustive;
  explore::memory memory = memory::weak;
  std::uint64_t seed = 1;           // of pct and random
  unsigned preemptions = 2;         // of bounded
  unsigned changes = 3;             // of pct
  std::uint64_t max_schedules = 0;  // 0: no limit, except for pct and random: 10,000
  double max_seconds = 0;           // 0: no limit

  // After so many steps the schedule goes on fairly; who has not ended after as many more steps
  // never does.
  std::uint64_t max_steps = 20'000;

  // Per schedule: how often a futex may wake, and a weak compare-exchange fail, for no reason; and
  // how often a deadline may come while others could still run.
  unsigned spurious = 0;
  unsigned early_deadlines = 1;

  // Per schedule: how often memory that was freed may be given out again, for the same size. With 0
  // it never is: who uses it afterwards is found at once, but not who is misled by an address that
  // it knows (ABA). Otherwise allocating and freeing are steps of the schedule; with 0 nobody could
  // tell.
  unsigned reuses = 0;

  // Of exhaustive: a schedule that comes to a state in which another one was is not run on. Needs a
  // program that keeps all it knows inside of itself, on its stacks and what it allocates: a local
  // variable of a caller that it writes to would not be seen.
  bool merge_states = false;
  // Leave out schedules that another one stands for: those that differ in the order of independent
  // steps, and choices that could have been made earlier. For comparing with and without.
  bool reduce = true;

  // An access to a cell is a step of its own. Races are found without; mappings to a model may want
  // to tell it from the step before.
  bool cell_steps = false;

  bool leaks = true;        // memory that is left at the end is a failure
  unsigned processors = 2;  // what thread::hardware_concurrency() says
  bool shrink = true;       // look for a simpler schedule that fails in the same way

  std::function<void(const progress&)> on_progress = {};  // about twice a second
};

enum class failure_kind : std::uint8_t {
  check,
  assertion,
  exception,
  data_race,
  deadlock,
  lost_wakeup,
  livelock,
  leak,
  use_after_free,
  misuse,
  mismatch,  // with a model
};

std::string_view name_of(failure_kind k) noexcept;
std::string_view name_of(strategy s) noexcept;

struct failure {
  failure_kind kind = failure_kind::check;
  std::string message;
  std::string token;              // for replay()
  std::string schedule;           // step by step, for people
  std::uint64_t at_schedule = 0;  // the how-manyth schedule it was
  std::size_t choices = 0;        // that differ from just going on, in the token
  std::size_t choices_found = 0;  // the same, before it was simplified
};

struct result {
  bool failed = false;
  bool exhaustive = false;  // every schedule was covered
  strategy how = strategy::exhaustive;
  std::uint64_t schedules = 0;  // run to their end
  std::uint64_t pruned = 0;     // given up, since an equivalent one was run
  std::uint64_t steps = 0;
  std::uint64_t longest = 0;  // steps of one schedule
  unsigned threads = 0;       // the most at once
  double seconds = 0;
  std::uint64_t fingerprint = 0;  // of all choices: equal for equal runs
  std::optional<explore::failure> failure;

  // How much was covered, in a line; and the failure, if there is one.
  std::string text() const;
};

result run(std::function<void()> program, const options& o = {});

// Runs the one schedule of a token, with the whole story in `failure` or, if it does not fail, in
// `schedule` of the result. Throws std::invalid_argument for a token that is none.
struct replayed : result {
  std::string schedule;
};
replayed replay(std::string_view token, std::function<void()> program, const options& o = {});

// --- for the program ---

// Ends the schedule as a failure unless `condition` holds.
void check(bool condition, std::string_view what,
           std::source_location where = std::source_location::current());
[[noreturn]] void fail(failure_kind kind, std::string what,
                       std::source_location where = std::source_location::current());

// One of 0 to n - 1, every one of them in some schedule.
unsigned choose(unsigned n);

// Names for the story. Something that is not named goes by its source line.
void name(const atomic_base& x, std::string what);
void name_thread(std::string what);
void note(std::string what, std::source_location where = std::source_location::current());

// Called after every step of the schedule, when all threads stand before their next one.
void observe(std::function<void()> after_step);

// What a thread is about to do.
struct standing {
  enum kind : std::uint8_t {
    running,  // between two steps, or about to begin
    load,
    store,
    update,  // read-modify-write
    fence,
    lock,
    unlock,
    wait,    // a futex: about to compare and sleep
    asleep,  // in a futex
    woken,   // about to return from a futex
    wake,    // about to wake a futex
    join,
    clock,
    memory,  // about to allocate or to free, if that is a step
    finished,
  };
  kind what = running;
  const void* object = nullptr;
  std::uint64_t times = 0;  // steps that it has taken
};
standing where_is(unsigned thread);
unsigned this_thread_index();

// --- time ---

// Moves the virtual clock; sleepers whose deadline has come wake.
void advance(std::chrono::nanoseconds by);

// Returns when every other thread sleeps or waits.
void settle();

}  // namespace rota::explore

#endif
