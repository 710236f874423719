// Objects that end with the last pointer to them. Like std::shared_ptr, but its count is one that
// the explorer knows.
#ifndef ROTA_EVENT_COUNTED_H
#define ROTA_EVENT_COUNTED_H

#include <rota/base/sync.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace rota::detail {

class counted {
 public:
  counted() noexcept = default;
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;

  void add_ref() noexcept { refs_.fetch_add(1, sync::memory_order_relaxed); }
  void drop_ref() noexcept {
    if (drop_ref_only()) end();
  }

  // The same, but it is left to the caller to end the object: true if that is to be done.
  bool drop_ref_only() noexcept {
    // acq_rel: what others did with the object comes before its end.
    return refs_.fetch_sub(1, sync::memory_order_acq_rel) == 1;
  }
  virtual void end() noexcept { delete this; }

  // False if the last pointer is gone; the caller keeps the memory from going too.
  bool try_add_ref() noexcept {
    std::uint32_t n = refs_.load(sync::memory_order_relaxed);
    while (n != 0)
      if (refs_.compare_exchange_weak(n, n + 1, sync::memory_order_relaxed,
                                      sync::memory_order_relaxed))
        return true;
    return false;
  }

  // acquire: pairs with drop_ref(); who is alone may do as it likes.
  bool is_alone() const noexcept { return refs_.load(sync::memory_order_acquire) == 1; }

 protected:
  virtual ~counted() = default;

 private:
  sync::atomic<std::uint32_t> refs_{1};
};

template <class T>
class counted_ptr {
 public:
  counted_ptr() noexcept = default;
  counted_ptr(std::nullptr_t) noexcept {}
  explicit counted_ptr(T* adopted) noexcept : object_(adopted) {}
  counted_ptr(const counted_ptr& other) noexcept : object_(other.object_) {
    if (object_) object_->add_ref();
  }
  counted_ptr(counted_ptr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class Other>
    requires std::is_convertible_v<Other*, T*>
  counted_ptr(counted_ptr<Other> other) noexcept : object_(other.release()) {}
  counted_ptr& operator=(counted_ptr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~counted_ptr() {
    if (object_) object_->drop_ref();
  }

  // One more pointer to an object that is there.
  static counted_ptr to(T& object) noexcept {
    object.add_ref();
    return counted_ptr{&object};
  }

  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const counted_ptr&, const counted_ptr&) noexcept = default;
  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

template <class T, class... Args>
counted_ptr<T> make_counted(Args&&... args) {
  return counted_ptr<T>{new T(std::forward<Args>(args)...)};
}

}  // namespace rota::detail

#endif
