// The sockets of the inspector, and its wake-ups.
#ifndef ROTA_EVENT_INSPECTOR_SOCKET_H
#define ROTA_EVENT_INSPECTOR_SOCKET_H

#include <sys/types.h>

#include <string>
#include <utility>

namespace rota::detail {

// A file descriptor that is closed in the end.
class descriptor {
 public:
  descriptor() noexcept = default;
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor();

  explicit operator bool() const noexcept { return fd_ >= 0; }
  int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

// A unix socket at a path, on which clients are accepted. It cannot be made to replace or remove
// anything but a dead socket of ours:
// - Its directory is opened once, and all that follows is done inside of that directory. It has to
//   be no link, ours or root's, and nobody else may take files out of it: not writable for others
//   unless sticky, as /tmp is.
// - The socket has mode 0600 from its first moment, and listens before anybody can take it for a
//   dead one: who makes or replaces a socket holds a lock on the directory meanwhile.
// - In the end it is removed if it still is the file that was made here.
class listening_socket {
 public:
  // Throws std::runtime_error.
  explicit listening_socket(std::string path);
  listening_socket(const listening_socket&) = delete;
  listening_socket& operator=(const listening_socket&) = delete;
  ~listening_socket();

  int get() const noexcept { return socket_.get(); }
  const std::string& path() const noexcept { return path_; }

  // The next client, or none. `is_short` if descriptors or memory have run out, so that it is no
  // use to ask again at once. Clients of other users are sent away here.
  descriptor accept(bool& is_short) const noexcept;

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  void open_directory();
  void lock_directory() const;
  bool bind_once();
  void remove_dead() const;

  const std::string path_;
  std::string name_;  // in its directory
  descriptor directory_;
  descriptor socket_;
  dev_t device_ = 0;
  ino_t number_ = 0;
};

// Wakes a thread out of poll(). Threads: wake() is anyone's.
class poll_waker {
 public:
  poll_waker();  // throws std::runtime_error
  int get() const noexcept { return event_.get(); }
  void wake() const noexcept;
  void clear() const noexcept;

 private:
  descriptor event_;
};

}  // namespace rota::detail

#endif
