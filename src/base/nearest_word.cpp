#include <rota/base/nearest_word.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace rota::detail {

namespace {

constexpr std::size_t longest_word = 128;

// How many letters have to be added, dropped or changed, or swapped with their neighbour.
std::size_t letters_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      next[k] = std::min({row[k] + 1, next[k - 1] + 1, row[k - 1] + (a[i - 1] != b[k - 1])});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        next[k] = std::min(next[k], before[k - 2] + 1);
    }
    before = row;
    std::swap(row, next);
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words) {
  std::string_view best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  if (word.size() > longest_word) return best;
  for (std::string_view w : words) {
    const std::size_t d = letters_between(word, w);
    if (d >= least || d >= w.size()) continue;
    least = d;
    best = w;
  }
  return best;
}

}  // namespace rota::detail
