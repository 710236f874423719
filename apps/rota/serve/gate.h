// Who is calling, and whether to listen: rule S1 at the two doors of the API.
#ifndef ROTA_APPS_SERVE_GATE_H
#define ROTA_APPS_SERVE_GATE_H

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "http.h"

namespace rota::app {

// Somebody who may ask.
struct caller {
  std::string user;
  bool may_all = false;  // otherwise only what concerns the user's own jobs

  bool may(std::string_view owner) const { return may_all || owner == user; }
};

// {"error": "..."} with that status.
response error_answer(int status, std::string_view why);

class gate {
 public:
  gate(std::string token, uid_t daemon) : token_(std::move(token)), daemon_(daemon) {}

  // What is wrong with a request before anybody looks at who sent it: another Host than ours, a
  // page of somebody else's. Nothing: it is fine.
  std::optional<response> refuses(const request& r) const;

  // Nothing if the request does not say who it is.
  std::optional<caller> who(const request& r) const;

 private:
  std::string token_;
  uid_t daemon_;
};

// Takes as long for a wrong text as for the right one of the same length.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace rota::app

#endif
