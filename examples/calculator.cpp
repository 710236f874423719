// Services: two servers, one of which is a coroutine that calls the other, and what may become of a
// call. Each call ends, by its deadline at the latest, and says how.
#include <rota/rota.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

struct pair_of {
  double a = 0;
  double b = 0;
};

void print(const char* what, const rota::call_result<double>& r) {
  if (r)
    std::printf("%s: %g\n", what, *r);
  else
    std::printf("%s: %s, %s\n", what, std::string(to_string(r.status())).c_str(),
                r.reason().c_str());
}

rota::task<> program(rota::bus& bus) {
  rota::node arithmetic{bus, "arithmetic"};
  arithmetic.serve<pair_of, double>("/add", [](const pair_of& p) { return p.a + p.b; });
  arithmetic.serve<pair_of, double>("/multiply", [](const pair_of& p) { return p.a * p.b; });
  arithmetic.serve<double, double>("/root", [](double x) {
    if (x < 0) throw std::domain_error("the root of a negative number");
    return std::sqrt(x);
  });

  // A server may be a coroutine and call others. It waits without a worker, and other handlers of
  // its node run meanwhile.
  rota::node geometry{bus, "geometry"};
  const auto multiply = geometry.client<pair_of, double>("/multiply");
  const auto add = geometry.client<pair_of, double>("/add");
  const auto root = geometry.client<double, double>("/root");
  geometry.serve<pair_of, double>("/length", [=](pair_of p) -> rota::task<double> {
    const pair_of aa{p.a, p.a};
    const pair_of bb{p.b, p.b};
    const auto a2 = co_await multiply.call(aa, 1s);
    const auto b2 = co_await multiply.call(bb, 1s);
    if (!a2 || !b2) throw std::runtime_error("nobody multiplies");
    const pair_of both{*a2, *b2};
    const auto sum = co_await add.call(both, 1s);
    if (!sum) throw std::runtime_error("nobody adds: " + sum.reason());
    const auto length = co_await root.call(*sum, 1s);
    if (!length) throw std::runtime_error("there is no root: " + length.reason());
    co_return *length;
  });
  // Handlers of a node run one at a time, and a coroutine keeps its turn while it waits for
  // anything but a call. One that waits for long is better off in a group of its own.
  const auto by_itself = rota::handler_options{}.with_group(rota::group{});
  geometry.serve<double, double>("/square_the_circle", by_itself, [](double) -> rota::task<double> {
    co_await rota::sleep_for(1h);
    co_return 0;
  });

  rota::node user{bus, "user"};
  const auto length = user.client<pair_of, double>("/length");
  const auto square = user.client<double, double>("/square_the_circle");
  const auto divide = user.client<pair_of, double>("/divide");
  const auto any_root = user.client<double, double>("/root");

  const pair_of sides{3, 4};
  print("the length of (3, 4)", co_await length.call(sides, 10s));
  print("squaring the circle", co_await square.call(1, 20ms));
  print("3 divided by 4", co_await divide.call(sides, 1s));
  print("the root of -1", co_await any_root.call(-1, 10s));

  // Servers that go answer no more.
  arithmetic.stop();
  print("the root of 4", co_await any_root.call(4, 1s));
}

int main() {
  rota::options o;
  // What a handler throws comes here. The caller was told already.
  o.on_unobserved = [](std::exception_ptr, const std::string&) {};
  rota::runtime rt{o};
  rota::bus bus{rt};
  rt.run(program(bus));
}
