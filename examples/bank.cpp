// A bank: accounts are cowns, and a transfer is a behaviour that has both accounts for itself.
// There is no lock to forget and no order of locks to keep; an exception gives the accounts back,
// too.
#include <rota/rota.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

using account = rota::cown_ptr<int>;

// Runs once it has both accounts, alone with them.
auto transfer(const account& from, const account& to, int amount) {
  return rota::when(from, to) << [amount](int& f, int& t) {
    if (f < amount) throw std::runtime_error("not enough money");
    f -= amount;
    t += amount;
  };
}

rota::task<> program() {
  std::vector<account> accounts;
  for (int i = 0; i < 10; ++i) accounts.push_back(rota::make_cown<int>(100));

  // Round and round, all at once. Nobody waits for anybody here.
  for (std::size_t i = 0; i < 1000; ++i)
    transfer(accounts[i % 10], accounts[(i + 1 + i / 10 % 9) % 10], 1);

  // A request can be awaited, for its result or its exception.
  try {
    co_await transfer(accounts[0], accounts[1], 5000);
  } catch (const std::runtime_error& e) {
    std::printf("transfer of 5000: %s\n", e.what());
  }

  // All accounts at one moment, shared with others who only read.
  const int total = co_await (rota::when(rota::read(accounts)) << [](rota::each<const int> all) {
    int sum = 0;
    for (int balance : all) sum += balance;
    return sum;
  });
  std::printf("the bank has %d\n", total);
}

int main() { rota::run(program()); }
