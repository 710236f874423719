// A file that Perfetto opens: slices on tracks, moments, and arrows between them.
//
//   rota::perfetto_file f{"run.perfetto-trace"};
//   const auto worker = f.track("worker 0");
//   f.begin(worker, 1000, {.name = "fetch", .ends_arrow = 7});
//   f.end(worker, 1800);
//   f.close();
//
// The format is a sequence of protobuf messages (perfetto's TracePacket), of which this writes the
// few fields that it takes. Times are nanoseconds and need not come in order; slices of one track
// lie inside of each other or apart.
//
// Threads: one at a time.
#ifndef ROTA_BASE_PERFETTO_H
#define ROTA_BASE_PERFETTO_H

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <source_location>
#include <string>
#include <string_view>

namespace rota {

class perfetto_file {
 public:
  // Throws std::runtime_error if it cannot be made.
  explicit perfetto_file(const std::string& path);
  perfetto_file(const perfetto_file&) = delete;
  perfetto_file& operator=(const perfetto_file&) = delete;
  ~perfetto_file();

  using track_id = std::uint64_t;

  struct event {
    std::string_view name;
    std::string_view category = {};
    std::uint64_t begins_arrow = 0;  // a number that the other end names too; 0: none
    std::uint64_t ends_arrow = 0;
    std::string_view number_name = {};  // something more to know about it, as "task"
    std::uint64_t number = 0;
    std::source_location where = {};  // nothing, if it has no line
  };

  track_id track(std::string_view name);
  void begin(track_id on, std::int64_t at, const event& e);
  void end(track_id on, std::int64_t at);
  void moment(track_id on, std::int64_t at, const event& e);

  // Throws std::runtime_error if something could not be written.
  void close();

 private:
  using numbered = std::map<std::string, std::uint64_t, std::less<>>;

  void put_event(track_id on, std::int64_t at, unsigned type, const event* e);
  void write_packet(std::string_view packet);

  const std::string path_;
  std::FILE* file_ = nullptr;
  int error_ = 0;  // of the first write that failed
  track_id tracks_ = 0;
  bool has_begun_ = false;
  numbered categories_, names_, number_names_, places_;  // texts that the file has, by number
};

}  // namespace rota

#endif
