// The observable log of a run: what a runtime can show without being an interpreter.
//
//   log_keeper log;
//   run(p, {.limit = 1'000}, &log);
//   for (const log_record& r : log.records()) std::cout << to_json(r, p) << '\n';
//
// Threads: a sink is called by one thread at a time; by workers if the program runs on tasks.
#ifndef ROTA_COOP_LOG_H
#define ROTA_COOP_LOG_H

#include <rota/coop/program.h>
#include <rota/coop/rules.h>
#include <rota/coop/value.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace rota::coop {

enum class log_kind : std::uint8_t { call, call_reaction, completion, completion_reaction, resume };

struct log_record {
  log_kind kind = log_kind::resume;
  task_id task = no_task;  // none of calls in spawn and guard
  std::uint32_t procedure = no_procedure;
  value argument = {};
  task_id by = no_task;  // of a completion reaction: who awaited

  bool operator==(const log_record&) const = default;
};

// Whoever wants the records of a run, in their order.
class log_sink {
 public:
  virtual ~log_sink() = default;
  virtual void add(const log_record& r) = 0;
};

// Keeps the records of a run.
class log_keeper : public log_sink {
 public:
  void add(const log_record& r) override { records_.push_back(r); }
  const std::vector<log_record>& records() const noexcept { return records_; }

 private:
  std::vector<log_record> records_;
};

// The records of one step by a rule.
void add_records(const derivation& d, log_sink& log);

// {"ev":"resume","f":2}.
std::string to_json(const log_record& r, const program& p);

// Writes a line of JSON for each.
class log_writer : public log_sink {
 public:
  log_writer(std::ostream& out, const program& p) : out_(out), program_(p) {}
  void add(const log_record& r) override;

 private:
  std::ostream& out_;
  const program& program_;
};

}  // namespace rota::coop

#endif
