// Who does what: the engine decides, under a lock; functions run as tasks of the runtime; one
// thread waits for the clock and for functions that have ended, and tells events. So no worker
// waits for the store because a function has ended, and no event is told under the lock.
#include <rota/job/scheduler.h>

#include <rota/base/sync.h>
#include <rota/base/trace.h>
#include <rota/job/sqlite_ledger.h>
#include <rota/job/wall_timer.h>
#include <rota/task/errors.h>
#include <rota/task/observer.h>
#include <rota/time/sleep.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>
#include <unordered_map>

namespace rota {

namespace {

using job::run_id;

job::run_result result_of(job::outcome o, instant started, instant finished, std::string note) {
  job::run_result r;
  r.outcome = o;
  r.exit_code = o == job::outcome::failed ? 1 : 0;
  r.started = started;
  r.finished = finished;
  r.note = std::move(note);
  return r;
}

}  // namespace

struct scheduler::state : job::launcher, std::enable_shared_from_this<scheduler::state> {
  state(runtime& rt, scheduler_options options);
  ~state() override { ::close(wake_fd); }

  // --- the launcher: called by the engine, under `mutex` -----------------------------------------

  void listen(events e) override { told = std::move(e); }
  void start(const job::run& r, const job::definition& d) override;
  void stop(run_id id) override;
  // Functions end with the program: what was under way in another one is lost.
  job::survey look(const job::run&) override { return {job::finding::dead, {}}; }
  void forget(run_id) override {}

  // --- tasks -------------------------------------------------------------------------------------

  static task<void> run_function(std::shared_ptr<state> self, std::shared_ptr<function> f,
                                 job::run r, job::milliseconds timeout);
  void ended(run_id id, job::run_result result);

  // --- the thread --------------------------------------------------------------------------------

  void work();
  void tell(overview& seen) const;
  void wait(std::optional<instant> until);
  void wake() noexcept;
  // Moves on to now, under `mutex`; afterwards somebody looks at wake_at() again.
  template <class F>
  auto change(F f) {
    const std::lock_guard guard{mutex};
    auto result = f(*engine, now());
    engine->advance(now());
    wake();
    return result;
  }
  std::function<void(const job::engine_event&)> listening() {
    const std::lock_guard guard{listener_mutex};
    return listener;
  }
  instant now() const { return options.clock ? options.clock() : job::wall_now(); }

  runtime& home;
  const outside not_stuck;  // functions come from outside: tasks that wait for them are no deadlock
  scheduler_options options;
  job::wall_timer timer;
  int wake_fd;

  mutable sync::mutex mutex;  // held while the engine is used
  std::unique_ptr<job::ledger> ledger;
  std::unique_ptr<job::engine> engine;
  events told;                                                              // set once
  std::map<std::string, std::shared_ptr<function>, std::less<>> functions;  // guarded by mutex
  std::unordered_map<run_id, join_handle<void>> handles;                    // guarded by mutex
  std::vector<job::engine_event> news;                                      // guarded by mutex

  sync::mutex ends_mutex;
  std::vector<std::pair<run_id, job::run_result>> ends;  // guarded by ends_mutex
  bool closing = false;                                  // guarded by ends_mutex

  sync::mutex listener_mutex;
  std::function<void(const job::engine_event&)> listener;  // guarded by listener_mutex
  sync::thread thread;
  std::optional<detail::overview_part> seen_as;
};

scheduler::state::state(runtime& rt, scheduler_options o)
    : home(rt),
      not_stuck(rt),
      options(std::move(o)),
      wake_fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_fd < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  if (options.store.empty())
    ledger = std::make_unique<job::memory_ledger>();
  else
    ledger = std::make_unique<job::sqlite_ledger>(options.store, job::ledger_options{.now = now()});
  engine = std::make_unique<job::engine>(
      job::engine_options{.max_active = options.max_active,
                          .passes = options.passes,
                          .groups = options.groups,
                          .boot = "",
                          .seed = static_cast<std::uint64_t>(::getpid())},
      *ledger, *this);
  engine->on_event([this](const job::engine_event& e) { news.push_back(e); });
  engine->restore(now());
}

// --- functions
// --------------------------------------------------------------------------------------

void scheduler::state::start(const job::run& r, const job::definition& d) {
  const auto found = functions.find(d.name);
  if (found == functions.end()) {
    ended(r.id, result_of(job::outcome::not_started, {}, now(), "the job has no function"));
    return;
  }
  handles[r.id] = home.spawn(run_function(shared_from_this(), found->second, r, d.rules->timeout));
}

void scheduler::state::stop(run_id id) {
  if (const auto found = handles.find(id); found != handles.end()) found->second.request_stop();
}

task<void> scheduler::state::run_function(std::shared_ptr<state> self, std::shared_ptr<function> f,
                                          job::run r, job::milliseconds timeout) {
  const instant started = self->now();
  const std::int64_t began = detail::trace_time();
  auto outcome = job::outcome::success;
  std::string note;
  try {
    if (timeout > timeout.zero())
      co_await with_timeout(timeout, (*f)(r));
    else
      co_await (*f)(r);
  } catch (const timed_out&) {
    outcome = job::outcome::timed_out;
  } catch (const cancelled&) {
    outcome = job::outcome::cancelled;
  } catch (const std::exception& e) {
    outcome = job::outcome::failed;
    note = e.what();
  } catch (...) {
    outcome = job::outcome::failed;
    note = "it threw something that is no std::exception";
  }
  detail::trace_run(self->home, r.job, began);
  self->ended(r.id, result_of(outcome, started, self->now(), std::move(note)));
}

