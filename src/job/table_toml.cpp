// Jobs in TOML: one at the top level, or several as [job.NAME], and caps of groups as [group.NAME].

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>

#include "job/table_builder.h"

namespace rota::job::detail {

namespace {

place place_of(const toml::source_position& p) { return {p.line, p.column}; }
place place_of(const toml::node& n) { return place_of(n.source().begin); }
place place_of(const toml::key& k) { return place_of(k.source().begin); }

std::string_view type_of(const toml::node& n) {
  switch (n.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "text";
    case toml::node_type::integer:
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or a time";
  }
}

// The text of a value that has no parts.
std::string scalar_text(const toml::node& n) {
  if (const auto* s = n.as_string()) return s->get();
  if (const auto* b = n.as_boolean()) return b->get() ? "true" : "false";
  if (const auto* i = n.as_integer()) return std::to_string(i->get());
  if (const auto* f = n.as_floating_point()) {
    char digits[64];
    const auto [end, fault] = std::to_chars(digits, digits + sizeof digits, f->get());
    return {digits, end};
  }
  return {};
}

bool fits(value_kind kind, const toml::node& n) {
  switch (kind) {
    case value_kind::text:
      return n.is_string();
    case value_kind::whole:
      return n.is_integer();
    case value_kind::real:
      return n.is_number();
    case value_kind::flag:
      return n.is_boolean();
  }
  return false;
}

std::string_view wanted(value_kind kind) {
  switch (kind) {
    case value_kind::text:
      return "text in quotes";
    case value_kind::whole:
      return "a whole number, without quotes";
    case value_kind::real:
      return "a number, without quotes";
    case value_kind::flag:
      return "true or false, without quotes";
  }
  return "?";
}

class toml_reader {
 public:
  explicit toml_reader(table_builder& b) : builder_(b), problems_(b.problems()) {}

  void read(std::string_view text);
  void read_job_alone(std::string_view text, std::string_view name);

 private:
  bool parse(std::string_view text);
  void read_several(const toml::table& jobs);
  void read_groups(const toml::node& groups);
  void read_cap(const toml::key& name, const toml::node& group);
  void read_job(const toml::table& t, std::string name, place at, bool may_be_named);
  void read_key(draft& d, const toml::key& key, const toml::node& value, std::string_view prefix);
  void read_scalar(draft& d, const key_rule& k, place at, const toml::node& value);
  void read_part(draft& d, const toml::key& key, const toml::node& value);
  void read_run(draft& d, place at, const toml::node& value);
  void read_environment(draft& d, place at, const toml::node& value);
  void read_after(draft& d, place at, const toml::node& value);
  void read_dependency(draft& d, const toml::node& value);
  void read_codes(draft& d, place at, const toml::node& value);
  bool is_plain_text(const toml::node& value, std::string_view what);

  table_builder& builder_;
  problem_list& problems_;
  toml::table root_;
};

bool toml_reader::parse(std::string_view text) {
  try {
    root_ = toml::parse(text);
    return true;
  } catch (const toml::parse_error& e) {
    problems_.error(place_of(e.source().begin), "this is no TOML: " + std::string(e.description()));
    return false;
  }
}

void toml_reader::read(std::string_view text) {
  if (!parse(text)) return;
  const toml::node* jobs = root_.get("job");
  if (const toml::node* groups = root_.get("group")) read_groups(*groups);
  const auto first = std::find_if(root_.begin(), root_.end(), [](const auto& entry) {
    return entry.first != "job" && entry.first != "group";
  });
  if (jobs && !jobs->is_table())
    return problems_.error(place_of(*jobs), "job is " + std::string(type_of(*jobs)) +
                                                "; write [job.NAME], and its keys below");
  if (jobs && first != root_.end())
    return problems_.error(place_of(first->first),
                           in_quotes(first->first.str()) +
                               " belongs to no job: a file has one job, with its keys at the top "
                               "level, or several, each below [job.NAME]");
  if (jobs) return read_several(*jobs->as_table());
  if (first == root_.end()) return;  // no job, or only caps
  std::string_view stem = builder_.options().file;
  stem.remove_prefix(stem.rfind('/') + 1);
  stem = stem.substr(0, stem.rfind('.'));
  root_.erase("group");
  read_job(root_, std::string(stem), {}, true);
}

void toml_reader::read_job_alone(std::string_view text, std::string_view name) {
  if (!parse(text)) return;
  for (std::string_view other : {"job", "group"})
    if (const toml::node* n = root_.get(other))
      problems_.error(place_of(*n), std::string(other) +
                                        " has no place here: this is one job, with its keys at the "
                                        "top level");
  if (const toml::node* n = root_.get("name"); n && n->value_or(std::string_view{}) != name)
    problems_.error(place_of(*n), "name must be " + in_quotes(name) + ", or be left out");
  root_.erase("job");
  root_.erase("group");
  root_.erase("name");
  read_job(root_, std::string(name), {1, 1}, false);
}

void toml_reader::read_several(const toml::table& jobs) {
  std::vector<std::pair<const toml::key*, const toml::node*>> in_order;
  for (const auto& [name, node] : jobs) in_order.emplace_back(&name, &node);
  std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    return std::pair(place_of(*a.first).line, place_of(*a.first).column) <
           std::pair(place_of(*b.first).line, place_of(*b.first).column);
  });
  for (const auto& [name, node] : in_order) {
    if (const toml::table* t = node->as_table())
      read_job(*t, std::string(name->str()), place_of(*name), false);
    else
      problems_.error(place_of(*name), "job." + std::string(name->str()) + " is " +
                                           std::string(type_of(*node)) +
                                           ", it must be a table; write [job.NAME]");
  }
}

