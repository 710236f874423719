// A message that subscribers share: one object, not copied, that nobody changes.
//
//   void on_scan(rota::message<scan> m) { latest = std::move(m); }   // keeps it, at no cost
//
//   auto m = publisher.loan();             // to be filled in place: a large one is never copied
//   fill(m->ranges);
//   publisher.publish(std::move(m));
//
// Promised: take() moves it out only if nobody else has it, otherwise it is copied.
//
// Threads: each handle is one thread's, the message is everybody's to read.
#ifndef ROTA_EVENT_MESSAGE_H
#define ROTA_EVENT_MESSAGE_H

#include <rota/base/frame_pool.h>
#include <rota/event/core.h>
#include <rota/event/counted.h>
#include <rota/event/type_support.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace rota {

namespace detail {

struct message_base;

// What a transport knows of a type of messages.
struct message_type {
  const std::type_info* type;
  const type_support* support;  // its name, and its codec if it can go over a wire
  void* (*value)(message_base& m) noexcept;
  message_base* (*make)();  // one to read into; null if it cannot go over a wire
  bool is_copyable;         // otherwise it has one reader, who may take it

  friend bool operator==(const message_type& a, const message_type& b) noexcept {
    return a.type == b.type || *a.type == *b.type;
  }
};

struct message_base : counted {
  explicit message_base(const message_type& t) noexcept : type(&t) {}
  const message_type* const type;
  message_base* next = nullptr;  // of those that nobody has any more: trigger_list::discard
};
template <class M>
struct message_of final : message_base {
  template <class... Args>
  explicit message_of(Args&&... args)
      : message_base(type_of()), value(std::forward<Args>(args)...) {}

  template <class... Args>
  static message_of* make(Args&&... args) {
    void* const memory = is_pooled()
                             ? allocate_frame(sizeof(message_of))
                             : ::operator new(sizeof(message_of), std::align_val_t{alignof(M)});
    try {
      return ::new (memory) message_of(std::forward<Args>(args)...);
    } catch (...) {
      give_back(memory);
      throw;
    }
  }

  static const message_type& type_of() noexcept {
    static const message_type type = make_type();
    return type;
  }

  void end() noexcept override {
    this->~message_of();
    give_back(this);
  }

  M value;

 private:
  static constexpr bool is_pooled() noexcept { return fits_frame(sizeof(message_of), alignof(M)); }
  static void give_back(void* memory) noexcept {
    if constexpr (is_pooled())
      free_frame(memory, sizeof(message_of));
    else
      ::operator delete(memory, std::align_val_t{alignof(M)});
  }
  static message_type make_type() noexcept {
    message_type t{&typeid(M), type_support_of<M>(),
                   [](message_base& m) noexcept -> void* {
                     return std::addressof(static_cast<message_of&>(m).value);
                   },
                   nullptr, std::is_copy_constructible_v<M>};
    if constexpr (described<M>) t.make = []() -> message_base* { return make(); };
    return t;
  }
};

// The message as bytes, for a type that has a codec.
std::vector<std::byte> encode(const message_base& m);

// A message of bytes, or nothing and what is wrong with them.
message_ref decode(const message_type& type, std::span<const std::byte> bytes, std::string& error);

}  // namespace detail

// A message that was received.
template <class M>
class message {
 public:
  message() noexcept = default;
  explicit operator bool() const noexcept { return static_cast<bool>(ref_); }
  const M& operator*() const noexcept { return of().value; }
  const M* operator->() const noexcept { return &of().value; }

  // The message itself: moved out if nobody else has it, otherwise a copy. Throws std::logic_error
  // if it cannot be copied, and others have it too.
  M take() && {
    auto& m = const_cast<detail::message_of<M>&>(of());
    if (!m.is_alone()) {
      if constexpr (std::is_copy_constructible_v<M>)
        return M(m.value);
      else
        throw std::logic_error(
            "a message that cannot be copied has other readers: take it by "
            "const reference, or have one subscriber and no late joiners");
    }
    return M(std::move(m.value));
  }

  // For the layers of Rota.
  explicit message(detail::message_ref r) noexcept : ref_(std::move(r)) {}
  const detail::message_ref& ref() const noexcept { return ref_; }

 private:
  const detail::message_of<M>& of() const noexcept {
    return static_cast<const detail::message_of<M>&>(*ref_);
  }
  detail::message_ref ref_;
};

// A message that is still to be published, and nobody else's.
template <class M>
class loan {
 public:
  template <class... Args>
  explicit loan(std::in_place_t, Args&&... args)
      : ref_(detail::message_of<M>::make(std::forward<Args>(args)...)) {}
  loan(loan&&) noexcept = default;
  loan& operator=(loan&&) noexcept = default;

  M& operator*() const noexcept { return static_cast<detail::message_of<M>&>(*ref_).value; }
  M* operator->() const noexcept { return &**this; }

  // For the layers of Rota.
  detail::message_ref release() noexcept { return std::move(ref_); }

 private:
  detail::message_ref ref_;
};

}  // namespace rota

#endif
