// The nearest of some words to one that is not among them, for "did you mean ...?".
//
//   const std::string_view words[] = {"max-active", "listen"};
//   nearest_word("max-activ", words);   // max-active
//
// Threads: anyone's.
#ifndef ROTA_BASE_NEAREST_WORD_H
#define ROTA_BASE_NEAREST_WORD_H

#include <span>
#include <string_view>

namespace rota::detail {

// Empty if none is near: more than a third of its letters, and more than two, would have to change.
// A word of more than 128 letters is near to none.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words);

}  // namespace rota::detail

#endif
