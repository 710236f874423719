#include "request.h"

#include <cstring>

namespace rota::runner {

namespace {

namespace wire = job::wire;

// Filled by the runner, not by the server, so that a fork has nothing to copy.
char* argument_room[wire::most_words + 1];
char* variable_room[2 * wire::most_words + 1];

// The texts behind the head, one after the other.
class reader {
 public:
  reader(char* at, char* end) noexcept : at_(at), end_(end) {}

  char* next() noexcept {
    auto* zero = static_cast<char*>(std::memchr(at_, 0, static_cast<std::size_t>(end_ - at_)));
    if (zero == nullptr) {
      failed_ = true;
      return end_;
    }
    char* text = at_;
    at_ = zero + 1;
    return text;
  }

  bool failed() const noexcept { return failed_; }
  std::string_view rest() const noexcept { return {at_, static_cast<std::size_t>(end_ - at_)}; }

 private:
  char* at_;
  char* end_;
  bool failed_ = false;
};

std::size_t name_size(std::string_view name_and_value) noexcept {
  const std::size_t equals = name_and_value.find('=');
  return equals == std::string_view::npos ? name_and_value.size() : equals;
}

}  // namespace

bool read_request(char* data, std::size_t size, request& into) noexcept {
  wire::request_head& head = into.head;
  if (size < sizeof(head)) return false;
  std::memcpy(&head, data, sizeof(head));
  const std::size_t groups_size = std::size_t{head.group_count} * sizeof(std::uint32_t);
  const std::size_t words = std::size_t{head.argument_count} + head.variable_count;
  if (head.format != wire::version || head.size != size || head.id <= 0 ||
      groups_size > size - sizeof(head) || head.argument_count == 0 || words > wire::most_words)
    return false;
  into.groups = reinterpret_cast<const std::uint32_t*>(data + sizeof(head));
  reader texts{data + sizeof(head) + groups_size, data + size};
  into.key = texts.next();
  into.directory = texts.next();
  into.environment_file = texts.next();
  into.arguments = argument_room;
  for (std::size_t i = 0; i < head.argument_count; ++i) into.arguments[i] = texts.next();
  into.variables = variable_room;
  into.variable_count = head.variable_count;
  for (std::size_t i = 0; i < head.variable_count; ++i) into.variables[i] = texts.next();
  into.input = texts.rest();
  return !texts.failed() && into.input.size() == head.input_size;
}

bool set_variable(request& r, char* name_and_value) noexcept {
  const std::string_view added = name_and_value;
  const std::string_view name = added.substr(0, name_size(added));
  for (std::size_t i = 0; i < r.variable_count; ++i) {
    const std::string_view there = r.variables[i];
    if (there.substr(0, name_size(there)) != name) continue;
    r.variables[i] = name_and_value;
    return true;
  }
  if (r.variable_count >= 2 * wire::most_words) return false;
  r.variables[r.variable_count++] = name_and_value;
  return true;
}

const char* variable(const request& r, std::string_view name) noexcept {
  for (std::size_t i = 0; i < r.variable_count; ++i) {
    const std::string_view there = r.variables[i];
    if (name_size(there) == name.size() && there.substr(0, name.size()) == name &&
        there.size() > name.size())
      return r.variables[i] + name.size() + 1;
  }
  return nullptr;
}

}  // namespace rota::runner
