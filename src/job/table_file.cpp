#include <rota/job/table_file.h>

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace rota::job {

namespace {

class table_descriptor {
 public:
  explicit table_descriptor(int number) noexcept : number_(number) {}
  table_descriptor(const table_descriptor&) = delete;
  table_descriptor& operator=(const table_descriptor&) = delete;
  ~table_descriptor() {
    if (number_ >= 0) ::close(number_);  // it was only read
  }
  int get() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }

 private:
  int number_;
};

opened_table refuse_table(table_fault fault, std::string text) {
  return {fault, std::move(text), 0};
}

opened_table refuse_for_errno(const std::string& what, int error) {
  const table_fault fault = error == ENOENT  ? table_fault::missing
                            : error == ELOOP ? table_fault::is_link
                                             : table_fault::unreadable;
  if (fault == table_fault::is_link)
    return refuse_table(fault, what + " is a symbolic link; a table must be a file of its own");
  return refuse_table(fault, what + " cannot be opened: " + std::strerror(error));
}

// 0644, for messages.
std::string table_mode_text(mode_t mode) {
  std::string text = "0000";
  mode &= 07777;
  for (std::size_t i = 4; i-- > 0; mode >>= 3) text[i] = static_cast<char>('0' + (mode & 7u));
  return text;
}

bool is_trusted_owner(uid_t owner, uid_t user) { return owner == 0 || owner == user; }

constexpr mode_t others_write = S_IWGRP | S_IWOTH;

opened_table check_table_directory(const struct stat& s, uid_t user) {
  if (!is_trusted_owner(s.st_uid, user))
    return refuse_table(table_fault::directory_owner,
                        "its directory belongs to " + user_name(s.st_uid) +
                            ", it must be root's or " + user_name(user) + "'s");
  // In a sticky directory nobody can replace the file of another, and whose the file is, is
  // checked.
  if ((s.st_mode & others_write) != 0 && (s.st_mode & S_ISVTX) == 0)
    return refuse_table(table_fault::directory_writable, "others can write its directory (mode " +
                                                             table_mode_text(s.st_mode) +
                                                             "); take that from them: chmod go-w");
  return {};
}

opened_table check_table_file(const struct stat& s, uid_t user, std::size_t limit) {
  if (!S_ISREG(s.st_mode)) return refuse_table(table_fault::not_regular, "this is no regular file");
  if (!is_trusted_owner(s.st_uid, user))
    return refuse_table(table_fault::wrong_owner, "the file belongs to " + user_name(s.st_uid) +
                                                      ", it must be root's or " + user_name(user) +
                                                      "'s");
  if ((s.st_mode & others_write) != 0)
    return refuse_table(table_fault::writable, "others can write the file (mode " +
                                                   table_mode_text(s.st_mode) +
                                                   "); take that from them: chmod go-w");
  if (static_cast<std::uint64_t>(s.st_size) > limit)
    return refuse_table(table_fault::too_large, "the file has " + std::to_string(s.st_size) +
                                                    " bytes, the limit is " +
                                                    std::to_string(limit));
  return {};
}

// In a directory that is sticky, anybody can make a second name for root's file: it would run as
// root whatever its name says.
opened_table check_table_name(const struct stat& s, std::string_view name) {
  if (const std::string owner = user_name(s.st_uid); owner != name)
    return refuse_table(table_fault::wrong_name,
                        "the file belongs to " + owner + ", but is named as that of " +
                            std::string(name) +
                            "; a table here has the name of the user whose it is");
  if (s.st_nlink != 1)
    return refuse_table(table_fault::linked, "the file has " + std::to_string(s.st_nlink) +
                                                 " names; remove the others, or copy it");
  return {};
}

// Reads on when the file has grown since it was checked, but never past the limit.
opened_table read_table_text(int file, std::size_t limit) {
  opened_table read;
  char block[1 << 16];
  while (true) {
    const ssize_t got = ::read(file, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse_for_errno("the file", errno);
    if (got == 0) return read;
    read.text.append(block, static_cast<std::size_t>(got));
    if (read.text.size() > limit)
      return refuse_table(table_fault::too_large,
                          "the file grew past the limit of " + std::to_string(limit) + " bytes");
  }
}

std::string_view table_base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string table_directory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

std::string_view to_text(table_fault f) noexcept {
  switch (f) {
    case table_fault::none:
      return "none";
    case table_fault::missing:
      return "missing";
    case table_fault::is_link:
      return "is_link";
    case table_fault::not_regular:
      return "not_regular";
    case table_fault::wrong_owner:
      return "wrong_owner";
    case table_fault::wrong_name:
      return "wrong_name";
    case table_fault::linked:
      return "linked";
    case table_fault::writable:
      return "writable";
    case table_fault::directory_owner:
      return "directory_owner";
    case table_fault::directory_writable:
      return "directory_writable";
    case table_fault::too_large:
      return "too_large";
    case table_fault::unreadable:
      return "unreadable";
  }
  return "?";
}

opened_table open_table(const std::string& path, const table_expectations& e) {
  const uid_t user = e.user.value_or(::geteuid());
  struct stat s{};
  // The file is opened in the directory that was checked, whatever becomes of the path.
  const table_descriptor directory{
      ::open(table_directory(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)};
  if (!directory.is_open()) return refuse_for_errno("its directory", errno);
  if (::fstat(directory.get(), &s) != 0) return refuse_for_errno("its directory", errno);
  if (opened_table wrong = check_table_directory(s, user); !wrong) return wrong;
  const table_descriptor file{::openat(directory.get(), std::string(table_base_name(path)).c_str(),
                                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)};
  if (!file.is_open()) {
    // A socket cannot be opened at all.
    if (errno == ENXIO) return refuse_table(table_fault::not_regular, "this is no regular file");
    return refuse_for_errno("the file", errno);
  }
  if (::fstat(file.get(), &s) != 0) return refuse_for_errno("the file", errno);
  if (opened_table wrong = check_table_file(s, user, e.size); !wrong) return wrong;
  if (e.named_by_user)
    if (opened_table wrong = check_table_name(s, table_base_name(path)); !wrong) return wrong;
  opened_table read = read_table_text(file.get(), e.size);
  read.owner = s.st_uid;
  return read;
}

table load_table(table_options o, const table_expectations& e) {
  opened_table opened = open_table(o.file, e);
  if (!opened) {
    table t;
    t.problems.push_back({o.file, 0, 0, severity::error, std::move(opened.text)});
    t.file = std::move(o.file);
    t.owner = std::move(o.owner);
    return t;
  }
  if (o.owner.empty()) o.owner = user_name(opened.owner);
  return read_table(opened.text, o);
}

table_form form_of(std::string_view path) {
  if (path.ends_with(".toml")) return table_form::toml;
  const std::string_view directory = path.substr(0, path.size() - table_base_name(path).size());
  const bool is_system =
      path == "/etc/crontab" || directory == "cron.d/" || directory.ends_with("/cron.d/");
  return is_system ? table_form::system_crontab : table_form::user_crontab;
}

std::optional<std::vector<std::string>> list_tables(const std::string& directory, table_form form) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open{::opendir(directory.c_str()), ::closedir};
  if (!open) return {};
  const auto is_table = [form](std::string_view name) {
    if (form == table_form::toml) return name.ends_with(".toml") && !name.starts_with('.');
    return std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-';
    });
  };
  std::vector<std::string> found;
  while (const dirent* entry = ::readdir(open.get()))
    if (is_table(entry->d_name)) found.push_back(directory + '/' + entry->d_name);
  std::sort(found.begin(), found.end());
  return found;
}

std::string user_name(uid_t user) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(1024);
  while (true) {
    const int error = ::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
    if (error != ERANGE || buffer.size() > (std::size_t{1} << 20)) break;
    buffer.resize(buffer.size() * 2);
  }
  return found ? std::string(found->pw_name) : std::to_string(user);
}

}  // namespace rota::job
