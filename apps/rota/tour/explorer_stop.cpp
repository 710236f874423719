// A notifier of the tour's own, as simple as it can be, under every schedule and C++'s memory. One
// that looks for work before it takes its ticket loses a wake-up: the explorer has to find the
// schedule, and to take the same one again from its token. One that looks afterwards has to come
// through all schedules. Broken, the explorer misses the one or accuses the other.
//
// The explorer replaces operator new while it runs: no other thread may allocate meanwhile, and
// none of the tour's does.

#include <rota/verify/explore/explore.h>

#include <cstdint>

#include "../check_output.h"
#include "stops.h"

namespace rota::app {

namespace {

// Two steps to sleep: prepare() takes a ticket, park() sleeps unless notify() came since.
class small_notifier {
 public:
  void prepare() { ticket_ = epoch_.load(std::memory_order_seq_cst); }
  void park() { explore::futex_wait(epoch_, ticket_); }
  void notify() {
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    explore::futex_wake(epoch_);
  }

 private:
  explore::atomic<std::uint32_t> epoch_{0};
  std::uint32_t ticket_ = 0;
};

// All look before; the right one looks once more.
enum class looks { before_ticket, after_ticket };

// One producer and one consumer, who takes `messages` of them.
void hand_over(looks when, int messages) {
  small_notifier notifier;
  explore::atomic<int> inbox{0};
  explore::thread consumer([&] {
    for (int taken = 0; taken < messages; ++taken) {
      const auto has_work = [&] { return inbox.load(std::memory_order_seq_cst) > taken; };
      while (!has_work()) {
        notifier.prepare();
        if (when == looks::after_ticket && has_work()) break;
        notifier.park();
      }
    }
  });
  for (int i = 0; i < messages; ++i) {
    inbox.fetch_add(1, std::memory_order_seq_cst);
    notifier.notify();
  }
  consumer.join();
}

}  // namespace

findings show_exploration(stage& s) {
  explore::options o;
  bool interrupted = false;
  o.on_progress = [&](const explore::progress& p) {
    try {
      s.show(grouped(p.schedules) + " schedules");
    } catch (const tour_interrupted&) {
      interrupted = true;
    }
  };
  s.show("a notifier that looks before it takes its ticket");
  const auto broken = explore::run([] { hand_over(looks::before_ticket, 1); }, o);
  const bool found = broken.failed && broken.failure->kind == explore::failure_kind::lost_wakeup;
  bool again = false;
  if (found) {
    const std::string& token = broken.failure->token;
    const auto replayed = explore::replay(token, [] { hand_over(looks::before_ticket, 1); }, o);
    again = replayed.failed && replayed.failure->kind == explore::failure_kind::lost_wakeup;
    s.say("looks, takes its ticket, sleeps: " + broken.failure->message + "\n" +
          broken.failure->schedule + "token " + token + ", replayed: " +
          (again ? std::string(name_of(replayed.failure->kind)) : "something ELSE"));
  }
  s.show("a notifier that takes its ticket and looks");
  const int messages = s.is_quick() ? 2 : 4;
  const auto right = explore::run([=] { hand_over(looks::after_ticket, messages); }, o);
  if (interrupted) throw tour_interrupted{};
  const bool proven = !right.failed && right.exhaustive;
  return {
      {"no_lost_wakeup", found && again && proven,
       std::string("explorer: a broken notifier ") +
           (found ? "loses a wake-up in schedule " + grouped(broken.failure->at_schedule)
                  : "was NOT FOUND OUT") +
           (again ? ", replayed" : ", NOT replayed") + "; the right one " +
           (proven ? "proven in all " + grouped(right.schedules) + " schedules" : "NOT proven")}};
}

}  // namespace rota::app
