// What is wrong between tables that are each in order.
//
// Rule S1: to anyone but root, the jobs of others are as good as absent. And where a name is there
// twice, a job of root stays and the other one is wrong, so that nobody can push out root's jobs.

#include <rota/base/nearest_word.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "job/table_keys.h"

namespace rota::job {

namespace {

using detail::in_quotes;

class joint_check {
 public:
  joint_check(const std::vector<const table*>& tables, const group_caps& groups,
              const table_limits& limits)
      : tables_(tables), groups_(groups), limits_(limits) {}

  std::vector<problem> run() {
    collect_jobs();
    check_counts();
    check_groups();
    check_after();
    find_cycles();
    return std::move(found_);
  }

 private:
  struct node {
    const definition* job = nullptr;
    std::vector<std::size_t> after;  // nodes that it waits for
    bool done = false;
  };

  struct known_cap {
    std::uint32_t cap = 0;
    std::string_view owner;
  };

  static bool is_root(std::string_view owner) { return owner.empty() || owner == "root"; }
  static bool is_root(const definition& d) { return is_root(d.owner); }

  static std::string where(const definition& d) {
    if (!d.source.file) return "a job that was added";
    return *d.source.file + ':' + std::to_string(d.source.line);
  }

  void report(const definition& d, std::string text) {
    if (found_.size() >= most_problems) return;
    found_.push_back({d.source.file ? *d.source.file : "", d.source.line, 0, severity::error,
                      "job " + in_quotes(d.name) + ' ' + std::move(text), d.name});
  }

  static bool has_after(const table& t) {
    return std::any_of(t.jobs.begin(), t.jobs.end(),
                       [](const definition& d) { return !d.rules->after.empty(); });
  }

  void collect_jobs() {
    std::size_t all = 0;
    for (const table* t : tables_) all += t->jobs.size();
    nodes_.reserve(all);
    // The names of one table differ, so nobody asks for them if it stands alone.
    if (tables_.size() == 1 && !has_after(*tables_[0])) {
      for (const definition& d : tables_[0]->jobs) nodes_.push_back({&d, {}, false});
      return;
    }
    by_name_.reserve(all);
    for (const table* t : tables_) {
      for (const definition& d : t->jobs) {
        const auto [known, fresh] = by_name_.try_emplace(d.name, nodes_.size());
        if (fresh) {
          nodes_.push_back({&d, {}, false});
          continue;
        }
        const definition* loser = &d;
        const definition*& keeper = nodes_[known->second].job;
        if (is_root(d) && !is_root(*keeper)) std::swap(loser, keeper);
        report(*loser, is_root(*loser) || keeper->owner == loser->owner
                           ? "stands in " + where(*keeper) + " too; choose another name"
                           : "has a name that is taken; choose another one");
      }
    }
  }

  void check_counts() {
    std::unordered_map<std::string_view, std::size_t> counts;
    for (const node& n : nodes_)
      if (++counts[n.job->owner] == limits_.entries + 1)
        report(*n.job, "is one more than the " + std::to_string(limits_.entries) + " that " +
                           (n.job->owner.empty() ? "all tables" : in_quotes(n.job->owner)) +
                           " may have");
  }

  // A group is one owner's, since who is in it can hold up the others. Root's come first.
  void check_groups() {
    for (const auto& [name, cap] : groups_) caps_.try_emplace(name, known_cap{cap, {}});
    for (bool of_root : {true, false})
      for (const table* t : tables_)
        if (is_root(t->owner) == of_root) add_caps(*t);
    for (const node& n : nodes_) {
      const std::string& name = n.job->rules->group;
      if (name.empty()) continue;
      const auto known = caps_.find(name);
      if (known != caps_.end() && sees(n.job->owner, known->second.owner)) continue;
      std::vector<std::string_view> names;
      for (const auto& c : caps_)
        if (sees(n.job->owner, c.second.owner)) names.push_back(c.first);
      const std::string_view near = rota::detail::nearest_word(name, names);
      report(
          *n.job,
          "has the limit_group " + in_quotes(name) +
              (is_root(*n.job) ? ", which has no cap; " : ", which has no cap in your tables; ") +
              (near.empty() ? "add [group." + name + "] with cap = 1, say, to a table in TOML"
                            : "did you mean " + in_quotes(near) + "?"));
    }
  }

