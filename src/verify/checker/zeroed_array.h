// A large array whose memory is zero at first and costs nothing until it is touched. In large pages
// where the system has them: tables are looked up at random, and small pages would cost a second
// miss.
#ifndef ROTA_VERIFY_CHECKER_ZEROED_ARRAY_H
#define ROTA_VERIFY_CHECKER_ZEROED_ARRAY_H

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace rota::verify::detail {

template <class T>
class zeroed_array {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  zeroed_array() = default;
  explicit zeroed_array(std::size_t size) : size_(size) {
    void* memory = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    // Only a wish: without large pages it is slower.
    (void)::madvise(memory, bytes(), MADV_HUGEPAGE);
    data_ = static_cast<T*>(memory);
  }
  zeroed_array(zeroed_array&& other) noexcept { swap(other); }
  zeroed_array& operator=(zeroed_array&& other) noexcept {
    zeroed_array{std::move(other)}.swap(*this);
    return *this;
  }
  ~zeroed_array() {
    if (data_) ::munmap(static_cast<void*>(data_), bytes());
  }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T& operator[](std::size_t i) noexcept { return data_[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  void swap(zeroed_array& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace rota::verify::detail

#endif