void toml_reader::read_groups(const toml::node& groups) {
  if (const toml::table* all = groups.as_table())
    for (const auto& [name, group] : *all) read_cap(name, group);
  else
    problems_.error(place_of(groups), "group is " + std::string(type_of(groups)) +
                                          "; a cap is [group.NAME] with cap = 2, and a job joins "
                                          "it with limit_group = \"NAME\"");
}

void toml_reader::read_cap(const toml::key& name, const toml::node& group) {
  constexpr std::int64_t most = 1'000'000;
  const place at = place_of(name);
  if (std::string wrong = wrong_with_name(name.str()); !wrong.empty())
    return problems_.error(at, "the group is called " + in_quotes(name.str()) + ": " + wrong);
  const toml::table* t = group.as_table();
  const toml::node* cap = t ? t->get("cap") : nullptr;
  const toml::value<std::int64_t>* number = cap ? cap->as_integer() : nullptr;
  if (!number || number->get() < 1 || number->get() > most)
    return problems_.error(cap ? place_of(*cap) : at,
                           "group." + std::string(name.str()) +
                               " needs a cap from 1 to 1000000: [group.NAME] with cap = 2");
  for (const auto& [key, value] : *t)
    if (key != "cap")
      problems_.error(place_of(key), "a group has no key " + in_quotes(key.str()) + ", only `cap`");
  builder_.set_cap(std::string(name.str()), static_cast<std::uint32_t>(number->get()));
}

void toml_reader::read_job(const toml::table& t, std::string name, place at, bool may_be_named) {
  draft d;
  d.surroundings = builder_.first_surroundings();
  for (const auto& [key, value] : t) {
    const place here = place_of(key);
    if (at.line == 0 || (may_be_named && here.line < at.line)) at = here;
    if (key == "name" && !may_be_named)
      problems_.error(here, "the job has its name from [job." + name + "]; leave this one out");
    else
      read_key(d, key, value, "");
  }
  d.at = at;
  if (d.name.empty()) d.name = std::move(name);
  if (std::string wrong = wrong_with_name(d.name); !wrong.empty())
    problems_.error(at, "the job is called " + in_quotes(d.name) + ": " + wrong);
  if (t.contains("run") == t.contains("shell"))
    problems_.error(at,
                    t.contains("run")
                        ? "the job has `run` and `shell`; keep one of them"
                        : "the job has nothing to run; add run = [\"program\", \"argument\"] or "
                          "shell = \"a line for the shell\"");
  builder_.add(std::move(d));
}

void toml_reader::read_key(draft& d, const toml::key& key, const toml::node& value,
                           std::string_view prefix) {
  const std::string name = std::string(prefix) + std::string(key.str());
  const place at = place_of(key);
  if (name == "run") return read_run(d, at, value);
  if (name == "environment") return read_environment(d, at, value);
  if (name == "after" && !value.is_string()) return read_after(d, at, value);
  if (name == "retry.codes") return read_codes(d, at, value);
  if (name == "alert" || (name == "retry" && !value.is_integer())) return read_part(d, key, value);
  if (const key_rule* k = find_key(name); k && key.str().find('.') == std::string_view::npos)
    return read_scalar(d, *k, at, value);
  problems_.error(at, "there is no key " + in_quotes(name) + key_hint(name, false));
}

void toml_reader::read_scalar(draft& d, const key_rule& k, place at, const toml::node& value) {
  const std::string name(k.name);
  const std::string text = scalar_text(value);
  if (value.is_string() && !is_plain_text(value, name)) return;
  if (!fits(k.kind, value)) {
    draft scratch;
    const std::string more = text.empty() ? std::string{} : k.set(scratch, text);
    return problems_.error(at, name + " is " + std::string(type_of(value)) + ", it must be " +
                                   std::string(wanted(k.kind)) +
                                   (more.empty() ? "" : "; it " + more));
  }
  if (k.name == "schedule") {
    d.schedule_at = place_of(value);
    d.schedule_at.column += 1;  // behind the quote
  }
  if (std::string wrong = k.set(d, text); !wrong.empty()) problems_.error(at, name + ' ' + wrong);
}

