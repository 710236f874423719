// A folder of a test's own, that goes with it.
//
//   rota::test::scratch_folder home;
//   std::ofstream{home / "a.txt"} << "text";
#ifndef ROTA_TESTS_SUPPORT_SCRATCH_FOLDER_H
#define ROTA_TESTS_SUPPORT_SCRATCH_FOLDER_H

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace rota::test {

class scratch_folder {
 public:
  explicit scratch_folder(
      const std::filesystem::path& above = std::filesystem::temp_directory_path())
      : path_((above / "rota_test_").string()) {
    path_.append(6, 'X');  // what mkdtemp() replaces
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "mkdtemp " + path_);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;  // what is left lies in the directory for such things
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

}  // namespace rota::test

#endif
