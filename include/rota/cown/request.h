// What when() gives, and what `<<` makes of it: a function and the cowns that it names, on their
// way to become a behaviour. It is sent once: told to, awaited, converted to a when_result, or at
// the end of its scope. Users need not name it (`when.h`):
//
//   auto asked = rota::when(a) << [](int& x) { return x; };   // not sent yet
//   const int x = co_await std::move(asked);
//
// Threads: a request belongs to the thread, or task, that made it.
#ifndef ROTA_COWN_REQUEST_H
#define ROTA_COWN_REQUEST_H

#include <rota/base/assert.h>
#include <rota/cown/body.h>
#include <rota/cown/core.h>
#include <rota/cown/result.h>
#include <rota/cown/wishes.h>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota {

namespace detail {

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
    send(make(discard{}));
  }

  // Sends it, and gives a handle of the result.
  operator when_result<result>() && { return with_result(); }
  when_result<result> with_result() {
    ROTA_CHECK(home_, "a request is sent twice");
    auto* state = new result_state<result>(name_of<F>());
    when_result<result> handle{state};
    send(make(keep<result>{state}));
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
  void send(behaviour& b) noexcept {
    pool& home = *std::exchange(home_, nullptr);
    if constexpr (!has_range && sizeof...(W) == 1)
      send_one(b, home);
    else
      detail::send(b, home);
  }
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

}  // namespace rota

#endif
