// What a transport needs to know of a message type whose C++ type it does not know.
#ifndef ROTA_EVENT_TYPE_SUPPORT_H
#define ROTA_EVENT_TYPE_SUPPORT_H

#include <rota/event/codec.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace rota::detail {

// One per type; the same for the life of the program.
struct type_support {
  // "lab/scan"; what the compiler calls it, if it is not described.
  std::string_view (*name)();

  // Null for types that are not described, which stay within the process.
  std::string_view (*schema)();
  void (*encode)(const void* value, std::vector<std::byte>& append_to);
  decode_result (*decode)(std::span<const std::byte> bytes, void* value);

  bool is_described() const noexcept { return encode != nullptr; }
};

template <class T>
const type_support* type_support_of() {
  if constexpr (described<T>) {
    static constexpr type_support table{&codec<T>::type_name, &codec<T>::schema,
                                        [](const void* value, std::vector<std::byte>& append_to) {
                                          codec<T>::encode(*static_cast<const T*>(value),
                                                           append_to);
                                        },
                                        [](std::span<const std::byte> bytes, void* value) {
                                          return codec<T>::decode(bytes, *static_cast<T*>(value));
                                        }};
    return &table;
  } else {
    static constexpr type_support table{[] { return std::string_view{readable_name<T>()}; },
                                        nullptr, nullptr, nullptr};
    return &table;
  }
}

}  // namespace rota::detail

#endif
