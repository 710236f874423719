// Each kind of failure is found, named, told as a schedule and replayed from its token; and what is
// right is not reported.

#include <rota/base/sync.h>
#include <rota/verify/explore/explore.h>

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace explore = rota::explore;
using explore::failure_kind;
using explore::strategy;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;

// Runs a program that has to fail in one way; replays it.
explore::result expect_failure(failure_kind kind, const std::function<void()>& program,
                               const explore::options& o = {}) {
  explore::result found = explore::run(program, o);
  EXPECT_TRUE(found.failed) << found.text();
  if (!found.failed) {
    found.failure.emplace();
    return found;
  }
  EXPECT_EQ(found.failure->kind, kind) << found.text();
  const explore::replayed again = explore::replay(found.failure->token, program, o);
  EXPECT_TRUE(again.failed) << found.text();
  if (again.failed) {
    EXPECT_EQ(again.failure->message, found.failure->message);
    EXPECT_EQ(again.schedule, found.failure->schedule);
  }
  return found;
}

void expect_fine(const std::function<void()>& program, const explore::options& o = {}) {
  const explore::result r = explore::run(program, o);
  EXPECT_FALSE(r.failed) << r.text();
  EXPECT_TRUE(r.exhaustive) << r.text();
}

// --- kinds ---

TEST(findings, a_check_that_fails_only_in_some_schedule) {
  const auto r = expect_failure(failure_kind::check, [] {
    explore::atomic<int> n{0};
    const auto add = [&] { n.store(n.load(memory_order_relaxed) + 1, memory_order_relaxed); };
    explore::thread other(add);
    add();
    other.join();
    explore::check(n.load(memory_order_relaxed) == 2, "both were counted");
  });
  EXPECT_NE(r.failure->message.find("both were counted"), std::string::npos);
  EXPECT_NE(r.failure->schedule.find("thread 1"), std::string::npos) << r.text();
  EXPECT_NE(r.failure->schedule.find("findings_test.cpp:"), std::string::npos) << r.text();
  EXPECT_NE(r.failure->schedule.find("stores n = 1"), std::string::npos) << r.text();
}

TEST(findings, a_data_race_between_cells) {
  const auto r = expect_failure(failure_kind::data_race, [] {
    explore::cell<int> data{0};
    explore::thread other([&] { data.set(1); });
    (void)data.get();
    other.join();
  });
  EXPECT_NE(r.failure->message.find("nothing orders the two"), std::string::npos) << r.text();
}

TEST(findings, no_race_behind_a_mutex) {
  expect_fine([] {
    explore::mutex m;
    explore::cell<int> data{0};
    const auto add = [&] {
      const std::lock_guard guard{m};
      data.set(data.get() + 1);
    };
    explore::thread other(add);
    add();
    other.join();
    explore::check(data.get() == 2, "both were counted");
  });
}

TEST(findings, a_deadlock_of_two_mutexes_with_who_holds_what) {
  const auto r = expect_failure(failure_kind::deadlock, [] {
    explore::mutex a;
    explore::mutex b;
    explore::thread other([&] {
      const std::lock_guard first{a};
      const std::lock_guard second{b};
    });
    {
      const std::lock_guard first{b};
      const std::lock_guard second{a};
    }
    other.join();
  });
  EXPECT_NE(r.failure->message.find("waits for a mutex that thread 1 holds"), std::string::npos)
      << r.text();
}

TEST(findings, a_lost_wake_up) {
  expect_failure(failure_kind::lost_wakeup, [] {
    explore::atomic<std::uint32_t> asleep{0};
    explore::atomic<int> ready{0};
    explore::thread waker([&] {
      ready.store(1);
      if (asleep.load() == 1) {
        asleep.store(0);
        explore::futex_wake(asleep);
      }
    });
    // The look comes before the announcement.
    if (ready.load() == 0) {
      asleep.store(1);
      explore::futex_wait(asleep, 1);
    }
    waker.join();
  });
}

