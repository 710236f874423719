// What the tests of events share.
#ifndef ROTA_TESTS_EVENT_EVENTS_H
#define ROTA_TESTS_EVENT_EVENTS_H

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/tasks.h"

namespace rota::test {

// A runtime and a bus on it.
struct bus_world {
  explicit bus_world(const rota::options& o) : rt(o), bus(rt) {}
  explicit bus_world(unsigned workers) : bus_world(with_workers(workers)) {}
  rota::runtime rt;
  rota::bus bus;
};

// Messages that wait at most, for those who count them all.
inline rota::qos roomy(std::size_t depth = 100'000) { return rota::qos{}.with_depth(depth); }

// Handlers of a group of their own.
inline rota::handler_options alone() { return rota::handler_options{}.with_group(rota::group{}); }
inline rota::handler_options reentrant() {
  return rota::handler_options{}.with_group(rota::group::reentrant());
}

// What went to options::on_unobserved.
class failures {
 public:
  rota::options options(unsigned workers) {
    auto o = with_workers(workers);
    o.on_unobserved = [this](std::exception_ptr e, const std::string& who) {
      std::string what;
      try {
        std::rethrow_exception(std::move(e));
      } catch (const std::exception& known) {
        what = known.what();
      } catch (...) {
        what = "unknown";
      }
      const std::lock_guard guard{mutex_};
      texts_.push_back(who + ": " + what);
    };
    return o;
  }
  std::size_t count() const {
    const std::lock_guard guard{mutex_};
    return texts_.size();
  }
  std::vector<std::string> texts() const {
    const std::lock_guard guard{mutex_};
    return texts_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;  // guarded by mutex_
};

// Requests that wait at the first server of the first service.
inline std::uint64_t calls_that_wait(const rota::bus& b) {
  return b.graph().services.at(0).servers.at(0).counters.pending;
}

// The text of the exception that f throws, or "nothing".
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing";
}

}  // namespace rota::test

#endif
