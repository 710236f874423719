// Messages, schemas and events that a machine makes up, byte by byte, looking for code that it has
// not reached yet (libFuzzer; CONTRIBUTING.md has the command).
// tests/event/codec_robustness_test.cpp does the same to messages that are right, without such a
// guide.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "fuzz/any_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong =
      rota::cdr_test::wrong_with({reinterpret_cast<const std::byte*>(data), size});
  if (wrong.empty()) return 0;
  std::cerr << wrong << '\n';
  std::abort();
}
