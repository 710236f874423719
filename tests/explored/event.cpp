// Nodes on a runtime of two workers: messages against handlers, removals, calls and time. A message
// that nobody handles shows as rota::deadlock or a lost wake-up; a handler that runs twice at once,
// or beside another of its group, as a data race on what it owns; one that runs after it was
// removed, or a message that is freed too early or never, as use after free or a leak.

#include <rota/rota.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "explored/scenarios.h"

// A namespace of its own: scenarios are compiled together, and some names are common.
namespace rota::scenarios::events {
namespace {

using namespace std::chrono_literals;
using namespace rota::scenarios;
using rota::bus;
using rota::node;
using rota::qos;
using rota::task;

// Counts to a number that somebody waits for.
class goal {
 public:
  explicit goal(int wanted) : left_(wanted) {}
  void one() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) reached_.set();
  }
  rota::async_event::awaiter reached() { return reached_.wait(); }

 private:
  explore::atomic<int> left_;
  rota::async_event reached_;
};

void bump(number& n) { n.set(n.get() + 1); }

// Runs a program that gets a bus.
template <task<> (*Program)(bus&)>
void with_bus() {
  rota::runtime rt{rota::options{}.with_workers(2)};
  bus b{rt};
  rt.run(Program(b));
}

// --- topics -------------------------------------------------------------------------------------

task<> publish(rota::publisher<int> to, int first, int last) {
  for (int i = first; i <= last; ++i) co_await to.publish(i);
}

// Two tasks publish to one handler.
task<> messages(bus& b) {
  goal all{4};
  number sum{0};
  node n{b, "n"};
  auto out = n.advertise<int>("t");
  auto in = n.subscribe<int>("t", qos{}, [&](const int& i) {
    sum.set(sum.get() + i);
    all.one();
  });
  auto other = rota::spawn(publish(out, 1, 2));
  co_await publish(out, 3, 4);
  co_await other;
  co_await all.reached();
  explore::check(sum.get() == 10, "each message is handled once");
}

// Two handlers of a node have what they touch alone.
task<> group(bus& b) {
  goal all{4};
  number shared{0};
  node n{b, "n"};
  auto out = n.advertise<int>("t");
  const auto f = [&](const int&) {
    bump(shared);
    all.one();
  };
  n.subscribe<int>("t", qos{}, f);
  n.subscribe<int>("t", qos{}, f);
  auto other = rota::spawn(publish(out, 1, 1));
  co_await publish(out, 2, 2);
  co_await other;
  co_await all.reached();
  explore::check(shared.get() == 4, "one at a time");
}

// The queue has room for one: publishers wait, and nothing is lost.
task<> block(bus& b) {
  goal all{4};
  number last{0};
  node n{b, "n"};
  auto out = n.advertise<int>("t");
  n.subscribe<int>("t", qos{}.with_depth(1).with_overflow(rota::overflow::block), [&](const int&) {
    bump(last);
    all.one();
  });
  auto other = rota::spawn(publish(out, 1, 2));
  co_await publish(out, 3, 4);
  co_await other;
  co_await all.reached();
}

// Publishers wait for a handler that is removed.
task<> block_removed(bus& b) {
  node n{b, "n"};
  auto out = n.advertise<int>("t");
  auto in = n.subscribe<int>("t", qos{}.with_depth(1).with_overflow(rota::overflow::block),
                             [](const int&) {});
  auto other = rota::spawn(publish(out, 1, 4));
  in.remove();
  co_await other;
}

// A behaviour that publishes too much is muted, and goes on.
task<> mute(bus& b) {
  goal all{4};
  number got{0};
  const auto sender = rota::make_cown<number>(0);
  node n{b, "n"};
  auto out = n.advertise<int>("t");
  n.subscribe<int>("t", qos{}.with_depth(1).with_overflow(rota::overflow::block), [&](const int&) {
    bump(got);
    all.one();
  });
  const auto send = [out](number& sent) {  // a copy: the last may return after the program
    out.publish(sent.get());
    bump(sent);
  };
  for (int i = 0; i < 4; ++i) rota::when(sender) << send;
  co_await all.reached();
  explore::check(got.get() == 4, "nothing is lost");
}

// Once a handler was removed it does not run, whoever publishes.
task<> remove(bus& b) {
  node n{b, "n"};
  auto out = n.advertise<int>("t");
  auto owned = std::make_unique<number>(0);
  auto in = n.subscribe<int>("t", qos{}, [p = owned.get()](const int&) { bump(*p); });
  auto other = rota::spawn(publish(out, 1, 2));
  co_await rota::suspend();
  in.remove();
  owned.reset();
  co_await other;
}

