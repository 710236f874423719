// What the tests of cowns share.
#ifndef ROTA_TESTS_COWN_COWNS_H
#define ROTA_TESTS_COWN_COWNS_H

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "support/tasks.h"

namespace rota::test {

// Cowns in the order in which behaviours take them.
template <class T>
std::vector<rota::cown_ptr<T>> sorted_cowns(std::size_t count) {
  std::vector<rota::cown_ptr<T>> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(rota::make_cown<T>());
  std::sort(all.begin(), all.end());
  return all;
}

// A behaviour that keeps its cown until the event is set, and no worker meanwhile.
template <class T>
void hold(rota::runtime& rt, const rota::cown_ptr<T>& c, rota::async_event& until) {
  rota::when(rt, c) << [&until](T&) -> rota::task<> { co_await until.wait(); };
  rt.quiesce();  // it has begun
}

}  // namespace rota::test

#endif