// The flag is set without the mutex: between the look and the sleep.
TEST(findings, a_condition_that_changes_without_the_mutex) {
  const auto program = [](bool with_mutex) {
    return [with_mutex] {
      explore::mutex m;
      explore::condition_variable changed;
      explore::atomic<bool> flag{false};
      explore::thread setter([&] {
        std::unique_lock lock{m, std::defer_lock};
        if (with_mutex) lock.lock();
        flag = true;
        if (with_mutex) lock.unlock();
        changed.notify_one();
      });
      {
        std::unique_lock lock{m};
        changed.wait(lock, [&] { return flag.load(); });
      }
      setter.join();
    };
  };
  expect_fine(program(true));
  expect_failure(failure_kind::lost_wakeup, program(false));
}

TEST(virtual_time, a_condition_with_a_deadline) {
  expect_fine([] {
    explore::mutex m;
    explore::condition_variable changed;
    std::unique_lock lock{m};
    const auto began = explore::now();
    explore::check(!changed.wait_for(lock, std::chrono::milliseconds(5), [] { return false; }),
                   "nothing has changed");
    explore::check(explore::now() - began >= std::chrono::milliseconds(5), "not before its time");
  });
}

// wait() and notify_one() of atomics, of any size, and their operators.
TEST(findings, atomics_are_those_of_the_standard) {
  expect_fine([] {
    explore::atomic<std::uint64_t> n{1};
    explore::thread other([&] {
      n += 1;
      n.notify_one();
    });
    n.wait(1);
    explore::check(n == 2, "it waits for the change");
    other.join();
    explore::check(++n == 3 && n++ == 3 && --n == 3 && n-- == 3, "counting");
    explore::check((n |= 5) == 7 && (n &= 6) == 6 && (n ^= 2) == 4 && (n -= 3) == 1, "bits");
  });
  expect_failure(failure_kind::lost_wakeup, [] {
    explore::atomic<int> n{1};
    explore::thread other([&] { n = 2; });
    n.wait(1);
    other.join();
  });
}

TEST(findings, a_livelock_of_spinners) {
  const auto r = expect_failure(failure_kind::livelock, [] {
    explore::atomic<int> mine{0};
    explore::atomic<int> yours{0};
    explore::thread other([&] {
      while (mine.load() == 0) explore::pause();
      yours.store(1);
    });
    while (yours.load() == 0) explore::pause();
    mine.store(1);
    other.join();
  });
  EXPECT_NE(r.failure->message.find("look again and again"), std::string::npos) << r.text();
}

TEST(findings, a_livelock_in_which_values_change) {
  explore::options o;
  o.max_steps = 500;
  o.max_schedules = 5;
  expect_failure(
      failure_kind::livelock,
      [] {
        explore::atomic<int> n{0};
        explore::thread other([&] {
          while (n.load() >= 0) n.fetch_xor(2);
        });
        while (n.load() >= 0) n.fetch_xor(1);
        other.join();
      },
      o);
}

// Who waits may see one old value after the other before it sees the newest.
TEST(findings, a_spinner_that_sees_many_old_values_is_no_livelock) {
  const auto program = [] {
    explore::atomic<int> n{0};
    explore::thread other([&] {
      for (int i = 1; i <= 6; ++i) n.store(i, memory_order_relaxed);
    });
    while (n.load(memory_order_relaxed) != 6) explore::pause();
    other.join();
  };
  expect_fine(program);
  explore::options o;
  o.how = strategy::random;
  o.max_schedules = 10'000;
  const explore::result r = explore::run(program, o);
  EXPECT_FALSE(r.failed) << r.text();
}

TEST(findings, a_spinner_that_is_released_is_no_livelock) {
  expect_fine([] {
    explore::atomic<int> go{0};
    explore::thread other([&] {
      while (go.load(memory_order_acquire) == 0) explore::pause();
    });
    go.store(1, memory_order_release);
    other.join();
  });
}

