// atomic_behaviour: tellers move money between accounts, two at a time, in any order; auditors look
// at all accounts at once; philosophers use two forks; and each teller's receipts are numbered.
// Broken, an auditor sees money that is under way, receipts come out of order, or everybody waits
// for somebody else's cown and nothing happens any more.

#include <rota/base/rng.h>
#include <rota/rota.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "../check_output.h"
#include "stops.h"

namespace rota::app {

namespace {

constexpr std::size_t account_count = 12;
constexpr std::size_t teller_count = 16;
constexpr std::int64_t money = 1'000;  // of each account, at first

struct receipts {
  std::array<std::uint64_t, teller_count> last{};
};

struct bank {
  std::vector<cown_ptr<std::int64_t>> accounts;
  cown_ptr<receipts> desk = make_cown<receipts>();
  std::vector<cown_ptr<std::uint64_t>> forks;

  std::atomic<std::uint64_t> transfers = 0;
  std::atomic<std::uint64_t> audits = 0;
  std::atomic<std::uint64_t> meals = 0;
  std::atomic<std::uint64_t> wrong_sums = 0;
  std::atomic<std::uint64_t> wrong_order = 0;
  const stage* watched = nullptr;

  bank() {
    for (std::size_t i = 0; i < account_count; ++i)
      accounts.push_back(make_cown<std::int64_t>(money));
    for (int i = 0; i < 5; ++i) forks.push_back(make_cown<std::uint64_t>(0u));
  }
};

// A behaviour on the teller that sends one transfer and one receipt, and comes back.
struct teller {
  bank* of;
  cown_ptr<detail::rng> me;
  std::size_t number;
  std::uint64_t sent = 0;

  void operator()(detail::rng& chance) {
    const std::size_t from = chance.below(account_count);
    const std::size_t to = chance.below(account_count);
    const auto amount = static_cast<std::int64_t>(chance.below(100));
    if (from != to)
      when(of->accounts[from], of->accounts[to])
          << [b = of, amount](std::int64_t& f, std::int64_t& t) {
               f -= amount;
               if (amount % 50 == 0) std::this_thread::yield();  // lets others look into the gap
               t += amount;
               b->transfers.fetch_add(1, std::memory_order_relaxed);
             };
    when(of->desk) << [b = of, n = number, receipt = sent + 1](receipts& r) {
      if (receipt != r.last[n] + 1) b->wrong_order.fetch_add(1, std::memory_order_relaxed);
      r.last[n] = receipt;
    };
    ++sent;
    if (of->watched->goes_on(sent, 100)) when(me) << *this;
  }
};

struct philosopher {
  bank* of;
  std::size_t left;
  std::size_t right;
  std::uint64_t eaten = 0;

  void operator()(std::uint64_t& l, std::uint64_t& r) {
    ++l;
    ++r;
    of->meals.fetch_add(1, std::memory_order_relaxed);
    if (of->watched->goes_on(++eaten, 100)) when(of->forks[left], of->forks[right]) << *this;
  }
};

task<void> audit(bank& b) {
  while (b.watched->goes_on(b.audits, 20)) {
    const std::int64_t sum = co_await (when(b.accounts) << [](each<std::int64_t> all) {
      std::int64_t total = 0;
      for (const std::int64_t balance : all) total += balance;
      return total;
    });
    if (sum != money * static_cast<std::int64_t>(account_count)) ++b.wrong_sums;
    ++b.audits;
  }
}

void open_bank(runtime& rt, bank& b) {
  for (std::size_t i = 0; i < teller_count; ++i) {
    auto me = make_cown<detail::rng>(i + 1);
    when(rt, me) << teller{&b, me, i};
  }
  for (std::size_t i = 0; i < b.forks.size(); ++i) {
    const std::size_t next = (i + 1) % b.forks.size();
    when(rt, b.forks[i], b.forks[next]) << philosopher{&b, i, next};
  }
  rt.run(audit(b));
  rt.quiesce();
}

}  // namespace

findings show_behaviours(stage& s) {
  bank b;
  b.watched = &s;
  runtime rt{options{}.with_workers(4)};
  s.watch([&] { open_bank(rt, b); },
          [&] {
            return view{b.transfers + b.meals + b.audits,
                        grouped(b.transfers) + " transfers, " + grouped(b.meals) + " meals, " +
                            grouped(b.audits) + " audits of all accounts, " +
                            grouped(b.wrong_sums) + " wrong"};
          });
  std::uint64_t used = 0;
  for (const auto& f : b.forks) used += f.unguarded();
  const bool kept = b.wrong_sums == 0 && b.wrong_order == 0 && used == 2 * b.meals;
  return {{"atomic_behaviour", kept,
           grouped(b.transfers) + " transfers, " + grouped(b.audits) + " audits of all accounts (" +
               grouped(b.wrong_sums) + " wrong), " + grouped(b.meals) + " meals with two forks, " +
               grouped(b.wrong_order) + " receipts out of order; no deadlock"}};
}

}  // namespace rota::app
