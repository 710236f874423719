// Where a command writes what its user wants in a file.
#ifndef ROTA_APPS_SINK_H
#define ROTA_APPS_SINK_H

#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include "command_line.h"

namespace rota::app {

// A file that a command writes to, or standard output for "-", or nothing.
class sink {
 public:
  explicit sink(const std::string& path) : path_(path) {
    if (path.empty() || path == "-") return;
    file_.open(path, std::ios::binary);
    if (!file_) throw bad_input("cannot write " + path);
  }

  explicit operator bool() const { return !path_.empty(); }
  std::ostream& stream() { return path_ == "-" ? std::cout : file_; }

  void close() {
    if (path_.empty()) return;
    stream().flush();
    if (!stream()) throw std::runtime_error("cannot write " + path_);
  }

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace rota::app

#endif