TEST(findings, a_leak) {
  const auto r = expect_failure(failure_kind::leak, [] {
    auto* lost = new explore::atomic<std::uint64_t>(1);
    (void)lost->load();
  });
  EXPECT_NE(r.failure->message.find("16 bytes"), std::string::npos) << r.text();
}

TEST(findings, memory_freed_twice) {
  expect_failure(failure_kind::use_after_free, [] {
    auto* p = new explore::atomic<int>(1);
    explore::atomic<int> first{0};
    const auto drop = [&] {
      // As if it were counted, but not in one step.
      if (first.load() == 0) {
        first.store(1);
        ::operator delete(p);
      }
    };
    explore::thread other(drop);
    drop();
    other.join();
  });
}

// Who compares addresses is misled when one is given out again (ABA).
TEST(findings, an_address_that_comes_again) {
  const auto program = [] {
    explore::atomic<int*> shared{new int{1}};
    explore::atomic<int> changes{0};
    explore::thread other([&] {
      int* old = shared.load();
      if (!old || !shared.compare_exchange_strong(old, nullptr)) return;
      delete old;
      ++changes;
      shared.store(new int{2});
    });
    int* seen = shared.load();
    const int changes_seen = changes.load();
    if (seen && shared.compare_exchange_strong(seen, nullptr)) {
      explore::check(changes.load() == changes_seen, "what is as it was has not changed");
      delete seen;
    }
    other.join();
    delete shared.load();
  };
  expect_fine(program);
  explore::options o;
  o.reuses = 1;
  const auto r = expect_failure(failure_kind::check, program, o);
  EXPECT_NE(r.failure->schedule.find("is given memory that was freed"), std::string::npos)
      << r.failure->schedule;
}

// Who is given memory comes after who has freed it.
TEST(findings, memory_that_comes_again_is_no_race) {
  explore::options o;
  o.reuses = 2;
  expect_fine(
      [] {
        const auto use = [] {
          auto mine = std::make_unique<explore::cell<int>>();
          mine->set(1);
          explore::check(mine->get() == 1, "nobody else has it");
        };
        explore::thread other(use);
        use();
        other.join();
        use();
      },
      o);
}

TEST(findings, an_atomic_that_is_used_after_its_end) {
  expect_failure(failure_kind::use_after_free, [] {
    auto shared = std::make_unique<explore::atomic<int>>(0);
    explore::thread other([p = shared.get()] { p->store(1); });
    shared.reset();
    other.join();
  });
}

TEST(findings, an_end_that_is_ordered_behind_the_last_use_is_fine) {
  expect_fine([] {
    auto shared = std::make_unique<explore::atomic<int>>(0);
    explore::atomic<int> done{0};
    explore::thread other([&, p = shared.get()] {
      p->store(1, memory_order_relaxed);
      done.store(1, memory_order_release);
    });
    while (done.load(memory_order_acquire) == 0) explore::pause();
    shared.reset();
    other.join();
  });
}

TEST(findings, an_end_that_is_not_ordered_behind_the_last_use) {
  expect_failure(failure_kind::use_after_free, [] {
    auto shared = std::make_unique<explore::atomic<int>>(0);
    explore::atomic<int> done{0};
    explore::thread other([&, p = shared.get()] {
      p->store(1, memory_order_relaxed);
      done.store(1, memory_order_relaxed);
    });
    while (done.load(memory_order_acquire) == 0) explore::pause();
    shared.reset();
    other.join();
  });
}

TEST(findings, an_object_that_was_not_published) {
  const auto r = expect_failure(failure_kind::data_race, [] {
    explore::atomic<explore::atomic<int>*> where{nullptr};
    auto object = std::unique_ptr<explore::atomic<int>>();
    explore::thread other([&] {
      object = std::make_unique<explore::atomic<int>>(7);
      where.store(object.get(), memory_order_relaxed);
    });
    if (auto* p = where.load(memory_order_acquire)) (void)p->load(memory_order_relaxed);
    other.join();
  });
  EXPECT_NE(r.failure->message.find("not published"), std::string::npos) << r.text();
}

