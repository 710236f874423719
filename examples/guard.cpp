// Waiting for a condition: guards and cells. A cell is a value that wakes who waits for it; a guard
// goes on when its condition holds. Here a shop waits for stock, and the supplier for room.
#include <rota/rota.h>

#include <cstdio>

struct store {
  rota::cell<int> stock{0};
  rota::cell<bool> open{true};
};

rota::task<> supply(store& s) {
  for (int delivery = 0; delivery < 3; ++delivery) {
    // The shelf holds four: wait until there is room for two more.
    co_await s.stock.until([](int n) { return n <= 2; });
    s.stock.update([](int& n) { n += 2; });
  }
  s.open.set(false);
}

rota::task<> sell(store& s) {
  int sold = 0;
  for (;;) {
    // Looked at again when one of the named cells is written.
    co_await rota::guard([&] { return s.stock.get() > 0 || !s.open.get(); }, s.stock, s.open);
    if (s.stock.get() == 0) break;
    s.stock.update([](int& n) { --n; });
    std::printf("sold %d\n", ++sold);
  }
  std::puts("sold out");
}

rota::task<> program() {
  store s;
  rota::task_group both;
  both.spawn(supply(s));
  both.spawn(sell(s));
  co_await both.join();
}

int main() { rota::run(program()); }
