#include "job/launcher_request.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "job/launcher_files.h"
#include "job/runner_wire.h"

namespace rota::job {

namespace {

constexpr std::string_view default_path = "/usr/local/bin:/usr/bin:/bin";
constexpr std::size_t most_bytes = 8 * 1024 * 1024;

// Calls getpwnam_r and its like with a buffer that is large enough.
template <class Entry, class Call>
std::optional<Entry> look_up(std::vector<char>& buffer, const std::string& what, Call call) {
  Entry entry{};
  Entry* found = nullptr;
  buffer.resize(4096);
  int error = 0;
  while ((error = call(&entry, buffer.data(), buffer.size(), &found)) == ERANGE)
    buffer.resize(buffer.size() * 2);
  if (found != nullptr) return entry;
  if (error != 0 && error != ENOENT && error != ESRCH)
    throw std::runtime_error(system_message("cannot look up " + what, error));
  return std::nullopt;
}

account look_up_user(const std::string& user) {
  std::vector<char> buffer;
  const auto entry = look_up<passwd>(
      buffer, "user " + user, [&](passwd* e, char* b, std::size_t n, passwd** found) {
        return user.empty() ? ::getpwuid_r(::geteuid(), e, b, n, found)
                            : ::getpwnam_r(user.c_str(), e, b, n, found);
      });
  if (!entry && user.empty())
    return {std::to_string(::geteuid()), "/", ::geteuid(), ::getegid(), {}};
  if (!entry) throw std::runtime_error("there is no user " + user);
  return {entry->pw_name, entry->pw_dir, entry->pw_uid, entry->pw_gid, {}};
}

gid_t look_up_group(const std::string& group) {
  std::vector<char> buffer;
  const auto entry = look_up<struct group>(
      buffer, "group " + group, [&](struct group* e, char* b, std::size_t n, struct group** found) {
        return ::getgrnam_r(group.c_str(), e, b, n, found);
      });
  if (!entry) throw std::runtime_error("there is no group " + group);
  return entry->gr_gid;
}

std::vector<gid_t> groups_of(const account& a) {
  std::vector<gid_t> groups(32);
  int count = static_cast<int>(groups.size());
  while (::getgrouplist(a.name.c_str(), a.gid, groups.data(), &count) < 0)
    groups.resize(std::max(static_cast<std::size_t>(count), groups.size() * 2)),
        count = static_cast<int>(groups.size());
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

// Whether the request has to change who we are. Only root can.
bool has_to_become(const account& a, const std::string& user, const std::string& group) {
  const bool same_user = user.empty() || a.uid == ::geteuid();
  const bool same_group = group.empty() || a.gid == ::getegid();
  if (same_user && same_group) return false;
  if (::geteuid() == 0) return true;
  throw std::runtime_error("only a daemon that is root can run programs as " +
                           (same_user ? "group " + group : "user " + user) + "; this one is " +
                           look_up_user({}).name);
}

using variables = std::vector<std::pair<std::string, std::string>>;

void set(variables& v, const std::string& name, std::string value) {
  if (name.empty() || name.find('=') != std::string::npos)
    throw std::runtime_error("\"" + name + "\" is no name of a variable");
  const auto same = [&](const auto& p) { return p.first == name; };
  const auto there = std::find_if(v.begin(), v.end(), same);
  if (there != v.end())
    there->second = std::move(value);
  else
    v.emplace_back(name, std::move(value));
}

// As cron does, and nothing of the daemon's own: its environment may hold secrets.
variables environment_of(const run& r, const definition& d, const account& a) {
  variables v;
  set(v, "HOME", a.home);
  set(v, "LOGNAME", a.name);
  set(v, "USER", a.name);
  set(v, "SHELL", d.surroundings->shell);
  set(v, "PATH", std::string(default_path));
  for (const auto& [name, value] : d.surroundings->environment) set(v, name, value);
  set(v, "ROTA_JOB", r.job);
  set(v, "ROTA_RUN", std::to_string(r.id));
  set(v, "ROTA_SCHEDULED", rota::to_text(r.scheduled));
  set(v, "ROTA_ATTEMPT", std::to_string(r.attempt));
  return v;
}

void add_text(std::string& bytes, std::string_view text) {
  if (text.find('\0') != std::string_view::npos)
    throw std::runtime_error("a zero byte in the command, its directory or its environment");
  bytes.append(text).push_back('\0');
}

std::vector<std::string> arguments_of(const definition& d) {
  if (d.command.argv.empty() || d.command.argv.front().empty())
    throw std::runtime_error("the job has no command");
  if (!d.command.shell) return d.command.argv;
  std::string text;
  for (const std::string& part : d.command.argv) text += (text.empty() ? "" : " ") + part;
  return {d.surroundings->shell, "-c", text};
}

}  // namespace

const account& account_cache::find(const std::string& user, const std::string& group) {
  const auto key = std::make_pair(user, group);
  const auto there = known_.find(key);
  if (there != known_.end()) return there->second;
  account a = look_up_user(user);
  if (user.empty()) a.gid = ::getegid();
  if (!group.empty()) a.gid = look_up_group(group);
  if (::geteuid() == 0) a.groups = groups_of(a);
  return known_.emplace(key, std::move(a)).first->second;
}

std::string make_request(const run& r, const definition& d, account_cache& accounts, instant now,
                         std::uint32_t fault, std::int64_t spare) {
  const surroundings& s = *d.surroundings;
  const account& a = accounts.find(s.user, s.group);
  const std::vector<std::string> arguments = arguments_of(d);
  const variables environment = environment_of(r, d, a);
  if (arguments.size() + environment.size() > wire::most_words)
    throw std::runtime_error("more than " + std::to_string(wire::most_words) +
                             " arguments and variables");

  wire::request_head head;
  head.id = r.id;
  head.spare = spare;
  head.sent_ms = now.time_since_epoch().count();
  head.timeout_ms = d.rules->timeout.count();
  head.grace_ms = d.rules->grace.count();
  head.output_limit = s.output_limit;
  head.become = has_to_become(a, s.user, s.group) ? 1 : 0;
  head.uid = a.uid;
  head.gid = a.gid;
  head.group_count = head.become != 0 ? static_cast<std::uint32_t>(a.groups.size()) : 0;
  head.argument_count = static_cast<std::uint32_t>(arguments.size());
  head.variable_count = static_cast<std::uint32_t>(environment.size());
  head.input_size = static_cast<std::uint32_t>(d.command.input.size());
  if (s.umask) head.umask = static_cast<std::int32_t>(*s.umask & 0777);
  head.nice = s.nice;
  head.fault = fault;

  std::string bytes(sizeof(head), '\0');
  if (head.group_count > 0) {
    const auto* groups = reinterpret_cast<const char*>(a.groups.data());
    bytes.append(groups, a.groups.size() * sizeof(gid_t));
  }
  std::string key = r.job + " " + rota::to_text(r.scheduled) + " " + std::to_string(r.attempt);
  std::replace(key.begin(), key.end(), '\0', '?');
  add_text(bytes, key);
  add_text(bytes, s.directory.empty() ? a.home : s.directory);
  add_text(bytes, s.environment_file);
  for (const std::string& argument : arguments) add_text(bytes, argument);
  for (const auto& [name, value] : environment) add_text(bytes, name + "=" + value);
  bytes += d.command.input;
  if (bytes.size() > most_bytes)
    throw std::runtime_error("command, environment and input have more than 8 MiB together");
  head.size = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data(), &head, sizeof(head));
  return bytes;
}

}  // namespace rota::job
