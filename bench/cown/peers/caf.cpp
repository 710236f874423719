// What do the cown workloads cost with CAF's actors? A cown is an actor, a behaviour is a message
// that it handles. An actor owns one value, so this peer takes part only where one is enough.
#include <atomic>
#include <caf/all.hpp>
#include <vector>

#include "../workload.h"

namespace {

using bench::keys;
using bench::repetition;
using bench::word;

using go = caf::atom_constant<caf::atom("go")>;
using last = caf::atom_constant<caf::atom("last")>;

struct config : caf::actor_system_config {
  explicit config(const keys& k) {
    set("scheduler.max-threads", static_cast<std::size_t>(k("threads", 2)));
  }
};

// Lets the main thread wait until so many have reported; then the actors are told to end.
class finish_line {
 public:
  explicit finish_line(word expected) : left_(expected) {}
  void arrive() {
    // release: what the actor did is seen after wait().
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_all();
  }
  void wait() {
    for (word now; (now = left_.load(std::memory_order_acquire)) != 0;) left_.wait(now);
  }

 private:
  std::atomic<word> left_;
};

// The measured part: from before there is a system until its actors and threads have ended.
template <class Start>
void measure(const keys& k, repetition& r, word expected, Start start) {
  finish_line end{expected};
  r.start();
  {
    config c{k};
    caf::actor_system system{c};
    const std::vector<caf::actor> all = start(system, end);
    end.wait();
    for (const caf::actor& a : all) caf::anon_send_exit(a, caf::exit_reason::user_shutdown);
  }
  r.stop();
}

word sum_of(const std::vector<word>& counts) {
  word sum = 0;
  for (const word c : counts) sum += c;
  return sum;
}

void self(const keys& k, repetition& r) {
  const word c = k("c", 64);
  const word rounds = k("r", 4'000'000 / c);
  std::vector<word> counts(c);
  measure(k, r, c, [&](caf::actor_system& system, finish_line& end) {
    std::vector<caf::actor> all;
    for (word& count : counts)
      all.push_back(system.spawn([&end, &count, rounds](caf::event_based_actor* me) {
        return caf::behavior{[me, &end, &count, rounds](go) {
          if (++count < rounds)
            me->send(me, go::value);
          else
            end.arrive();
        }};
      }));
    for (const caf::actor& a : all) caf::anon_send(a, go::value);
    return all;
  });
  r.ops = c * rounds;
  r.check(sum_of(counts) == c * rounds);
}

void ring(const keys& k, repetition& r) {
  const word n = k("n", 100);
  const word m = k("m", 1);
  const word h = k("h", 2'000'000 / m);
  std::vector<word> counts(n);
  std::vector<caf::actor> all;
  measure(k, r, m, [&](caf::actor_system& system, finish_line& end) {
    for (word i = 0; i < n; ++i)
      all.push_back(system.spawn([&, i](caf::event_based_actor* me) {
        // The message is the number of hops that are left, this one included.
        return caf::behavior{[&, me, i](word hops) {
          ++counts[i];
          if (hops == 1)
            end.arrive();
          else
            me->send(all[i + 1 == all.size() ? 0 : i + 1], hops - 1);
        }};
      }));
    for (word i = 0; i < m; ++i) caf::anon_send(all[i * n / m], h);
    return all;
  });
  r.ops = m * h;
  r.check(sum_of(counts) == m * h);
}

void fanin(const keys& k, repetition& r) {
  const word n = k("n", 1'000'000);
  word count = 0;
  word seen = 0;
  measure(k, r, 1, [&](caf::actor_system& system, finish_line& end) {
    const caf::actor consumer = system.spawn([&](caf::event_based_actor*) {
      return caf::behavior{[&](go) { ++count; },
                           [&](last) {
                             seen = count;
                             end.arrive();
                           }};
    });
    const caf::actor producer = system.spawn([&, consumer](caf::event_based_actor* me) {
      return caf::behavior{[&, me, consumer](go) {
        for (word i = 0; i < n; ++i) me->send(consumer, go::value);
        me->send(consumer, last::value);
      }};
    });
    caf::anon_send(producer, go::value);
    return std::vector<caf::actor>{consumer, producer};
  });
  r.ops = n;
  r.check(seen == n);
}

void flood(const keys& k, repetition& r) {
  const word s = k("s", 100);
  const word m = k("m", 10'000);
  const word work = k("work", 1000);
  const word sender_work = k("swork", 0);
  const word proxies = k("proxies", 0);
  bench::high_water pending;
  word received = 0;
  measure(k, r, 1, [&](caf::actor_system& system, finish_line& end) {
    std::vector<caf::actor> all;
    all.push_back(system.spawn([&](caf::event_based_actor*) {
      return caf::behavior{[&](go) {
        bench::spin(work);
        pending.finished();
        if (++received == s * m) end.arrive();
      }};
    }));
    for (word i = 0; i < proxies; ++i)
      all.push_back(system.spawn([to = all.back()](caf::event_based_actor* me) {
        return caf::behavior{[me, to](go) { me->send(to, go::value); }};
      }));
    const caf::actor entry = all.back();
    for (word i = 0; i < s; ++i) {
      all.push_back(system.spawn([&, entry](caf::event_based_actor* me) {
        return caf::behavior{[&, me, entry, left = m](last) mutable {
          bench::spin(sender_work);
          pending.sent();
          me->send(entry, go::value);
          if (--left > 0) me->send(me, last::value);
        }};
      }));
      caf::anon_send(all.back(), last::value);
    }
    return all;
  });
  r.ops = s * m;
  r.check(received == s * m);
  r.report("max_pending", static_cast<double>(pending.most()));
}

}  // namespace

int main(int argc, char** argv) {
  return bench::drive("caf", argc, argv,
                      {{"self", self}, {"fanin", fanin}, {"ring", ring}, {"flood", flood}});
}
