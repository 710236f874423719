// ZeroMQ within the process: PUSH and PULL sockets, which block when the high-water mark is
// reached. The marks of both ends add up, so each has half of the depth. Large messages go by a
// pointer.
#include <zmq.hpp>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "../threads.h"

namespace {

zmq::context_t& context() {
  static zmq::context_t one{0};
  return one;
}

template <class T>
class zmq_link {
 public:
  explicit zmq_link(std::size_t depth)
      : mark_(static_cast<int>(depth) / 2), in_(context(), zmq::socket_type::pull) {
    static int count = 0;
    address_ = "inproc://link" + std::to_string(count++);
    in_.set(zmq::sockopt::rcvhwm, mark_);
    in_.bind(address_);
  }

  class sender {
   public:
    sender(const std::string& address, int mark) : out_(context(), zmq::socket_type::push) {
      out_.set(zmq::sockopt::sndhwm, mark);
      out_.connect(address);
    }
    void send(T value) {
      zmq::message_t m = wrap(std::move(value));
      while (!out_.send(m, zmq::send_flags::none)) {
      }
    }

   private:
    zmq::socket_t out_;
  };
  sender sender_of() { return sender{address_, mark_}; }

  T receive() {
    zmq::message_t m;
    while (!in_.recv(m)) {
    }
    return unwrap(m);
  }

 private:
  static zmq::message_t wrap(T value) {
    if constexpr (std::is_trivial_v<T>) {
      return zmq::message_t{&value, sizeof value};
    } else {
      // The message has the pointer's share until its last copy ends.
      auto* const kept = new T(std::move(value));
      void* const bytes = const_cast<bench::large*>(kept->get());
      return zmq::message_t{bytes, sizeof(bench::large),
                            [](void*, void* hint) { delete static_cast<T*>(hint); }, kept};
    }
  }
  static T unwrap(zmq::message_t& m) {
    if constexpr (std::is_trivial_v<T>) {
      T value;
      std::memcpy(&value, m.data(), sizeof value);
      return value;
    } else {
      const auto kept = std::make_shared<zmq::message_t>(std::move(m));
      return T{kept, static_cast<const bench::large*>(kept->data())};
    }
  }

  const int mark_;
  zmq::socket_t in_;
  std::string address_;
};

}  // namespace

int main(int argc, char** argv) { return bench::run_threads<zmq_link>("zmq", argc, argv); }