void scheduler::state::ended(run_id id, job::run_result result) {
  {
    const std::lock_guard guard{ends_mutex};
    ends.emplace_back(id, std::move(result));
  }
  wake();
}

// --- the thread
// -------------------------------------------------------------------------------------

void scheduler::state::wake() noexcept {
  const std::uint64_t one = 1;
  // It fails only if so many wait already that it is readable anyway.
  [[maybe_unused]] const auto written = ::write(wake_fd, &one, sizeof one);
}

void scheduler::state::wait(std::optional<instant> until) {
  int limit = -1;
  if (options.clock) {
    timer.arm({});  // clock_changed() says when to look
  } else {
    timer.arm(until);
    if (until && job::clock_is_faked())
      limit = static_cast<int>(job::wall_timer::look_every.count());
  }
  pollfd fds[] = {{wake_fd, POLLIN, 0}, {timer.fd(), POLLIN, 0}};
  ::poll(fds, 2, limit);
  std::uint64_t count = 0;
  [[maybe_unused]] const auto taken = ::read(wake_fd, &count, sizeof count);
  timer.acknowledge();
}

// For observers of the runtime.
void scheduler::state::tell(overview& seen) const {
  const std::lock_guard guard{mutex};
  const instant at = now();
  engine->each_job([&](const job::job_view& v) {
    overview::job j;
    j.name = v.def->name;
    j.running = v.running;
    j.waiting = v.waiting;
    if (v.next) j.next = *v.next - at;
    j.is_failing = v.row.failing;
    seen.jobs.push_back(std::move(j));
  });
}

void scheduler::state::work() {
  for (;;) {
    std::vector<std::pair<run_id, job::run_result>> over;
    bool last = false;
    {
      const std::lock_guard guard{ends_mutex};
      over.swap(ends);
      last = closing;
    }
    std::vector<job::engine_event> happened;
    std::optional<instant> next;
    {
      const std::lock_guard guard{mutex};
      for (const auto& [id, result] : over) {
        handles.erase(id);
        told.on_over(id, result);
      }
      if (last) {
        engine->drain();
        for (auto& [id, handle] : handles) handle.request_stop();
      }
      engine->advance(now());
      next = engine->wake_at();
      happened.swap(news);
      last = last && handles.empty();
    }
    if (const auto tell = listening())
      for (const auto& e : happened) tell(e);
    if (last) return;
    wait(next);
  }
}

// --- the interface
// ----------------------------------------------------------------------------------

scheduler::scheduler(runtime& rt, scheduler_options o)
    : state_(std::make_shared<state>(rt, std::move(o))) {
  state_->thread = sync::thread{[s = state_.get()] { s->work(); }};
  state_->seen_as.emplace(rt, [s = state_.get()](overview& seen) { s->tell(seen); });
}

scheduler::~scheduler() {
  state_->seen_as.reset();
  {
    const std::lock_guard guard{state_->ends_mutex};
    state_->closing = true;
  }
  state_->wake();
  state_->thread.join();
}

void scheduler::put(std::string name, schedule when, job::rules rules, function f) {
  job::definition d;
  d.name = name;
  d.text = when.explain();
  d.when = std::move(when);
  d.rules = std::make_shared<const job::rules>(std::move(rules));
  d.surroundings = std::make_shared<const job::surroundings>();
  state_->change([&](job::engine& e, instant now) {
    state_->functions[std::move(name)] = std::make_shared<function>(std::move(f));
    e.add_job(std::move(d), now);
    return true;
  });
}

bool scheduler::remove(std::string_view name) {
  return state_->change([&](job::engine& e, instant now) {
    if (const auto found = state_->functions.find(name); found != state_->functions.end())
      state_->functions.erase(found);
    return e.remove_job(name, now);
  });
}

std::optional<run_id> scheduler::run(std::string_view name) {
  return state_->change(
      [&](job::engine& e, instant now) { return e.run_job(name, {}, false, now); });
}

bool scheduler::cancel(run_id id) {
  return state_->change([&](job::engine& e, instant now) { return e.cancel(id, now); });
}

bool scheduler::pause(std::string_view name) {
  return state_->change([&](job::engine& e, instant now) { return e.pause(name, now); });
}

bool scheduler::resume(std::string_view name) {
  return state_->change([&](job::engine& e, instant now) { return e.resume(name, now); });
}

std::optional<instant> scheduler::next(std::string_view name) const {
  const std::lock_guard guard{state_->mutex};
  const auto found = state_->engine->find(name);
  return found ? found->next : std::nullopt;
}

std::vector<job::run> scheduler::waiting() const {
  const std::lock_guard guard{state_->mutex};
  return state_->engine->waiting();
}

std::vector<job::run> scheduler::running() const {
  const std::lock_guard guard{state_->mutex};
  return state_->engine->running();
}

void scheduler::on_event(std::function<void(const job::engine_event&)> f) {
  const std::lock_guard guard{state_->listener_mutex};
  state_->listener = std::move(f);
}

void scheduler::clock_changed() { state_->wake(); }

}  // namespace rota