TEST(findings, an_exception_that_leaves_a_thread) {
  const auto r = expect_failure(failure_kind::exception, [] {
    explore::thread other([] { throw std::runtime_error("out of luck"); });
    other.join();
  });
  EXPECT_NE(r.failure->message.find("out of luck"), std::string::npos);
}

TEST(findings, exceptions_that_are_handled_while_threads_change) {
  expect_fine([] {
    explore::atomic<int> n{0};
    const auto risky = [&] {
      try {
        throw std::runtime_error("one");
      } catch (const std::runtime_error&) {
        n.fetch_add(1);
        try {
          throw std::logic_error("two");
        } catch (const std::logic_error&) {
          n.fetch_add(1);
        }
        explore::check(std::current_exception() != nullptr, "the first is still handled");
      }
      explore::check(std::current_exception() == nullptr, "none is handled any more");
    };
    explore::thread other(risky);
    risky();
    other.join();
  });
}

TEST(findings, misuse) {
  expect_failure(failure_kind::misuse, [] {
    explore::mutex m;
    m.unlock();
  });
  expect_failure(failure_kind::misuse, [] { explore::thread forgotten([] {}); });
  expect_failure(failure_kind::deadlock, [] {
    explore::mutex m;
    m.lock();
    m.lock();
  });
}

// --- schedules ---

TEST(schedules, counts_are_those_of_the_interleavings) {
  // Two threads with two independent steps each: one schedule stands for all six.
  const auto program = [](bool same) {
    return [same] {
      explore::atomic<int> x{0};
      explore::atomic<int> y{0};
      explore::atomic<int>& other_place = same ? x : y;
      explore::thread other([&] {
        other_place.fetch_add(1, memory_order_relaxed);
        other_place.fetch_add(1, memory_order_relaxed);
      });
      x.fetch_add(1, memory_order_relaxed);
      x.fetch_add(1, memory_order_relaxed);
      other.join();
    };
  };
  const auto independent = explore::run(program(false));
  EXPECT_EQ(independent.schedules, 1u) << independent.text();
  const auto dependent = explore::run(program(true));
  EXPECT_EQ(dependent.schedules, 6u) << dependent.text();
  explore::options all;
  all.reduce = false;
  EXPECT_EQ(explore::run(program(false), all).schedules, 6u);
}

TEST(schedules, every_strategy_finds_a_lost_update_and_says_what_it_covered) {
  const auto program = [] {
    explore::atomic<int> n{0};
    const auto add = [&] { n.store(n.load() + 1); };
    explore::thread a(add);
    explore::thread b(add);
    a.join();
    b.join();
    explore::check(n.load() == 2, "both were counted");
  };
  for (const strategy how :
       {strategy::exhaustive, strategy::bounded, strategy::pct, strategy::random}) {
    explore::options o;
    o.how = how;
    o.preemptions = 1;
    const auto r = expect_failure(failure_kind::check, program, o);
    EXPECT_EQ(r.text().rfind(explore::name_of(how), 0), 0u) << r.text();
  }
  const auto fine = [] { explore::thread([] {}).join(); };
  explore::options o;
  o.how = strategy::random;
  o.max_schedules = 10;
  EXPECT_NE(explore::run(fine, o).text().find("NOT exhaustive"), std::string::npos);
  EXPECT_EQ(explore::run(fine, o).schedules, 10u);
  EXPECT_NE(explore::run(fine).text().find("all schedules are covered"), std::string::npos);
}

