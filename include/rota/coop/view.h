// Shows a run as a page: one file of HTML that needs no other and no network.
//
//   run_view view{p, options, {"program.cw", source}};
//   run_by_rules(p, rules_of(p), options, {&view});
//   view.write_page(out);
//
// The page has a lane for each task and goes from step to step, forwards and backwards. It is given
// the first configuration and what each step changes, so that its size grows with the steps rather
// than with steps times tasks.
//
// Threads: one at a time, with its run.
#ifndef ROTA_COOP_VIEW_H
#define ROTA_COOP_VIEW_H

#include <rota/coop/program.h>
#include <rota/coop/run.h>

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rota::coop {

// What a program was read from. Both may hold any bytes.
struct view_source {
  std::string file;
  std::string text;
};

class run_view : public run_observer {
 public:
  // The program outlives the view; the source is what it was compiled from.
  run_view(const program& p, const run_options& options, view_source source);

  void start(const configuration& c) override;
  void step(const taken_step& s, const configuration& c) override;
  void end(const outcome& o) override;

  // After the end of the run. What the page is given, as JSON, in which no '<' stands.
  std::string data() const;
  void write_page(std::ostream& out) const;

 private:
  // How a lane looks. The page knows them by their numbers.
  enum class look : std::uint8_t { unknown, called, ready, blocked, active, ended };

  // What is shown of a task.
  struct shown_task {
    look how = look::unknown;
    continuation rest = empty_continuation;
    task_id awaits = no_task;  // if that is why it is blocked

    bool operator==(const shown_task&) const = default;
  };

  shown_task shown(const configuration& c, task_id f) const;
  void add_places(std::string& out) const;
  void add_changes(const configuration& c);
  void add_moves(const configuration& c, const std::vector<task_id>& moved);
  std::uint64_t rule_number(std::string_view name);
  std::uint64_t number_of(const update& u) const;

  const program& program_;
  run_options options_;
  view_source source_;
  std::map<position, std::size_t> places_;  // of statements and procedures: their numbers
  std::vector<std::string_view> rules_;     // in the order in which they were first applied
  std::string steps_;                       // as JSON, the first configuration too
  std::string tasks_;
  std::string end_;

  // As the page knows it so far.
  std::vector<shown_task> shown_;
  task_id active_ = no_task;
  std::int64_t c_ = 0;
};

}  // namespace rota::coop

#endif
