// Behaviours: a function that runs once it has all the cowns that it names, alone with them.
//
//   rota::when(from, to) << [](int& f, int& t) { f -= 10; t += 10; };   // any number of cowns
//   rota::when(rota::read(rates), to) << [](const rates&, int&) { ... };  // shared with readers
//   rota::when(accounts) << [](rota::each<int> all) { ... };              // a range of cowns
//   rota::when() << [] { ... };                                           // none: just runs
//   int b = co_await (rota::when(from) << [](int& f) { return f; });      // its result, in a task
//   (rota::when(a) << f) + (rota::when(b) << g);                          // requested atomically
//   rota::when(a) << [](int& x) -> rota::task<void> { co_await ...; };    // keeps a while it waits
//   rota::when(runtime, a) << f;                  // on a thread that is none of a runtime's
//   rota::when(a).stop_on(token) << f;            // not run if the token is stopped by then
//
// Promised (`atomic_behaviour`): a behaviour holds all its cowns while it runs, for writing alone,
// for reading together with other readers. Cowns are always released, also if it throws. No set
// of behaviours deadlocks, whatever they name, the same cown twice included, as long as tasks that
// run behaviours do not wait for others that need their cowns.
//
// The order of behaviours: cowns are ordered (by their address, which nobody can influence). A
// behaviour is requested from its least cown and passed on from one to the next, as each becomes
// free. So
//   - behaviours with the same least cown keep, on all the cowns that they share, the order in
//     which they were requested; in particular those that name one and the same cown, or the same
//     cowns. Two that only read the least one may overtake each other on the others;
//   - a behaviour that finds all its cowns idle overtakes nobody, and nobody overtakes it;
//   - but `when(a, b) << B1; when(b) << B2;` with a busy may run B2 first: B1 waits at a and is not
//     yet known to b. A batch closes the gap: members of a batch are in its order, and nobody comes
//     between them, on all cowns of the batch.
// Requested means: when the statement ends. A request that is kept in a variable is sent when it is
// awaited, converted to a when_result, told to send(), or at the end of its scope, and refers to
// its cowns until then.
//
// A function that returns a task runs as that task, and keeps its cowns until the task ends. It and
// what it captures live as long. Inside of any behaviour, release(cown) gives one back early.
//
// Cost: one allocation of 40 bytes, 16 for each cown, and what the function captures.
// Threads: anyone's.
#ifndef ROTA_COWN_WHEN_H
#define ROTA_COWN_WHEN_H

#include <rota/base/assert.h>
#include <rota/base/prefetch.h>
#include <rota/cown/core.h>
#include <rota/cown/cown.h>
#include <rota/cown/result.h>
#include <rota/task/runtime.h>
#include <rota/task/spawn.h>
#include <rota/task/task.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <new>
#include <ranges>
#include <stdexcept>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota {

// The values of a range of cowns, as a behaviour sees them. T is const if they are read.
template <class T>
class each {
  using held = detail::cown<std::remove_const_t<T>>;

 public:
  class iterator {
   public:
    using value_type = std::remove_const_t<T>;
    using difference_type = std::ptrdiff_t;
    iterator() noexcept = default;
    explicit iterator(held* const* at) noexcept : at_(at) {}
    T& operator*() const noexcept { return (*at_)->value; }
    T* operator->() const noexcept { return &(*at_)->value; }
    iterator& operator++() noexcept { return ++at_, *this; }
    iterator operator++(int) noexcept { return iterator{at_++}; }
    friend bool operator==(iterator, iterator) noexcept = default;

   private:
    held* const* at_ = nullptr;
  };

  explicit each(const std::vector<held*>& all) noexcept : all_(&all) {}
  iterator begin() const noexcept { return iterator{all_->data()}; }
  iterator end() const noexcept { return iterator{all_->data() + all_->size()}; }
  std::size_t size() const noexcept { return all_->size(); }
  bool empty() const noexcept { return all_->empty(); }
  T& operator[](std::size_t i) const noexcept { return (*all_)[i]->value; }

 private:
  const std::vector<held*>* all_;
};

