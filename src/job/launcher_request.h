// Makes of a run and its job the request that a runner understands: who, where, what, with what.
//
// Users and groups are looked up here, in the daemon, so that the runner needs no name service.
#ifndef ROTA_SRC_JOB_LAUNCHER_REQUEST_H
#define ROTA_SRC_JOB_LAUNCHER_REQUEST_H

#include <rota/job/definition.h>
#include <rota/job/run.h>

#include <sys/types.h>

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rota::job {

// Who a program runs as.
struct account {
  std::string name;
  std::string home;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

// The accounts that were asked for since the last clear(): a thousand jobs that are due together
// are of few users.
class account_cache {
 public:
  // The daemon's own for an empty name. Throws std::runtime_error.
  const account& find(const std::string& user, const std::string& group);
  void clear() { known_.clear(); }

 private:
  std::map<std::pair<std::string, std::string>, account> known_;
};

// The bytes of a request. Throws std::runtime_error: what is wrong with the job.
std::string make_request(const run& r, const definition& d, account_cache& accounts, instant now,
                         std::uint32_t fault, std::int64_t spare = 0);

}  // namespace rota::job

#endif
