// A pipeline: three stages joined by bounded channels. A stage that is ahead waits for the next
// one, so memory stays bounded; closing a channel ends the stage that reads it.
#include <rota/rota.h>

#include <cstdio>

rota::task<> numbers(rota::channel<int>& out) {
  for (int i = 1; i <= 10; ++i) co_await out.send(i);
  out.close();
}

rota::task<> squares(rota::channel<int>& in, rota::channel<int>& out) {
  while (auto n = co_await in.receive()) co_await out.send(*n * *n);
  out.close();
}

rota::task<> sum(rota::channel<int>& in, int& total) {
  while (auto n = co_await in.receive()) {
    total += *n;
    std::printf("%d, total %d\n", *n, total);
  }
}

rota::task<> program() {
  rota::channel<int> raw{2};
  rota::channel<int> squared{2};
  int total = 0;

  // None of its tasks outlives the group.
  rota::task_group stages;
  stages.spawn(numbers(raw));
  stages.spawn(squares(raw, squared));
  stages.spawn(sum(squared, total));
  co_await stages.join();

  std::printf("the sum of the squares is %d\n", total);
}

int main() { rota::run(program()); }
