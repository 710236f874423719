// Makes equal rules and surroundings one object, so that a job has pointers instead of copies.
//
//   rota::job::interner shared;
//   auto a = shared.share(rules{...});   // equal rules, given later, are the same pointer
//
// What no job uses any more is forgotten. Threads: one at a time; what was shared is anyone's.
#ifndef ROTA_JOB_INTERNER_H
#define ROTA_JOB_INTERNER_H

#include <rota/job/definition.h>

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

namespace rota::job {

class interner {
 public:
  std::shared_ptr<const rota::job::rules> share(rota::job::rules r);
  std::shared_ptr<const rota::job::surroundings> share(rota::job::surroundings s);
  std::shared_ptr<const std::string> share(std::string s);

  // How many different ones are in use.
  std::size_t size() const noexcept;
  // The same, with those that are not yet forgotten.
  std::size_t kept() const noexcept {
    return rules_.size() + surroundings_.size() + strings_.size();
  }

 private:
  // By hash. Equal hashes stand beside each other; an entry that has expired is as good as gone.
  template <class T>
  using pool = std::unordered_multimap<std::size_t, std::weak_ptr<const T>>;

  template <class T>
  std::shared_ptr<const T> share_in(pool<T>& p, T value);

  pool<rota::job::rules> rules_;
  pool<rota::job::surroundings> surroundings_;
  pool<std::string> strings_;
  std::size_t since_sweep_ = 0;
};

}  // namespace rota::job

#endif
