#include <rota/job/interner.h>

#include <algorithm>
#include <functional>

namespace rota::job {

namespace {

// What differs most between jobs is enough: equality has the last word.
class intern_hasher {
 public:
  template <class T>
  intern_hasher& add(const T& value) {
    sum_ = (sum_ ^ std::hash<T>{}(value)) * 0x9E3779B97F4A7C15u;
    sum_ ^= sum_ >> 32;
    return *this;
  }
  std::size_t sum() const noexcept { return sum_; }

 private:
  std::size_t sum_ = 0;
};

std::size_t intern_hash(const rules& r) {
  intern_hasher h;
  h.add(static_cast<int>(r.overlap)).add(static_cast<int>(r.catchup)).add(r.deadline.count());
  h.add(r.timeout.count()).add(r.grace.count()).add(r.absence.count());
  h.add(r.retry.count).add(r.retry.delay.count()).add(r.group).add(r.after.size());
  for (const dependency& d : r.after) h.add(d.job);
  return h.sum();
}

std::size_t intern_hash(const surroundings& s) {
  intern_hasher h;
  for (const auto& [name, value] : s.environment) h.add(name).add(value);
  h.add(s.environment_file).add(s.user).add(s.group).add(s.directory).add(s.shell);
  h.add(s.umask.value_or(~mode_t{0})).add(s.nice).add(s.output_limit).add(s.keep_runs);
  h.add(s.keep_for.count()).add(s.alerts.mail).add(s.alerts.web_hook);
  return h.sum();
}

std::size_t intern_hash(const std::string& s) { return std::hash<std::string>{}(s); }

template <class Pool>
std::size_t pool_in_use(const Pool& p) {
  return static_cast<std::size_t>(
      std::count_if(p.begin(), p.end(), [](const auto& e) { return !e.second.expired(); }));
}

}  // namespace

template <class T>
std::shared_ptr<const T> interner::share_in(pool<T>& p, T value) {
  const std::size_t hash = intern_hash(value);
  const auto [first, last] = p.equal_range(hash);
  for (auto i = first; i != last; ++i)
    if (auto known = i->second.lock(); known && *known == value) return known;
  // The sweep takes as long as there are entries, so it waits until half of them are new.
  if (++since_sweep_ > kept() / 2 + 64) {
    const auto gone = [](const auto& e) { return e.second.expired(); };
    std::erase_if(rules_, gone);
    std::erase_if(surroundings_, gone);
    std::erase_if(strings_, gone);
    since_sweep_ = 0;
  }
  // Not make_shared: a weak pointer would keep the memory of what nobody uses.
  std::shared_ptr<const T> fresh{new T(std::move(value))};
  p.emplace(hash, fresh);
  return fresh;
}

std::shared_ptr<const rules> interner::share(rota::job::rules r) {
  return share_in(rules_, std::move(r));
}

std::shared_ptr<const surroundings> interner::share(rota::job::surroundings s) {
  return share_in(surroundings_, std::move(s));
}

std::shared_ptr<const std::string> interner::share(std::string s) {
  return share_in(strings_, std::move(s));
}

std::size_t interner::size() const noexcept {
  return pool_in_use(rules_) + pool_in_use(surroundings_) + pool_in_use(strings_);
}

}  // namespace rota::job
