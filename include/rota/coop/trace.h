// Writes the trace of a run: JSON Lines, a header, the initial configuration, a line for each step,
// and the end.
//
//   trace_writer trace{out, p, options};
//   run_by_rules(p, rules_of(p), options, {&trace});
//
// Threads: one at a time, with its run.
#ifndef ROTA_COOP_TRACE_H
#define ROTA_COOP_TRACE_H

#include <rota/coop/program.h>
#include <rota/coop/run.h>

#include <iosfwd>
#include <string>

namespace rota::coop {

class trace_writer : public run_observer {
 public:
  // The program outlives the writer.
  trace_writer(std::ostream& out, const program& p, const run_options& options);

  void start(const configuration& c) override;
  void step(const taken_step& s, const configuration& c) override;
  void end(const outcome& o) override;

 private:
  void write_configuration(const configuration& c);
  void write_line();

  std::ostream& out_;
  const program& program_;
  run_options options_;
  std::string line_;  // is being written
};

// Hands the observable part of a run by rules on to a log.
class log_observer : public run_observer {
 public:
  explicit log_observer(log_sink& log) : log_(log) {}
  void step(const taken_step& s, const configuration&) override { add_records(s.what, log_); }

 private:
  log_sink& log_;
};

// The end of a run as it stands in traces, one line without its line feed.
std::string end_record(const outcome& o);

// {"x":1,"x#1":true}.
std::string to_json(const named_state& state);

}  // namespace rota::coop

#endif
