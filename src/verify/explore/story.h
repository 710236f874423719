// What happened in a schedule, step by step, for people.
#ifndef ROTA_VERIFY_EXPLORE_STORY_H
#define ROTA_VERIFY_EXPLORE_STORY_H

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace rota::explore::detail {

class story {
 public:
  void clear() { lines_.clear(); }
  void add(std::string thread, std::string what, const std::source_location& where) {
    lines_.push_back({std::move(thread), std::move(what), where});
  }
  // One line a step: number, thread, source line, what it did.
  std::string text() const;

 private:
  struct line {
    std::string thread;
    std::string what;
    std::source_location where;
  };
  std::vector<line> lines_;
};

// "event_notifier.cpp:24", or nothing for a place that is not known.
std::string short_place(const std::source_location& where);

// What stands before the dot of the access in that line of the source, if it can be read.
std::string accessed_name(const std::source_location& where);

}  // namespace rota::explore::detail

#endif