class batch;

namespace detail {

// --- what a behaviour names ---------------------------------------------------------------------

// One cown. T is const if it is read.
template <class T>
struct one {
  using held = cown<std::remove_const_t<T>>;
  static constexpr bool is_range = false;

  held* what;

  std::size_t size() const noexcept { return 1; }
  template <class F>
  void each_word(F f) const {
    f(what ? reinterpret_cast<std::uintptr_t>(static_cast<cown_base*>(what)) |
                 (std::is_const_v<T> ? slot::reads : 0)
           : 0);
  }
  T& value() const noexcept { return what->value; }
  static T& value_in(const slot& s) noexcept { return static_cast<held&>(s.cown()).value; }
};

// A range of cowns.
template <class T>
struct some {
  using held = cown<std::remove_const_t<T>>;
  static constexpr bool is_range = true;

  std::vector<held*> what;

  std::size_t size() const noexcept { return what.size(); }
  template <class F>
  void each_word(F f) const {
    for (held* c : what) one<T>{c}.each_word(f);
  }
  each<T> value() const noexcept { return each<T>{what}; }
};

template <class T>
struct is_cown_ptr : std::false_type {};
template <class T>
struct is_cown_ptr<cown_ptr<T>> : std::true_type {};

template <class R>
concept cown_range =
    std::ranges::input_range<R> &&
    is_cown_ptr<
        std::remove_cvref_t<std::ranges::range_reference_t<const std::remove_cvref_t<R>>>>::value;

template <class R>
using cowns_of = typename std::remove_cvref_t<
    std::ranges::range_reference_t<const std::remove_cvref_t<R>>>::value_type;

template <class T, class R>
some<T> wish_for_range(const R& range) {
  some<T> w;
  if constexpr (std::ranges::sized_range<const R>) w.what.reserve(std::ranges::size(range));
  for (const auto& c : range) w.what.push_back(c.get());
  return w;
}

template <class T>
one<T> wish_for(const cown_ptr<T>& c) noexcept {
  return {c.get()};
}
template <class T>
one<const T> wish_for(one<const T> w) noexcept {
  return w;
}
template <class T>
some<const T> wish_for(some<const T> w) noexcept {
  return w;
}
template <cown_range R>
some<cowns_of<R>> wish_for(const R& range) {
  return wish_for_range<cowns_of<R>>(range);
}

[[noreturn]] void null_cown(std::size_t which, std::size_t of);

// Sorts the words of wishes and leaves out repeats; gives how many are left. A cown that is wanted
// for reading and for writing is wanted for writing.
std::size_t unique_words(std::uintptr_t* words, std::size_t count) noexcept;

// The same, and tells where each has gone. For up to 255, and at least one.
std::size_t unique_words(std::uintptr_t* words, std::size_t count, std::uint8_t* places) noexcept;

// Makes slots of words that are sorted and unique.
void fill_slots(behaviour& b, const std::uintptr_t* words, std::size_t count) noexcept;

// Throws if these cowns belong to more than one pump.
void check_pumps(const std::uintptr_t* words, std::size_t count);

// In which slot each of some cowns is. Of one there is nothing to say.
template <std::size_t Count>
struct places_of {
  std::array<std::uint8_t, Count> places{};
};
template <std::size_t Count>
  requires(Count <= 1)
struct places_of<Count> {};

// How the function gets its arguments if all of them are single cowns: each is in one of the slots.
template <class... W>
struct arguments_in_slots : places_of<sizeof...(W)> {
  static constexpr std::size_t count = sizeof...(W);
  static_assert(count <= 255, "so many cowns are better named by a range");

  template <class F>
  decltype(auto) call(F& f, behaviour& b) {
    return call(f, b, std::index_sequence_for<W...>{});
  }

 private:
  template <class F, std::size_t... I>
  decltype(auto) call(F& f, behaviour& b, std::index_sequence<I...>) {
    if constexpr (count <= 1)
      return std::invoke(f, W::value_in(b.slots()[I])...);
    else
      return std::invoke(f, W::value_in(b.slots()[this->places[I]])...);
  }
};

// The same if there is a range among them: they are kept.
template <class... W>
struct arguments_kept {
  std::tuple<W...> wishes;

