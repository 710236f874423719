// A task that is awaited like a function, and one of its own beside it.
#include <rota/rota.h>

#include <iostream>
#include <string>

rota::task<std::string> greet(std::string who) {
  co_await rota::suspend();  // gives way to everybody who is ready
  co_return "hello, " + who;
}

rota::task<void> program() {
  auto moon = rota::spawn(greet("moon"));  // a task of its own
  std::cout << co_await greet("world") << '\n';
  std::cout << co_await moon << '\n';  // waits for its result
}

int main() { rota::run(program()); }
