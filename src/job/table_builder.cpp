#include "job/table_builder.h"

#include <algorithm>
#include <array>
#include <limits>

namespace rota::job::detail {

namespace {

constexpr std::uint64_t fnv_start = 0xCBF29CE484222325u;

std::uint64_t fnv(std::uint64_t hash, std::string_view text) {
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

// Forty bits in eight letters: of 100,000 entries hardly two have the same.
std::string short_hash(std::uint64_t hash) {
  constexpr std::string_view digits = "0123456789abcdefghjkmnpqrstvwxyz";
  hash ^= hash >> 40;
  std::string text(8, '0');
  for (char& c : text) {
    c = digits[hash & 31];
    hash >>= 5;
  }
  return text;
}

bool is_root(std::string_view owner) { return owner.empty() || owner == "root"; }

}  // namespace

table_builder::table_builder(const table_options& o)
    : options_(o),
      problems_(o.file),
      shared_(o.shared ? o.shared : &own_),
      file_(shared_->share(o.file)) {}

void table_builder::expect(std::size_t entries) {
  entries = std::min(entries, options_.limits.entries);
  jobs_.reserve(entries);
  names_.reserve(entries);
}

rota::job::surroundings table_builder::first_surroundings() const {
  rota::job::surroundings s;
  if (!is_root(options_.owner)) s.user = options_.owner;
  return s;
}

void table_builder::add(draft&& d) {
  auto r = share(std::move(d.rules));
  auto s = share(std::move(d.surroundings));
  add(std::move(d), std::move(r), std::move(s));
}

void table_builder::add(draft&& d, std::shared_ptr<const rota::job::rules> r,
                        std::shared_ptr<const rota::job::surroundings> s) {
  if (!has_room(d)) return;
  check_owner(d, *s);
  if (r->retry.most < r->retry.delay)
    problems_.error(d.at, "retry.most is below retry.delay, make it longer");
  const auto [known, fresh] = names_.try_emplace(d.name, d.at.line);
  if (!fresh)
    problems_.error(d.at, "there is a job " + in_quotes(d.name) + " in line " +
                              std::to_string(known->second) + " already, choose another name");
  schedule when;
  if (d.has_schedule && !parse_schedule(d, when)) return;
  if (problems_.failed()) return;
  definition& made = jobs_.emplace_back();
  made.name = std::move(d.name);
  made.owner = options_.owner;
  made.text = std::move(d.schedule);
  made.text.shrink_to_fit();
  made.when = when;
  made.rules = std::move(r);
  made.surroundings = std::move(s);
  made.command = std::move(d.command);
  made.source = {file_, d.at.line};
}

bool table_builder::has_room(const draft& d) {
  if (names_.size() < options_.limits.entries) return true;
  if (!full_)
    problems_.error(d.at, "more than " + std::to_string(options_.limits.entries) +
                              " jobs, which is the limit of a table");
  full_ = true;
  return false;
}

bool table_builder::parse_schedule(draft& d, schedule& when) {
  const std::string_view text = d.written.empty() ? std::string_view(d.schedule) : d.written;
  const bool lenient = d.syntax == cron_syntax::vixie;
  try {
    when = schedule::parse(text, {.name = d.name,
                                  .zone = d.zone.value_or(options_.zone),
                                  .dst = d.dst.value_or(options_.dst),
                                  .syntax = d.syntax,
                                  .may_never_fire = lenient});
  } catch (const cron_error& e) {
    place at = d.schedule_at;
    at.column += static_cast<std::uint32_t>(e.column() > 0 ? e.column() - 1 : 0);
    problems_.error(at, e.what());
    return false;
  }
  // Rule S1: the ledger is everybody's, and each instant is a row of it.
  if (!is_root(options_.owner) && when.what() == schedule::kind::every &&
      when.next({}) < instant{std::chrono::seconds{1}}) {
    problems_.error(d.schedule_at,
                    "periods below a second are for root's tables only; use @every 1s or longer");
    return false;
  }
  for (std::string& w : when.warnings()) problems_.warn(d.schedule_at, std::move(w));
  return true;
}

// Rule S1: a table of alice makes nobody but alice run anything, in no other group, and not before
// others.
void table_builder::check_owner(const draft& d, const rota::job::surroundings& s) {
  if (is_root(options_.owner)) return;
  if (s.user != options_.owner)
    problems_.error(d.at, "user is " + in_quotes(s.user) + ", but the table is that of " +
                              in_quotes(options_.owner) + "; only root's tables name other users");
  if (!s.group.empty())
    problems_.error(d.at,
                    "user_group is for root's tables only; leave it out, the job has the "
                    "groups of its user");
  if (s.nice < 0)
    problems_.error(d.at, "a nice value below 0 is for root's tables only; use 0 to 19");
}

std::string table_builder::make_name(std::string_view base, std::string_view schedule_text,
                                     std::string_view command_text) {
  std::string name;
  for (char c : base.substr(0, longest_name - 24))
    name += wrong_with_name({&c, 1}).empty() || c == '.' || c == '-' ? c : '_';
  if (name.empty() || !wrong_with_name(name).empty()) name = "job";
  name += '-';
  name += short_hash(fnv(fnv(fnv(fnv_start, schedule_text), "\n"), command_text));
  if (!names_.contains(name)) return name;
  std::uint32_t& number = numbers_[name];
  while (true)
    if (std::string numbered = name + '-' + std::to_string(++number + 1);
        !names_.contains(numbered))
      return numbered;
}

table table_builder::take() {
  table t;
  t.file = options_.file;
  t.owner = options_.owner;
  if (!problems_.failed()) {
    t.jobs = std::move(jobs_);
    t.groups = std::move(groups_);
  }
  t.problems = problems_.take();
  return t;
}

}  // namespace rota::job::detail
