// The smallest program that needs the headers and the library of an installed Rota.

#include <rota/rota.h>

namespace {

rota::task<int> answer() { co_return 42; }

}  // namespace

int main() { return rota::run(answer()) == 42 ? 0 : 1; }
