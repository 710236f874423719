#include "place.h"

#include <rota/job/table_file.h>

#include <fcntl.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "../door.h"

namespace rota::app {

namespace {

std::system_error trouble(const std::string& what) {
  return std::system_error(errno, std::generic_category(), what);
}

// A descriptor that closes itself.
struct opened {
  explicit opened(int f) : fd(f) {}
  ~opened() {
    if (fd >= 0) ::close(fd);
  }
  opened(const opened&) = delete;
  opened& operator=(const opened&) = delete;
  int fd;
};

void write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw trouble(path);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string home_of(uid_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> room(16 * 1024);
  if (uid == ::geteuid())
    if (const char* home = std::getenv("HOME"); home && *home) return home;
  if (::getpwuid_r(uid, &entry, room.data(), room.size(), &found) != 0 || !found) return "/";
  return found->pw_dir;
}

}  // namespace

std::string default_state_directory(uid_t uid) {
  if (uid == 0) return "/var/lib/rota";
  if (const char* given = std::getenv("XDG_STATE_HOME"); given && *given == '/')
    return std::string(given) + "/rota";
  return home_of(uid) + "/.local/state/rota";
}

place::place(std::string directory) : directory_(std::move(directory)) {
  std::error_code error;
  directory_ = std::filesystem::absolute(directory_, error).lexically_normal().string();
  while (directory_.size() > 1 && directory_.back() == '/') directory_.pop_back();
  std::filesystem::create_directories(directory_, error);
  if (error) throw bad_input(directory_ + ": " + error.message() + "; --state takes another one");
  const mode_t mode = ::geteuid() == 0 ? 0711 : 0700;
  struct stat is{};
  if (::stat(directory_.c_str(), &is) != 0) throw trouble(directory_);
  if (is.st_uid != ::geteuid())
    throw bad_input(directory_ + " belongs to " + job::user_name(is.st_uid) + ", not to " +
                    job::user_name(::geteuid()) + "; --state takes another one");
  if (::chmod(directory_.c_str(), mode) != 0) throw trouble(directory_);
}

std::string place::file(std::string_view name) const {
  return directory_ + "/" + std::string(name);
}

std::string read_whole_file(const std::string& path, std::size_t most) {
  const opened f{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (f.fd < 0 && errno == ENOENT) return {};
  if (f.fd < 0) throw trouble(path);
  std::string text;
  std::array<char, 16 * 1024> room{};
  for (;;) {
    const ssize_t n = ::read(f.fd, room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw trouble(path);
    if (n == 0) return text;
    text.append(room.data(), static_cast<std::size_t>(n));
    if (text.size() > most) throw std::system_error(EFBIG, std::generic_category(), path);
  }
}

void write_whole_file(const std::string& path, std::string_view text) {
  const std::string beside = path + ".new";
  ::unlink(beside.c_str());
  {
    const opened f{
        ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (f.fd < 0) throw trouble(beside);
    write_all(f.fd, text, beside);
    if (::fsync(f.fd) != 0) throw trouble(beside);
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) throw trouble(path);
  const opened folder{::open(std::filesystem::path(path).parent_path().c_str(),
                             O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd >= 0) ::fsync(folder.fd);
}

std::string token_of(const std::string& file) {
  std::string token;
  struct stat is{};
  if (::lstat(file.c_str(), &is) == 0) {
    if (!S_ISREG(is.st_mode) || (is.st_mode & 077) != 0 || is.st_uid != ::geteuid())
      throw bad_input(file + " can be read by others; remove it, and a new one is made");
    token = read_whole_file(file, 4096);
    while (!token.empty() && token.back() == '\n') token.pop_back();
    if (token.size() >= 16) return token;
  }
  std::array<unsigned char, 24> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    throw trouble("getrandom");
  constexpr std::string_view digits = "0123456789abcdef";
  token.clear();
  for (const unsigned char byte : random) {
    token += digits[byte / 16];
    token += digits[byte % 16];
  }
  write_whole_file(file, token + "\n");
  return token;
}

}  // namespace rota::app
