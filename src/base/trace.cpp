#include <rota/base/trace.h>

#include <rota/base/perfetto.h>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace rota::detail {

namespace {

using namespace std::chrono_literals;

// How often the rings are emptied, unless one of them fills: then at once.
constexpr auto pause = 5ms;

// Cowns and jobs that get a track of their own; a file with more is no help to anybody.
constexpr std::size_t most_tracks = 200;

// The name of a function without its type, namespaces and parameters: "fetch" of
// "rota::task<int> web::fetch(std::string)".
std::string_view short_name(std::string_view function) {
  const std::size_t bracket = function.find('(');
  if (bracket == std::string_view::npos) return function;
  if (function.substr(bracket).find("lambda") != std::string_view::npos || bracket == 0)
    return function;
  function = function.substr(0, bracket);
  std::size_t begin = function.size();
  int depth = 0;  // inside of <>
  while (begin > 0) {
    const char c = function[begin - 1];
    if (c == '>') ++depth;
    if (depth == 0 && (c == ' ' || c == ':')) break;
    if (c == '<') --depth;
    --begin;
  }
  return function.substr(begin);
}

}  // namespace

std::string behaviour_name(std::string_view type) {
  if (const std::size_t begin = type.find(" = "); begin != std::string_view::npos)
    type = type.substr(begin + 3, type.rfind(']') - begin - 3);
  const std::string_view lambda = "(lambda at ";
  if (!type.starts_with(lambda)) return std::string(type);
  type = type.substr(lambda.size(), type.rfind(':') - lambda.size());  // without the column
  return "behaviour at " + std::string(type.substr(type.rfind('/') + 1));
}

// The file, and how records become slices, moments and arrows in it.
class tracer::file {
 public:
  file(const std::string& path, std::size_t workers) : out_(path), since_(trace_time()) {
    for (std::size_t i = 0; i < workers; ++i)
      tracks_.push_back({out_.track("worker " + std::to_string(i))});
    tracks_.push_back({out_.track("other threads")});
  }

  void add(std::size_t ring, const trace_record& r) {
    if (r.at < since_) return;  // of an earlier trace
    ++written_.records;
    const auto on = tracks_[ring].id;
    const auto arrow = reinterpret_cast<std::uintptr_t>(r.subject);
    switch (r.kind) {
      case trace_kind::step:
        if (r.number == 0)
          return slice(
              on, r,
              {.name = name_of_behaviour(r.text), .category = "behaviour", .ends_arrow = arrow});
        return slice(
            on, r,
            {.name = r.text ? std::string_view(r.text) : short_name(r.where.function_name()),
             .category = "task",
             .ends_arrow = arrow,
             .number_name = "task",
             .number = r.number,
             .where = r.where});
      case trace_kind::ready:
        return out_.moment(on, r.at, {.name = "ready", .category = "wake", .begins_arrow = arrow});
      case trace_kind::park:
        return slice(on, r, {.name = "asleep", .category = "park"});
      case trace_kind::rest:
        return slice(on, r, {.name = "resting", .category = "park"});
      case trace_kind::steal:
        return out_.moment(
            on, r.at,
            {.name = "steal", .category = "steal", .number_name = "taken", .number = r.number});
      case trace_kind::handler:
        return slice(on, r, {.name = r.text, .category = "event"});
      case trace_kind::mute:
      case trace_kind::overload:
      case trace_kind::unmute:
      case trace_kind::relief:
        return cown_records_.push_back(r);
      case trace_kind::run:
        if (const auto t = track_of_run(r)) slice(*t, r, {.name = r.text, .category = "job"});
        return;
    }
  }

  // One worker mutes a cown, another unmutes it: their records come in any order, so they are put
  // in order when nobody has an older one any more.
  void settle(std::int64_t before) {
    std::sort(cown_records_.begin(), cown_records_.end(),
              [](const auto& a, const auto& b) { return a.at < b.at; });
    std::size_t done = 0;
    for (; done < cown_records_.size() && cown_records_[done].at < before; ++done)
      add_to_cown(cown_records_[done]);
    cown_records_.erase(cown_records_.begin(),
                        cown_records_.begin() + static_cast<std::ptrdiff_t>(done));
  }

  void lost(std::size_t ring, std::uint64_t all) {
    track& t = tracks_[ring];
    if (!t.is_known) {
      t.is_known = true;
      t.lost = all;  // of an earlier trace
    }
    const std::uint64_t now = all - t.lost;
    if (now == 0) return;
    t.lost = all;
    written_.lost += now;
    out_.moment(t.id, trace_time(),
                {.name = "records were lost here",
                 .category = "trace",
                 .number_name = "lost",
                 .number = now});
  }

  trace_summary close() {
    settle(std::numeric_limits<std::int64_t>::max());
    out_.close();
    return written_;
  }

