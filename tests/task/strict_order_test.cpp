// `same_order`: in strict order a program runs exactly as the paper's deterministic scheduler
// (R. Haehnle, L. Henrio, Provably Fair Cooperative Scheduling) runs it. The programs and the logs
// are those of the reference interpreter; a broken promise shows as another log.
//
// One record a line:
//   call m(v) f      task f, procedure m with argument v, was spawned
//   start f          its first step
//   end f            its last
//   joined f by g    g goes on behind its await of f
//   resume f         f goes on behind a suspend or a guard
// The main block is task 0 and leaves no record of its start and end.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/tasks.h"

namespace {

using rota::task;

// The variables that the programs share, and their log.
struct world {
  std::string log;
  std::size_t longest_log = 10'000;
  int tasks = 0;
  int ended = 0;
  std::map<int, rota::join_handle<>>* handles = nullptr;  // of the main block
  std::map<std::string, long> vars;

  void note(const std::string& record) {
    if (log.size() < longest_log) log += record + "\n";
  }

  // `body` gets the number of the new task, and outlives it. Keeps the handle.
  template <class Body, class... Args>
  int call(const std::string& procedure, const std::string& argument, Body& body, Args... args) {
    const int f = ++tasks;
    note("call " + procedure + "(" + argument + ") " + std::to_string(f));
    (*handles)[f] = rota::spawn(begin(*this, f, body(f, args...)));
    return f;
  }
  task<> await(int f, int by) {
    co_await (*handles)[f];
    note("joined " + std::to_string(f) + " by " + std::to_string(by));
  }
  task<> suspend(int f) {
    co_await rota::suspend();
    note("resume " + std::to_string(f));
  }
  template <class F>
  task<> guard(int f, F condition) {
    co_await rota::guard(condition);
    note("resume " + std::to_string(f));
  }

  static task<> begin(world& w, int f, task<> body) {
    w.note("start " + std::to_string(f));
    co_await std::move(body);
    w.note("end " + std::to_string(f));
    ++w.ended;
  }

  // The main block as the root of a program. The handles live in its frame, and it ends when
  // nobody is left who might wait for one, or when there was enough of an endless log: also a
  // guard, but one that leaves no record.
  static task<> root(world& w, task<> block, bool everybody_ends) {
    std::map<int, rota::join_handle<>> all;
    w.handles = &all;
    co_await std::move(block);
    co_await rota::guard([&w, everybody_ends] {
      return everybody_ends ? w.ended == w.tasks : w.log.size() >= w.longest_log;
    });
  }
};

// Runs the main block; gives the log.
std::string log_of(world& w, task<> main, bool everybody_ends = true) {
  rota::run(world::root(w, std::move(main), everybody_ends), rota::test::strict());
  return w.log;
}

TEST(strict_order, a_task_that_never_ends_does_not_starve_the_main_block) {
  world w;
  w.longest_log = 60;
  auto m = [&](int f) -> task<> {
    for (;;) {
      co_await w.suspend(f);
      w.vars["i"] = 1;
    }
  };
  auto main = [&]() -> task<> {
    w.call("m", "0", m);
    co_await w.suspend(0);
    w.vars["j"] = 2;
  };
  EXPECT_EQ(log_of(w, main(), false).substr(0, 49),
            "call m(0) 1\n"
            "start 1\n"
            "resume 0\n"
            "resume 1\n"
            "resume 1\n"
            "re");
  EXPECT_EQ(w.vars["j"], 2);
}

TEST(strict_order, awaiting_a_task_that_has_ended_gives_way_all_the_same) {
  world w;
  auto note = [&](int, long x) -> task<> {
    w.vars["log"] = w.vars["log"] * 10 + x;
    co_return;
  };
  auto main = [&]() -> task<> {
    const int t = w.call("note", "1", note, 1L);
    co_await w.suspend(0);
    w.call("note", "2", note, 2L);
    co_await w.await(t, 0);
    w.vars["log"] = w.vars["log"] * 10 + 3;
  };
  EXPECT_EQ(log_of(w, main()),
            "call note(1) 1\n"
            "start 1\n"
            "end 1\n"
            "resume 0\n"
            "call note(2) 2\n"
            "start 2\n"
            "end 2\n"
            "joined 1 by 0\n");
  EXPECT_EQ(w.vars["log"], 123);
}

TEST(strict_order, a_task_that_waits_keeps_its_place_in_the_queue) {
  world w;
  auto work = [&](int f) -> task<> { co_await w.suspend(f); };
  auto wait = [&](int f, int x) -> task<> {
    co_await w.await(x, f);
    w.vars["log"] = w.vars["log"] * 10 + 2;
  };
  auto tick = [&](int f) -> task<> {
    co_await w.suspend(f);
    w.vars["log"] = w.vars["log"] * 10 + 3;
  };
  auto main = [&]() -> task<> {
    const int t = w.call("work", "0", work);
    w.call("wait", "task 1", wait, t);
    const int u = w.call("tick", "0", tick);
    co_await w.await(u, 0);
    w.vars["log"] = w.vars["log"] * 10 + 1;
  };
  EXPECT_EQ(log_of(w, main()),
            "call work(0) 1\n"
            "call wait(task 1) 2\n"
            "call tick(0) 3\n"
            "start 1\n"
            "start 2\n"
            "start 3\n"
            "resume 1\n"
            "end 1\n"
            "joined 1 by 2\n"
            "end 2\n"
            "resume 3\n"
            "end 3\n"
            "joined 3 by 0\n");
  EXPECT_EQ(w.vars["log"], 231) << "321 is the order of a wait list that wakes to the rear";
}

struct nested {
  world& w;

