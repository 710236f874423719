// Several tasks at once.
//
//   auto [user, cart] = co_await rota::when_all(load_user(id), load_cart(id));
//   auto first = co_await rota::when_any(ask(a), ask(b));   // first.index() says whose it is
//
// when_all runs its tasks beside each other and gives all results (rota::none for void). The first
// failure stops the others; when all have ended it is rethrown. If one ended with rota::cancelled
// there is no result either, and that is thrown.
// when_any gives the first result and stops the others; it returns when they have ended too, so no
// task is left behind. A task that fails before any has a result counts as first; one that ends
// with rota::cancelled does not, unless all do.
//
// Threads: for tasks. Those that it runs are tasks of their own, on any worker.
#ifndef ROTA_TASK_WHEN_H
#define ROTA_TASK_WHEN_H

#include <rota/task/event.h>
#include <rota/task/group.h>
#include <rota/task/task.h>

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rota {

// The result of a task<void> in when_all and when_any.
struct none {
  friend bool operator==(none, none) noexcept { return true; }
};

namespace detail {

template <class T>
using result_of = std::conditional_t<std::is_void_v<T>, none, T>;

template <class T>
task<void> into(std::optional<result_of<T>>& slot, task<T> t) {
  if constexpr (std::is_void_v<T>) {
    co_await std::move(t);
    slot.emplace();
  } else {
    slot.emplace(co_await std::move(t));
  }
}

// The place of the first to end: taken once.
class first_place {
 public:
  explicit first_place(std::size_t runners) noexcept : runners_(runners) {}
  bool take() noexcept {
    spin_guard guard{lock_};
    return !std::exchange(taken_, true);
  }
  // A runner was stopped. True if nobody is left who could take the place.
  bool give_up() noexcept {
    spin_guard guard{lock_};
    return --runners_ == 0;
  }
  async_event event;

 private:
  spin_lock lock_;
  bool taken_ = false;
  std::size_t runners_;
};

template <std::size_t I, class Variant, class T>
task<void> race(first_place& place, std::optional<Variant>& winner, std::exception_ptr& error,
                task<T> t) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(t);
      if (place.take()) winner.emplace(std::in_place_index<I>);
    } else {
      T value = co_await std::move(t);
      if (place.take()) winner.emplace(std::in_place_index<I>, std::move(value));
    }
  } catch (const cancelled&) {
    if (place.give_up()) place.event.set();
    throw;
  } catch (...) {
    if (place.take()) error = std::current_exception();
  }
  place.event.set();
}

template <class... Ts, std::size_t... Is>
task<std::variant<result_of<Ts>...>> any(std::index_sequence<Is...>, task<Ts>... tasks) {
  using variant = std::variant<result_of<Ts>...>;
  std::optional<variant> winner;
  std::exception_ptr error;
  first_place place{sizeof...(Ts)};
  task_group group;
  (group.spawn(race<Is>(place, winner, error, std::move(tasks))), ...);
  try {
    co_await place.event.wait();
  } catch (const cancelled&) {
    // We were asked to stop: so are they.
  }
  group.request_stop();
  {
    shield losers;
    co_await group.join();
  }
  if (error) std::rethrow_exception(error);
  if (!winner) throw cancelled{};
  co_return std::move(*winner);
}

}  // namespace detail

template <class... Ts>
  requires(sizeof...(Ts) > 0)
task<std::tuple<detail::result_of<Ts>...>> when_all(task<Ts>... tasks) {
  std::tuple<std::optional<detail::result_of<Ts>>...> slots;
  task_group group;
  const auto spawn_all = [&]<std::size_t... Is>(std::index_sequence<Is...>, auto&... ts) {
    (group.spawn(detail::into<Ts>(std::get<Is>(slots), std::move(ts))), ...);
  };
  spawn_all(std::index_sequence_for<Ts...>{}, tasks...);
  co_await group.join();
  const auto unwrap = [](auto&... slot) {
    if (!(slot && ...)) throw cancelled{};  // one was stopped: there is no result
    return std::tuple<detail::result_of<Ts>...>{std::move(*slot)...};
  };
  co_return std::apply(unwrap, slots);
}

// The same for any number of tasks of one type.
template <class T>
task<std::vector<detail::result_of<T>>> when_all(std::vector<task<T>> tasks) {
  std::vector<std::optional<detail::result_of<T>>> slots(tasks.size());
  task_group group;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    group.spawn(detail::into<T>(slots[i], std::move(tasks[i])));
  co_await group.join();
  std::vector<detail::result_of<T>> results;
  results.reserve(slots.size());
  for (auto& slot : slots) {
    if (!slot) throw cancelled{};
    results.push_back(std::move(*slot));
  }
  co_return results;
}

template <class... Ts>
  requires(sizeof...(Ts) > 0)
task<std::variant<detail::result_of<Ts>...>> when_any(task<Ts>... tasks) {
  return detail::any(std::index_sequence_for<Ts...>{}, std::move(tasks)...);
}

}  // namespace rota

#endif
