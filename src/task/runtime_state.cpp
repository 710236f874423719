#include "task/runtime_state.h"

#include <rota/base/assert.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "task/fork_access.h"

namespace rota::detail {

namespace {

// Control blocks that a worker keeps before it gives half to the depot, and numbers it draws at
// once.
constexpr std::uint32_t most_kept = 1024;
constexpr std::uint32_t id_batch = 256;

}  // namespace

void run_record::signal() noexcept {
  // release: pairs with wait(); publishes the result and the report.
  ended.store(1, sync::memory_order_release);
  sync::futex_wake(ended);
}

void run_record::wait() noexcept {
  while (ended.load(sync::memory_order_acquire) == 0) sync::futex_wait(ended, 0);
}

runtime_state::runtime_state(options o)
    : options_(std::move(o)),
      unobserved_(options_.on_unobserved
                      ? std::make_shared<const unobserved>(options_.on_unobserved)
                      : nullptr),
      pool_(options_, pool_hooks{fork_access::adopt, claim_job, where, identify, quiet, this}),
      blocking_(options_.blocking_threads),
      lists_(pool_.size()) {
  pool_.start();
  if (options_.watchdog.count() > 0) watchdog_ = sync::thread([this] { watch_steps(); });
}

runtime_state::~runtime_state() {
  if (stop_hook hook = stop_hook_.load(sync::memory_order_acquire)) hook(pool_);
  // After a deadlock tasks wait for each other in knots that unwinding would not undo: they are
  // destroyed where they are.
  if (!deadlocked_.load(sync::memory_order_relaxed)) {
    if (options_.at_exit == at_exit::cancel) stop_all();
    wait_for_standstill();
  }
  pool_.stop();
  if (tracer* const t = pool_.existing_tracer()) t->end();  // its records name tasks
  blocking_.stop();                                         // its calls live in frames
  if (watchdog_.joinable()) {
    watchdog_off_.store(1, sync::memory_order_relaxed);
    sync::futex_wake(watchdog_off_);
    watchdog_.join();
  }
  pool_.wait_for_visitors();
  {
    // Behaviours whose tasks end here give their cowns to others, which are dropped.
    pool_.drop_behaviours();
    const stand_in here{pool_, nullptr};
    destroy_rest();
    while (job* j = pool_.take_left()) {
      if (j->state_.load(sync::memory_order_relaxed) & job::is_behaviour) {
        j->state_.fetch_or(job::is_dropped, sync::memory_order_relaxed);
        j->frame.resume();
      }
    }
  }
  for (slab* s = slabs_.load(sync::memory_order_relaxed); s;)
    std::destroy_at(std::exchange(s, s->next));
  for (void* region : regions_) ::operator delete(region, std::align_val_t{slab_bytes});
}

runtime_state& runtime_state::of(const activity& a) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(&a) & ~(slab_bytes - 1);
  return *reinterpret_cast<const slab*>(address)->home;
}

runtime_state* runtime_state::here() noexcept {
  worker* w = worker::here();
  return w ? static_cast<runtime_state*>(w->home().context()) : nullptr;
}

// --- control blocks -----------------------------------------------------------------------------

activity* runtime_state::allocate(worker* w) {
  if (!w) {
    spin_guard guard{depot_lock_};
    if (!depot_.first) add_slab();
    activity* a = depot_.first;
    depot_.first = next_free(*a);
    --depot_.count;
    a->id_.store(++ids_given_, sync::memory_order_relaxed);
    begin_life(*a);
    return a;
  }
  free_list& list = lists_[w->index()];
  if (!list.first || list.next_id == list.last_id) [[unlikely]]
    refill(list);
  activity* a = list.first;
  list.first = next_free(*a);
  --list.count;
  a->id_.store(++list.next_id, sync::memory_order_relaxed);
  begin_life(*a);
  return a;
}

void runtime_state::begin_life(activity& a) noexcept {
  a.follower_.store(activity::nobody, sync::memory_order_relaxed);
  // release: for_each_live() sees a block that is set up.
  a.state_.store(activity::live, sync::memory_order_release);
  // Either we see that all tasks are to stop, or stop_all() sees us.
  sync::light_fence();
  if (stopping_.load(sync::memory_order_relaxed)) [[unlikely]]
    a.state_.fetch_or(activity::stop, sync::memory_order_relaxed);
}

