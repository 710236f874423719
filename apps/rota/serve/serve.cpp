#include "serve.h"

#include <unistd.h>

#include <charconv>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../door.h"
#include "daemon.h"
#include "place.h"

namespace rota::app {

namespace {

struct serve_words {
  serve_settings settings;
  std::string listen = "127.0.0.1:8420";
  std::string zone;
  std::string compat;
  std::string dst;
  std::vector<std::string> alert_delays;
};

// "127.0.0.1:8420"; the page is for this machine only, since its token goes over the wire as it is.
void read_listen(const std::string& text, serve_settings& s) {
  if (text == "none") {
    s.listens = false;
    return;
  }
  const std::size_t colon = text.rfind(':');
  std::string address = colon == text.npos ? "" : text.substr(0, colon);
  const std::string port = colon == text.npos ? text : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), s.port);
  if (error != std::errc{} || end != port.data() + port.size() || port.empty())
    throw bad_input("--listen: expected an address such as 127.0.0.1:8420, or none, not " + text);
  if (address.empty() || address == "localhost") address = "127.0.0.1";
  if (!address.starts_with("127."))
    throw bad_input("--listen: " + address +
                    " can be reached from elsewhere, and the API is not encrypted; listen on "
                    "127.0.0.1 and forward it (ssh -L 8420:127.0.0.1:8420 this-machine)");
  s.address = address;
}

serve_settings settings_of(const serve_words& w) {
  serve_settings s = w.settings;
  read_listen(w.listen, s);
  if (s.state.empty()) s.state = default_state_directory(::geteuid());
  if (w.zone.empty()) {
    try {
      s.zone = time_zone::local();
    } catch (const std::invalid_argument& wrong) {
      throw bad_input(std::string(wrong.what()) + "; --tz takes one too");
    }
  } else {
    const auto found = time_zone::find(w.zone);
    if (!found)
      throw bad_input("--tz: there is no time zone '" + w.zone + "'; they look like Europe/Paris");
    s.zone = *found;
  }
  if (!w.compat.empty() && w.compat != "vixie")
    throw bad_input("--compat: expected vixie, not " + w.compat);
  if (w.compat == "vixie") {
    s.syntax = cron_syntax::vixie;
    s.dst = dst_rule::vixie;
  }
  for (const std::string& text : w.alert_delays) {
    const double seconds = seconds_of("--alert-delay", text);
    s.alert_delays_ms.push_back(static_cast<std::uint32_t>(seconds * 1000));
  }
  return s;
}

}  // namespace

void add_serve(command& program) {
  auto w = std::make_shared<serve_words>();
  serve_settings& s = w->settings;
  s.sendmail = "/usr/sbin/sendmail";
  command& c = program.add("serve", "runs jobs when they are due: the daemon, with API and page");
  c.option({.name = "--crontab",
            .type = "FILE",
            .help = "a crontab, of the user who owns the file; or a directory of them",
            .value = &s.crontabs});
  c.option({.name = "--system-crontab",
            .type = "FILE",
            .help = "as /etc/crontab, with users; or a directory such as /etc/cron.d",
            .value = &s.system_crontabs});
  c.option({.name = "--jobs",
            .type = "DIR",
            .help = "a directory of jobs in TOML, or such a file",
            .value = &s.jobs});
  c.option({.name = "--state",
            .type = "DIR",
            .help = "where everything is kept (root: /var/lib/rota, else ~/.local/state/rota)",
            .value = &s.state});
  c.option({.name = "--store",
            .type = "FILE",
            .help = "the ledger (ledger.db in the state directory)",
            .value = &s.store});
  c.option({.name = "--max-active",
            .type = "N",
            .help = "how many runs at a time (16)",
            .value = &s.max_active,
            .least = 1,
            .most = 100'000});
  c.option({.name = "--passes",
            .type = "N",
            .help = "how often a run that waits for its own job or group is passed by others; no "
                    "limit by default",
            .value = &s.passes,
            .least = 0});
  c.option({.name = "--owner-cap",
            .type = "N",
            .help = "root's daemon: how many runs of one user at a time, root's aside (all but one "
                    "of --max-active)",
            .value = &s.owner_cap,
            .least = 1});
  c.option({.name = "--owner-waiting",
            .type = "N",
            .help = "likewise, how many may be due and wait (10000)",
            .value = &s.owner_waiting,
            .least = 1});
  c.option({.name = "--owner-bytes",
            .type = "N",
            .help = "likewise, how large all jobs are that one user has added (16777216)",
            .value = &s.owner_bytes,
            .least = 1});
  c.option({.name = "--listen",
            .type = "ADDR:PORT",
            .help = "where page and API are (127.0.0.1:8420); port 0: a free one; none: nowhere",
            .value = &w->listen});
  c.option({.name = "--socket",
            .type = "PATH",
            .help = "the unix socket of `rota job` (rota.sock in the state directory)",
            .value = &s.socket});
  c.option({.name = "--tz,--zone",
            .type = "ZONE",
            .help = "the time zone of jobs that name none (this machine's)",
            .value = &w->zone});
  c.option({.name = "--compat",
            .type = "vixie",
            .help = "takes crontabs, and clock changes, as Debian's cron does",
            .value = &w->compat,
            .words = {"vixie"}});
  c.option({.name = "--log",
            .type = "FILE",
            .help = "where the log goes (standard output); SIGHUP opens it anew",
            .value = &s.log});
  c.option({.name = "--sendmail",
            .type = "PROGRAM",
            .help = "what sends mail (/usr/sbin/sendmail)",
            .value = &s.sendmail});
  c.option({.name = "--alert-delay",
            .type = "SECONDS",
            .help = "how long to wait before an alert is tried again; one for each try (1, 5, 30)",
            .value = &w->alert_delays});
  c.option({.name = "--care",
            .type = "SECONDS",
            .help = "how often old runs are removed and the ledger is copied (3600)",
            .value = &s.care_seconds,
            .least = 1});
  c.option({.name = "--zone-check",
            .type = "SECONDS",
            .help = "how often to look for new time zone data (60)",
            .value = &s.zone_seconds,
            .least = 1});
  c.option({.name = "--runner",
            .type = "PROGRAM",
            .help = "the program rota-runner (beside rota)",
            .value = &s.runner});
  c.environment("XDG_STATE_HOME", "the state of users is below it, in `rota` (~/.local/state)");
  c.environment("TZ", "the time zone of jobs that name none, if it is set");
  c.environment("TZDIR", "where the data of time zones are, if not in /usr/share/zoneinfo");
  c.environment("NOTIFY_SOCKET", "set by systemd: whom to tell that the daemon is ready");
  c.file("/var/lib/rota", "state of root's daemon: ledger.db, logs, token, rota.sock");
  c.file("~/.local/state/rota", "state of a user's daemon");
  c.file("/etc/rota/jobs", "jobs in TOML of the service that systemd starts");
  c.file("/etc/crontab, /etc/cron.d", "crontabs that the service reads too, in place of cron");
  c.file("../libexec/rota/rota-runner", "seen from rota: what starts the programs");
  c.footer(
      [] { return "docs/jobs.md is the guide. `rota job --help`: what to say to the daemon."; });
  c.run([w] { return run_daemon(settings_of(*w)); });
}

}  // namespace rota::app