 private:
  struct track {
    perfetto_file::track_id id;
    bool is_known = false;
    std::uint64_t lost = 0;
  };
  struct cown_track {
    perfetto_file::track_id id;
    bool is_open = false;
  };
  struct job_track {
    perfetto_file::track_id id;
    std::int64_t until;  // the end of the last run on it
  };

  void slice(perfetto_file::track_id on, const trace_record& r, const perfetto_file::event& e) {
    out_.begin(on, r.at, e);
    out_.end(on, r.until);
  }

  const std::string& name_of_behaviour(const char* type) {
    std::string& name = behaviours_[type];
    if (name.empty()) name = behaviour_name(type);
    return name;
  }

  void add_to_cown(const trace_record& r) {
    if (r.kind == trace_kind::mute)
      begin_on_cown(r, "muted");
    else if (r.kind == trace_kind::overload)
      begin_on_cown(r, "overloaded");
    else
      end_on_cown(r);
  }

  void begin_on_cown(const trace_record& r, std::string_view what) {
    auto found = cowns_.find(r.subject);
    if (found == cowns_.end()) {
      if (cowns_.size() == most_tracks) return;
      const auto made = out_.track("cown " + std::to_string(cowns_.size() + 1));
      found = cowns_.emplace(r.subject, cown_track{made}).first;
    }
    end_on_cown(r);  // a cown is one or the other
    out_.begin(found->second.id, r.at, {.name = what, .category = "cown"});
    found->second.is_open = true;
  }

  // Nothing, for one that was muted before the trace began.
  void end_on_cown(const trace_record& r) {
    const auto found = cowns_.find(r.subject);
    if (found == cowns_.end() || !std::exchange(found->second.is_open, false)) return;
    out_.end(found->second.id, r.at);
  }

  // Runs of a job that overlap are on different tracks of the same name.
  const perfetto_file::track_id* track_of_run(const trace_record& r) {
    std::vector<job_track>& all = jobs_[r.text];
    for (job_track& t : all)
      if (t.until <= r.at) return t.until = r.until, &t.id;
    if (job_tracks_ == most_tracks) return nullptr;
    ++job_tracks_;
    all.push_back({out_.track("job " + std::string(r.text)), r.until});
    return &all.back().id;
  }

  perfetto_file out_;
  const std::int64_t since_;
  std::vector<track> tracks_;  // one a ring
  std::unordered_map<const void*, cown_track> cowns_;
  std::vector<trace_record> cown_records_;  // that are not in the file yet
  std::map<std::string, std::vector<job_track>> jobs_;
  std::size_t job_tracks_ = 0;
  std::unordered_map<const char*, std::string> behaviours_;  // by what the compiler calls them
  trace_summary written_;
};

tracer::tracer(unsigned workers) {
  for (unsigned i = 0; i <= workers; ++i) rings_.push_back(std::make_unique<trace_ring>());
}

tracer::~tracer() { end(); }

void tracer::end() noexcept {
  try {
    stop();
  } catch (...) {
    // Who wants to know whether the file is whole calls stop().
  }
}

void tracer::start(const std::string& path) {
  std::lock_guard guard{control_};
  if (file_) throw std::runtime_error("trace file '" + path + "': there is a trace already");
  file_ = std::make_unique<file>(path, rings_.size() - 1);
  stopping_.store(0, sync::memory_order_relaxed);
  empty_rings();
  on_.store(true, sync::memory_order_relaxed);
  thread_ = sync::thread([this] { main(); });
}

trace_summary tracer::stop() {
  std::lock_guard guard{control_};
  if (!file_) return {};
  on_.store(false, sync::memory_order_relaxed);
  stopping_.store(1, sync::memory_order_relaxed);
  sync::futex_wake(stopping_);
  thread_.join();
  empty_rings();
  const std::unique_ptr<file> done = std::move(file_);
  return done->close();
}

void tracer::add(const trace_record& r) noexcept {
  if (!is_on()) return;
  std::lock_guard guard{others_};
  rings_.back()->add(r);
}

void tracer::main() noexcept {
  while (stopping_.load(sync::memory_order_relaxed) == 0) {
    if (!fills_) sync::futex_wait(stopping_, 0, sync::now() + pause);
    try {
      empty_rings();
    } catch (...) {
      // No memory: the records of this round are lost.
      fills_ = false;
    }
  }
}

void tracer::empty_rings() {
  fills_ = false;
  const std::int64_t began = trace_time();
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    const std::uint64_t taken = rings_[i]->take([&](const trace_record& r) { file_->add(i, r); });
    if (taken > trace_ring::size / 4) fills_ = true;
    file_->lost(i, rings_[i]->lost());
  }
  file_->settle(std::exchange(last_round_, began));
}

}  // namespace rota::detail
