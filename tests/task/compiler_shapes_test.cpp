// Shapes of code that compilers are known to get wrong in coroutines: temporaries in a co_await
// that are destroyed twice or never. The compiler is judged here before users find out. g++ 12 gets
// many of them wrong, so there only the variants are tested that name the value first.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "support/tasks.h"

namespace {

using rota::task;
using rota::test::tracked;

// An owner that notices when it is destroyed twice: the sanitizers see the memory, the count the
// rest.
struct owner {
  explicit owner(std::string s) : text(std::make_unique<std::string>(std::move(s))) {}
  std::unique_ptr<std::string> text;
  tracked counted;
};

struct aggregate {
  std::shared_ptr<std::string> text;
  tracked counted;
};

task<bool> less(int& i, int limit) {
  co_await rota::suspend();
  co_return ++i < limit;
}

task<std::size_t> length(owner o) {
  co_await rota::suspend();
  co_return o.text->size();
}

task<std::size_t> length_of(aggregate a) {
  co_await rota::suspend();
  co_return a.text->size();
}

task<int> digit(int n) {
  tracked local;
  co_await rota::suspend();
  co_return n;
}

class shape : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(tracked::alive, 0); }
};

TEST_F(shape, named_first) {
  auto program = []() -> task<std::size_t> {
    int i = 0;
    for (;;) {
      const bool go_on = co_await less(i, 10);
      if (!go_on) break;
    }
    owner o{"four"};
    std::size_t sum = co_await length(std::move(o));
    aggregate a{std::make_shared<std::string>("three"), {}};
    sum += co_await length_of(a);
    auto text = std::make_shared<std::string>("x");
    auto condition = [text] { return text->size() == 1; };
    co_await rota::guard(condition);
    auto call = [text] { return text->size(); };
    sum += co_await rota::run_blocking(std::move(call));
    co_return sum;
  };
  EXPECT_EQ(rota::run(program()), 10u);
}

TEST_F(shape, while_with_a_declaration) {
  auto program = []() -> task<int> {
    rota::channel<std::shared_ptr<int>> ch{4};
    for (int i = 0; i < 4; ++i) {
      auto m = std::make_shared<int>(i);
      co_await ch.send(m);
    }
    ch.close();
    int sum = 0;
    while (auto m = co_await ch.receive()) sum += **m;
    co_return sum;
  };
  EXPECT_EQ(rota::run(program()), 6);
}

TEST_F(shape, structured_binding_of_when_all) {
  auto program = []() -> task<int> {
    auto [a, b] = co_await rota::when_all(digit(1), digit(2));
    co_return a + b;
  };
  EXPECT_EQ(rota::run(program()), 3);
}

#if defined(__clang__)

TEST_F(shape, while_co_await) {
  auto program = []() -> task<int> {
    int i = 0;
    while (co_await less(i, 10)) {
    }
    co_return i;
  };
  EXPECT_EQ(rota::run(program()), 10);
}

TEST_F(shape, if_not_co_await) {
  auto program = []() -> task<int> {
    int i = 0;
    if (!co_await less(i, 1)) co_return 5;
    co_return 6;
  };
  EXPECT_EQ(rota::run(program()), 5);
}

TEST_F(shape, switch_co_await) {
  auto program = []() -> task<char> {
    switch (co_await digit(2)) {
      case 1:
        co_return 'a';
      case 2:
        co_return 'b';
      default:
        co_return '?';
    }
  };
  EXPECT_EQ(rota::run(program()), 'b');
}

TEST_F(shape, temporary_argument) {
  auto program = []() -> task<std::size_t> {
    co_return co_await length(owner{"four"}) +
        co_await length_of(aggregate{std::make_shared<std::string>("three"), {}}) +
        co_await length_of({.text = std::make_shared<std::string>("two"), .counted = {}});
  };
  EXPECT_EQ(rota::run(program()), 12u);
}

TEST_F(shape, closure_that_owns_made_in_the_expression) {
  auto program = []() -> task<std::size_t> {
    auto text = std::make_shared<std::string>("seven..");
    tracked counted;
    co_await rota::guard([text, counted] { return text->size() == 7; });
    co_return co_await rota::run_blocking([text, counted] { return text->size(); });
  };
  EXPECT_EQ(rota::run(program()), 7u);
}

TEST_F(shape, conditional_of_class_type) {
  auto program = [](bool c) -> task<std::size_t> {
    co_return co_await length(c ? owner{"yes"} : owner{"no"});
  };
  EXPECT_EQ(rota::run(program(true)), 3u);
  EXPECT_EQ(rota::run(program(false)), 2u);
}

#endif

}  // namespace
