#include "job/ledger_db.h"

#include <sqlite3.h>

#include <cstring>
#include <utility>

namespace rota::job::store {

namespace {

// Whether the file itself is at fault, rather than the disk's room or somebody's lock.
bool means_damage(int code) noexcept {
  const int primary = code & 0xff;
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || code == SQLITE_IOERR_DATA ||
         code == SQLITE_IOERR_CORRUPTFS || code == SQLITE_IOERR_SHORT_READ;
}

std::string_view hint(int code) noexcept {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return " (free some room, then it goes on)";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return " (another program holds a lock on it)";
    case SQLITE_READONLY:
      return " (it has to be writable for the daemon)";
    default:
      return "";
  }
}

[[noreturn]] void fail(sqlite3* db, const std::string& path, std::string_view sql) {
  const int code = sqlite3_extended_errcode(db);
  std::string text = path + ": " + sqlite3_errmsg(db) + std::string(hint(code));
  const int system = sqlite3_system_errno(db);
  const int primary = code & 0xff;
  if (system != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN)) {
    text += std::string(": ") + std::strerror(system);
  }
  text += ", in: " + std::string(sql.substr(0, sql.find('\n')).substr(0, 60));
  if (means_damage(code)) {
    throw ledger_damaged(text);
  }
  throw ledger_error(text);
}

}  // namespace

query::query(sqlite3* db, sqlite3_stmt* statement, const std::string& path) noexcept
    : db_(db), statement_(statement), path_(path) {}

query::~query() { reset(); }

void query::reset() noexcept {
  sqlite3_reset(statement_);  // its result is that of the last step, which has been dealt with
}

void query::bind_one(int at, std::int64_t value) {
  if (sqlite3_bind_int64(statement_, at, value) != SQLITE_OK) {
    fail(db_, path_, sqlite3_sql(statement_));
  }
}

void query::bind_one(int at, std::string_view value) {
  // A null pointer would be NULL.
  const char* data = value.data() != nullptr ? value.data() : "";
  if (sqlite3_bind_text64(statement_, at, data, value.size(), SQLITE_STATIC, SQLITE_UTF8) !=
      SQLITE_OK) {
    fail(db_, path_, sqlite3_sql(statement_));
  }
}

bool query::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code != SQLITE_DONE) {
    fail(db_, path_, sqlite3_sql(statement_));
  }
  return false;
}

void query::run() {
  step();
  reset();
}

std::int64_t query::number(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view query::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (data == nullptr) {
    return {};
  }
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void connection::finalizer::operator()(sqlite3_stmt* s) const noexcept { sqlite3_finalize(s); }

connection::connection(std::string path, access a, std::chrono::milliseconds busy)
    : path_(std::move(path)) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  flags |= a == access::write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE;
  const int code = sqlite3_open_v2(path_.c_str(), &db_, flags, nullptr);
  try {
    if (code != SQLITE_OK) {
      fail(db_, path_, "open");
    }
    sqlite3_busy_timeout(db_, static_cast<int>(busy.count()));
    if (a == access::read) {
      // A reader of a WAL has to write to its index, so the file is not opened for reading alone.
      execute("PRAGMA query_only = ON");
    }
  } catch (...) {
    sqlite3_close(db_);
    throw;
  }
}

connection::~connection() {
  statements_.clear();
  sqlite3_close(db_);  // Nothing is prepared any more, so it closes; the WAL stays if it cannot go.
}

void connection::execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail(db_, path_, sql);
  }
}

query connection::use(std::string_view sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                           &made, nullptr) != SQLITE_OK) {
      fail(db_, path_, sql);
    }
    found = statements_.emplace(sql, made).first;
  }
  return query{db_, found->second.get(), path_};
}

std::int64_t connection::ask(std::string_view sql) {
  auto q = use(sql);
  return q.step() ? q.number(0) : 0;
}

std::string connection::check(bool all) {
  auto q = use(all ? "PRAGMA integrity_check(1)" : "PRAGMA quick_check(1)");
  if (!q.step()) {
    return "the check gave no answer";
  }
  const auto answer = q.text(0);
  return answer == "ok" ? std::string{} : std::string(answer);
}

bool connection::in_transaction() const noexcept { return sqlite3_get_autocommit(db_) == 0; }

void connection::free_cache() noexcept { sqlite3_db_release_memory(db_); }

std::int64_t connection::changed() const noexcept { return sqlite3_changes64(db_); }

transaction::transaction(connection& db) : db_(db) {
  if (db_.in_transaction()) {  // the last one could not even be rolled back
    db_.execute("ROLLBACK");
  }
  db_.execute("BEGIN IMMEDIATE");
}

transaction::~transaction() {
  if (db_.in_transaction()) {
    try {
      db_.execute("ROLLBACK");
    } catch (const ledger_error&) {
      // What led here is under way as an exception; the next transaction tries again.
    }
  }
}

void transaction::commit() { db_.execute("COMMIT"); }

snapshot::snapshot(connection& db) : db_(db) {
  if (!db_.in_transaction()) {  // it is if the last one could not end
    db_.execute("BEGIN");
  }
}

snapshot::~snapshot() {
  try {
    db_.execute("COMMIT");
  } catch (const ledger_error&) {
    // Nothing was written. The next one goes on in it, or ends it.
  }
}

}  // namespace rota::job::store
