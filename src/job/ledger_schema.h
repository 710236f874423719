// The tables of the ledger, and how a store of an earlier version becomes one of this version.
#ifndef ROTA_SRC_JOB_LEDGER_SCHEMA_H
#define ROTA_SRC_JOB_LEDGER_SCHEMA_H

#include <functional>
#include <string>
#include <vector>

#include "job/ledger_db.h"

namespace rota::job::store {

// "Rota" in the header of the file: whose it is.
inline constexpr std::int64_t application_id = 0x526f7461;

// Step n brings a store of version n to version n + 1; step 0 starts from nothing.
using migration = std::function<void(connection&)>;
const std::vector<migration>& migrations();

std::size_t version_of(connection& db);

// Takes all steps that are missing, in one transaction. Before the first one `keep` is asked for a
// copy, with the version it will have; a store without tables needs none. True: there was something
// to do.
bool migrate(connection& db, const std::vector<migration>& steps,
             const std::function<void(std::size_t)>& keep);

}  // namespace rota::job::store

#endif