  template <class F>
  decltype(auto) call(F& f, behaviour&) {
    return std::apply([&](const W&... w) -> decltype(auto) { return std::invoke(f, w.value()...); },
                      wishes);
  }
};

// --- where results go ---------------------------------------------------------------------------

template <class T>
struct task_result {
  static constexpr bool is_task = false;
  using type = T;
};
template <class T>
struct task_result<task<T>> {
  static constexpr bool is_task = true;
  using type = T;
};

// Nobody wants it.
struct discard {
  template <class... Args>
  void set_value(Args&&...) const noexcept {}
  void fail(std::exception_ptr error, const char* name) const noexcept {
    report_unobserved(std::move(error), name, listener_here());
  }
  void cancel() const noexcept {}
  void publish() const noexcept {}
};

template <class R>
struct keep {
  result_state<R>* state;

  template <class... Args>
  void set_value(Args&&... args) const {
    state->set_value(std::forward<Args>(args)...);
  }
  void fail(std::exception_ptr error, const char*) const noexcept { state->fail(std::move(error)); }
  void cancel() const noexcept { state->cancel(); }
  void publish() const noexcept { state->publish(); }
};

// A batch has ended when its members have. The first exception is its own.
class batch_state : public result_state<void> {
 public:
  batch_state() noexcept : result_state("of a batch") {}
  std::uint32_t members = 0;

  void fail_once(std::exception_ptr error) noexcept {
    spin_guard guard{lock_};
    if (!failed_) fail(std::move(error));
    failed_ = true;
  }
  void one_ended() noexcept {
    const std::uint32_t all = members;  // once we are counted, the last one may end the batch
    if (ended_.fetch_add(1, sync::memory_order_acq_rel) + 1 != all) return;
    if (!failed_) set_value();
    publish();
  }

 private:
  spin_lock lock_;
  bool failed_ = false;  // guarded by lock_
  sync::atomic<std::uint32_t> ended_{0};
};

struct count_down {
  batch_state* state;

  template <class... Args>
  void set_value(Args&&...) const noexcept {}
  void fail(std::exception_ptr error, const char*) const noexcept {
    state->fail_once(std::move(error));
  }
  void cancel() const noexcept { state->fail_once(std::make_exception_ptr(cancelled{})); }
  void publish() const noexcept { state->one_ended(); }
};

// --- the behaviour ------------------------------------------------------------------------------

// The name of a function's type: with clang, where it was written.
template <class F>
const char* name_of() noexcept {
  return __PRETTY_FUNCTION__;
}

struct never_stopped {
  bool stop_requested() const noexcept { return false; }
};

template <class Body>
struct unless_begun;
template <class Body, class T>
task<void> run_as_task(unless_begun<Body> b, task<T> work);

template <class F, class Arguments, class Sink, class Stop>
struct body {
  using stop_type = Stop;
  using returned =
      decltype(std::declval<Arguments&>().call(std::declval<F&>(), std::declval<behaviour&>()));
  using result = task_result<returned>;
  static_assert(!std::is_reference_v<returned>,
                "a behaviour returns a value: what it refers to is somebody else's then");

  F function;
  [[no_unique_address]] Arguments arguments;
  [[no_unique_address]] Sink sink;
  [[no_unique_address]] Stop stop;

  static constexpr std::size_t offset(std::size_t slots) noexcept {
    static_assert(alignof(body) <= frame_granule, "what a behaviour captures is aligned to 16");
    return (behaviour::bytes(slots) + alignof(body) - 1) / alignof(body) * alignof(body);
  }

  static body& in(behaviour& b) noexcept {
    // With repeated cowns there are fewer than was room for.
    const std::size_t room = fixed_slots != dynamic ? fixed_slots : b.count;
    return *std::launder(reinterpret_cast<body*>(reinterpret_cast<std::byte*>(&b) + offset(room)));
  }

