#include "verify/explore/story.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <map>

namespace rota::explore::detail {

namespace {

// The lines of a source file, if it is where it was when it was compiled.
const std::vector<std::string>& lines_of(const std::string& path) {
  static std::map<std::string, std::vector<std::string>> known;
  const auto [at, is_new] = known.try_emplace(path);
  if (is_new) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) at->second.push_back(line);
  }
  return at->second;
}

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ']' ||
         c == '[' || c == '>' || c == '-';
}

}  // namespace

std::string short_place(const std::source_location& where) {
  if (where.line() == 0) return "";
  const std::string path = where.file_name();
  const std::size_t slash = path.rfind('/');
  return path.substr(slash == std::string::npos ? 0 : slash + 1) + ":" +
         std::to_string(where.line());
}

std::string accessed_name(const std::source_location& where) {
  const std::vector<std::string>& lines = lines_of(where.file_name());
  if (where.line() == 0 || where.line() > lines.size()) return "";
  const std::string& line = lines[where.line() - 1];
  for (const char* call : {".load(", ".store(", ".exchange(", ".compare_exchange", ".fetch_"}) {
    const std::size_t end = line.find(call);
    if (end == std::string::npos) continue;
    std::size_t begin = end;
    int depth = 0;
    while (begin > 0) {
      const char c = line[begin - 1];
      if (c == ']') ++depth;
      if (c == '[' && depth-- == 0) break;
      if (depth == 0 && !is_of_name(c)) break;
      --begin;
    }
    return line.substr(begin, end - begin);
  }
  return "";
}

std::string story::text() const {
  std::size_t thread_width = 6;
  std::size_t place_width = 5;
  for (const line& l : lines_) {
    thread_width = std::max(thread_width, l.thread.size());
    place_width = std::max(place_width, short_place(l.where).size());
  }
  std::string all;
  int number = 0;
  for (const line& l : lines_) {
    char text[160];
    std::snprintf(text, sizeof text, "%5d  %-*s  %-*s  ", ++number, static_cast<int>(thread_width),
                  l.thread.c_str(), static_cast<int>(place_width), short_place(l.where).c_str());
    all += text + l.what + "\n";
  }
  return all;
}

}  // namespace rota::explore::detail
