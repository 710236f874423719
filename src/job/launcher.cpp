// Where a run is, as the launcher sees it:
//
//   start() --> asked --forked--> watched (a pidfd) --readable--> its file is read --> on_over
//                 |                  ^
//                 |                  +-- look(), `there`, `started` without `forked`: adopted by
//                 its lock
//                 +-- the server is lost --> asked again, of another one; the file keeps it to one
//                 start
//
// Why nothing is started twice: a program is started by whoever made the run's file, once. The file
// goes when forget() is called; a request for the run that is still under way then would make it
// anew. There is none: within one launcher a request is sent again only after the end of the
// server's socket, which all its runners hold until they have claimed; and a new launcher waits for
// the lock, which they hold as long.
//
// A runner without a pidfd (there were no more files to be had) is blind. Its file says what became
// of it, but not before it has made its claim: until then there is none, or one that a look would
// take away. So it is looked at when the runner has answered, or is gone, or its socket is.
#include <rota/job/process_launcher.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <deque>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "job/fault_point.h"
#include "job/launcher_files.h"
#include "job/launcher_request.h"
#include "job/launcher_server.h"
#include "job/launcher_spares.h"

namespace rota::job {

namespace {

// How often a run is asked for, of servers that die.
constexpr int most_servers = 3;

// How often we look after what no file tells us of. It happens when there are no more files to be
// had, and then nobody is in a hurry.
constexpr long tick_ns = 100'000'000;

// What epoll says of a file that is not the pidfd of a run; those are named by the id, which is
// positive.
constexpr std::uint64_t deferred_tag = 0;
constexpr std::uint64_t tick_tag = 1ULL << 63;  // serials begin with 1
std::uint64_t server_tag(std::uint64_t serial) { return (1ULL << 63) | (serial << 1); }
std::uint64_t end_of_server_tag(std::uint64_t serial) { return server_tag(serial) | 1; }
bool is_end_of_server(std::uint64_t tag) { return (tag >> 63) != 0 && (tag & 1) != 0; }
std::uint64_t serial_of(std::uint64_t tag) { return (tag & ~(1ULL << 63)) >> 1; }

instant wall_clock() {
  timespec t = {};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return instant{milliseconds{std::int64_t{t.tv_sec} * 1'000 + t.tv_nsec / 1'000'000}};
}

// The limit that there was.
std::uint64_t raise_open_files() {
  rlimit l = {};
  if (::getrlimit(RLIMIT_NOFILE, &l) != 0) return 1024;
  const std::uint64_t before = l.rlim_cur;
  l.rlim_cur = l.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &l);  // then it stays as it is
  return before;
}

// Held by us, and by each server and runner that could still make a claim.
owned_fd take_launcher_lock(int runs, const std::string& path, milliseconds patience) {
  owned_fd file{::openat(runs, "launcher.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!file)
    throw std::runtime_error(system_message("cannot open " + path + "/launcher.lock", errno));
  constexpr int turn_ms = 5;
  for (std::int64_t waited = 0; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0; waited += turn_ms) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      throw std::runtime_error(system_message("cannot lock " + path + "/launcher.lock", errno));
    if (waited >= patience.count())
      throw std::runtime_error(path + ": another daemon uses it; a directory is for one");
    ::poll(nullptr, 0, turn_ms);
  }
  return file;
}

run_result refused(outcome o, std::string note) {
  run_result r;
  r.outcome = o;
  r.finished = wall_clock();
  r.note = std::move(note);
  return r;
}

}  // namespace

struct process_launcher::state {
  // A run that was asked for and is not over.
  struct entry {
    std::string request;       // to be asked again; empty once it is answered
    std::uint64_t server = 0;  // which was asked
    int servers = 0;           // how many were
    owned_fd pidfd;
    pid_t unclaimed = 0;   // a runner without a pidfd that may still make its claim
    bool adopted = false;  // it is under way, with or without a pidfd
    bool started = false;  // on_started was called
    bool stop = false;     // to be told to the runner as soon as we know it
  };

  explicit state(process_launcher_options options)
      : o(std::move(options)),
        open_files(raise_open_files()),
        boot(read_boot_id()),
        runs(open_private_directory(o.runs)),
        logs(open_private_directory(o.logs)),
        lock(take_launcher_lock(runs.get(), o.runs, o.patience)),
        spares(runs.get()),
        poll(::epoll_create1(EPOLL_CLOEXEC)),
        wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        tick(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (!poll || !wake || !tick)
      throw std::runtime_error(system_message("cannot make an epoll", errno));
    watch(wake.get(), deferred_tag, EPOLLIN);
    watch(tick.get(), tick_tag, EPOLLIN);
    new_server();
  }

  bool watch(int fd, std::uint64_t tag, std::uint32_t events, int how = EPOLL_CTL_ADD) {
    epoll_event e = {};
    e.events = events;
    e.data.u64 = tag;
    return ::epoll_ctl(poll.get(), how, fd, &e) == 0;
  }

  // --- servers ---------------------------------------------------------------------------------

  runner_server& current() { return *servers.back().second; }

  void new_server() {
    servers.emplace_back(++serial, std::make_unique<runner_server>(runner_server::settings{
                                       o.runner, runs.get(), logs.get(), lock.get(), open_files}));
    watch(current().socket(), server_tag(serial), EPOLLIN);
    if (current().pidfd() >= 0) watch(current().pidfd(), end_of_server_tag(serial), EPOLLIN);
  }

  // The server has died. What it has not answered waits until its runners have spoken, what it was
  // not sent goes to another one now.
  void retire(std::uint64_t which) {
    if (servers.empty() || servers.back().first != which) return;
    runner_server& old = current();
    (void)::epoll_ctl(poll.get(), EPOLL_CTL_DEL, old.pidfd(), nullptr);
    try {
      new_server();
    } catch (const std::runtime_error&) {
      return;  // replace() tries once more, and says so
    }
    for (auto& [id, e] : entries)
      if (e.server == which && old.withdraw(id)) ask(id, e);
    update_interest(which, old);
  }

  // To be called when what is unsent may have changed: a socket with room wakes us for ever, if
  // there is nothing to put there.
  void update_interest(std::uint64_t which, runner_server& s) {
    const std::uint32_t more = s.waits_for_room() ? std::uint32_t{EPOLLOUT} : 0U;
    watch(s.socket(), server_tag(which), EPOLLIN | more, EPOLL_CTL_MOD);
    set_tick();
  }

  void ask(run_id id, entry& e) {
    ++e.servers;
    e.server = servers.back().first;
    const bool had_unsent = current().has_unsent();
    current().send(id, e.request);
    if (had_unsent || current().has_unsent()) update_interest(e.server, current());
  }

  void hear(std::uint64_t which) {
    const auto at = std::find_if(servers.begin(), servers.end(),
                                 [&](const auto& s) { return s.first == which; });
    if (at == servers.end()) return;
    runner_server& s = *at->second;
    s.receive([&](const wire::answer& a, owned_fd pidfd) { answer(a, std::move(pidfd)); });
    if (s.is_lost()) return replace(which);
    const bool had_unsent = s.has_unsent();
    s.flush();
    if (had_unsent) update_interest(which, s);
  }

  // The server is gone. Whoever it has started is watched; the others are asked for again.
  void replace(std::uint64_t which) {
    const auto at = std::find_if(servers.begin(), servers.end(),
                                 [&](const auto& s) { return s.first == which; });
    const bool was_current = at + 1 == servers.end();
    const std::unique_ptr<runner_server> old = std::move(at->second);
    servers.erase(at);
    set_tick();
    std::string trouble;
    if (was_current) {
      try {
        new_server();
      } catch (const std::runtime_error& e) {
        trouble = e.what();
      }
    }
    std::vector<run_id> again;
    for (auto& [id, e] : entries) {
      if (e.server != which) continue;
      e.unclaimed = 0;
      if (!e.request.empty()) again.push_back(id);
    }
    std::sort(again.begin(), again.end());
    for (const run_id id : again) {
      entry& e = entries[id];
      if (trouble.empty() && e.servers >= most_servers) trouble = "the runner dies again and again";
      if (trouble.empty())
        ask(id, e);
      else
        defer(id, refused(outcome::not_started, trouble));
    }
  }

  // --- answers ---------------------------------------------------------------------------------

  void answer(const wire::answer& a, owned_fd pidfd) {
    const auto at = entries.find(a.id);
    if (at == entries.end()) return;  // over already
    switch (a.kind) {
      case wire::answer_kind::forked:
        if (!at->second.adopted) take_on(a.id, std::move(pidfd), a.runner);
        return;
      case wire::answer_kind::started:
        at->second.unclaimed = 0;
        if (!at->second.adopted) adopt(a.id);
        return tell_started(a.id, a.program, instant{milliseconds{a.time_ms}});
      case wire::answer_kind::there:
        // Not of the runner that we watch: of one whose server died before it could name it, or of
        // a daemon before us.
        at->second.pidfd = owned_fd{};
        at->second.unclaimed = 0;
        at->second.adopted = false;
        return adopt(a.id);
      case wire::answer_kind::failed:
        return over(a.id, refused(outcome::not_started, std::string(a.note, a.note_size)));
    }
  }

  // The run is under way, in a runner that we have a pidfd of; or none, if there are no more files
  // to be had. Then it is looked after with each tick. `forked`: the runner, if it was forked just
  // now and may not have made its claim.
  void take_on(run_id id, owned_fd pidfd, pid_t forked = 0) {
    entry& e = entries[id];
    forget_request(e);
    e.adopted = true;
    e.pidfd = std::move(pidfd);
    if (!e.pidfd || !watch(e.pidfd.get(), static_cast<std::uint64_t>(id), EPOLLIN)) {
      e.pidfd = owned_fd{};
      e.unclaimed = forked;
      blind.insert(id);
      return set_tick();
    }
    if (e.stop) signal(e);
  }

  void adopt(run_id id) {
    inspection i = inspect_run(runs.get(), id, boot);
    if (i.found.what == finding::running) return take_on(id, std::move(i.runner));
    conclude(id, i.found);
  }

  // The runner has ended.
  void conclude(run_id id, const survey& s) {
    if (s.what == finding::over) return over(id, s.result);
    if (s.what == finding::absent)
      return over(
          id, refused(outcome::not_started, "its runner died before it could start the program"));
    run_result r = s.result;
    r.outcome = outcome::lost;
    r.finished = wall_clock();
    over(id, r);
  }

  void ended(run_id id) {
    const auto at = entries.find(id);
    if (at == entries.end()) return;
    inspection i = inspect_run(runs.get(), id, boot);
    // The pidfd was of a runner that found another one at work; its answer is read, or will be.
    at->second.pidfd = owned_fd{};
    if (i.found.what == finding::running) return take_on(id, std::move(i.runner));
    conclude(id, i.found);
  }

  // Whoever has got the number of a runner that is gone only makes us wait, for his end or for that
  // of the server.
  static bool may_still_claim(const entry& e) {
    return e.unclaimed > 0 && (::kill(e.unclaimed, 0) == 0 || errno != ESRCH);
  }

  void look_at_blind() {
    if (blind.empty()) return;
    for (const run_id id : std::exchange(blind, {})) {
      const auto at = entries.find(id);
      if (at == entries.end() || at->second.pidfd) continue;
      if (may_still_claim(at->second))
        blind.insert(id);
      else
        adopt(id);
    }
    set_tick();
  }

  void set_tick() {
    const bool wanted = !blind.empty() || std::any_of(servers.begin(), servers.end(), [](auto& s) {
      return s.second->has_unsent() && !s.second->waits_for_room();
    });
    if (wanted == std::exchange(ticks, wanted)) return;
    const timespec each = {0, wanted ? tick_ns : 0};
    const itimerspec when = {each, each};
    (void)::timerfd_settime(tick.get(), 0, &when, nullptr);  // cannot fail with these
  }

  void take_tick() {
    std::uint64_t count = 0;
    (void)::read(tick.get(), &count, sizeof(count));
  }

  void forget_request(entry& e) {
    if (!e.request.empty()) --unanswered;
    std::string().swap(e.request);
  }

  void set_started(entry& e) {
    if (!std::exchange(e.started, true)) --starting;
  }

  // When nobody is about to start: in a burst of starts those that are over would delay those that
  // come.
  void remove_forgotten() {
    if (forgotten.empty() || unanswered > 0) return;
    for (const run_id id : std::exchange(forgotten, {})) spares.recycle(id);
  }

  static void signal(const entry& e) {
    // Its runner may have ended just now.
    (void)::syscall(SYS_pidfd_send_signal, e.pidfd.get(), SIGTERM, nullptr, 0);
  }

  // --- events ----------------------------------------------------------------------------------

  void tell_started(run_id id, pid_t program, instant when) {
    const auto at = entries.find(id);
    if (at == entries.end() || at->second.started) return;
    set_started(at->second);
    if (heard.on_started) heard.on_started(id, program, when);
  }

  void over(run_id id, const run_result& r) {
    if (r.pid > 0) tell_started(id, r.pid, r.started);
    const auto at = entries.find(id);
    if (at == entries.end()) return;
    forget_request(at->second);
    set_started(at->second);
    entries.erase(at);
    fault_point("before_over");
    if (heard.on_over) heard.on_over(id, r);
  }

  // Whoever calls us does not expect events before he is back.
  void defer(run_id id, run_result r) {
    deferred.emplace_back(id, std::move(r));
    const std::uint64_t one = 1;
    (void)::write(wake.get(), &one, sizeof(one));  // a full counter is readable too
  }

  void tell_deferred() {
    std::uint64_t count = 0;
    (void)::read(wake.get(), &count, sizeof(count));
    for (auto& [id, r] : std::exchange(deferred, {})) over(id, r);
  }

  process_launcher_options o;
  events heard;
  std::uint64_t open_files;
  std::string boot;
  owned_fd runs;
  owned_fd logs;
  owned_fd lock;
  spare_files spares;  // after the lock: no runner is on its way to what it finds
  owned_fd poll;
  owned_fd wake;
  owned_fd tick;  // a timer, set while something has to be looked after
  bool ticks = false;
  account_cache accounts;
  std::uint64_t serial = 0;
  std::vector<std::pair<std::uint64_t, std::unique_ptr<runner_server>>> servers;
  std::unordered_map<run_id, entry> entries;
  std::size_t unanswered = 0;  // of these, those with a request
  std::size_t starting = 0;    // and those that are not `started`
  std::set<run_id> blind;      // under way, and without a pidfd
  std::deque<std::pair<run_id, run_result>> deferred;
  std::vector<run_id> forgotten;
};

process_launcher::process_launcher(process_launcher_options o)
    : state_(std::make_unique<state>(std::move(o))) {}

process_launcher::~process_launcher() {
  state_->unanswered = 0;
  state_->remove_forgotten();
}

int process_launcher::fd() const noexcept { return state_->poll.get(); }

std::size_t process_launcher::starting() const noexcept { return state_->starting; }

pid_t process_launcher::server() const noexcept {
  return state_->servers.empty() ? -1 : state_->servers.back().second->pid();
}

void process_launcher::listen(events e) { state_->heard = std::move(e); }

void process_launcher::handle() {
  state& s = *state_;
  s.accounts.clear();
  std::array<epoll_event, 256> ready;
  const int n = ::epoll_wait(s.poll.get(), ready.data(), static_cast<int>(ready.size()), 0);
  // What a runner has said comes before its end.
  std::vector<std::uint64_t> serials;
  for (const auto& server : s.servers) serials.push_back(server.first);
  for (const std::uint64_t which : serials) s.hear(which);
  for (int i = 0; i < n; ++i) {
    const std::uint64_t tag = ready[static_cast<std::size_t>(i)].data.u64;
    if (tag == deferred_tag) s.tell_deferred();
    if (tag == tick_tag) s.take_tick();
    if (tag != deferred_tag && tag < server_tag(0)) s.ended(static_cast<run_id>(tag));
    if (is_end_of_server(tag)) s.retire(serial_of(tag));
  }
  s.look_at_blind();
  s.remove_forgotten();
}

bool process_launcher::prepare(std::size_t runs) { return state_->spares.make(runs); }

void process_launcher::start(const run& r, const definition& d) {
  state& s = *state_;
  const auto [at, added] = s.entries.try_emplace(r.id);
  if (!added) return;  // it is under way
  ++s.starting;
  fault_point("before_start");
  try {
    at->second.request =
        make_request(r, d, s.accounts, wall_clock(), s.o.fault ? s.o.fault : fault_of_runners(),
                     s.spares.number_for(r.id));
    ++s.unanswered;
    if (s.servers.empty()) s.new_server();
  } catch (const std::runtime_error& e) {
    return s.defer(r.id, refused(outcome::not_started, e.what()));
  }
  s.ask(r.id, at->second);
}

void process_launcher::stop(run_id id) {
  state& s = *state_;
  const auto at = s.entries.find(id);
  if (at == s.entries.end()) return;
  at->second.stop = true;
  if (at->second.pidfd) return state::signal(at->second);
  for (auto& [which, server] : s.servers) {
    if (!server->withdraw(id)) continue;
    s.update_interest(which, *server);
    s.forget_request(at->second);
    s.defer(id, refused(outcome::cancelled, "it was cancelled before it started"));
  }
}

survey process_launcher::look(const run& r) {
  state& s = *state_;
  // Ours already. To look at its file before the claim is made would withdraw it.
  if (s.entries.contains(r.id)) return {finding::running, {}};
  inspection i = inspect_run(s.runs.get(), r.id, s.boot, r.boot);
  if (i.found.what == finding::running) {
    ++s.starting;
    if (i.found.result.pid > 0) s.set_started(s.entries[r.id]);
    s.take_on(r.id, std::move(i.runner));
  }
  return std::move(i.found);
}

void process_launcher::forget(run_id id) {
  fault_point("before_forget");
  state_->forgotten.push_back(id);
  if (state_->entries.empty()) state_->remove_forgotten();  // else with the next handle()
}

std::string process_launcher::log_path(run_id id) const {
  return state_->o.logs + "/" + std::to_string(id) + ".log";
}

void process_launcher::remove_log(run_id id) {
  ::unlinkat(state_->logs.get(), (std::to_string(id) + ".log").c_str(), 0);
}

std::vector<run_id> process_launcher::claims() const {
  std::vector<run_id> ids;
  for_each_number(state_->runs.get(), ".run", [&](std::int64_t id) { ids.push_back(id); });
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace rota::job
