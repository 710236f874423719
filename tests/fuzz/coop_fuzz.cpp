// Programs that a machine makes up, byte by byte, looking for code that it has not reached yet
// (libFuzzer; CONTRIBUTING.md has the command). tests/coop/robustness_test.cpp does the same to the
// corpus without such a guide.

#include <cstddef>
#include <cstdint>
#include <iostream>

#include "fuzz/any_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong =
      rota::coop::test::wrong_with(std::string(reinterpret_cast<const char*>(data), size));
  if (wrong.empty()) return 0;
  std::cerr << wrong << '\n';
  std::abort();
}