void runtime_state::free(activity* a, worker* w) noexcept {
  ROTA_ASSERT(!a->linked_, "task %u ends while it is in a wait list",
              a->id_.load(sync::memory_order_relaxed));
  drop_extras(*a);
  a->state_.store(0, sync::memory_order_relaxed);
  a->side_.store(0, sync::memory_order_relaxed);
  a->link = nullptr;
  a->shields_.store(0, sync::memory_order_relaxed);
  const auto put = [a](free_list& list) {
    a->follower_.store(reinterpret_cast<std::uintptr_t>(list.first), sync::memory_order_relaxed);
    list.first = a;
    ++list.count;
  };
  if (!w) {
    spin_guard guard{depot_lock_};
    put(depot_);
    return;
  }
  free_list& list = lists_[w->index()];
  put(list);
  if (list.count <= most_kept) [[likely]]
    return;
  spin_guard guard{depot_lock_};
  while (list.count > most_kept / 2) {
    activity* surplus = list.first;
    list.first = next_free(*surplus);
    --list.count;
    surplus->follower_.store(reinterpret_cast<std::uintptr_t>(depot_.first),
                             sync::memory_order_relaxed);
    depot_.first = surplus;
    ++depot_.count;
  }
}

void runtime_state::refill(free_list& list) {
  spin_guard guard{depot_lock_};
  if (list.next_id == list.last_id) {
    list.next_id = ids_given_;
    ids_given_ += id_batch;
    list.last_id = ids_given_;
  }
  if (!list.first) {
    if (!depot_.first) add_slab();
    take_from_depot(list);
  }
}

void runtime_state::take_from_depot(free_list& list) {
  for (std::uint32_t i = 0; i < most_kept / 2 && depot_.first; ++i) {
    activity* a = depot_.first;
    depot_.first = next_free(*a);
    --depot_.count;
    a->follower_.store(reinterpret_cast<std::uintptr_t>(list.first), sync::memory_order_relaxed);
    list.first = a;
    ++list.count;
  }
}

void runtime_state::add_slab() {
  // Sixteen at a time: the alignment wastes up to the size of one.
  if (slabs_left_ == 0) {
    constexpr std::size_t at_once = 16;
    regions_.push_back(::operator new(at_once * slab_bytes, std::align_val_t{slab_bytes}));
    slabs_left_ = at_once;
  }
  --slabs_left_;
  auto* s = ::new (static_cast<std::byte*>(regions_.back()) + slabs_left_ * slab_bytes) slab;
  s->home = this;
  s->next = slabs_.load(sync::memory_order_relaxed);
  for (activity& a : s->blocks) {
    a.follower_.store(reinterpret_cast<std::uintptr_t>(depot_.first), sync::memory_order_relaxed);
    depot_.first = &a;
    ++depot_.count;
  }
  // release: for_each_live() sees a slab that is set up.
  slabs_.store(s, sync::memory_order_release);
}

// --- the end of things --------------------------------------------------------------------------

void runtime_state::report_unobserved(std::exception_ptr error, const activity& a) noexcept {
  try {
    report_unobserved(std::move(error), describe(a), unobserved_.get());
  } catch (...) {
    // Without memory for the text, at least the fact.
    std::fputs("rota: a task ended with an exception that nobody awaits\n", stderr);
  }
}

void runtime_state::report_unobserved(std::exception_ptr error, const std::string& who,
                                      const unobserved* listener) noexcept {
  if (!listener) return print_unobserved(error, who);
  try {
    std::rethrow_exception(error);
  } catch (const cancelled&) {
    return;  // it was asked to stop, and did
  } catch (...) {
  }
  (*listener)(error, who);
}

void runtime_state::print_unobserved(std::exception_ptr error, const std::string& who) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const cancelled&) {
    return;  // it was asked to stop, and did
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rota: %s ended with an exception that nobody awaits: %s\n", who.c_str(),
                 e.what());
  } catch (...) {
    std::fprintf(stderr, "rota: %s ended with an exception that nobody awaits\n", who.c_str());
  }
}

void runtime_state::begin_run(run_record& record, bool waits_for_task) {
  {
    std::lock_guard guard{runs_mutex_};
    runs_.push_back({&record, waits_for_task});
  }
  pool_.await_quiet(+1);
}

void runtime_state::end_run(run_record& record) noexcept {
  pool_.await_quiet(-1);
  std::lock_guard guard{runs_mutex_};
  std::erase_if(runs_, [&](const running_call& c) { return c.record == &record; });
}

bool runtime_state::claim_job(job& j) { return static_cast<activity&>(j).claim(); }

std::source_location runtime_state::where(const job& j) {
  return fork_access::promise_of(j.frame).where();
}

