#include <rota/base/assert.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace rota::detail {

void fail(const char* file, int line, const char* format, ...) noexcept {
  std::fprintf(stderr, "rota: %s:%d: ", file, line);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::fflush(stderr);
  std::abort();
}

}  // namespace rota::detail
