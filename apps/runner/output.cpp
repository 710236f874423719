#include "output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "job/runner_wire.h"
#include "text.h"

namespace rota::runner {

namespace {

namespace wire = job::wire;

// What a pipe holds. Untouched pages of these cost nothing.
char chunk[64 * 1024];
// The last bytes, round and round: byte n of what came after the head is at n % tail_size_.
char tail[8 * 1024];

}  // namespace

output::output(std::int64_t id, std::uint64_t limit) noexcept
    : id_(id), tail_size_(std::min<std::uint64_t>(sizeof(tail), limit / 2)) {
  head_left_ = limit - tail_size_;
}

bool output::read_some(int pipe) noexcept {
  const ssize_t n = ::read(pipe, chunk, sizeof(chunk));
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  keep({chunk, static_cast<std::size_t>(n)});
  return n > 0;
}

void output::drain(int pipe) noexcept {
  int there = 0;
  if (::ioctl(pipe, FIONREAD, &there) != 0) return;
  while (there > 0) {
    const ssize_t n = ::read(pipe, chunk, std::min(sizeof(chunk), static_cast<std::size_t>(there)));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    keep({chunk, static_cast<std::size_t>(n)});
    there -= static_cast<int>(n);
  }
}

void output::keep(std::string_view s) noexcept {
  if (head_left_ > 0 && !s.empty()) {
    const std::string_view first = s.substr(0, std::min<std::uint64_t>(head_left_, s.size()));
    write(first);
    head_left_ -= first.size();
    s.remove_prefix(first.size());
  }
  if (s.size() > tail_size_) {
    after_ += s.size() - tail_size_;
    s.remove_prefix(s.size() - tail_size_);
  }
  while (!s.empty()) {
    const std::size_t at = after_ % tail_size_;
    const std::size_t n = std::min(s.size(), tail_size_ - at);
    std::copy_n(s.data(), n, tail + at);
    after_ += n;
    s.remove_prefix(n);
  }
}

int output::finish() noexcept {
  if (after_ > 0 && after_ <= tail_size_) write({tail, static_cast<std::size_t>(after_)});
  if (after_ > tail_size_) {
    text<80> line;
    line << "\n[... " << static_cast<long long>(after_ - tail_size_) << " bytes left out ...]\n";
    write(line.view());
    const std::size_t oldest = tail_size_ == 0 ? 0 : after_ % tail_size_;
    write({tail + oldest, tail_size_ - oldest});
    write({tail, oldest});
  }
  return error_;
}

void output::write(std::string_view s) noexcept {
  if (file_ < 0 && error_ == 0 && !s.empty()) {
    text<64> name;
    name << static_cast<long long>(id_) << std::string_view(".log\0", 5);
    file_ = ::openat(wire::logs_fd, name.view().data(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file_ < 0) error_ = errno;
  }
  // After an error the rest is read and dropped: a full disk does not stop the program.
  while (!s.empty() && error_ == 0) {
    const ssize_t n = ::write(file_, s.data(), s.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      error_ = n < 0 ? errno : EIO;
      return;
    }
    s.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace rota::runner
