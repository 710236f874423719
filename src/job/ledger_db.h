// SQLite as the ledger needs it: connections and statements that throw, with the file and what was
// tried in the message.
//
//   store::connection db{path, store::access::write, busy};
//   auto q = db.use("SELECT cursor FROM job WHERE name = ?1");
//   q.bind(name);
//   if (q.step()) cursor = q.number(0);
//
// Text is always bound. A statement is prepared once and kept by its connection.
// Threads: a connection is used by one thread at a time.
#ifndef ROTA_SRC_JOB_LEDGER_DB_H
#define ROTA_SRC_JOB_LEDGER_DB_H

#include <rota/job/sqlite_ledger.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace rota::job::store {

// A prepared statement in use; given back when it goes.
class query {
 public:
  query(sqlite3* db, sqlite3_stmt* statement, const std::string& path) noexcept;
  ~query();
  query(const query&) = delete;
  query& operator=(const query&) = delete;

  // Binds ?1, ?2, ... in this order. Text has to live until the statement has been stepped.
  template <class... Values>
  void bind(const Values&... values) {
    int at = 0;
    (bind_one(++at, values), ...);
  }

  // True: there is a row.
  bool step();
  // Steps once, for a statement that gives no row, and makes it ready for other values.
  void run();
  void reset() noexcept;

  // Columns of the row, from 0. Text is there until the next step.
  std::int64_t number(int column) const;
  std::string_view text(int column) const;

 private:
  void bind_one(int at, std::int64_t value);
  void bind_one(int at, std::string_view value);

  sqlite3* db_;
  sqlite3_stmt* statement_;
  const std::string& path_;
};

enum class access : std::uint8_t {
  read,   // nothing can be changed through it
  write,  // the file is made if there is none
};

class connection {
 public:
  connection(std::string path, access a, std::chrono::milliseconds busy);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // One or more statements without parameters.
  void execute(const char* sql);
  query use(std::string_view sql);
  // The first column of the first row of a statement.
  std::int64_t ask(std::string_view sql);

  // Nothing is found, or what quick_check or (all) integrity_check says first.
  std::string check(bool all);

  bool in_transaction() const noexcept;
  std::int64_t changed() const noexcept;  // rows, by the last statement
  // Gives back the memory of pages that were read or written.
  void free_cache() noexcept;
  const std::string& path() const noexcept { return path_; }

 private:
  struct finalizer {
    void operator()(sqlite3_stmt* s) const noexcept;
  };

  std::string path_;
  sqlite3* db_ = nullptr;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, finalizer>, std::less<>> statements_;
};

// All that is done until commit(), or nothing.
class transaction {
 public:
  explicit transaction(connection& db);
  ~transaction();
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  void commit();

 private:
  connection& db_;
};

// Statements in its scope see one state of the store.
class snapshot {
 public:
  explicit snapshot(connection& db);
  ~snapshot();
  snapshot(const snapshot&) = delete;
  snapshot& operator=(const snapshot&) = delete;

 private:
  connection& db_;
};

}  // namespace rota::job::store

#endif
