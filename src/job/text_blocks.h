// Blocks of bytes, one behind the other: malloc would add a header and a gap to each, and what is
// kept would lie between what is not.
//
// A block is not freed alone. What is let go is counted, and once that is much, whoever has the
// blocks puts those in use into another text_blocks and drops this one.
#ifndef ROTA_SRC_JOB_TEXT_BLOCKS_H
#define ROTA_SRC_JOB_TEXT_BLOCKS_H

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace rota::job {

class text_blocks {
 public:
  // A copy, which stays where it is.
  const char* put(std::string_view bytes) {
    used_ += bytes.size();
    if (bytes.size() > chunk_size / 8) return keep(bytes.size(), bytes);
    if (bytes.size() > room_) {
      next_ = keep(chunk_size, {});
      room_ = chunk_size;
    }
    char* const at = next_;
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    next_ += bytes.size();
    room_ -= bytes.size();
    return at;
  }

  void let_go(std::size_t size) noexcept { gone_ += size; }

  // An eighth is gone: then to move the rest costs eight times what was put there, at most.
  bool is_wasteful() const noexcept { return gone_ > chunk_size && gone_ > used_ / 8; }

 private:
  static constexpr std::size_t chunk_size = 16 * 1024;

  char* keep(std::size_t size, std::string_view bytes) {
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    if (!bytes.empty()) std::memcpy(chunks_.back().get(), bytes.data(), bytes.size());
    return chunks_.back().get();
  }

  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;  // in the last chunk that is shared
  std::size_t room_ = 0;  // behind it
  std::size_t used_ = 0;  // of all blocks, with those that are gone
  std::size_t gone_ = 0;
};

}  // namespace rota::job

#endif
