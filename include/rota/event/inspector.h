// A door into a running program, for `rota topic`, `service`, `graph`, `top` and `trace`.
//
//   rota::inspector door{bus, "robot.sock"};     // rota topic list --socket robot.sock
//
// Without one a program cannot be looked at. The door is a unix socket, and who comes in sees and
// does what a node of the bus could: who is there, what is published, messages and calls of types
// that are described. In the graph it is the node `rota-inspect`.
//
// One request a line, words with blanks between them; answers are lines of JSON. Messages are CDR
// bytes in hex, so that who asks needs the schema and nothing else of the program:
//
//   graph                                 topics and services, and who is at their ends
//   statistics                            what the bus and the workers have counted
//   schema topic|service NAME             its types
//   echo TOPIC [COUNT]                    messages as they come; ends after COUNT of them
//   hz TOPIC [WINDOW_MS [COUNT]]          how often they come, a line a window (1000)
//   pub TOPIC HEX [COUNT [RATE]]          publishes it COUNT times (1; 0: until the client leaves),
//                                         RATE times a second (1)
//   call SERVICE HEX [TIMEOUT_MS]         the answer, or why there is none (1000)
//   watch [PERIOD_MS [COUNT]]             what workers and handlers are at, a line a period (1000)
//   trace FILE LENGTH_MS                  writes a file for Perfetto (runtime::trace_to), which is
//                                         made by the program: a path from the root
//
// A request that cannot be is answered by {"error":"what is wrong, and what would be right"}. A
// client that leaves ends its request.
//
// Promised:
// - Only who runs as the same user, or as root, gets in. The socket has mode 0600, in a directory
//   that nobody else can move it in. What is at the path already stays, unless it is a socket of
//   ours on which nobody answers.
// - A client costs the program a bounded amount of memory, and nobody waits for it: who reads too
//   slowly loses messages, which are counted and told. An echo takes the oldest message out of its
//   queue when that is full, and is a subscriber that no publisher waits for.
// - All of it runs on a thread of its own, which waits for no worker: it answers also while all of
//   them are stuck.
//
// It holds no rota::outside, except while it publishes: a program that nobody but a client could
// wake stands still, and `deadlock_reported` says so. Who is to be woken by clients alone holds
// one.
//
// Lifetime: shorter than the bus. The destructor ends all requests and removes the socket.
// Threads: of the program, any.
#ifndef ROTA_EVENT_INSPECTOR_H
#define ROTA_EVENT_INSPECTOR_H

#include <rota/event/bus.h>

#include <cstddef>
#include <memory>
#include <string>

namespace rota {

// With setters rather than as an aggregate: see options.h of the pool.
class inspector_options {
 public:
  // Who comes when so many are in is told so, and sent away.
  std::size_t max_clients = 16;

  // The largest message, in bytes. A client may have about twice as much waiting for it, and the
  // same in a request.
  std::size_t max_message = std::size_t{4} << 20;

  // Messages that wait for an echo.
  std::size_t depth = 64;

  inspector_options& with_max_clients(std::size_t n) & { return max_clients = n, *this; }
  inspector_options&& with_max_clients(std::size_t n) && {
    return max_clients = n, std::move(*this);
  }
  inspector_options& with_max_message(std::size_t bytes) & { return max_message = bytes, *this; }
  inspector_options&& with_max_message(std::size_t bytes) && {
    return max_message = bytes, std::move(*this);
  }
  inspector_options& with_depth(std::size_t messages) & { return depth = messages, *this; }
  inspector_options&& with_depth(std::size_t messages) && {
    return depth = messages, std::move(*this);
  }
};

class inspector {
 public:
  // Throws std::runtime_error, which says what is wrong with the path.
  inspector(rota::bus& on, std::string path, const inspector_options& o = {});
  inspector(const inspector&) = delete;
  inspector& operator=(const inspector&) = delete;
  ~inspector();

  const std::string& path() const noexcept;

 private:
  class state;
  const std::unique_ptr<state> state_;
};

}  // namespace rota

#endif