TEST(schedules, a_bound_of_no_preemption_does_not_show_a_lost_update) {
  explore::options o;
  o.how = strategy::bounded;
  o.preemptions = 0;
  o.memory = explore::memory::sc;
  const auto r = explore::run(
      [] {
        explore::atomic<int> n{0};
        const auto add = [&] { n.store(n.load() + 1); };
        explore::thread a(add);
        add();
        a.join();
        explore::check(n.load() == 2, "both were counted");
      },
      o);
  EXPECT_FALSE(r.failed) << r.text();
  EXPECT_FALSE(r.exhaustive);
}

TEST(schedules, a_seed_repeats_its_run) {
  const auto program = [] {
    explore::atomic<int> n{0};
    const auto add = [&] {
      for (int i = 0; i < 5; ++i) n.fetch_add(1);
    };
    explore::thread a(add);
    explore::thread b(add);
    a.join();
    b.join();
  };
  for (const strategy how : {strategy::random, strategy::pct}) {
    explore::options o;
    o.how = how;
    o.max_schedules = 50;
    const auto one = explore::run(program, o);
    EXPECT_EQ(explore::run(program, o).fingerprint, one.fingerprint);
    o.seed = 1000;
    EXPECT_NE(explore::run(program, o).fingerprint, one.fingerprint);
  }
}

TEST(schedules, a_counterexample_is_simplified) {
  explore::options o;
  o.how = strategy::random;
  o.seed = 7;
  const auto program = [] {
    explore::atomic<int> noise{0};
    explore::atomic<int> n{0};
    const auto add = [&] {
      for (int i = 0; i < 20; ++i) noise.fetch_add(1);
      n.store(n.load() + 1);
      for (int i = 0; i < 20; ++i) noise.fetch_add(1);
    };
    explore::thread a(add);
    explore::thread b(add);
    a.join();
    b.join();
    explore::check(n.load() == 2, "both were counted");
  };
  const auto r = expect_failure(failure_kind::check, program, o);
  EXPECT_GT(r.failure->choices_found, 10u);
  EXPECT_LE(r.failure->choices, 3u) << r.text();
  o.shrink = false;
  const auto raw = expect_failure(failure_kind::check, program, o);
  EXPECT_EQ(raw.failure->choices, raw.failure->choices_found);
}

TEST(schedules, tokens_that_are_none_are_refused) {
  for (const char* wrong :
       {"", "x", "1", "1.", ".1", "1.0", "1.1-", "1.1-2", "-1.1", "99999999.1", "1.1 ", "1.70000"})
    EXPECT_THROW(explore::replay(wrong, [] {}), std::invalid_argument) << wrong;
  EXPECT_FALSE(explore::replay("0", [] {}).failed);
  // One that fits nowhere is a schedule still.
  EXPECT_FALSE(explore::replay("3.9-2.1", [] { explore::thread([] {}).join(); }).failed);
}

TEST(schedules, choices_of_the_program_are_all_made) {
  unsigned seen = 0;
  expect_fine([&] { seen |= 1u << (explore::choose(3) * 2 + explore::choose(2)); });
  EXPECT_EQ(seen, 0x3Fu);
}

TEST(schedules, an_explored_program_cannot_explore) {
  const auto r = expect_failure(failure_kind::exception, [] { explore::run([] {}); });
  EXPECT_NE(r.failure->message.find("cannot explore"), std::string::npos) << r.text();
}

TEST(schedules, limits_are_kept_and_progress_is_told) {
  const auto program = [] {
    explore::atomic<int> n{0};
    const auto add = [&] {
      for (int i = 0; i < 6; ++i) n.fetch_add(1);
    };
    explore::thread a(add);
    explore::thread b(add);
    explore::thread c(add);
    a.join();
    b.join();
    c.join();
  };
  explore::options o;
  o.max_schedules = 100;
  const auto few = explore::run(program, o);
  EXPECT_EQ(few.schedules + few.pruned, 100u);
  EXPECT_FALSE(few.exhaustive);
  o.max_schedules = 0;
  o.max_seconds = 0.8;
  int reports = 0;
  o.on_progress = [&](const explore::progress& p) { reports += p.schedules > 0; };
  EXPECT_FALSE(explore::run(program, o).exhaustive);
  EXPECT_EQ(reports, 1);
}