  void add_caps(const table& t) {
    for (const auto& [name, cap] : t.groups) {
      const auto [known, fresh] = caps_.try_emplace(name, known_cap{cap, t.owner});
      if (fresh) continue;
      if (!same_owner(known->second.owner, t.owner))
        found_.push_back(
            {t.file, 0, 0, severity::error,
             "group " + in_quotes(name) + " has a name that is taken; choose another one"});
      else if (known->second.cap != cap)
        found_.push_back({t.file, 0, 0, severity::error,
                          "group " + in_quotes(name) + " has the cap " + std::to_string(cap) +
                              " here and " + std::to_string(known->second.cap) +
                              " elsewhere; give it one"});
    }
  }

  void check_after() {
    for (node& n : nodes_) {
      for (const dependency& d : n.job->rules->after) {
        const auto other = by_name_.find(d.job);
        if (other != by_name_.end() && sees(*n.job, *nodes_[other->second].job))
          n.after.push_back(other->second);
        else
          report(*n.job, "comes after " + in_quotes(d.job) + ", and there is no such job" +
                             hint_for(*n.job, d.job));
      }
    }
  }

  static bool same_owner(std::string_view a, std::string_view b) {
    return a == b || (is_root(a) && is_root(b));
  }
  static bool sees(std::string_view a, std::string_view b) { return is_root(a) || a == b; }
  static bool sees(const definition& a, const definition& b) { return sees(a.owner, b.owner); }

  // To compare with all names takes long where there are many; then there is no hint.
  std::string hint_for(const definition& d, std::string_view name) {
    constexpr std::size_t few = 1000;
    if (nodes_.size() > few) return {};
    std::vector<std::string_view> names;
    for (const node& n : nodes_)
      if (sees(d, *n.job)) names.push_back(n.job->name);
    const std::string_view near = rota::detail::nearest_word(name, names);
    return near.empty() ? std::string{} : "; did you mean " + in_quotes(near) + "?";
  }

  // Follows `after` from each job, without recursion, since a chain may be as long as the tables. A
  // job that is met again on the way closes a circle.
  void find_cycles() {
    constexpr std::size_t off = static_cast<std::size_t>(-1);
    std::vector<std::size_t> depth(nodes_.size(), off);  // on the way, from its start
    struct step {
      std::size_t node;
      std::size_t next;
    };
    std::vector<step> way;
    for (std::size_t start = 0; start < nodes_.size(); ++start) {
      if (nodes_[start].done) continue;
      way.push_back({start, 0});
      depth[start] = 0;
      while (!way.empty()) {
        node& here = nodes_[way.back().node];
        if (way.back().next == here.after.size()) {
          here.done = true;
          depth[way.back().node] = off;
          way.pop_back();
          continue;
        }
        const std::size_t to = here.after[way.back().next++];
        if (depth[to] != off) {
          std::string circle;
          constexpr std::size_t enough = 10;
          for (std::size_t i = depth[to]; i < way.size(); ++i)
            if (i - depth[to] < enough) circle += nodes_[way[i].node].job->name + " -> ";
          if (way.size() - depth[to] > enough) circle += "... -> ";
          report(*nodes_[to].job, "comes after itself: " + circle + nodes_[to].job->name +
                                      "; take one `after` out of the circle");
        } else if (!nodes_[to].done) {
          depth[to] = way.size();
          way.push_back({to, 0});
        }
      }
    }
  }

  const std::vector<const table*>& tables_;
  const group_caps& groups_;
  const table_limits& limits_;
  std::vector<node> nodes_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::map<std::string_view, known_cap> caps_;
  std::vector<problem> found_;
};

}  // namespace

std::vector<problem> check_together(const std::vector<const table*>& tables,
                                    const group_caps& groups, const table_limits& limits) {
  return joint_check{tables, groups, limits}.run();
}

}  // namespace rota::job
