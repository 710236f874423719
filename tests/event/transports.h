// Each of the transports, and what is sent over them: what the tests that run over all of them
// share.
#ifndef ROTA_TESTS_EVENT_TRANSPORTS_H
#define ROTA_TESTS_EVENT_TRANSPORTS_H

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "event/events.h"

namespace rota::test {

// --- what is sent --------------------------------------------------------------------------------

struct numbered {
  std::uint32_t from = 0;
  std::uint32_t number = 0;
  std::string text;

  friend bool operator==(const numbered&, const numbered&) = default;
};
template <class V>
void describe(V& v, numbered& n) {
  v.type("test/numbered");
  v.field("from", n.from);
  v.field("number", n.number);
  v.field("text", n.text);
}

inline numbered make_numbered(std::uint32_t from, std::uint32_t number) {
  return numbered{from, number, std::string(number % 40, 'x')};
}

// Has no description, so it cannot leave the process; counts how often it is copied and moved.
struct undescribed {
  undescribed() = default;
  undescribed(const undescribed& o) : value(o.value) { ++copies; }
  undescribed(undescribed&& o) noexcept : value(o.value) { ++moves; }
  undescribed& operator=(const undescribed&) = default;
  ~undescribed() = default;

  int value = 0;
  void* not_for_wires = nullptr;
  static inline std::atomic<int> copies{0};
  static inline std::atomic<int> moves{0};
};

// Can be written as deep as one likes, and read to a depth of rota::max_nesting only.
struct nested {
  std::vector<nested> inner;
};
template <class V>
void describe(V& v, nested& n) {
  v.type("test/nested");
  v.field("inner", n.inner);
}

inline nested nest(int depth) {
  nested n;
  for (; depth > 0; --depth) {
    nested outer;
    outer.inner.push_back(std::move(n));
    n = std::move(outer);
  }
  return n;
}

// --- ways to send it -----------------------------------------------------------------------------

struct way {
  const char* name;
  const char* address;
  std::optional<rota::fault_plan> plan;

  std::unique_ptr<rota::bus> make(rota::runtime& rt) const {
    if (!plan) return std::make_unique<rota::bus>(rt, address);
    return std::make_unique<rota::bus>(rt, rota::faulty(address, *plan));
  }
  friend std::ostream& operator<<(std::ostream& out, const way& w) { return out << w.name; }
};

inline const way ways[] = {
    {"inproc", "inproc:", {}},
    {"loop", "loop:", {}},
    {"faultless_inproc", "inproc:", rota::fault_plan{}},
    {"faultless_loop", "loop:", rota::fault_plan{}},
    {"late", "inproc:",
     rota::fault_plan{}.with_delay(0.5, std::chrono::microseconds{0},
                                   std::chrono::microseconds{300})},
};

class on_transports : public ::testing::TestWithParam<way> {
 protected:
  std::unique_ptr<rota::bus> make_bus(rota::runtime& rt) const { return GetParam().make(rt); }
  bool is_late() const { return GetParam().name == std::string("late"); }
};

// Remembers what it was given. One handler at a time adds to it.
class journal {
 public:
  void add(const numbered& n) {
    all_.push_back({n.from, n.number});
    intact_ = intact_ && n == make_numbered(n.from, n.number);
    size_.fetch_add(1);
  }
  std::size_t size() const { return size_.load(); }

  // For who has seen the last entry.
  const std::vector<std::pair<std::uint32_t, std::uint32_t>>& all() const { return all_; }
  bool is_intact() const { return intact_; }
  std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> n;
    for (const auto& [from, number] : all_) n.push_back(number);
    return n;
  }

  // Each publisher's messages from its first to its last, in order, none left out.
  void expect_complete(std::uint32_t publishers, std::uint32_t each) const {
    std::map<std::uint32_t, std::uint32_t> next;
    for (const auto& [from, number] : all_)
      ASSERT_EQ(number, next[from]++) << "of publisher " << from;
    for (std::uint32_t p = 0; p < publishers; ++p) EXPECT_EQ(next[p], each);
    EXPECT_TRUE(intact_);
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all_;
  bool intact_ = true;
  std::atomic<std::size_t> size_{0};
};

inline rota::subscription record(rota::node& n, journal& to, const rota::qos& q) {
  return n.subscribe<numbered>("/numbers", q, [&to](const numbered& m) { to.add(m); });
}

inline std::vector<std::uint32_t> count_up(std::uint32_t from, std::uint32_t until) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = from; i < until; ++i) all.push_back(i);
  return all;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace rota::test

#endif