  static constexpr std::size_t dynamic = ~std::size_t{0};
  static constexpr std::size_t fixed_slots = [] {
    if constexpr (requires { Arguments::count; })
      return std::size_t{Arguments::count};
    else
      return dynamic;
  }();

  static const char* name() noexcept { return name_of<F>(); }

  // What a worker calls.
  static void run(void* frame) {
    behaviour& b = behaviour::begin(frame);
    body& self = in(b);
    if (b.is(behaviour::says_name)) [[unlikely]] {
      b.link = reinterpret_cast<job*>(const_cast<char*>(name()));
      return;
    }
    if (b.is(behaviour::is_dropped) || self.stop.stop_requested()) [[unlikely]] {
      self.sink.cancel();
      return finish(b);
    }
    if constexpr (fixed_slots > 1) b.will_touch_cowns();
    bool begun = false;
    try {
      if constexpr (result::is_task) {
        if (b.is(behaviour::on_pump))
          throw std::logic_error("a behaviour that runs in a pump cannot be a coroutine");
        auto work = run_as_task(unless_begun<body>{&b}, self.arguments.call(self.function, b));
        b.set(behaviour::as_task);
        begun = true;
        rota::spawn(std::move(work));
        return;
      } else if constexpr (std::is_void_v<returned>) {
        self.arguments.call(self.function, b);
        self.sink.set_value();
      } else {
        self.sink.set_value(self.arguments.call(self.function, b));
      }
    } catch (...) {
      if (begun) return;  // the task could not be queued, and has ended the behaviour
      self.sink.fail(std::current_exception(), name());
    }
    finish(b);
  }

  // Ends what the function captured while the cowns are still ours, then releases them, then tells.
  static void finish(behaviour& b) noexcept {
    body& self = in(b);
    const Sink sink = self.sink;
    self.~body();
    complete(b);
    sink.publish();
  }
};

// --- behaviours that are tasks ------------------------------------------------------------------

struct stop_task {
  activity* a;
  void operator()() const noexcept { request_stop(*a); }
};

// Asks the running task to stop when the token does.
struct stop_with_nothing {
  explicit stop_with_nothing(never_stopped) noexcept {}
};
struct stop_with_token : std::stop_callback<stop_task> {
  explicit stop_with_token(const std::stop_token& token)
      : stop_callback(token, stop_task{current_activity()}) {}
};

// Ends the behaviour if its task is destroyed before the first step.
template <class Body>
struct unless_begun {
  behaviour* b;
  explicit unless_begun(behaviour* which) noexcept : b(which) {}
  unless_begun(unless_begun&& other) noexcept : b(std::exchange(other.b, nullptr)) {}
  unless_begun& operator=(unless_begun&&) = delete;
  ~unless_begun() {
    if (!b || !b->is(behaviour::as_task)) return;
    Body::in(*b).sink.cancel();
    Body::finish(*b);
  }
};

// Ends the behaviour with the task, also if that is destroyed where it waits.
template <class Body>
struct finish_at_end {
  behaviour* b;
  bool settled = false;  // the sink has a value or an exception
  explicit finish_at_end(behaviour* which) : b(which) { begin_behaviour(*which); }
  finish_at_end(const finish_at_end&) = delete;
  finish_at_end& operator=(const finish_at_end&) = delete;
  ~finish_at_end() {
    end_behaviour();
    if (!settled) Body::in(*b).sink.cancel();
    Body::finish(*b);
  }
};

template <class Body, class T>
task<void> run_as_task(unless_begun<Body> b, task<T> work) {
  finish_at_end<Body> end{std::exchange(b.b, nullptr)};
  Body& self = Body::in(*end.b);
  task<T> inner = std::move(work);  // its frame ends before the cowns are released
  try {
    const std::conditional_t<std::is_same_v<typename Body::stop_type, never_stopped>,
                             stop_with_nothing, stop_with_token>
        stop_with{self.stop};
    if constexpr (std::is_void_v<T>) {
      co_await std::move(inner);
      self.sink.set_value();
    } else {
      self.sink.set_value(co_await std::move(inner));
    }
  } catch (const cancelled&) {
    self.sink.cancel();
  } catch (...) {
    self.sink.fail(std::current_exception(), Body::name());
  }
  end.settled = true;
}

// --- requests -----------------------------------------------------------------------------------

// A function and what it names, on its way to become a behaviour.
template <class F, class Stop, class... W>
class request {
  static constexpr bool has_range = (W::is_range || ...);
  using arguments = std::conditional_t<has_range, arguments_kept<W...>, arguments_in_slots<W...>>;
  template <class Sink>
  using body_with = body<F, arguments, Sink, Stop>;
  using result = typename body_with<discard>::result::type;