task_identity runtime_state::identify(const job& j) {
  const activity& a = activity::root_of(static_cast<const activity&>(j));
  runtime_state& home = of(a);
  const std::string name = home.name_of(a);
  return {a.id_.load(sync::memory_order_relaxed), name.empty() ? nullptr : home.lasting(name)};
}

void runtime_state::quiet(void* self, std::uint64_t departures) {
  static_cast<runtime_state*>(self)->find_deadlock(departures);
}

// Nothing can run. Threads that wait for a task in run() get a report and go on; the tasks stay
// where they are. Who waits for the standstill itself has it.
void runtime_state::find_deadlock(std::uint64_t departures) {
  std::lock_guard guard{runs_mutex_};
  // A run() that came since has queued its task before it was listed, so this sees it.
  if (!pool_.is_quiet(departures)) return;
  std::string report;
  for (running_call& call : runs_) {
    if (call.record->ended.load(sync::memory_order_acquire)) continue;  // its thread is on its way
    if (call.waits_for_task) {
      if (report.empty()) report = deadlock_report();
      call.record->deadlock_report = report;
      deadlocked_.store(true, sync::memory_order_relaxed);
    }
    call.record->signal();
  }
}

void runtime_state::wait_for_standstill() {
  run_record standstill;
  begin_run(standstill, false);
  standstill.wait();
  end_run(standstill);
}

void runtime_state::stop_all() noexcept {
  // Tasks that are spawned from now on begin with the request.
  stopping_.store(true, sync::memory_order_relaxed);
  pool_.drop_behaviours();
  sync::heavy_fence();
  for_each_live([](activity& a) {
    if (!(a.state_.load(sync::memory_order_relaxed) & activity::branch)) request_stop(a);
  });
}

// The pool has stopped and tasks are left that could not be stopped: their frames are destroyed.
void runtime_state::destroy_rest() noexcept {
  struct owned {
    std::uint16_t spawns;  // between a thread and the task
    std::size_t forks;     // between the task and the frame
    std::uint32_t task;
    void* frame;
  };
  std::vector<owned> all;
  std::unordered_map<void*, std::size_t> seen;
  for_each_live([&](activity& a) {
    const std::uintptr_t follower = a.follower_.load(sync::memory_order_relaxed);
    if (follower == activity::done) return;
    // Nobody is handed anything any more: a mutex that is given back below finds nobody waiting.
    (void)a.claim();
    // Who waits for it is destroyed too.
    if (follower > activity::locked)
      a.follower_.store(activity::nobody, sync::memory_order_relaxed);
    if (!a.frame) return;
    std::unordered_map<void*, std::size_t> chain;
    fork_access::collect_outermost(a.frame, chain);
    for (const auto& [frame, depth] : chain)
      if (seen.emplace(frame, depth).second)
        all.push_back(
            {activity::root_of(a).depth_, depth, a.id_.load(sync::memory_order_relaxed), frame});
  });
  // Who refers to another's frame is mostly its descendant, so those come first; then the younger.
  std::sort(all.begin(), all.end(), [](const owned& x, const owned& y) {
    return std::tie(x.spawns, x.forks, x.task) > std::tie(y.spawns, y.forks, y.task);
  });
  for (const owned& o : all) std::coroutine_handle<>::from_address(o.frame).destroy();
  for_each_live([&](activity& a) { drop_extras(a); });
}

const char* runtime_state::lasting(const std::string& name) {
  const std::lock_guard guard{names_mutex_};
  return lasting_.insert(name).first->c_str();
}

std::stop_source runtime_state::stop_source_of(const activity& a) {
  std::lock_guard guard{names_mutex_};
  const extras* e = a.existing_extras();
  return e ? e->stop : std::stop_source{std::nostopstate};
}

void runtime_state::drop_extras(activity& a) noexcept {
  if (a.state_.load(sync::memory_order_relaxed) & activity::branch) return;
  extras* e = a.existing_extras();
  if (!e) return;
  // A dump may be reading the name.
  std::lock_guard guard{names_mutex_};
  a.side_.store(0, sync::memory_order_relaxed);
  delete e;
}

