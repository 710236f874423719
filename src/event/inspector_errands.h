// The requests that the inspector answers, without the sockets.
//
// A request is answered at once, or becomes an errand, which has something to do now and then until
// it ends. All of it is the inspector's thread alone.
#ifndef ROTA_EVENT_INSPECTOR_ERRANDS_H
#define ROTA_EVENT_INSPECTOR_ERRANDS_H

#include <rota/base/sync.h>
#include <rota/event/bus.h>
#include <rota/event/inspector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "event/inspector_socket.h"
#include "event/inspector_text.h"

namespace rota::detail {

// What a client has not read yet.
class outbox {
 public:
  void line(json_text text) {
    waiting_ += std::move(text).take();
    waiting_ += '\n';
  }

  // Whether the client keeps up. Who writes more than one line asks before each, so that no more
  // than this and one line waits.
  bool has_room() const noexcept { return size() < most; }

  bool empty() const noexcept { return size() == 0; }
  std::string_view waiting() const noexcept { return std::string_view{waiting_}.substr(gone_); }
  void sent(std::size_t bytes);

 private:
  static constexpr std::size_t most = std::size_t{256} << 10;
  std::size_t size() const noexcept { return waiting_.size() - gone_; }

  std::string waiting_;
  std::size_t gone_ = 0;  // of it
};

// What requests are about.
struct inspected {
  rota::bus& bus;
  transport& way;
  const inspector_options options;
  const std::shared_ptr<const poll_waker> waker;
  const sync::time_point opened;
  std::size_t clients = 0;
  std::uint64_t requests = 0;
};

// A request that cannot be: the text is for the client.
struct bad_request : std::runtime_error {
  using runtime_error::runtime_error;
};

using request_words = std::vector<std::string_view>;

// Throws bad_request that says how it is used, if the number of words is wrong.
void check_count(const request_words& words, std::size_t least, std::size_t most,
                 const char* usage);

// The number that a word is, within these bounds, or throws bad_request. Without the word:
// `otherwise`.
std::uint64_t number_at(const request_words& words, std::size_t at, const char* name,
                        std::uint64_t otherwise, std::uint64_t least, std::uint64_t most);
inline constexpr std::uint64_t longest_ms = 24 * 3'600'000;

// The last line of an answer that might have gone on.
json_text ended(const char* why);

class errand {
 public:
  virtual ~errand() = default;

  // Does what there is to be done. False if it has ended.
  virtual bool work(sync::time_point now, outbox& out) = 0;

  // When it has something to do again. Before that if the inspector is woken, or the client has
  // read something.
  virtual sync::time_point next(sync::time_point now) const = 0;
};

// Answers, or gives the errand that will. Throws bad_request.
std::unique_ptr<errand> begin_request(inspected& on, const request_words& words, outbox& out);

}  // namespace rota::detail

#endif
