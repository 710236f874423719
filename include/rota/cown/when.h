// Behaviours: a function that runs once it has all the cowns that it names, alone with them.
//
//   rota::when(from, to) << [](int& f, int& t) { f -= 10; t += 10; };   // any number of cowns
//   rota::when(rota::read(rates), to) << [](const rates&, int&) { ... };  // shared with readers
//   rota::when(accounts) << [](rota::each<int> all) { ... };              // a range of cowns
//   rota::when() << [] { ... };                                           // none: just runs
//   int b = co_await (rota::when(from) << [](int& f) { return f; });      // its result, in a task
//   (rota::when(a) << f) + (rota::when(b) << g);                          // requested atomically
//   rota::when(a) << [](int& x) -> rota::task<void> { co_await ...; };    // keeps a while it waits
//   rota::when(runtime, a) << f;                  // on a thread that is none of a runtime's
//   rota::when(a).stop_on(token) << f;            // not run if the token is stopped by then
//
// Promised (`atomic_behaviour`): a behaviour holds all its cowns while it runs, for writing alone,
// for reading together with other readers. Cowns are always released, also if it throws. No set
// of behaviours deadlocks, whatever they name, the same cown twice included, as long as tasks that
// run behaviours do not wait for others that need their cowns.
//
// The order of behaviours: cowns are ordered (by their address, which nobody can influence). A
// behaviour is requested from its least cown and passed on from one to the next, as each becomes
// free. So
//   - behaviours with the same least cown keep, on all the cowns that they share, the order in
//     which they were requested; in particular those that name one and the same cown, or the same
//     cowns. Two that only read the least one may overtake each other on the others;
//   - a behaviour that finds all its cowns idle overtakes nobody, and nobody overtakes it;
//   - but `when(a, b) << B1; when(b) << B2;` with a busy may run B2 first: B1 waits at a and is not
//     yet known to b. A batch closes the gap: members of a batch are in its order, and nobody comes
//     between them, on all cowns of the batch.
// Requested means: when the statement ends. A request that is kept in a variable is sent when it is
// awaited, converted to a when_result, told to send(), or at the end of its scope, and refers to
// its cowns until then.
//
// A function that returns a task runs as that task, and keeps its cowns until the task ends. It and
// what it captures live as long. Inside of any behaviour, release(cown) gives one back early.
//
// Cost: one allocation of 40 bytes, 16 for each cown, and what the function captures.
// Threads: anyone's.
#ifndef ROTA_COWN_WHEN_H
#define ROTA_COWN_WHEN_H

#include <rota/cown/batch.h>
#include <rota/cown/body.h>
#include <rota/cown/core.h>
#include <rota/cown/cown.h>
#include <rota/cown/request.h>
#include <rota/cown/result.h>
#include <rota/cown/wishes.h>
#include <rota/task/runtime.h>

#include <stdexcept>

namespace rota {

// Names a cown, or a range of cowns, for reading.
template <class T>
detail::one<const T> read(const cown_ptr<T>& c) noexcept {
  return {c.get()};
}
template <detail::cown_range R>
detail::some<const detail::cowns_of<R>> read(const R& range) {
  return detail::wish_for_range<const detail::cowns_of<R>>(range);
}

// Names what a behaviour needs. Throws std::invalid_argument for a null cown and std::logic_error
// on a thread that belongs to no runtime.
template <class... C>
[[nodiscard("say what to run: when(...) << f")]] auto when(const C&... cowns) {
  return detail::make_clause(detail::home_here(), detail::wish_for(cowns)...);
}
template <class... C>
[[nodiscard("say what to run: when(...) << f")]] auto when(runtime& rt, const C&... cowns) {
  return detail::make_clause(detail::home_of(detail::state_of(rt)), detail::wish_for(cowns)...);
}

// The same, but sends only if all of these cowns have room: none is overloaded, muted, or as long
// as its threshold. Gives whether it did.
template <class... C>
[[nodiscard("say what to run: try_when(...) << f")]] auto try_when(const C&... cowns) {
  return detail::try_clause{when(cowns...)};
}
template <class... C>
[[nodiscard("say what to run: try_when(...) << f")]] auto try_when(runtime& rt, const C&... cowns) {
  return detail::try_clause{when(rt, cowns...)};
}

// Gives a cown back before the running behaviour ends; its value is then somebody else's. Twice is
// once. Throws std::logic_error if the cown is none of the behaviour's, or none runs.
template <class T>
void release(const cown_ptr<T>& c) {
  detail::behaviour* b = detail::running_behaviour();
  if (!b) throw std::logic_error("release() outside of a behaviour");
  detail::release_early(*b, *c.get());
}

}  // namespace rota

#endif
