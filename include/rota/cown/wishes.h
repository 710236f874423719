// What a behaviour names: single cowns and ranges of them, for reading or for writing, and how they
// become the arguments of its function. Users see `each`; the rest serves when().
//
//   rota::when(accounts) << [](rota::each<int> all) { for (int& a : all) a += 1; };
//
// A wish gives words: the address of a cown, with the bit slot::reads if it is read. Sorted and
// without repeats they are the slots of a behaviour.
//
// Threads: an `each` is for the behaviour that got it, while it runs.
#ifndef ROTA_COWN_WISHES_H
#define ROTA_COWN_WISHES_H

#include <rota/cown/core.h>
#include <rota/cown/cown.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
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

namespace detail {

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

}  // namespace detail

}  // namespace rota

#endif
