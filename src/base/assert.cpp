#include <rota/base/assert.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace rota::detail {

void fail(const char* file, int line, const char* format, ...) noexcept {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (on_fail) on_fail(file, line, text);
  std::fprintf(stderr, "rota: %s:%d: %s\n", file, line, text);
  std::fflush(stderr);
  std::abort();
}

}  // namespace rota::detail
