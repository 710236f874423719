// HTTP as text: what stands in a request's first line, and the words of an answer's.
#ifndef ROTA_APPS_SERVE_HTTP_TEXT_H
#define ROTA_APPS_SERVE_HTTP_TEXT_H

#include <string>
#include <string_view>

#include "http.h"

namespace rota::app {

// "Not Found" for 404.
const char* words_of(int status);

// "/api/v1/runs?limit=5" becomes path and query.
void read_target(std::string_view target, request& r);

// Of ASCII letters; others stay.
std::string small_letters(std::string_view text);

}  // namespace rota::app

#endif
