#include <curl/curl.h>

#include <atomic>
#include <mutex>
#include <string>

#include "alerts.h"

namespace rota::app {

namespace {

// The answer's body is nobody's.
std::size_t drop(char*, std::size_t size, std::size_t count, void*) { return size * count; }

// relaxed: nothing but the flag itself is read.
int end_early(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(stop)->load(std::memory_order_relaxed) ? 1 : 0;
}

std::once_flag curl_ready;

}  // namespace

std::string post_web_hook(const std::string& url, const std::string& json,
                          const std::atomic<bool>& stop) {
  std::call_once(curl_ready, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  CURL* const c = curl_easy_init();
  if (!c) return "libcurl has no memory";
  curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
  curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  // Not file:, not ftp:, also not by way of an answer that sends us elsewhere.
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, 5L);
  curl_easy_setopt(c, CURLOPT_TIMEOUT, 10L);
  curl_easy_setopt(c, CURLOPT_USERAGENT, "rota");
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, static_cast<long>(json.size()));
  curl_easy_setopt(c, CURLOPT_POSTFIELDS, json.c_str());
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, &drop);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, &end_early);
  curl_easy_setopt(c, CURLOPT_XFERINFODATA, &stop);
  const CURLcode result = curl_easy_perform(c);
  long status = 0;
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
  curl_slist_free_all(headers);
  curl_easy_cleanup(c);
  if (result != CURLE_OK) return curl_easy_strerror(result);
  if (status < 200 || status > 299) return "answered with " + std::to_string(status);
  return {};
}

}  // namespace rota::app