 public:
  request(pool& home, std::tuple<W...> wishes, Stop stop, F function)
      : home_(&home),
        wishes_(std::move(wishes)),
        stop_(std::move(stop)),
        function_(std::move(function)) {}
  request(const request&) = delete;
  request& operator=(const request&) = delete;
  ~request() { send(); }

  // Sends it now, unless that was done.
  void send() {
    if (!home_) return;
    behaviour& b = make(discard{});
    detail::send(b, *std::exchange(home_, nullptr));
  }

  // Sends it, and gives a handle of the result.
  operator when_result<result>() && { return with_result(); }
  when_result<result> with_result() {
    ROTA_CHECK(home_, "a request is sent twice");
    auto* state = new result_state<result>(name_of<F>());
    when_result<result> handle{state};
    behaviour& b = make(keep<result>{state});
    detail::send(b, *std::exchange(home_, nullptr));
    return handle;
  }

  // Sends it, and waits.
  class awaiter {
   public:
    explicit awaiter(when_result<result> r) noexcept
        : result_(std::move(r)), inner_(result_.operator co_await()) {}
    awaiter(const awaiter&) = delete;
    awaiter& operator=(const awaiter&) = delete;
    bool await_ready() const noexcept { return inner_.await_ready(); }
    bool await_suspend(std::coroutine_handle<> leaf) noexcept { return inner_.await_suspend(leaf); }
    result await_resume() { return inner_.await_resume(); }

   private:
    when_result<result> result_;
    typename when_result<result>::awaiter inner_;
  };
  awaiter operator co_await() { return awaiter{with_result()}; }

  // Sends it if all of its cowns have room.
  bool send_if_room() {
    bool room = true;
    std::apply(
        [&](const W&... w) {
          (w.each_word([&](std::uintptr_t word) {
            room = room && has_room(*reinterpret_cast<cown_base*>(word & ~slot::low_bits));
          }),
           ...);
        },
        wishes_);
    if (room)
      send();
    else
      home_ = nullptr;
    return room;
  }

  // For batches.
  template <class Sink>
  behaviour& make(Sink sink) {
    if constexpr (has_range) {
      std::vector<std::uintptr_t> words = collect();
      return make_ranges(std::move(sink), words);
    } else {
      using made = body_with<Sink>;
      constexpr std::size_t n = sizeof...(W);
      constexpr std::size_t at = made::offset(n);
      behaviour& b = *behaviour::make(&made::run, at + sizeof(made), n);
      auto* self = ::new (reinterpret_cast<std::byte*>(&b) + at)
          made{std::move(function_), {}, std::move(sink), std::move(stop_)};
      if constexpr (n == 1) {
        std::get<0>(wishes_).each_word([&](std::uintptr_t w) { b.slots()[0].set(w, 0); });
      } else if constexpr (n > 1) {
        std::array<std::uintptr_t, n> words = words_of(std::index_sequence_for<W...>{});
        auto& places = self->arguments.places;
        if (n == 2 && (words[0] ^ words[1]) > slot::low_bits) [[likely]] {
          // The same as below, for most.
          const bool swaps = words[1] < words[0];
          b.slots()[swaps].set(words[0], swaps);
          b.slots()[!swaps].set(words[1], !swaps);
          places[0] = swaps;
          places[1] = !swaps;
          if ((words[0] | words[1]) & slot::reads) b.set(behaviour::mixed);
          return b;
        }
        fill_slots(b, words.data(), unique_words(words.data(), n, places.data()));
      }
      return b;
    }
  }
  pool* home() const noexcept { return home_; }
  pool* take_home() noexcept { return std::exchange(home_, nullptr); }

