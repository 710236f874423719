#include "event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "wall_clock.h"

namespace rota::app {

namespace {

int open_log_file(const std::string& file) {
  return ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

std::string seconds_text(job::milliseconds d) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", static_cast<double>(d.count()) / 1000);
  return text;
}

std::string end_of(const job::run& r) {
  std::string text(job::to_text(r.outcome));
  if (r.outcome == job::outcome::failed) text += " with " + std::to_string(r.exit_code);
  if (r.outcome == job::outcome::signalled) text += " by " + std::to_string(r.signal);
  if (r.started != instant{} && r.finished >= r.started)
    text += " after " + seconds_text(r.finished - r.started);
  if (!r.note.empty()) text += ": " + r.note;
  return text;
}

}  // namespace

event_log::event_log(std::string file, time_zone zone)
    : file_(std::move(file)), zone_(zone), fd_(file_.empty() ? 1 : open_log_file(file_)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), file_);
}

event_log::~event_log() {
  if (!file_.empty()) ::close(fd_);
}

void event_log::reopen() {
  if (file_.empty()) return;
  const int fresh = open_log_file(file_);
  if (fresh < 0) return write("error: the log cannot be opened anew, so the old file goes on");
  ::close(fd_);
  fd_ = fresh;
}

void event_log::write(const std::string& text) {
  const std::string time = rota::to_text(wall_now(), zone_) + " ";
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    out += time;
    // What a job says is not to look like a line of ours, nor to move the terminal's cursor.
    for (const char c : rest.substr(0, end))
      out += static_cast<unsigned char>(c) < ' ' || c == 127 ? '?' : c;
    out += '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::string_view left = out;
  while (!left.empty()) {
    const ssize_t n = ::write(fd_, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // Nobody reads, or the disk is full: jobs run all the same.
    left.remove_prefix(static_cast<std::size_t>(n));
  }
}

void event_log::write(const job::engine_event& e) {
  using kind = job::engine_event::kind;
  const std::string run = e.run ? "run " + std::to_string(e.run->id) : "";
  switch (e.what) {
    case kind::run_due:
    case kind::run_launched:
      return;  // The start says it all.
    case kind::run_started:
      return write(e.job + ": " + run + " started" +
                   (e.run ? ", pid " + std::to_string(e.run->pid) : ""));
    case kind::run_over:
      return write(e.job + ": " + run + " " + (e.run ? end_of(*e.run) : "over"));
    case kind::run_skipped:
      return write(
          e.job + ": " + run + " skipped" +
          (e.run ? ", " + std::string(job::to_text(e.run->reason)) +
                       (e.run->count > 1 ? " (" + std::to_string(e.run->count) + " instants)" : "")
                 : ""));
    default:
      break;
  }
  std::string text(job::to_text(e.what));
  for (char& c : text)
    if (c == '_') c = ' ';
  write((e.job.empty() ? "" : e.job + ": ") + text + (e.text.empty() ? "" : ": " + e.text));
}

}  // namespace rota::app
