#include "alerts.h"

#include <rota/rota.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string_view>

#include "http.h"
#include "job_json.h"

namespace rota::app {

struct alert_sender::state {
  state(loop& l, alert_options o, std::function<void(alert_end, const std::string&)> f)
      : main(l), options(std::move(o)), done(std::move(f)) {}

  using attempt = std::function<std::string()>;
  struct letter {
    std::string what;
    attempt once;
  };
  // Those of one job and one kind; the first is under way. Only the loop's thread touches it.
  using lane = std::deque<letter>;

  // By value: a coroutine outlives the call that made it.
  static task<void> deliver(state* s, std::string key, attempt once) {
    std::string wrong;
    for (std::size_t i = 0;; ++i) {
      auto call = once;
      wrong = co_await run_blocking(std::move(call));
      if (wrong.empty() || i >= s->options.again.size()) break;
      co_await sleep_for(s->options.again[i]);
    }
    s->main.post([s, wrong, key] { s->first_is_done(key, wrong); });
  }

  static task<void> work_on(state* s, std::function<void()> work,
                            std::function<void(const std::string&)> after) {
    auto guarded = [work]() -> std::string {
      try {
        work();
        return {};
      } catch (const std::exception& error) {
        return error.what();
      }
    };
    const std::string wrong = co_await run_blocking(std::move(guarded));
    s->main.post([after, wrong] { after(wrong); });
  }

  void put(const std::string& key, letter l) {
    lane& of_job = lanes[key];
    if (of_job.size() >= options.most_of_job || count >= options.most) {
      const bool has_older = of_job.size() > 1;
      done(alert_end::dropped,
           (has_older ? of_job[1].what : l.what) + ": too many alerts wait; dropped");
      if (!has_older) {
        if (of_job.empty()) lanes.erase(key);
        return;
      }
      of_job.erase(of_job.begin() + 1);
      --count;
    }
    of_job.push_back(std::move(l));
    ++count;
    if (of_job.size() == 1) start_first(key);
  }

  void start_first(const std::string& key) {
    pool().spawn(deliver(this, key, lanes.at(key).front().once)).detach();
  }

  void first_is_done(const std::string& key, const std::string& wrong) {
    lane& of_job = lanes.at(key);
    const std::string what = std::move(of_job.front().what);
    of_job.pop_front();
    --count;
    if (of_job.empty())
      lanes.erase(key);
    else
      start_first(key);
    done(wrong.empty() ? alert_end::sent : alert_end::failed,
         wrong.empty() ? "" : what + ": " + wrong + "; given up");
  }

  // Made when it is first needed: most daemons have nothing to say for days.
  runtime& pool() {
    if (!threads) threads.emplace(rota::options{}.with_workers(1));
    return *threads;
  }

  loop& main;
  alert_options options;
  std::function<void(alert_end, const std::string&)> done;
  std::map<std::string, lane> lanes;  // by kind and job; none is empty
  std::size_t count = 0;              // in all of them
  // Set once, by the destructor, and read by calls under way: a late reader only costs time.
  std::atomic<bool> stopping{false};
  std::optional<runtime> threads;
};

alert_sender::alert_sender(loop& l, alert_options o,
                           std::function<void(alert_end, const std::string&)> done)
    : state_(std::make_unique<state>(l, std::move(o), std::move(done))) {}

alert_sender::~alert_sender() { state_->stopping.store(true, std::memory_order_relaxed); }

namespace {

// A line of a mail's head ends where it ends: what a job is called or says adds no other.
std::string mail_head_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = static_cast<unsigned char>(c) >= ' ' && c != 127;
    out += plain ? c : ' ';
  }
  return out.substr(0, 900);
}

}  // namespace

void alert_sender::send(const alert& a) {
  if (!a.to.web_hook.empty())
    state_->put("web hook " + a.job, {"web hook of " + a.job + " to " + host_of(a.to.web_hook),
                                      [s = state_.get(), url = a.to.web_hook, json = a.json] {
                                        return post_web_hook(url, json, s->stopping);
                                      }});
  if (!a.to.mail.empty()) {
    const std::string message = "To: " + mail_head_line(a.to.mail) +
                                "\nSubject: " + mail_head_line(a.subject) +
                                "\nAuto-Submitted: auto-generated\nMIME-Version: 1.0"
                                "\nContent-Type: text/plain; charset=utf-8\n\n" +
                                a.text + "\n";
    state_->put("mail " + a.job,
                {"mail of " + a.job + " to " + a.to.mail, [s = state_.get(), message] {
                   return send_mail(s->options.sendmail, message, s->stopping);
                 }});
  }
}

void alert_sender::in_background(std::function<void()> work,
                                 std::function<void(const std::string&)> after) {
  state_->pool().spawn(state::work_on(state_.get(), std::move(work), std::move(after))).detach();
}

std::string send_mail(const std::string& sendmail, const std::string& message,
                      const std::atomic<bool>& stop) {
  constexpr std::int64_t longest = 60'000;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return std::strerror(errno);
  // The mailer reads as it is used to; only our end does not wait.
  ::fcntl(ends[0], F_SETFL, 0);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, ends[0], 0);
  ::posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  std::string words[] = {sendmail, "-t", "-oi"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, sendmail.c_str(), &files, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[0]);
  if (error != 0) {
    ::close(ends[1]);
    return sendmail + ": " + std::strerror(error) + "; --sendmail takes another one";
  }
  const std::int64_t end = steady_milliseconds() + longest;
  // relaxed: nothing but the flag itself is read.
  const auto too_late = [&] {
    return steady_milliseconds() >= end || stop.load(std::memory_order_relaxed);
  };
  std::string_view rest = message;
  while (!rest.empty() && !too_late()) {
    pollfd room{ends[1], POLLOUT, 0};
    ::poll(&room, 1, 1000);
    const ssize_t n = ::write(ends[1], rest.data(), rest.size());
    if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
    if (n < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  ::close(ends[1]);
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (too_late()) ::kill(pid, SIGKILL);
    ::usleep(5000);
  }
  if (!rest.empty()) return sendmail + " did not take the mail";
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return sendmail + " ended with " +
           (WIFEXITED(status) ? std::to_string(WEXITSTATUS(status))
                              : "signal " + std::to_string(WTERMSIG(status)));
  return {};
}

}  // namespace rota::app
