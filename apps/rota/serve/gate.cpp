#include "gate.h"

#include <rota/job/table_file.h>

#include <array>
#include <nlohmann/json.hpp>

namespace rota::app {

namespace {

// A name that a browser on this machine has for us, or the address that we listen on. Another one
// means that somebody's name server answers with our address.
bool is_our_host(std::string_view host, const request& r) {
  const std::array<std::string_view, 4> names{"127.0.0.1", "localhost", "[::1]", r.address};
  for (const std::string_view name : names) {
    if (host == std::string(name) + ":" + std::to_string(r.port)) return true;
    if (r.port == 80 && host == name) return true;
  }
  return false;
}

}  // namespace

bool same_secret(std::string_view a, std::string_view b) {
  unsigned differs = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    differs |= static_cast<unsigned char>(a[i]) ^
               static_cast<unsigned char>(b.empty() ? '\0' : b[i % b.size()]);
  return differs == 0;
}

response error_answer(int status, std::string_view why) {
  const nlohmann::ordered_json body{{"error", why}};
  return {
      .status = status,
      .body = body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n"};
}

std::optional<response> gate::refuses(const request& r) const {
  if (r.at_socket) return std::nullopt;
  if (!is_our_host(r.header("host"), r))
    return error_answer(403,
                        "the Host is not ours; ask " + r.address + ":" + std::to_string(r.port));
  if (const std::string origin = r.header("origin"); !origin.empty()) {
    constexpr std::string_view scheme = "http://";
    if (!origin.starts_with(scheme) || !is_our_host(origin.substr(scheme.size()), r))
      return error_answer(403, "the request comes from another page than ours");
  }
  return std::nullopt;
}

std::optional<caller> gate::who(const request& r) const {
  if (r.at_socket) return caller{job::user_name(r.uid), r.uid == 0 || r.uid == daemon_};
  const std::string given = r.header("authorization");
  constexpr std::string_view scheme = "Bearer ";
  if (!given.starts_with(scheme)) return std::nullopt;
  if (!same_secret(std::string_view(given).substr(scheme.size()), token_)) return std::nullopt;
  return caller{job::user_name(daemon_), true};
}

}  // namespace rota::app