// retry = {...} or [job.x.retry], and the same of alert.
void toml_reader::read_part(draft& d, const toml::key& key, const toml::node& value) {
  const std::string name(key.str());
  if (const toml::table* t = value.as_table())
    for (const auto& [k, v] : *t) read_key(d, k, v, name + '.');
  else
    problems_.error(place_of(key), name + " is " + std::string(type_of(value)) +
                                       ", it must be a table, like " +
                                       (name == "retry" ? "retry = {count = 3, delay = \"10s\"}"
                                                        : "alert = {mail = \"ops@example.org\"}"));
}

void toml_reader::read_run(draft& d, place at, const toml::node& value) {
  const toml::array* all = value.as_array();
  if (!all || all->empty())
    return problems_.error(at, "run is " + std::string(all ? "empty" : type_of(value)) +
                                   ", it must be a list of the program and its arguments, like "
                                   "[\"rsync\", \"-a\"]; a line for a shell is shell = \"...\"");
  d.command.shell = false;
  d.command.argv.clear();
  for (const toml::node& word : *all)
    if (is_plain_text(word, "what run lists")) d.command.argv.push_back(scalar_text(word));
  if (!d.command.argv.empty() && d.command.argv.front().empty())
    problems_.error(at, "the program that run names is empty");
}

void toml_reader::read_environment(draft& d, place at, const toml::node& value) {
  const toml::table* all = value.as_table();
  if (!all)
    return problems_.error(at, "environment is " + std::string(type_of(value)) +
                                   ", it must be a table, like environment = {LANG = \"C\"}");
  for (const auto& [name, v] : *all) {
    if (std::string wrong = wrong_with_environment_name(name.str()); !wrong.empty())
      problems_.error(place_of(name), wrong);
    else if (is_plain_text(v, "the variable " + in_quotes(name.str())))
      d.surroundings.environment.emplace_back(name.str(), scalar_text(v));
  }
}

void toml_reader::read_after(draft& d, place at, const toml::node& value) {
  const toml::array* all = value.as_array();
  if (!all)
    return problems_.error(at, "after is " + std::string(type_of(value)) +
                                   ", it must be a list of jobs, like [\"backup\"] or [{job = "
                                   "\"backup\", on = \"failure\"}]");
  for (const toml::node& one : *all) read_dependency(d, one);
}

void toml_reader::read_dependency(draft& d, const toml::node& value) {
  dependency made;
  const toml::node* name = &value;
  if (const toml::table* t = value.as_table()) {
    name = t->get("job");
    for (const auto& [k, v] : *t)
      if (k != "job" && k != "on")
        problems_.error(place_of(k),
                        "after has no key " + in_quotes(k.str()) + ", only job and on");
    if (const toml::node* on = t->get("on")) {
      const std::string word = scalar_text(*on);
      using enum dependency_on;
      const auto all = {success, failure, any};
      const auto* found =
          std::find_if(all.begin(), all.end(), [&](auto o) { return to_text(o) == word; });
      if (found == all.end())
        return problems_.error(place_of(*on),
                               "on is " + in_quotes(word) + ", use success, failure or any");
      made.on = *found;
    }
  }
  if (!name || !name->is_string())
    return problems_.error(place_of(value),
                           "after lists names of jobs, or {job = \"backup\", on = \"failure\"}");
  made.job = scalar_text(*name);
  if (std::string wrong = wrong_with_name(made.job); !wrong.empty())
    return problems_.error(place_of(*name), "after names " + in_quotes(made.job) + ": " + wrong);
  d.rules.after.push_back(std::move(made));
}

void toml_reader::read_codes(draft& d, place at, const toml::node& value) {
  const toml::array* all = value.as_array();
  if (!all)
    return problems_.error(at, "retry.codes is " + std::string(type_of(value)) +
                                   ", it must be a list of exit codes, like [1, 75]");
  for (const toml::node& code : *all) {
    const auto* number = code.as_integer();
    if (number && number->get() >= 1 && number->get() <= 255)
      d.rules.retry.codes.push_back(static_cast<int>(number->get()));
    else
      problems_.error(place_of(code), "an exit code is a number from 1 to 255, without quotes");
  }
}

// No program can be given a zero byte.
bool toml_reader::is_plain_text(const toml::node& value, std::string_view what) {
  const auto* text = value.as_string();
  if (text && text->get().find('\0') == std::string::npos) return true;
  problems_.error(place_of(value), std::string(what) + (text ? " has a zero byte, take it out"
                                                             : " must be text in quotes"));
  return false;
}

}  // namespace

void read_toml(std::string_view text, table_builder& b) {
  toml_reader{b}.read(text);
  b.problems().count_bytes(text);
}

void read_toml_job(std::string_view text, std::string_view name, table_builder& b) {
  toml_reader{b}.read_job_alone(text, name);
  b.problems().count_bytes(text);
}

}  // namespace rota::job::detail