 private:
  template <std::size_t... I>
  std::array<std::uintptr_t, sizeof...(W)> words_of(std::index_sequence<I...>) const noexcept {
    std::array<std::uintptr_t, sizeof...(W)> words{};
    (std::get<I>(wishes_).each_word([&](std::uintptr_t w) { words[I] = w; }), ...);
    return words;
  }
  std::vector<std::uintptr_t> collect() const {
    std::vector<std::uintptr_t> words;
    std::apply(
        [&](const W&... w) { (w.each_word([&](std::uintptr_t x) { words.push_back(x); }), ...); },
        wishes_);
    return words;
  }
  template <class Sink>
  behaviour& make_ranges(Sink sink, std::vector<std::uintptr_t>& words) {
    using made = body_with<Sink>;
    const std::size_t n = unique_words(words.data(), words.size());
    const std::size_t at = made::offset(n);
    behaviour& b = *behaviour::make(&made::run, at + sizeof(made), static_cast<std::uint32_t>(n));
    fill_slots(b, words.data(), n);
    ::new (reinterpret_cast<std::byte*>(&b) + at)
        made{std::move(function_), {std::move(wishes_)}, std::move(sink), std::move(stop_)};
    return b;
  }

  pool* home_;
  std::tuple<W...> wishes_;
  [[no_unique_address]] Stop stop_;
  F function_;
};

template <class T>
struct is_request : std::false_type {};
template <class F, class Stop, class... W>
struct is_request<request<F, Stop, W...>> : std::true_type {};
template <class T>
concept any_request = is_request<std::remove_cvref_t<T>>::value;

// What when() gives: it wants to be told what to run.
template <class Stop, class... W>
class clause {
 public:
  clause(pool& home, Stop stop, W... wishes)
      : home_(home), stop_(std::move(stop)), wishes_(std::move(wishes)...) {}

  template <class F>
  request<std::decay_t<F>, Stop, W...> operator<<(F&& f) && {
    return {home_, std::move(wishes_), std::move(stop_), std::forward<F>(f)};
  }

  clause<std::stop_token, W...> stop_on(std::stop_token token) && {
    return std::apply(
        [&](W&... w) {
          return clause<std::stop_token, W...>{home_, std::move(token), std::move(w)...};
        },
        wishes_);
  }

 private:
  pool& home_;
  [[no_unique_address]] Stop stop_;
  std::tuple<W...> wishes_;
};

// The same for try_when().
template <class... W>
class try_clause {
 public:
  explicit try_clause(clause<never_stopped, W...> c) : clause_(std::move(c)) {}

  template <class F>
  bool operator<<(F&& f) && {
    auto r = std::move(clause_) << std::forward<F>(f);
    return r.send_if_room();
  }

 private:
  clause<never_stopped, W...> clause_;
};

// Throws for a null cown, and for cowns of two pumps.
template <class... W>
[[gnu::noinline]] void check_closely(const W&... wishes) {
  std::vector<std::uintptr_t> words;
  (wishes.each_word([&](std::uintptr_t w) { words.push_back(w); }), ...);
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == 0) null_cown(i + 1, words.size());
  check_pumps(words.data(), words.size());
}
template <class... W>
[[gnu::always_inline]] inline void check_wishes(const W&... wishes) {
  bool all_there = true;
  (wishes.each_word([&](std::uintptr_t word) { all_there &= word != 0; }), ...);
  // The cowns themselves are left alone: others use them.
  constexpr bool several = sizeof...(W) > 1 || (W::is_range || ...);
  if (!all_there || (several && cown_access::has_pinned())) [[unlikely]]
    check_closely(wishes...);
}

template <class... W>
clause<never_stopped, W...> make_clause(pool& home, W... wishes) {
  check_wishes(wishes...);
  return {home, never_stopped{}, std::move(wishes)...};
}

}  // namespace detail

