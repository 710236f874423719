// Limits on time, and stopping. A task that is asked to stop gets rota::cancelled out of what it
// waits for; it cleans up on the way out, as with any exception.
#include <rota/rota.h>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

rota::task<int> ask(std::chrono::milliseconds delay) {
  co_await rota::sleep_for(delay);
  co_return 42;
}

rota::task<> serve() {
  try {
    for (;;) co_await rota::sleep_for(1h);
  } catch (const rota::cancelled&) {
    std::puts("the server closes its connections");
    throw;  // let it pass: this is how a task stops
  }
}

rota::task<> program() {
  int answer = co_await rota::with_timeout(10s, ask(1ms));
  std::printf("in time: %d\n", answer);

  try {
    co_await rota::with_timeout(1ms, ask(10s));
  } catch (const rota::timed_out&) {
    std::puts("too late");
  }

  // The first result counts; the others are stopped.
  auto first = co_await rota::when_any(ask(10s), ask(1ms));
  std::printf("number %zu was first\n", first.index());

  auto server = rota::spawn(serve());
  co_await rota::sleep_for(1ms);
  server.request_stop();
  try {
    co_await server;
  } catch (const rota::cancelled&) {
    std::puts("the server has stopped");
  }
}

int main() { rota::run(program()); }