  task<> operator()(int f, long x) const {
    w.vars["total"] += x;
    if (x > 1) {
      ++w.vars["depth"];
      const int child = w.call("chain", std::to_string(x - 1), *this, x - 1);
      co_await w.await(child, f);
    }
    ++w.vars["unwound"];
  }
};

TEST(strict_order, tasks_that_spawn_and_await_tasks_nest) {
  world w;
  const nested chain{w};
  auto main = [&]() -> task<> {
    const int t = w.call("chain", "4", chain, 4L);
    co_await w.await(t, 0);
  };
  EXPECT_EQ(log_of(w, main()),
            "call chain(4) 1\n"
            "start 1\n"
            "call chain(3) 2\n"
            "start 2\n"
            "call chain(2) 3\n"
            "start 3\n"
            "call chain(1) 4\n"
            "start 4\n"
            "end 4\n"
            "joined 4 by 3\n"
            "end 3\n"
            "joined 3 by 2\n"
            "end 2\n"
            "joined 2 by 1\n"
            "end 1\n"
            "joined 1 by 0\n");
  EXPECT_EQ(w.vars["total"], 10);
  EXPECT_EQ(w.vars["depth"], 3);
  EXPECT_EQ(w.vars["unwound"], 4);
}

TEST(strict_order, a_deadlock_comes_after_everybody_else_has_ended) {
  world w;
  // Only one task can join another, so where two await task 1, one of them waits by a guard.
  auto left = [&](int f) -> task<> { co_await w.await(2, f); };
  auto right = [&](int f) -> task<> {
    co_await w.guard(f, [&] { return (*w.handles)[1].done(); });
  };
  auto free_one = [&](int f, long x) -> task<> {
    while (x > 0) {
      co_await w.suspend(f);
      --x;
    }
    w.vars["f"] = 1;
  };
  auto main = [&]() -> task<> {
    w.call("left", "0", left);
    w.call("right", "0", right);
    w.call("free", "2", free_one, 2L);
    co_await w.await(1, 0);
  };
  EXPECT_THROW(log_of(w, main()), rota::deadlock);
  EXPECT_EQ(w.log,
            "call left(0) 1\n"
            "call right(0) 2\n"
            "call free(2) 3\n"
            "start 1\n"
            "start 2\n"
            "start 3\n"
            "resume 3\n"
            "resume 3\n"
            "end 3\n");
  EXPECT_EQ(w.vars["f"], 1);
}

TEST(strict_order, guards_share_a_buffer_of_two_places) {
  world w;
  auto produce = [&](int f, long x) -> task<> {
    while (x > 0) {
      co_await w.guard(f, [&] { return w.vars["full"] < 2; });
      ++w.vars["full"];
      ++w.vars["sent"];
      --x;
    }
  };
  auto consume = [&](int f, long x) -> task<> {
    while (x > 0) {
      co_await w.guard(f, [&] { return w.vars["full"] > 0; });
      --w.vars["full"];
      w.vars["got"] = w.vars["got"] * 10 + w.vars["sent"];
      --x;
    }
  };
  auto main = [&]() -> task<> {
    const int c = w.call("consume", "4", consume, 4L);
    const int p = w.call("produce", "4", produce, 4L);
    co_await w.await(c, 0);
    co_await w.await(p, 0);
  };
  EXPECT_EQ(log_of(w, main()),
            "call consume(4) 1\n"
            "call produce(4) 2\n"
            "start 1\n"
            "start 2\n"
            "resume 2\n"
            "resume 1\n"
            "resume 2\n"
            "resume 1\n"
            "resume 2\n"
            "resume 1\n"
            "resume 2\n"
            "end 2\n"
            "resume 1\n"
            "end 1\n"
            "joined 1 by 0\n"
            "joined 2 by 0\n");
  EXPECT_EQ(w.vars["got"], 1234);
}

TEST(strict_order, a_task_that_begins_with_an_await_starts_and_gives_way) {
  world w;
  auto quick = [](int) -> task<> { co_return; };
  auto after = [&](int f, int x) -> task<> {
    co_await w.await(x, f);
    w.vars["log"] = w.vars["log"] * 10 + 1;
  };
  auto other = [&](int) -> task<> {
    w.vars["log"] = w.vars["log"] * 10 + 2;
    co_return;
  };
  auto main = [&]() -> task<> {
    const int t = w.call("quick", "0", quick);
    w.call("after", "task 1", after, t);
    w.call("other", "0", other);
    co_return;
  };
  EXPECT_EQ(log_of(w, main()),
            "call quick(0) 1\n"
            "call after(task 1) 2\n"
            "call other(0) 3\n"
            "start 1\n"
            "end 1\n"
            "start 2\n"
            "start 3\n"
            "end 3\n"
            "joined 1 by 2\n"
            "end 2\n");
  EXPECT_EQ(w.vars["log"], 21);
}

TEST(strict_order, a_guard_reads_what_it_waits_for_when_it_is_visited) {
  world w;
  int t = 0;
  auto slow = [&](int f, long x) -> task<> {
    while (x > 0) {
      co_await w.suspend(f);
      --x;
    }
  };
  auto fast = [](int) -> task<> { co_return; };
  auto again = [&](int) -> task<> {
    t = w.call("fast", "0", fast);
    co_return;
  };
  auto main = [&]() -> task<> {
    t = w.call("slow", "5", slow, 5L);
    w.call("again", "0", again);
    co_await rota::guard([&] { return (*w.handles)[t].done(); });
    w.note("joined " + std::to_string(t) + " by 0");
  };
  EXPECT_EQ(log_of(w, main()),
            "call slow(5) 1\n"
            "call again(0) 2\n"
            "start 1\n"
            "start 2\n"
            "call fast(0) 3\n"
            "end 2\n"
            "resume 1\n"
            "start 3\n"
            "end 3\n"
            "joined 3 by 0\n"
            "resume 1\n"
            "resume 1\n"
            "resume 1\n"
            "resume 1\n"
            "end 1\n");
}

TEST(strict_order, has_one_worker_whatever_is_asked_for) {
  rota::runtime rt{rota::test::strict().with_workers(4)};
  EXPECT_EQ(rt.workers(), 1u);
}

TEST(strict_order, is_the_same_in_every_run) {
  const auto run_once = [] {
    std::string log;
    rota::channel<int> ch{2};
    rota::async_mutex m;
    auto worker = [&](char c) -> task<> {
      for (int i = 0; i < 5; ++i) {
        auto held = co_await m.lock();
        log += c;
        co_await ch.send(i);
        held.unlock();
        co_await rota::suspend();
      }
    };
    auto reader = [&]() -> task<> {
      for (int i = 0; i < 15; ++i) {
        auto got = co_await ch.receive();
        log += static_cast<char>('0' + *got);
      }
    };
    auto main = [&]() -> task<> {
      rota::task_group g;
      g.spawn(worker('a'));
      g.spawn(reader());
      g.spawn(worker('b'));
      g.spawn(worker('c'));
      co_await g.join();
    };
    rota::run(main(), rota::test::strict());
    return log;
  };
  const std::string first = run_once();
  EXPECT_EQ(first.size(), 30u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run_once(), first);
}

}  // namespace