// Names a cown, or a range of cowns, for reading.
template <class T>
detail::one<const T> read(const cown_ptr<T>& c) noexcept {
  return {c.get()};
}
template <detail::cown_range R>
detail::some<const detail::cowns_of<R>> read(const R& range) {
  return detail::wish_for_range<const detail::cowns_of<R>>(range);
}

// Names what a behaviour needs. Throws std::invalid_argument for a null cown and std::logic_error
// on a thread that belongs to no runtime.
template <class... C>
[[nodiscard("say what to run: when(...) << f")]] auto when(const C&... cowns) {
  return detail::make_clause(detail::home_here(), detail::wish_for(cowns)...);
}
template <class... C>
[[nodiscard("say what to run: when(...) << f")]] auto when(runtime& rt, const C&... cowns) {
  return detail::make_clause(detail::home_of(detail::state_of(rt)), detail::wish_for(cowns)...);
}

// The same, but sends only if all of these cowns have room: none is overloaded, muted, or as long
// as its threshold. Gives whether it did.
template <class... C>
[[nodiscard("say what to run: try_when(...) << f")]] auto try_when(const C&... cowns) {
  return detail::try_clause{when(cowns...)};
}
template <class... C>
[[nodiscard("say what to run: try_when(...) << f")]] auto try_when(runtime& rt, const C&... cowns) {
  return detail::try_clause{when(rt, cowns...)};
}

// Gives a cown back before the running behaviour ends; its value is then somebody else's. Twice is
// once. Throws std::logic_error if the cown is none of the behaviour's, or none runs.
template <class T>
void release(const cown_ptr<T>& c) {
  detail::behaviour* b = detail::running_behaviour();
  if (!b) throw std::logic_error("release() outside of a behaviour");
  detail::release_early(*b, *c.get());
}

// Behaviours that are requested atomically. Awaited, it waits for all of them and throws the first
// exception.
//
//   rota::batch all;
//   for (auto& c : cowns) all += rota::when(c) << f;
//   all.send();                                          // or at the end of its scope
class batch {
 public:
  batch() noexcept = default;
  batch(batch&& other) noexcept
      : home_(std::exchange(other.home_, nullptr)),
        members_(std::move(other.members_)),
        state_(std::exchange(other.state_, nullptr)) {}
  batch& operator=(batch&&) = delete;
  ~batch() { send(); }

  template <detail::any_request R>
  batch& operator+=(R&& r) {
    if (!state_) {
      home_ = r.home();
      state_ = new detail::batch_state;
    }
    members_.reserve(members_.size() + 1);
    members_.push_back(&r.make(detail::count_down{state_}));
    r.take_home();
    return *this;
  }

  // Sends all of them now, unless that was done.
  void send();

  // Sends all of them and gives a handle of their common end.
  when_result<void> with_result();

  class awaiter {
   public:
    explicit awaiter(when_result<void> r) noexcept
        : result_(std::move(r)), inner_(result_.operator co_await()) {}
    awaiter(const awaiter&) = delete;
    awaiter& operator=(const awaiter&) = delete;
    bool await_ready() const noexcept { return inner_.await_ready(); }
    bool await_suspend(std::coroutine_handle<> leaf) noexcept { return inner_.await_suspend(leaf); }
    void await_resume() { inner_.await_resume(); }

   private:
    when_result<void> result_;
    when_result<void>::awaiter inner_;
  };
  awaiter operator co_await() { return awaiter{with_result()}; }

 private:
  void send_members();

  detail::pool* home_ = nullptr;
  std::vector<detail::behaviour*> members_;
  detail::batch_state* state_ = nullptr;
};

namespace detail {

template <any_request A, any_request B>
rota::batch operator+(A&& a, B&& b) {
  rota::batch both;
  both += a;
  both += b;
  return both;
}
template <any_request B>
rota::batch operator+(rota::batch&& first, B&& b) {
  rota::batch all{std::move(first)};
  all += b;
  return all;
}

}  // namespace detail

}  // namespace rota

#endif
