// A box office that sometimes sells more seats than it has, the run that shows it, and the repaired
// one. docs/exploring.md goes through it.

#include <rota/rota.h>
#include <rota/verify/explore/sim.h>

#include <chrono>
#include <iostream>
#include <string>

namespace sim = rota::sim;
using namespace std::chrono_literals;

// The bank answers at once; now and then it is slow.
rota::task<> charge(std::string who) {
  if (sim::choose(4) == 3) {
    sim::note("the bank is slow for " + who);
    co_await rota::sleep_for(2s);
  }
  co_await rota::sleep_for(100ms);
}

class box_office {
 public:
  explicit box_office(int seats) : free_(seats) {}

  rota::task<bool> buy(std::string who) {
    auto held = co_await mutex_.lock();
    if (free_ == 0) co_return false;
    held.unlock();  // others need not wait for our bank
    co_await charge(who);
    held = co_await mutex_.lock();
    --free_;
    sim::note(who + " has a seat, " + std::to_string(free_) + " left");
    co_return true;
  }

  // The repair: the seat is ours before anything is waited for.
  rota::task<bool> reserve_and_buy(std::string who) {
    auto held = co_await mutex_.lock();
    if (free_ == 0) co_return false;
    --free_;
    held.unlock();
    co_await charge(who);
    co_return true;
  }

  int free() const { return free_; }

 private:
  rota::async_mutex mutex_;
  int free_;  // guarded by mutex_
};

using purchase = rota::task<bool> (box_office::*)(std::string);

rota::task<> clerk(box_office& office, purchase buy, rota::channel<std::string>& customers) {
  while (auto who = co_await customers.receive()) co_await (office.*buy)(*who);
}

// Three customers, a second apart, two clerks.
rota::task<> evening(box_office& office, purchase buy) {
  rota::channel<std::string> customers{8};
  rota::task_group clerks;
  clerks.spawn(clerk(office, buy, customers));
  clerks.spawn(clerk(office, buy, customers));
  for (const char* who : {"Ada", "Ben", "Cleo"}) {
    co_await customers.send(who);
    co_await rota::sleep_for(1s);
  }
  customers.close();
  co_await clerks.join();
}

void sell(purchase buy) {
  box_office office{2};
  rota::run(evening(office, buy), rota::options{}.with_workers(2));
  sim::check(office.free() >= 0, "no more seats are sold than there are");
}

int main() {
  const auto found = sim::explore(1'000, [] { sell(&box_office::buy); });
  if (!found.failed) return 1;
  std::cout << found.failure->message << "\n";
  std::cerr << found.text();  // Which seed it is and what happens may change with the runtime.

  // The same seed fails again.
  const auto again = sim::run(found.seed, [] { sell(&box_office::buy); });
  std::cout << "again: " << (again.log == found.log ? "the same" : "something else") << "\n";

  const auto repaired = sim::explore(1'000, [] { sell(&box_office::reserve_and_buy); });
  std::cout << "repaired: " << repaired.seeds << " seeds, "
            << (repaired.failed ? "one fails" : "none fails") << "\n";
}
