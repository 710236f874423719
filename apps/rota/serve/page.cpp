#include "page.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "gate.h"

namespace rota::app {

namespace {

std::string_view type_of_file(std::string_view path) {
  if (path.ends_with(".html")) return "text/html; charset=utf-8";
  if (path.ends_with(".js") || path.ends_with(".mjs")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  if (path.ends_with(".svg")) return "image/svg+xml";
  if (path.ends_with(".png")) return "image/png";
  if (path.ends_with(".json")) return "application/json";
  return "application/octet-stream";
}

// FNV-1a: tells versions of a file apart, no more.
std::string tag_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  char text[24];
  std::snprintf(text, sizeof text, "\"%016llx\"", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace

response page_answer(const request& r) {
  // A name is looked up among those that there are, so that no path leads anywhere else.
  std::string path;
  for (const std::string& part : r.path) path += (path.empty() ? "" : "/") + part;
  if (path.empty()) path = "index.html";
  const auto files = page_files();
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const page_file& f) { return f.path == path; });
  if (found == files.end()) return error_answer(404, "there is no such page; the page is at /");
  if (r.method != "GET") {
    response no = error_answer(405, "pages can only be read");
    no.headers.emplace_back("Allow", "GET");
    return no;
  }
  const std::string tag = tag_of(found->bytes);
  response answer{.type = std::string(type_of_file(path))};
  answer.headers = {{"ETag", tag}, {"Cache-Control", "no-cache"}};
  if (r.header("if-none-match") == tag)
    answer.status = 304;
  else
    answer.body = std::string(found->bytes);
  return answer;
}

}  // namespace rota::app
