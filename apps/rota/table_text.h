// Rows of words as a table: columns as wide as their widest word, two blanks between them.
#ifndef ROTA_APPS_TABLE_TEXT_H
#define ROTA_APPS_TABLE_TEXT_H

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace rota::app {

inline std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

}  // namespace rota::app

#endif
