#include "log_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace rota::app {

namespace {

class log_stream final : public body_stream {
 public:
  log_stream(std::string path, std::uint64_t offset, std::function<bool()> is_over)
      : path_(std::move(path)), offset_(offset), is_over_(std::move(is_over)) {}
  ~log_stream() override {
    if (fd_ >= 0) ::close(fd_);
  }
  log_stream(const log_stream&) = delete;
  log_stream& operator=(const log_stream&) = delete;

  bool read(std::string& to, std::size_t most) override {
    // Asked before the last look, so that nothing written before the end is missed.
    const bool over = !is_over_ || is_over_();
    if (fd_ < 0) fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd_ < 0) return !over;
    const std::size_t before = to.size();
    to.resize(before + most);
    const ssize_t n = ::pread(fd_, to.data() + before, most, static_cast<off_t>(offset_));
    to.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n <= 0) return !over;
    offset_ += static_cast<std::uint64_t>(n);
    return true;
  }

  bool is_polled() const override { return true; }

 private:
  std::string path_;
  std::uint64_t offset_;
  std::function<bool()> is_over_;
  int fd_ = -1;
};

}  // namespace

std::shared_ptr<body_stream> open_log(std::string path, std::uint64_t offset,
                                      std::function<bool()> is_over) {
  return std::make_shared<log_stream>(std::move(path), offset, std::move(is_over));
}

}  // namespace rota::app
