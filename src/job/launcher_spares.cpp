#include "job/launcher_spares.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>

#include "job/launcher_files.h"

namespace rota::job {

namespace {

// As many as may well start together.
constexpr std::size_t most_spares = 4'096;
// In one call: a millisecond, also where ext4 has much to look at for each.
constexpr int made_at_once = 4;

}  // namespace

void for_each_number(int directory, std::string_view ending,
                     const std::function<void(std::int64_t)>& f) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* d = copy < 0 ? nullptr : ::fdopendir(copy);
  if (d == nullptr) return;
  while (const dirent* e = ::readdir(d)) {
    const std::string_view name = e->d_name;
    if (!name.ends_with(ending)) continue;
    std::int64_t number = 0;
    const char* end = name.data() + name.size() - ending.size();
    const auto [stopped, error] = std::from_chars(name.data(), end, number);
    if (error == std::errc{} && stopped == end && number > 0) f(number);
  }
  ::closedir(d);
}

spare_files::spare_files(int runs) : runs_(runs) {
  for_each_number(runs_, ".spare", [this](std::int64_t number) {
    free_.push_back(number);
    last_ = std::max(last_, number);
  });
}

std::int64_t spare_files::number_for(run_id id) {
  if (const auto has = given_.find(id); has != given_.end()) return has->second;
  if (free_.empty()) return 0;
  const std::int64_t number = given_[id] = free_.back();
  free_.pop_back();
  return number;
}

bool spare_files::make(std::size_t wanted) {
  const std::size_t most = std::min(wanted, most_spares);
  for (int n = 0; n < made_at_once; ++n) {
    if (free_.size() + given_.size() >= most) return false;
    const std::string name = std::to_string(last_ + 1) + ".spare";
    const owned_fd file{
        ::openat(runs_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!file) return false;
    free_.push_back(++last_);
  }
  return true;
}

void spare_files::recycle(run_id id) {
  std::int64_t number = 0;
  if (const auto had = given_.find(id); had != given_.end()) {
    number = had->second;
    given_.erase(had);
  } else if (free_.size() < most_spares) {
    number = ++last_;
  }
  if (number > 0 && put_aside(id, number))
    free_.push_back(number);
  else
    ::unlinkat(runs_, (std::to_string(id) + ".run").c_str(), 0);
}

// Emptied here, where nobody waits for it. What is no file, or not to be written, is no spare.
bool spare_files::put_aside(run_id id, std::int64_t number) {
  const std::string run = std::to_string(id) + ".run";
  const std::string spare = std::to_string(number) + ".spare";
  ::renameat(runs_, run.c_str(), runs_, spare.c_str());  // else the one that it was given is there
  const owned_fd file{
      ::openat(runs_, spare.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (!file) ::unlinkat(runs_, spare.c_str(), 0);
  return static_cast<bool>(file);
}

}  // namespace rota::job
