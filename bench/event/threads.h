// The scenarios for queues between threads: a thread for each end. A driver brings
//
//   template <class T> class link {
//    public:
//     explicit link(std::size_t depth);
//     class sender;          // made by sender_of(), used by one thread
//     sender sender_of();    // has void send(T), which waits while the queue is full
//     T receive();           // by one thread; waits while it is empty
//   };
//
// for one sender, and another for several, if there is a difference.
#ifndef ROTA_BENCH_EVENT_THREADS_H
#define ROTA_BENCH_EVENT_THREADS_H

#include <deque>
#include <thread>
#include <vector>

#include "workload.h"

namespace bench {

using threads = std::vector<std::jthread>;

// A thread that adds up what comes out of a link.
template <class C, class Link>
std::jthread adder(Link& from, std::int64_t count, std::int64_t& sum) {
  return std::jthread{[&from, &sum, count] {
    std::uint64_t total = 0;
    for (std::int64_t i = 0; i < count; ++i) total += C::number(from.receive());
    sum = static_cast<std::int64_t>(total);
  }};
}

template <class C, class Link>
std::jthread stage(Link& from, Link& to, std::int64_t count) {
  return std::jthread{[&from, out = to.sender_of(), count]() mutable {
    for (std::int64_t i = 0; i < count; ++i) out.send(from.receive());
  }};
}

template <class C, class Link>
std::jthread source(Link& to, std::int64_t begin, std::int64_t end) {
  return std::jthread{[out = to.sender_of(), begin, end]() mutable {
    for (std::int64_t i = begin; i < end; ++i) out.send(C::make(static_cast<std::uint64_t>(i)));
  }};
}

template <class C, template <class> class Link>
void one(trial& t) {
  Link<typename C::handle> link{depth};
  std::int64_t sum = 0;
  t.start();
  {
    const std::jthread in = adder<C>(link, t.n(), sum);
    const std::jthread out = source<C>(link, 0, t.n());
  }
  t.stop();
  t.answer(sum);
}

template <class C, template <class> class Link>
void fan_out(trial& t) {
  std::deque<Link<typename C::handle>> links;
  for (unsigned i = 0; i < fan; ++i) links.emplace_back(depth);
  std::int64_t sums[fan] = {};
  t.start();
  {
    threads all;
    for (unsigned i = 0; i < fan; ++i) all.push_back(adder<C>(links[i], t.n(), sums[i]));
    all.emplace_back([&] {
      std::vector<typename Link<typename C::handle>::sender> outs;
      for (auto& l : links) outs.push_back(l.sender_of());
      for (std::int64_t i = 0; i < t.n(); ++i) {
        const typename C::handle m = C::make(static_cast<std::uint64_t>(i));
        for (auto& out : outs) out.send(m);
      }
    });
  }
  t.stop();
  std::int64_t sum = 0;
  for (const std::int64_t s : sums) sum += s;
  t.answer(sum);
}

template <class C, template <class> class Link>
void fan_in(trial& t) {
  Link<typename C::handle> link{depth};
  std::int64_t sum = 0;
  const std::int64_t each = t.n() / fan;
  t.start();
  {
    threads all;
    all.push_back(adder<C>(link, each * fan, sum));
    for (unsigned i = 0; i < fan; ++i) all.push_back(source<C>(link, i * each, (i + 1) * each));
  }
  t.stop();
  t.answer(sum);
}

template <class C, template <class> class Link>
void pipeline(trial& t) {
  Link<typename C::handle> a{depth}, b{depth}, c{depth};
  std::int64_t sum = 0;
  t.start();
  {
    threads all;
    all.push_back(adder<C>(c, t.n(), sum));
    all.push_back(stage<C>(b, c, t.n()));
    all.push_back(stage<C>(a, b, t.n()));
    all.push_back(source<C>(a, 0, t.n()));
  }
  t.stop();
  t.answer(sum);
}

// The message itself goes to and fro, or, if `fresh`, a new one for each way: a request, an answer.
template <class C, template <class> class Link, bool Fresh>
void round_trips(trial& t) {
  Link<typename C::handle> there{depth}, back{depth};
  std::int64_t sum = 0;
  t.start();
  {
    const std::jthread echo{[&, out = back.sender_of()]() mutable {
      for (std::int64_t i = 0; i < t.n(); ++i) {
        auto m = there.receive();
        if (Fresh) m = C::make(C::number(m));
        out.send(std::move(m));
      }
    }};
    const std::jthread asks{[&, out = there.sender_of()]() mutable {
      std::uint64_t total = 0;
      auto m = C::make(0);
      for (std::int64_t i = 0; i < t.n(); ++i) {
        if (Fresh) m = C::make(static_cast<std::uint64_t>(i));
        out.send(std::move(m));
        m = back.receive();
        total += Fresh ? C::number(m) : static_cast<std::uint64_t>(i);
      }
      sum = static_cast<std::int64_t>(total);
    }};
  }
  t.stop();
  t.answer(sum);
}

template <template <class> class Link, template <class> class ManyLink = Link>
int run_threads(const char* name, int argc, char** argv) {
  keep_memory();
  contestant me{name, argc, argv};
  me.add("one",
         [](trial& t) { is_large(t) ? one<large_carrier, Link>(t) : one<small_carrier, Link>(t); });
  me.add("fan_out", [](trial& t) {
    is_large(t) ? fan_out<large_carrier, Link>(t) : fan_out<small_carrier, Link>(t);
  });
  me.add("fan_in", [](trial& t) {
    is_large(t) ? fan_in<large_carrier, ManyLink>(t) : fan_in<small_carrier, ManyLink>(t);
  });
  me.add("pipeline", [](trial& t) {
    is_large(t) ? pipeline<large_carrier, Link>(t) : pipeline<small_carrier, Link>(t);
  });
  me.add("pingpong", [](trial& t) {
    is_large(t) ? round_trips<large_carrier, Link, false>(t)
                : round_trips<small_carrier, Link, false>(t);
  });
  me.add("call", [](trial& t) {
    is_large(t) ? round_trips<large_carrier, Link, true>(t)
                : round_trips<small_carrier, Link, true>(t);
  });
  return me.run();
}

}  // namespace bench

#endif
