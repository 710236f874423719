// Who looks at a runtime sees what its workers run and who waits for what. What is not so shows as
// a name that is missing, or as a worker that is said to sleep while it runs.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;
using rota::observer;
using rota::overview;
using rota::runtime;
using rota::task;
using state = overview::worker::state;

// Looks until it has seen it.
template <class F>
overview look_until(const observer& eye, F holds) {
  for (;;) {
    overview seen = eye.look();
    if (holds(seen)) return seen;
    std::this_thread::sleep_for(1ms);
  }
}

bool somebody_does(const overview& seen, const std::string& what) {
  return std::any_of(seen.workers.begin(), seen.workers.end(), [&](const overview::worker& w) {
    return w.at == state::runs && w.doing.find(what) != std::string::npos;
  });
}

task<void> stay_here(std::atomic<bool>& over) {
  rota::this_task::set_name("the busy one");
  co_await rota::suspend();  // the next step is one of a task with a name
  while (!over.load()) co_await rota::suspend();
}

TEST(observer, sees_a_task_that_runs_by_its_name_and_where_it_is) {
  std::atomic<bool> over{false};
  runtime rt{rota::options{}.with_workers(2)};
  const observer eye{rt};
  auto handle = rt.spawn(stay_here(over));
  const overview seen =
      look_until(eye, [](const overview& o) { return somebody_does(o, "'the busy one'"); });
  EXPECT_TRUE(somebody_does(seen, "observer_test.cpp"));
  over = true;
  rt.run([](rota::join_handle<void> h) -> task<void> { co_await h; }(std::move(handle)));
}

TEST(observer, sees_a_behaviour_that_runs) {
  std::atomic<bool> over{false};
  runtime rt{rota::options{}.with_workers(2)};
  const observer eye{rt};
  auto c = rota::make_cown<int>(0);
  rt.run([](rota::cown_ptr<int> on, std::atomic<bool>& end) -> task<void> {
    rota::when(on) << [&end](int&) {
      while (!end.load()) std::this_thread::yield();
    };
    co_return;
  }(c, over));
  look_until(eye, [](const overview& o) {
    return std::any_of(o.workers.begin(), o.workers.end(), [](const overview::worker& w) {
      return w.at == state::runs && !w.doing.empty();
    });
  });
  over = true;
  rt.quiesce();
}

TEST(observer, sees_that_workers_sleep_when_there_is_nothing_to_do) {
  runtime rt{rota::options{}.with_workers(2)};
  const observer eye{rt};
  look_until(eye, [](const overview& o) {
    return std::all_of(o.workers.begin(), o.workers.end(),
                       [](const overview::worker& w) { return w.at == state::sleeps; });
  });
}

task<void> wait_for(rota::async_event& e, const char* name) {
  rota::this_task::set_name(name);
  co_await e.wait();
}

TEST(observer, sees_who_waits_for_what_and_the_same_stamp_while_it_does) {
  runtime rt{rota::options{}.with_workers(2)};
  const rota::outside expected{rt};
  const observer eye{rt};
  rota::async_event never;
  auto handle = rt.spawn(wait_for(never, "patient"));
  const auto is_there = [](const overview& o) { return o.longest.size() == 1; };
  const overview first = look_until(eye, is_there);
  EXPECT_EQ(first.tasks, 1u);
  EXPECT_EQ(first.waiting, 1u);
  EXPECT_EQ(first.longest[0].name, "patient");
  EXPECT_EQ(first.longest[0].waits, "waits for an event");
  EXPECT_NE(first.longest[0].where.find("observer_test.cpp"), std::string::npos);
  const overview second = eye.look();
  ASSERT_EQ(second.longest.size(), 1u);
  EXPECT_EQ(second.longest[0].stamp, first.longest[0].stamp);
  EXPECT_EQ(second.longest[0].id, first.longest[0].id);
  never.set();
  rt.run([](rota::join_handle<void> h) -> task<void> { co_await h; }(std::move(handle)));
  EXPECT_EQ(eye.look().waiting, 0u);
}

TEST(observer, gives_the_oldest_of_more_than_were_asked_for) {
  runtime rt{rota::options{}.with_workers(1)};
  const rota::outside expected{rt};
  const observer eye{rt};
  rota::async_event never;
  rota::task_group all;
  rt.run([](rota::task_group& g, rota::async_event& e) -> task<void> {
    for (int i = 0; i < 50; ++i) g.spawn(wait_for(e, "one of many"));
    co_return;
  }(all, never));
  look_until(eye, [](const overview& o) { return o.waiting == 50; });
  const overview some = eye.look(3);
  ASSERT_EQ(some.longest.size(), 3u);
  EXPECT_LT(some.longest[0].id, some.longest[1].id);
  const overview whole = eye.look(1000);
  EXPECT_EQ(whole.longest.size(), 50u);
  EXPECT_EQ(whole.longest[0].id, some.longest[0].id);
  never.set();
  rt.run([](rota::task_group& g) -> task<void> { co_await g.join(); }(all));
}

TEST(observer, shows_what_others_have_to_say_as_long_as_they_are_there) {
  runtime rt;
  const observer eye{rt};
  {
    const rota::detail::overview_part part{rt, [](overview& o) {
                                             overview::job j;
                                             j.name = "nightly";
                                             o.jobs.push_back(j);
                                           }};
    ASSERT_EQ(eye.look().jobs.size(), 1u);
    EXPECT_EQ(eye.look().jobs[0].name, "nightly");
  }
  EXPECT_TRUE(eye.look().jobs.empty());
}

}  // namespace
