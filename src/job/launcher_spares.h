// Files of runs that are over, kept to be used again (runner_wire.h says how, and why).
//
// A run is given the number of a spare, and may use it or not: it may die before, or be cancelled,
// or find that it has a file already. When it is forgotten, either its file gets that number back,
// or the spare is still there.
#ifndef ROTA_SRC_JOB_LAUNCHER_SPARES_H
#define ROTA_SRC_JOB_LAUNCHER_SPARES_H

#include <rota/job/run.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rota::job {

// Of the files of a directory whose names are a number and this ending.
void for_each_number(int directory, std::string_view ending,
                     const std::function<void(std::int64_t)>& f);

class spare_files {
 public:
  // Finds those that are there. Nobody else uses them.
  explicit spare_files(int runs);

  // The number that this run has, or has from now on; 0: there is none.
  std::int64_t number_for(run_id id);

  // Makes some, so that this many runs would have one. False: there are, or can be no more now.
  bool make(std::size_t wanted);

  // Nobody needs the file of this run any more.
  void recycle(run_id id);

 private:
  bool put_aside(run_id id, std::int64_t number);

  const int runs_;
  std::vector<std::int64_t> free_;
  std::unordered_map<run_id, std::int64_t> given_;
  std::int64_t last_ = 0;  // the highest number
};

}  // namespace rota::job

#endif