// A handler removes itself.
task<> remove_itself(bus& b) {
  goal once{1};
  number runs{0};
  node n{b, "n"};
  auto out = n.advertise<int>("t");
  rota::subscription in;
  in = n.subscribe<int>("t", qos{}, rota::handler_options{}.with_budget(1), [&](const int&) {
    bump(runs);
    in.remove();
    once.one();
  });
  co_await publish(out, 1, 3);
  co_await once.reached();
  n.stop();
  explore::check(runs.get() == 1, "it does not run again");
}

// A node ends while messages come.
task<> node_ends(bus& b) {
  node sender{b, "sender"};
  auto out = sender.advertise<int>("t");
  auto other = rota::spawn(publish(out, 1, 3));
  {
    number runs{0};
    node n{b, "n"};
    n.subscribe<int>("t", qos{}, [&](const int&) { bump(runs); });
    n.subscribe<int>("t", qos{}, [&](const int&) { bump(runs); });
    co_await rota::suspend();
  }
  co_await other;
}

// What was there when a node drains is handled.
task<> drain(bus& b) {
  number runs{0};
  node n{b, "n"};
  auto out = n.advertise<int>("t");
  n.subscribe<int>("t", qos{}, [&](const int&) { bump(runs); });
  out.publish(1);
  auto other = rota::spawn(publish(out, 2, 2));
  co_await n.drain();
  const int handled = runs.get();
  explore::check(handled >= 1, "what was there is handled");
  co_await other;
}

// Who subscribes while somebody publishes gets the last message or the new one, never none.
task<> late_joiner(bus& b) {
  node n{b, "n"};
  auto out = n.advertise<int>("t", qos{}.with_late_joiner());
  auto other = rota::spawn(publish(out, 1, 2));
  goal last{1};
  number seen{0};
  n.subscribe<int>("t", qos{}.with_late_joiner(), [&](const int& i) {
    explore::check(i == seen.get() + 1 || seen.get() == 0, "in order, each once");
    seen.set(i);
    if (i == 2) last.one();
  });
  co_await last.reached();
  co_await other;
}

struct parcel {
  parcel() : value(7) {}
  parcel(const parcel& other) : value(other.value.get()) {}
  parcel(parcel&& other) : value(other.value.get()) { other.value.set(0); }
  number value;
};

// The message is moved to a single subscriber only if nobody else looks at it.
task<> owned(bus& b) {
  goal both{2};
  node n{b, "n"};
  auto out = n.advertise<parcel>("t");
  const auto alone = [] { return rota::handler_options{}.with_group(rota::group{}); };
  n.subscribe<parcel>("t", qos{}, alone(), [&](const parcel& p) {
    explore::check(p.value.get() == 7, "nobody changes what others read");
    both.one();
  });
  n.subscribe<parcel>("t", qos{}, alone(), [&](rota::message<parcel> m) {
    parcel mine = std::move(m).take();
    bump(mine.value);
    both.one();
  });
  out.publish(out.loan());
  co_await both.reached();
}

// Behaviours handle messages with a cown, which others use too.
task<> with_cown(bus& b) {
  goal all{3};
  const auto value = rota::make_cown<number>(0);
  node n{b, "n"};
  auto out = n.advertise<int>("t");
  n.subscribe<int>("t", qos{}, rota::on(value, [&](number& v, const int&) {
                     bump(v);
                     all.one();
                   }));
  auto other = rota::spawn(publish(out, 1, 2));
  rota::when(value) << [&](number& v) {
    bump(v);
    all.one();
  };
  co_await all.reached();
  co_await other;
}

// --- coroutines and calls -----------------------------------------------------------------------

// A coroutine handles one message at a time, and gives way in between.
task<> coroutine(bus& b) {
  goal all{2};
  number own{0};
  node n{b, "n"};
  auto out = n.advertise<int>("t");
  n.subscribe<int>("t", qos{}, [&](const int&) -> task<> {
    const int before = own.get();
    co_await rota::suspend();
    own.set(before + 1);
    all.one();
  });
  auto other = rota::spawn(publish(out, 1, 1));
  co_await publish(out, 2, 2);
  co_await all.reached();
  co_await other;
  explore::check(own.get() == 2, "never reentered");
}

