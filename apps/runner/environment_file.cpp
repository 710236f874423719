#include "environment_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rota::runner {

namespace {

constexpr std::size_t most_bytes = 64 * 1024;
char contents[most_bytes + 1];

bool is_name(std::string_view s) noexcept {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  for (const char c : s) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

// Reads all of a regular file; the answer is its size.
environment_fault read_contents(const char* path, std::size_t& size) noexcept {
  // Not to wait: a pipe of that name would never answer.
  const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return {"cannot be opened", errno, 0};
  struct stat what = {};
  if (::fstat(file, &what) != 0) return {"cannot be looked at", errno, 0};
  if (!S_ISREG(what.st_mode)) return {"is no regular file", 0, 0};
  size = 0;
  while (size < sizeof(contents)) {
    const ssize_t n = ::read(file, contents + size, sizeof(contents) - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {"cannot be read", errno, 0};
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  ::close(file);
  if (size > most_bytes) return {"has more than 65536 bytes", 0, 0};
  if (std::memchr(contents, 0, size) != nullptr) return {"has a zero byte, so it is no text", 0, 0};
  return {};
}

// The line ends where its text ends, so it can be used where it stands.
environment_fault read_line(request& r, char* line, std::size_t size, int number) noexcept {
  while (size > 0 && (line[size - 1] == '\r' || line[size - 1] == ' ' || line[size - 1] == '\t'))
    --size;
  while (size > 0 && (*line == ' ' || *line == '\t')) ++line, --size;
  if (size == 0 || *line == '#') return {};
  const std::string_view all{line, size};
  const std::size_t equals = all.find('=');
  if (equals == std::string_view::npos || !is_name(all.substr(0, equals)))
    return {"has to be NAME=VALUE", 0, number};
  std::string_view value = all.substr(equals + 1);
  const bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                      value.front() == value.back();
  if (quoted) value = value.substr(1, value.size() - 2);
  std::memmove(line + equals + 1, value.data(), value.size());
  line[equals + 1 + value.size()] = 0;
  if (!set_variable(r, line)) return {"is one variable too many", 0, number};
  return {};
}

}  // namespace

environment_fault read_environment_file(request& r) noexcept {
  std::size_t size = 0;
  environment_fault fault = read_contents(r.environment_file, size);
  int number = 0;
  for (std::size_t at = 0; at < size && fault.what == nullptr;) {
    auto* end = static_cast<char*>(std::memchr(contents + at, '\n', size - at));
    const std::size_t length =
        end == nullptr ? size - at : static_cast<std::size_t>(end - (contents + at));
    fault = read_line(r, contents + at, length, ++number);
    at += length + 1;
  }
  return fault;
}

}  // namespace rota::runner
