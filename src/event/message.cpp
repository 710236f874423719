#include <rota/event/message.h>

namespace rota::detail {

std::vector<std::byte> encode(const message_base& m) {
  std::vector<std::byte> bytes;
  // The codec only looks at it.
  m.type->support->encode(m.type->value(const_cast<message_base&>(m)), bytes);
  return bytes;
}

message_ref decode(const message_type& type, std::span<const std::byte> bytes, std::string& error) {
  message_ref fresh{type.make()};
  if (auto r = type.support->decode(bytes, type.value(*fresh)); !r) {
    error = r.what();
    return {};
  }
  return fresh;
}

}  // namespace rota::detail
