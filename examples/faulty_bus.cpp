// How would a node fare on a bad network? Here a bus loses a third of all requests and replies, by
// a plan with a seed: the same ones in each run. Another one is cut and mended. What is sent goes
// as bytes, as it would over a wire.
#include <rota/rota.h>

#include <chrono>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

using namespace std::chrono_literals;

struct order {
  int number = 0;
  std::string what;
};
template <class V>
void describe(V& v, order& o) {
  v.type("shop/order");
  v.field("number", o.number);
  v.field("what", o.what);
}

// Asks until it is answered. A call without an answer may have been handled all the same, so the
// shop knows orders by their number.
rota::task<> buy(rota::client<order, bool> shop, order o) {
  for (;;) {
    const auto r = co_await shop.call(o, 5ms);
    if (r) co_return;
  }
}

rota::task<> buy_bread(rota::client<order, bool> shop) {
  for (int i = 1; i <= 10; ++i) {
    order o{i, "bread"};
    co_await buy(shop, std::move(o));
  }
}

void with_losses(rota::runtime& rt) {
  const rota::faults rough{rota::fault_plan{}.with_seed(7).with_drop(0.33)};
  rota::bus bus{rt, rota::faulty("loop:", rough)};
  std::set<int> sold;
  rota::node shop{bus, "shop"};
  shop.serve<order, bool>("/buy", [&](const order& o) { return sold.insert(o.number).second; });
  rota::node customer{bus, "customer"};
  rt.run(buy_bread(customer.client<order, bool>("/buy")));
  std::printf("sold: %zu, although something was lost: %s\n", sold.size(),
              rough.counters().dropped > 0 ? "yes" : "no");
}

void with_a_cut(rota::runtime& rt) {
  rota::faults link{rota::fault_plan{}.with_cuts()};
  rota::bus bus{rt, rota::faulty("loop:", link)};
  rota::node shop{bus, "shop"};
  shop.serve<order, bool>("/buy", [](const order&) { return true; });
  const auto client = shop.client<order, bool>("/buy");
  link.cut();
  const auto cut = rt.run(client.call(order{1, "bread"}, 10s));
  std::printf("while it is cut: %s, %s\n", std::string(to_string(cut.status())).c_str(),
              cut.reason().c_str());
  link.mend();
  const auto mended = rt.run(client.call(order{1, "bread"}, 10s));
  std::printf("when it is mended: %s\n", std::string(to_string(mended.status())).c_str());
}

int main() {
  rota::runtime rt;
  with_losses(rt);
  with_a_cut(rt);
}
