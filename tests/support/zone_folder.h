// A database of time zones that a test writes: a folder that TZDIR names while this is there.
//
//   rota::test::zone_folder zones;
//   zones.put("GMT-1", "Moving");      // the zone Moving is one hour ahead of UTC from here on
#ifndef ROTA_TESTS_SUPPORT_ZONE_FOLDER_H
#define ROTA_TESTS_SUPPORT_ZONE_FOLDER_H

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "support/scratch_folder.h"

namespace rota::test {

class zone_folder {
 public:
  zone_folder() {
    if (const char* const before = ::getenv("TZDIR")) before_ = before;
    ::setenv("TZDIR", folder_.path().c_str(), 1);
  }
  zone_folder(const zone_folder&) = delete;
  zone_folder& operator=(const zone_folder&) = delete;
  ~zone_folder() {
    if (before_.empty())
      ::unsetenv("TZDIR");
    else
      ::setenv("TZDIR", before_.c_str(), 1);
  }

  // Where the file of a zone is.
  std::filesystem::path operator/(const std::string& zone) const { return folder_ / zone; }

  // Makes `zone` what the machine's Etc/`like` is, in a new file.
  void put(const std::string& like, const std::string& zone) const {
    const std::filesystem::path machine = before_.empty() ? "/usr/share/zoneinfo" : before_;
    std::filesystem::create_directories((*this / zone).parent_path());
    std::filesystem::copy_file(machine / "Etc" / like, folder_ / "fresh");
    std::filesystem::rename(folder_ / "fresh", folder_ / zone);
  }

 private:
  std::string before_;
  scratch_folder folder_;
};

}  // namespace rota::test

#endif
