// A cown owns a value that only behaviours touch: concurrent ownership instead of a lock.
//
//   auto account = rota::make_cown<int>(100);
//   rota::when(account) << [](int& balance) { balance -= 10; };     // see when.h
//
// cown_ptr shares the cown like std::shared_ptr; the value ends with the last pointer, once no
// behaviour wants it any more. Cowns whose values, or whose waiting behaviours, point to each other
// in a circle keep each other alive for ever, as with std::shared_ptr: let one of them be a
// weak_cown_ptr.
//
// Promised: nobody but behaviours reaches the value, one at a time for writing (when.h); it ends
// once, on whichever thread drops the last pointer.
//
// A cown belongs to no runtime: it can be made anywhere, also before there is one, and be used
// after it.
//
// Cost: 56 bytes and the value, 64 with a word in it.
// Threads: pointers are like shared_ptr's: each is one thread's, what they point to is everybody's.
#ifndef ROTA_COWN_COWN_H
#define ROTA_COWN_COWN_H

#include <rota/cown/core.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace rota {

template <class T>
class weak_cown_ptr;

// What a cown counts. Taken while others use it, so a moment old.
struct cown_counters {
  std::uint32_t pending = 0;  // behaviours in its queue, the running one included
  std::uint32_t passed = 0;   // behaviours that have left the queue, modulo 2^32
  bool overloaded = false;    // has high priority: its senders are muted
  bool muted = false;         // is not run until somebody it has sent to has caught up
};

template <class T>
class cown_ptr {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>, "a cown holds a plain value");

 public:
  using value_type = T;

  cown_ptr() noexcept = default;
  cown_ptr(std::nullptr_t) noexcept {}
  cown_ptr(const cown_ptr& other) noexcept : cown_(other.cown_) {
    if (cown_) cown_->add_ref();
  }
  cown_ptr(cown_ptr&& other) noexcept : cown_(std::exchange(other.cown_, nullptr)) {}
  cown_ptr& operator=(cown_ptr other) noexcept {
    std::swap(cown_, other.cown_);
    return *this;
  }
  ~cown_ptr() {
    if (cown_) cown_->drop_ref();
  }

  explicit operator bool() const noexcept { return cown_ != nullptr; }
  friend bool operator==(const cown_ptr&, const cown_ptr&) noexcept = default;
  friend auto operator<=>(const cown_ptr& a, const cown_ptr& b) noexcept {
    return std::compare_three_way{}(a.cown_, b.cown_);
  }

  void reset() noexcept { cown_ptr{}.swap(*this); }
  void swap(cown_ptr& other) noexcept { std::swap(cown_, other.cown_); }

  cown_counters counters() const noexcept {
    return {detail::cown_access::pending(*cown_), detail::cown_access::gone(*cown_),
            detail::cown_access::is_overloaded(*cown_), detail::cown_access::is_muted(*cown_)};
  }

  // A longer queue is an overloaded one, whose senders are muted (pressure.h). At most 2^27 - 1.
  void set_threshold(std::uint32_t messages) const noexcept {
    detail::cown_access::set_threshold(*cown_, messages);
  }

  // The value, for who knows that no behaviour has the cown or wants it: before the first, or after
  // runtime::quiesce().
  T& unguarded() const noexcept { return cown_->value; }

  // For the layers of Rota.
  explicit cown_ptr(detail::cown<T>* adopted) noexcept : cown_(adopted) {}
  detail::cown<T>* get() const noexcept { return cown_; }

 private:
  detail::cown<T>* cown_ = nullptr;
};

// Makes a cown and its value.
template <class T, class... Args>
cown_ptr<T> make_cown(Args&&... args) {
  return cown_ptr<T>{detail::cown<T>::make(std::forward<Args>(args)...)};
}

// Knows a cown without keeping it.
template <class T>
class weak_cown_ptr {
 public:
  weak_cown_ptr() noexcept = default;
  weak_cown_ptr(const cown_ptr<T>& c)
      : side_(c ? detail::cown_access::make_weak(*c.get()) : nullptr) {}
  weak_cown_ptr(const weak_cown_ptr& other) noexcept : side_(other.side_) {
    if (side_) detail::cown_access::add_weak(*side_);
  }
  weak_cown_ptr(weak_cown_ptr&& other) noexcept : side_(std::exchange(other.side_, nullptr)) {}
  weak_cown_ptr& operator=(weak_cown_ptr other) noexcept {
    std::swap(side_, other.side_);
    return *this;
  }
  ~weak_cown_ptr() {
    if (side_) detail::cown_access::drop_weak(*side_);
  }

  // The cown, or null if it is gone.
  cown_ptr<T> lock() const noexcept {
    if (!side_) return {};
    return cown_ptr<T>{static_cast<detail::cown<T>*>(detail::cown_access::lock(*side_))};
  }

 private:
  detail::cown_side* side_ = nullptr;
};

}  // namespace rota

template <class T>
struct std::hash<rota::cown_ptr<T>> {
  std::size_t operator()(const rota::cown_ptr<T>& c) const noexcept {
    return std::hash<const void*>{}(c.get());
  }
};

#endif