// It is removed while it waits for ever.
task<> coroutine_removed(bus& b) {
  node n{b, "n"};
  rota::async_event never;
  auto out = n.advertise<int>("t");
  auto in = n.subscribe<int>("t", qos{}, [&](const int&) -> task<> { co_await never.wait(); });
  auto other = rota::spawn(publish(out, 1, 2));
  co_await rota::suspend();
  in.remove();
  co_await other;
}

task<> call_once(rota::client<int, int> c, int x) {
  auto r = co_await c.call(x, 1s);
  const bool right = r && *r == x + 1;
  explore::check(right, "answered, and the answer is mine");
}

// Two tasks call one server.
task<> calls(bus& b) {
  node n{b, "n"};
  n.serve<int, int>("s", [](const int& x) { return x + 1; });
  auto c = n.client<int, int>("s");
  auto other = rota::spawn(call_once(c, 1));
  co_await call_once(c, 2);
  co_await other;
}

// Two servers share a name, and one leaves.
task<> server_leaves(bus& b) {
  node n{b, "n"};
  node m{b, "m"};
  auto leaving = n.serve<int, int>("s", [](const int& x) { return x + 1; });
  m.serve<int, int>("s", [](const int& x) { return x + 1; });
  auto c = m.client<int, int>("s");
  auto other = rota::spawn(call_once(c, 1));
  leaving.remove();
  co_await other;  // before another call, which would see to both
  co_await call_once(c, 2);
}

// The answer against the deadline: the call ends once, and what it says is so.
task<> answer_or_timeout(bus& b) {
  node n{b, "n"};
  n.serve<int, int>("s", [](const int& x) -> task<int> {
    co_await rota::sleep_for(1ms);
    co_return x + 1;
  });
  auto c = n.client<int, int>("s");
  auto r = co_await c.call(1, 1ms);
  const bool right = r ? *r == 2 : r.status() == rota::call_status::timeout;
  explore::check(right, "an answer or a timeout");
}

// A call is taken back while it is answered.
task<> call_stopped(bus& b) {
  node n{b, "n"};
  n.serve<int, int>("s", [](const int& x) { return x + 1; });
  auto c = n.client<int, int>("s");
  auto other = rota::spawn(call_once(c, 1));
  other.request_stop();
  try {
    co_await other;
  } catch (const rota::cancelled&) {
    // Or it was answered before.
  }
}

// A handler that calls leaves its group to the others, also if its call has to wait: for one that
// is answered when one of the others has run.
task<> call_leaves_group(bus& b) {
  goal answered{1};
  rota::async_event asked, other_ran;
  node n{b, "n"};
  node m{b, "m"};
  auto out = n.advertise<int>("t");
  m.serve<int, int>("s", [&](const int& x) -> task<int> {
    const int answer = x + 1;
    asked.set();
    co_await other_ran.wait();
    co_return answer;
  });
  auto c = m.client<int, int>("s", 1);
  n.subscribe<int>("t", qos{}, [&](const int& x) -> task<> {
    co_await rota::suspend();
    co_await call_once(c, x);
    answered.one();
  });
  n.subscribe<int>("t", qos{}, [&](const int&) { other_ran.set(); });
  auto first = rota::spawn(call_once(c, 1));
  co_await asked.wait();
  out.publish(2);
  co_await answered.reached();
  co_await first;
}

// A handler calls a service of its own group: the group is left and entered again.
task<> call_inside(bus& b) {
  goal all{2};
  number own{0};
  node n{b, "n"};
  auto out = n.advertise<int>("t");
  n.serve<int, int>("s", [&](const int& x) {
    bump(own);
    return x + 1;
  });
  auto c = n.client<int, int>("s");
  n.subscribe<int>("t", qos{}, [&](const int& x) -> task<> {
    bump(own);
    co_await call_once(c, x);
    bump(own);
    all.one();
  });
  co_await publish(out, 1, 2);
  co_await all.reached();
  explore::check(own.get() == 6, "one at a time");
}

// One call under way at a time.
task<> one_pending(bus& b) {
  node n{b, "n"};
  n.serve<int, int>("s", [](const int& x) { return x + 1; });
  auto c = n.client<int, int>("s", 1);
  auto other = rota::spawn(call_once(c, 1));
  co_await call_once(c, 2);
  co_await other;
}

