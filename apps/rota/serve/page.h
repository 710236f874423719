// The page's files (apps/dashboard), compiled in.
#ifndef ROTA_APPS_SERVE_PAGE_H
#define ROTA_APPS_SERVE_PAGE_H

#include <span>
#include <string_view>

#include "http.h"

namespace rota::app {

struct page_file {
  std::string_view path;  // "index.html"
  std::string_view bytes;
};

// Made by page_files.cmake.
std::span<const page_file> page_files();

// The file that a GET asks for; 404 if there is none. An address without a file is the page.
response page_answer(const request& r);

}  // namespace rota::app

#endif
