// Keeps what a program prints: its beginning, and its end.
//
// Up to `limit` bytes go to the log. If there is more, the log has the first and the last of it,
// with "[... N bytes left out ...]" on a line between them. The file is made when there is
// something to write.
#ifndef ROTA_RUNNER_OUTPUT_H
#define ROTA_RUNNER_OUTPUT_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rota::runner {

class output {
 public:
  output(std::int64_t id, std::uint64_t limit) noexcept;

  // Takes what one read gives. False: there will be no more.
  bool read_some(int pipe) noexcept;

  // Takes what is in the pipe now, not what is written meanwhile: somebody may go on for ever.
  void drain(int pipe) noexcept;

  // Writes the end. Why the log is not whole, as errno says it; 0: it is.
  int finish() noexcept;

 private:
  void keep(std::string_view s) noexcept;
  void write(std::string_view s) noexcept;

  std::int64_t id_;
  int file_ = -1;
  int error_ = 0;
  std::uint64_t head_left_;  // bytes that still go straight to the file
  std::uint64_t after_ = 0;  // bytes that came after those
  std::size_t tail_size_;    // of these, so many are kept
};

}  // namespace rota::runner

#endif