// The node of a client ends while it calls.
task<> client_ends(bus& b) {
  node n{b, "n"};
  n.serve<int, int>("s", [](const int& x) { return x + 1; });
  std::optional<node> m{std::in_place, b, "m"};
  auto c = m->client<int, int>("s");
  auto caller = [](rota::client<int, int> to) -> task<> {
    auto r = co_await to.call(1, 1s);
    const bool right = r ? *r == 2 : r.status() == rota::call_status::cancelled;
    explore::check(right, "answered or cancelled");
  };
  auto other = rota::spawn(caller(c));
  m.reset();
  co_await other;
}

// --- time, and the outside ----------------------------------------------------------------------

// A timer is removed while it fires.
task<> timer_removed(bus& b) {
  goal twice{2};
  number runs{0};
  node n{b, "n"};
  auto timer = n.every(1ms, [&] {
    bump(runs);
    twice.one();
  });
  co_await twice.reached();
  timer.remove();
  bump(runs);
}

// Messages come from a thread that is none of the runtime's, and a held node starts meanwhile.
void from_outside() {
  rota::runtime rt{rota::options{}.with_workers(2)};
  bus b{rt};
  goal all{2};
  number runs{0};
  node n{b, "n", rota::hold};
  auto out = n.advertise<int>("t");
  n.subscribe<int>("t", qos{}, [&](const int&) {
    bump(runs);
    all.one();
  });
  together threads;
  threads.run([&out, expected = rota::outside{rt}] {
    out.publish(1);
    out.publish(2);
  });
  n.start();
  auto program = [](goal& g) -> task<> { co_await g.reached(); };
  rt.run(program(all));
}

// A handler is removed by a thread that is none of the runtime's.
void removed_outside() {
  rota::runtime rt{rota::options{}.with_workers(2)};
  bus b{rt};
  node n{b, "n"};
  auto out = n.advertise<int>("t");
  auto owned_number = std::make_unique<number>(0);
  auto in = n.subscribe<int>("t", qos{}, [p = owned_number.get()](const int&) { bump(*p); });
  out.publish(1);
  in.remove();
  owned_number.reset();
  out.publish(2);
}

const add events{{
    {"event.messages", "two tasks publish", with_bus<messages>, pct(3, 1)},
    {"event.group", "two handlers of a group", with_bus<group>, pct(3, 1)},
    {"event.block", "publishers wait for room", with_bus<block>, pct(3, 1)},
    {"event.block_removed", "... of a handler that goes", with_bus<block_removed>, pct(3, 1)},
    {"event.mute", "a behaviour publishes too much", with_bus<mute>, pct(3, 1)},
    {"event.remove", "a removal against messages", with_bus<remove>, pct(3, 1)},
    {"event.remove_itself", "a handler removes itself", with_bus<remove_itself>, pct(3, 1)},
    {"event.node_ends", "a node ends while messages come", with_bus<node_ends>, pct(3, 1)},
    {"event.drain", "a node drains while messages come", with_bus<drain>, pct(3, 1)},
    {"event.late_joiner", "a late joiner against messages", with_bus<late_joiner>, pct(3, 1)},
    {"event.owned", "one reads a message, one wants it", with_bus<owned>, pct(3, 1)},
    {"event.with_cown", "behaviours handle messages", with_bus<with_cown>, pct(3, 1)},
    {"event.coroutine", "a coroutine handles messages", with_bus<coroutine>, pct(3, 1)},
    {"event.coroutine_removed", "... and is removed", with_bus<coroutine_removed>, pct(3, 1)},
    {"event.calls", "two calls", with_bus<calls>, pct(3, 1)},
    {"event.server_leaves", "two servers, one leaves", with_bus<server_leaves>, pct(3, 1)},
    {"event.answer_or_timeout", "an answer against a deadline", with_bus<answer_or_timeout>,
     pct(3, 1)},
    {"event.call_stopped", "a stop against an answer", with_bus<call_stopped>, pct(3, 1)},
    {"event.call_inside", "a handler calls its own node", with_bus<call_inside>, pct(3, 1)},
    {"event.call_leaves_group", "... and the others go on", with_bus<call_leaves_group>, pct(3, 1)},
    {"event.one_pending", "one call at a time", with_bus<one_pending>, pct(3, 1)},
    {"event.client_ends", "a client ends while it calls", with_bus<client_ends>, pct(3, 1)},
    {"event.timer_removed", "a timer is removed", with_bus<timer_removed>, pct(3, 1)},
    {"event.from_outside", "messages from a thread, and a start", from_outside, pct(3, 1)},
    {"event.removed_outside", "a removal by a thread", removed_outside, pct(3, 1)},
}};

}  // namespace
}  // namespace rota::scenarios::events
