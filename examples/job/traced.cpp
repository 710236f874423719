// A program that shows what it does. With a file it writes a trace, which opens in Perfetto:
//
//   ./traced run.perfetto-trace
//
// With a socket besides it opens a door there and goes on until Ctrl-C. From another terminal:
//
//   export ROTA_SOCKET=traced.sock
//   ./traced - $ROTA_SOCKET
//   rota top
//   rota trace -o run.perfetto-trace
#include <rota/job/scheduler.h>
#include <rota/rota.h>

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

using namespace std::chrono_literals;

// Two tasks and a channel between them.
rota::task<void> produce(rota::channel<int>& numbers) {
  rota::this_task::set_name("producer");
  for (int i = 1; i <= 100; ++i) co_await numbers.send(i);
  numbers.close();
}

rota::task<int> add_up(rota::channel<int>& numbers) {
  rota::this_task::set_name("consumer");
  int sum = 0;
  while (const auto n = co_await numbers.receive()) sum += *n;
  co_return sum;
}

// Many sources that send to one slow cown: they are muted meanwhile.
struct sink {
  int done = 0;
  std::uint64_t work = 1;
};

struct source {
  rota::cown_ptr<int> me;
  rota::cown_ptr<sink> to;

  void operator()(int& sent) {
    for (int i = 0; i < 10; ++i)
      rota::when(to) << [](sink& s) {
        for (int k = 0; k < 2'000; ++k) s.work = s.work * 6364136223846793005u + 1;
        ++s.done;
      };
    if (++sent < 10) rota::when(me) << *this;
  }
};

rota::task<int> flood() {
  auto slow = rota::make_cown<sink>();
  slow.set_threshold(4);
  for (int i = 0; i < 10; ++i) {
    const auto me = rota::make_cown<int>(0);
    rota::when(me) << source{me, slow};
  }
  int done = 0;
  while (done < 10 * 10 * 10) {
    co_await rota::sleep_for(1ms);
    done = co_await (rota::when(slow) << [](sink& s) { return s.done; });
  }
  co_return done;
}

using doubler = rota::client<int, int>;

// One round of everything.
rota::task<void> round(doubler& ask, bool says_so) {
  rota::channel<int> numbers{8};
  auto producer = rota::spawn(produce(numbers));
  auto consumer = rota::spawn(add_up(numbers));
  const int sum = co_await consumer;
  co_await producer;
  const int messages = co_await flood();
  const auto answer = co_await ask.call(21, 5s);
  if (says_so) std::printf("sum %d, messages %d, twice 21 is %d\n", sum, messages, *answer);
}

rota::task<void> show(doubler& ask, bool endless) {
  do {
    co_await round(ask, !endless);
    co_await rota::sleep_for(50ms);
  } while (endless && !rota::this_task::stop_requested());
}

rota::task<void> receive_two(rota::channel<int>& from) {
  co_await from.receive();
  co_await from.receive();
}

int run(const std::string& file, const std::string& socket, const sigset_t& interrupts) {
  rota::runtime rt{rota::options{}.with_workers(2)};
  rota::bus bus{rt};
  rota::node node{bus, "calculator"};
  node.serve<int, int>("/double", rota::handler_options{}.with_group(rota::group{}),
                       [](int x) { return 2 * x; });
  doubler ask = node.client<int, int>("/double");
  rota::scheduler jobs{rt};
  rota::channel<int> tidied{1};
  jobs.add("tidy", rota::every(20ms), [&] { static_cast<void>(tidied.try_send(1)); });

  if (!file.empty() && file != "-") rt.trace_to(file);
  if (socket.empty()) {
    rt.run(show(ask, false));
    rt.run(receive_two(tidied));  // when it begins again the first has ended
    rt.stop_trace();
    return 0;
  }
  const rota::inspector door{bus, socket};
  std::printf("open: rota top --socket %s\n", socket.c_str());
  std::fflush(stdout);
  auto all = rt.spawn(show(ask, true));
  int which = 0;
  sigwait(&interrupts, &which);
  all.request_stop();
  rt.run([](rota::join_handle<void> it) -> rota::task<void> {
    try {
      co_await it;
    } catch (const rota::cancelled&) {
      // As asked.
    }
  }(std::move(all)));
  return 0;
}

int main(int argc, char** argv) {
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  sigaddset(&interrupts, SIGTERM);
  if (argc > 2) pthread_sigmask(SIG_BLOCK, &interrupts, nullptr);
  try {
    return run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "", interrupts);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
