// Crontabs that a machine makes up, byte by byte, looking for code that it has not
// reached yet (libFuzzer; CONTRIBUTING.md has the command). tests/job/table_robustness_test.cpp
// does the same to the corpus without such a guide.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "fuzz/any_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong =
      rota::job::test::wrong_with_crontab({reinterpret_cast<const char*>(data), size});
  if (wrong.empty()) return 0;
  std::cerr << wrong << '\n';
  std::abort();
}
