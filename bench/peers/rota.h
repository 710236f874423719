// The scenarios of the Rota contestant, which takes part in all of them.
#ifndef ROTA_BENCH_PEERS_ROTA_H
#define ROTA_BENCH_PEERS_ROTA_H

#include "../duel.h"

namespace bench {

// peers/rota_fairness.cpp
void add_fairness(contestant& me);

// peers/rota_forks.cpp
void add_forks(contestant& me);

}  // namespace bench

#endif