void runtime_state::watch_steps() {
  struct seen {
    std::uint64_t points = ~std::uint64_t{0};
    sync::time_point since{};
    bool reported = false;
  };
  std::vector<seen> last(pool_.size());
  const auto limit = options_.watchdog;
  while (watchdog_off_.load(sync::memory_order_relaxed) == 0) {
    const auto now = sync::now();
    for (unsigned i = 0; i < pool_.size(); ++i) {
      worker& w = pool_.at(i);
      seen& s = last[i];
      const std::uint64_t points = w.points();
      const job* running = w.running();
      if (points != s.points || !running) {
        s = {points, now, false};
      } else if (!s.reported && now - s.since >= limit) {
        const char* const name = w.running_name();
        const std::source_location where = w.running_where();
        // Of the same step, or it is gone and must not be looked at.
        if (w.steps() != points) continue;
        s.reported = true;
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - s.since);
        const std::string who = name ? std::string("behaviour ") + name
                                     : describe(*static_cast<const activity*>(running)) + " (" +
                                           place_text(where) + ")";
        const std::string text = who + " has run for " + std::to_string(ms.count()) +
                                 " ms on worker " + std::to_string(i) + " without giving way: " +
                                 (name ? "let it return a task, and " : "") +
                                 "co_await rota::suspend() in long loops, or run_blocking() for "
                                 "calls that block";
        if (options_.on_long_step)
          options_.on_long_step(text);
        else
          std::fprintf(stderr, "rota: %s\n", text.c_str());
      }
    }
    sync::futex_wait(watchdog_off_, 0, now + limit / 4);
  }
}

// --- core.h: the life of a task -----------------------------------------------------------------

activity* spawn(std::coroutine_handle<> frame, promise_base& promise, runtime_state* in) {
  worker* w = worker::here();
  if (in && w && &w->home() != &in->workers()) w = nullptr;
  ROTA_CHECK(w || in, "spawn() outside of a task: use runtime::spawn()");
  runtime_state& home = in ? *in : *runtime_state::here();
  activity* a = home.allocate(w);
  promise.follow(promise_base::follower::activity, a);
  a->frame = frame;
  a->depth_ = 0;
  if (w) {
    w->count_spawn();
    if (w->current() &&
        !(w->current()->state_.load(sync::memory_order_relaxed) & job::is_behaviour)) {
      const auto& spawner = activity::root_of(static_cast<activity&>(*w->current()));
      a->depth_ = static_cast<std::uint16_t>(std::min<unsigned>(spawner.depth_ + 1u, 0xFFFF));
    }
    w->push(a);
  } else {
    home.workers().count_spawn();
    home.workers().post(a);
  }
  return a;
}

namespace {

// The outermost frame of a task has ended.
void finish_task(worker& w, activity& a, std::coroutine_handle<> frame, promise_base& promise) {
  runtime_state& home = runtime_state::of(a);
  w.count_finish();
  // The strand that brought us here may be a branch; the task's own block stays for its handle.
  if (auto* strand = static_cast<activity*>(w.current()); strand != &a) home.free(strand, &w);
  w.set_current(nullptr);
  std::uintptr_t before = a.follower_.load(sync::memory_order_relaxed);
  do {
    while (before == activity::locked) {  // somebody is just beginning to join us
      sync::pause();
      before = a.follower_.load(sync::memory_order_relaxed);
    }
    // release: publishes the result. acquire: shows the task that joins us.
  } while (!a.follower_.compare_exchange_weak(before, activity::ending, sync::memory_order_acq_rel,
                                              sync::memory_order_relaxed));
  if (before == activity::detached) {
    if (promise.error()) home.report_unobserved(promise.error(), a);
    frame.destroy();
    home.free(&a, &w);
    return;
  }
  if (before != activity::nobody) {
    auto& joiner = *reinterpret_cast<activity*>(before);
    if (joiner.claim()) make_ready(joiner);
  }
  // release: who sees it may take the result and free us.
  a.follower_.store(activity::done, sync::memory_order_release);
}

}  // namespace

void finish_task(std::coroutine_handle<> frame, promise_base& promise) noexcept {
  finish_task(*worker::here(), *static_cast<activity*>(promise.who()), frame, promise);
}

void release(activity& a, std::coroutine_handle<> frame) noexcept {
  std::uintptr_t before = activity::nobody;
  // acq_rel: the task's end sees that nobody will come, or we see its result.
  if (a.follower_.compare_exchange_strong(before, activity::detached, sync::memory_order_acq_rel,
                                          sync::memory_order_acquire))
    return;
  while (before == activity::ending) {
    sync::pause();
    before = a.follower_.load(sync::memory_order_acquire);
  }
  ROTA_CHECK(before == activity::done, "a join_handle is dropped while a task waits for it");
  runtime_state& home = runtime_state::of(a);
  worker* w = worker::here();
  if (w && &w->home() != &home.workers()) w = nullptr;
  auto& promise = std::coroutine_handle<promise_base>::from_address(frame.address()).promise();
  if (promise.error()) home.report_unobserved(promise.error(), a);
  frame.destroy();
  home.free(&a, w);
}

}  // namespace rota::detail
