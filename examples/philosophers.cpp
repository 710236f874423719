// Five philosophers, five forks. A meal is a behaviour that needs both forks of a philosopher;
// whatever the order in which they are named, nobody deadlocks and nobody starves.
#include <rota/rota.h>

#include <cstddef>
#include <cstdio>
#include <vector>

struct table_fork {
  int used = 0;
};

struct philosopher {
  rota::cown_ptr<table_fork> left;
  rota::cown_ptr<table_fork> right;
  int hungry = 1000;

  // Eats, and asks for the next meal.
  void operator()(table_fork& l, table_fork& r) {
    ++l.used;
    ++r.used;
    if (--hungry > 0) rota::when(left, right) << *this;
  }
};

int main() {
  std::vector<rota::cown_ptr<table_fork>> forks;
  for (int i = 0; i < 5; ++i) forks.push_back(rota::make_cown<table_fork>());

  rota::runtime rt;
  for (std::size_t i = 0; i < 5; ++i) {
    const auto& left = forks[i];
    const auto& right = forks[(i + 1) % 5];
    rota::when(rt, left, right) << philosopher{left, right};
  }
  rt.quiesce();  // until nothing can run any more

  // Nobody has the forks now, so we may look.
  for (auto& f : forks) std::printf("a fork was used %d times\n", f.unguarded().used);
}