#ifndef ROTA_ASAN  // It keeps local variables elsewhere.
TEST(schedules, those_that_meet_in_a_state_go_on_once) {
  const auto program = [] {
    explore::atomic<int> n{0};
    const auto add = [&] {
      for (int i = 0; i < 4; ++i) n.fetch_add(1);
    };
    explore::thread a(add);
    explore::thread b(add);
    explore::thread c(add);
    a.join();
    b.join();
    c.join();
  };
  explore::options o;
  const auto one_by_one = explore::run(program, o);
  o.merge_states = true;
  const auto merged = explore::run(program, o);
  EXPECT_TRUE(one_by_one.exhaustive && merged.exhaustive);
  // 12! / 4!^3 orders, which differ in what was read; but few kinds of ends.
  EXPECT_EQ(one_by_one.schedules, 34'650u) << one_by_one.text();
  EXPECT_LT(merged.schedules + merged.pruned, 5'000u) << merged.text();
}
#endif

// How much memory the process has in use, in megabytes.
std::size_t megabytes_in_use() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * 4096 / 1'000'000;
}

// AddressSanitizer keeps some megabytes for each thread of a schedule, also of one that is given
// up.
TEST(schedules, they_leave_no_memory_behind) {
  explore::options o;
  o.max_schedules = 500;
  const std::size_t before = megabytes_in_use();
  const auto r = explore::run(
      [] {
        explore::atomic<int> n{0};
        const auto add = [&] {
          int local[64] = {};
          for (int& x : local) x = n.fetch_add(1);
        };
        explore::thread a(add);
        explore::thread b(add);
        a.join();
        b.join();
      },
      o);
  EXPECT_FALSE(r.failed) << r.text();
  EXPECT_LT(megabytes_in_use(), before + 200);
}

// --- time ---

TEST(virtual_time, passes_when_everybody_sleeps) {
  expect_fine([] {
    explore::atomic<std::uint32_t> word{0};
    const auto begin = explore::now();
    explore::futex_wait(word, 0, begin + std::chrono::hours(5));
    explore::check(explore::now() - begin >= std::chrono::hours(5), "it was the deadline");
  });
}

TEST(virtual_time, a_deadline_may_come_before_the_wake_up_and_after_it) {
  unsigned seen = 0;
  expect_fine([&] {
    explore::atomic<std::uint32_t> word{0};
    explore::thread waker([&] {
      word.store(1);
      explore::futex_wake(word);
    });
    const auto deadline = explore::now() + std::chrono::seconds(1);
    while (word.load() == 0 && explore::now() < deadline) explore::futex_wait(word, 0, deadline);
    const bool late = explore::now() >= deadline;
    waker.join();
    seen |= late ? 1u : 2u;
  });
  EXPECT_EQ(seen, 3u);
}

TEST(virtual_time, advance_and_settle) {
  expect_fine(
      [] {
        explore::atomic<std::uint32_t> word{0};
        explore::atomic<int> rung{0};
        explore::thread bell([&] {
          const auto begin = explore::now();
          for (int i = 1; i <= 3; ++i) {
            const auto next = begin + std::chrono::hours(i);
            while (explore::now() < next) explore::futex_wait(word, 0, next);
            rung.fetch_add(1);
          }
        });
        explore::settle();
        explore::check(rung.load() == 0, "not yet");
        explore::advance(std::chrono::minutes(150));
        explore::check(rung.load() == 2, "twice in two and a half hours");
        explore::advance(std::chrono::hours(1));
        explore::check(rung.load() == 3, "and once more");
        bell.join();
      },
      [] {
        explore::options o;
        o.early_deadlines = 0;
        return o;
      }());
}

}  // namespace
