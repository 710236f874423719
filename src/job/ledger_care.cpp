// Definitions, pruning and copies.
#include <algorithm>
#include <utility>

#include "job/ledger_rows.h"
#include "job/ledger_state.h"

namespace rota::job {

namespace {

// Deletes in one call. Rows of one job lie apart, so each takes a few pages of the WAL: some 10 ms.
constexpr std::size_t deletes_at_a_time = 200;
// Names that prune_removed() looks at in one call: some ms.
constexpr std::size_t looks_at_a_time = 1'000;

// The rows of a job that may go, oldest first, at most `most`. Ids grow with the time they were
// recorded, so the first that has to stay ends it.
std::vector<run_id> rows_to_go(store::connection& db, std::string_view job, const keep_limits& keep,
                               instant now, std::size_t most) {
  run_id beyond = 0;  // this one and older ones are too many
  {
    auto q = db.use("SELECT id FROM run WHERE job = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2");
    q.bind(job, std::int64_t{keep.runs});
    if (q.step()) {
      beyond = q.number(0);
    }
  }
  const auto oldest = store::number_of(now - keep.age);
  auto q = db.use(
      "SELECT id, max(finished, recorded) FROM run INDEXED BY run_job WHERE job = ?1 AND phase = 2 "
      "ORDER BY id LIMIT ?2");
  q.bind(job, static_cast<std::int64_t>(most));
  std::vector<run_id> ids;
  while (q.step() && (q.number(0) <= beyond || q.number(1) < oldest)) {
    ids.push_back(q.number(0));
  }
  return ids;
}

void delete_runs(store::connection& db, const std::vector<run_id>& ids) {
  auto q = db.use("DELETE FROM run WHERE id = ?1 AND phase = 2");
  for (const run_id id : ids) {
    q.bind(id);
    q.run();
  }
}

// The next name after this one that has runs but no job; nothing if `looks` names were looked at in
// vain or there is no further one. `after` becomes the last name looked at, or empty at the end.
std::optional<std::string> next_removed(store::connection& db, std::string& after,
                                        std::size_t& looks) {
  auto next = db.use("SELECT job FROM run WHERE job > ?1 ORDER BY job LIMIT 1");
  auto known = db.use("SELECT 1 FROM job WHERE name = ?1");
  for (; looks > 0; --looks) {
    next.bind(std::string_view{after});
    if (!next.step()) {
      after.clear();
      return std::nullopt;
    }
    std::string name{next.text(0)};
    next.reset();
    known.bind(std::string_view{name});
    const bool is_known = known.step();
    known.reset();
    after = name;
    if (!is_known) {
      return name;
    }
  }
  return std::nullopt;
}

}  // namespace

void sqlite_ledger::put_definition(const stored_definition& d) {
  state_->writing([&](store::connection&) {
    state_->change(0, [&](store::connection& db) {
      auto q = db.use(
          "INSERT INTO definition VALUES (?1, ?2, ?3) "
          "ON CONFLICT (name) DO UPDATE SET owner = ?2, toml = ?3");
      q.bind(std::string_view{d.name}, std::string_view{d.owner}, std::string_view{d.toml});
      q.run();
    });
  });
}

bool sqlite_ledger::remove_definition(std::string_view name) {
  return state_->writing([&](store::connection&) {
    bool found = false;
    state_->change(0, [&](store::connection& db) {
      auto q = db.use("DELETE FROM definition WHERE name = ?1");
      q.bind(name);
      q.run();
      found = db.changed() > 0;
    });
    return found;
  });
}

std::vector<stored_definition> sqlite_ledger::definitions() const {
  std::vector<stored_definition> all;
  state_->reading([&](store::connection& db) {
    auto q = db.use("SELECT name, owner, toml FROM definition ORDER BY name");
    while (q.step()) {
      all.push_back({std::string{q.text(0)}, std::string{q.text(1)}, std::string{q.text(2)}});
    }
  });
  return all;
}

pruned sqlite_ledger::prune(std::string_view job, const keep_limits& keep, instant now) {
  return state_->writing([&](store::connection& db) {
    pruned p;
    p.ids = rows_to_go(db, job, keep, now, deletes_at_a_time);
    p.more = p.ids.size() == deletes_at_a_time;
    if (!p.ids.empty()) {
      state_->change(0, [&](store::connection& c) { delete_runs(c, p.ids); });
    }
    return p;
  });
}

pruned sqlite_ledger::prune_removed(const keep_limits& keep, instant now) {
  return state_->writing([&](store::connection& db) {
    pruned p;
    std::string after = state_->swept;
    std::string before;  // the name, to which we come back if it has more
    std::size_t looks = looks_at_a_time;
    while (p.ids.size() < deletes_at_a_time) {
      before = after;
      const auto name = next_removed(db, after, looks);
      if (!name) {
        break;
      }
      const auto ids = rows_to_go(db, *name, keep, now, deletes_at_a_time - p.ids.size());
      p.ids.insert(p.ids.end(), ids.begin(), ids.end());
      --looks;
    }
    if (!p.ids.empty()) {
      state_->change(0, [&](store::connection& c) { delete_runs(c, p.ids); });
    }
    state_->swept = p.ids.size() == deletes_at_a_time ? before : after;
    p.more = !after.empty();
    return p;
  });
}

void sqlite_ledger::backup() {
  const std::lock_guard guard{state_->backup_mutex};
  state_->minding_damage([&] {
    store::connection db{state_->path, store::access::write, state_->options.busy};
    copy_store(db, state_->good_path());
  });
  // It comes after pruning, which reads all there is.
  state_->writing([](store::connection& db) { db.free_cache(); });
}

}  // namespace rota::job
