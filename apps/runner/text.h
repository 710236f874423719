// A line of text in a buffer of its own. What does not fit is left out: nothing here allocates.
#ifndef ROTA_RUNNER_TEXT_H
#define ROTA_RUNNER_TEXT_H

#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace rota::runner {

template <std::size_t Size>
class text {
 public:
  text& operator<<(std::string_view s) noexcept {
    const std::size_t n = s.size() < Size - used_ ? s.size() : Size - used_;
    std::memcpy(buffer_ + used_, s.data(), n);
    used_ += n;
    return *this;
  }
  text& operator<<(const char* s) noexcept { return *this << std::string_view(s); }
  text& operator<<(long long n) noexcept {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof(digits), n).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }
  text& operator<<(int n) noexcept { return *this << static_cast<long long>(n); }
  text& operator<<(long n) noexcept { return *this << static_cast<long long>(n); }

  // Words that stay on their line, whatever they are.
  text& add_plain(std::string_view s, std::size_t most) noexcept {
    for (const char c : s.substr(0, most)) {
      const char plain = static_cast<unsigned char>(c) < ' ' || c == 127 ? '?' : c;
      *this << std::string_view(&plain, 1);
    }
    return *this;
  }

  std::string_view view() const noexcept { return {buffer_, used_}; }

 private:
  char buffer_[Size];
  std::size_t used_ = 0;
};

}  // namespace rota::runner

#endif
