// What specs/idle_set is about: who is in the set, what lies in which queue, and where each worker
// and poster is. idle_set.h has the steps.
#ifndef ROTA_VERIFY_MODELS_IDLE_SET_STATE_H
#define ROTA_VERIFY_MODELS_IDLE_SET_STATE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rota::verify {

struct idle_set_state {
  static constexpr unsigned most_workers = 4;
  static constexpr unsigned most_posters = 3;

  using number = std::uint8_t;      // of jobs, or of a worker: 1, 2 ...
  using worker_set = std::uint8_t;  // a bit a worker
  static constexpr number nobody = 0;

  enum class ticket : std::uint8_t { running, prepared, notified };
  // In this order, since kinds of places are told apart by comparing: running up to pick, then
  // searching up to surplus, then giving up and sleeping; in the set from fence on.
  enum class place : std::uint8_t {
    run,
    push,
    offer,
    choose,
    notify,
    pick,
    search,
    scan,
    keep,
    pop,
    found,
    fence_surplus,
    surplus,
    enter,
    fence,
    look,
    leave,
    asleep,
  };
  enum class poster_place : std::uint8_t { ready, put, deliver, offer, choose, notify, done };

  worker_set bits = 0;   // workers in the idle set           } one word
  number searchers = 0;  // how many are counted as searching }
  std::array<ticket, most_workers> notifier{};
  std::array<number, most_workers> ring{};     // jobs in each worker's run queue
  std::array<number, most_workers> buffer{};   // in its store buffer, on their way into its ring
  std::array<number, most_workers> hand{};     // that it took and has not put anywhere yet
  std::array<number, most_workers> mail{};     // in its inbox
  number injector = 0;                         // jobs from posters
  std::array<number, most_posters> posting{};  // in each poster's store buffer
  number spawns = 0;                           // jobs that may still be made
  number ends = 0;                             // steps that may still end
  std::array<place, most_workers> at{};
  std::array<place, most_workers> back{};      // where it goes after an offer
  std::array<bool, most_workers> searching{};  // whether it knows that it is counted
  std::array<number, most_workers> chosen{};   // whom it is about to notify
  std::array<poster_place, most_posters> poster{};
  std::array<number, most_posters> picked{};  // whom it is about to notify

  // For people: what each part of the state is, of so many workers and posters.
  template <class F>
  void fields(unsigned workers, unsigned posters, F f) const {
    static constexpr std::array tickets = {"running", "prepared", "notified"};
    static constexpr std::array places = {
        "run", "push",  "offer",         "choose",  "notify", "pick",  "search", "scan",  "keep",
        "pop", "found", "fence_surplus", "surplus", "enter",  "fence", "look",   "leave", "asleep"};
    static constexpr std::array poster_places = {"ready",  "put",    "deliver", "offer",
                                                 "choose", "notify", "done"};
    std::string members;
    for (unsigned w = 0; w < workers; ++w)
      if (bits & bit(w)) members += (members.empty() ? "" : ", ") + std::to_string(w + 1);
    f("bits", "{" + members + "}");
    f("searchers", searchers);
    f("injector", injector);
    f("spawns", spawns);
    f("ends", ends);
    for (unsigned w = 0; w < workers; ++w) {
      const std::string of = "[" + std::to_string(w + 1) + "]";
      f("at" + of, places[static_cast<std::size_t>(at[w])]);
      f("back" + of, places[static_cast<std::size_t>(back[w])]);
      f("notifier" + of, tickets[static_cast<std::size_t>(notifier[w])]);
      f("searching" + of, searching[w]);
      f("ring" + of, ring[w]);
      f("buffer" + of, buffer[w]);
      f("hand" + of, hand[w]);
      f("mail" + of, mail[w]);
      f("chosen" + of, name(chosen[w]));
    }
    for (unsigned p = 0; p < posters; ++p) {
      const std::string of = "[p" + std::to_string(p + 1) + "]";
      f("poster" + of, poster_places[static_cast<std::size_t>(poster[p])]);
      f("posting" + of, posting[p]);
      f("picked" + of, name(picked[p]));
    }
  }

  // The same state if worker from[w] were w, and poster poster_from[p] were p.
  idle_set_state renamed(unsigned workers, unsigned posters,
                         const std::array<unsigned, most_workers>& from,
                         const std::array<unsigned, most_posters>& poster_from) const {
    std::array<number, most_workers + 1> to{};
    for (unsigned w = 0; w < workers; ++w) to[id(from[w])] = id(w);
    idle_set_state n = *this;
    n.bits = 0;
    for (unsigned w = 0; w < workers; ++w) {
      const unsigned v = from[w];
      if (bits & bit(v)) n.bits = static_cast<worker_set>(n.bits | bit(w));
      n.notifier[w] = notifier[v];
      n.ring[w] = ring[v];
      n.buffer[w] = buffer[v];
      n.hand[w] = hand[v];
      n.mail[w] = mail[v];
      n.at[w] = at[v];
      n.back[w] = back[v];
      n.searching[w] = searching[v];
      n.chosen[w] = to[chosen[v]];
    }
    for (unsigned p = 0; p < posters; ++p) {
      const unsigned q = poster_from[p];
      n.posting[p] = posting[q];
      n.poster[p] = poster[q];
      n.picked[p] = to[picked[q]];
    }
    return n;
  }

  static number id(unsigned w) { return static_cast<number>(w + 1); }
  static worker_set bit(unsigned w) { return static_cast<worker_set>(1u << w); }

 private:
  static std::string name(number w) { return w == nobody ? "nobody" : std::to_string(w); }
};

}  // namespace rota::verify

#endif
