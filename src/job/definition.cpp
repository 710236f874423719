#include <rota/job/definition.h>

#include <rota/job/run.h>

namespace rota::job {

namespace {

// A rule is the same if it is the same object, which is usual, or has the same contents.
template <class T>
bool alike(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || *a == *b;
}

}  // namespace

bool same(const definition& a, const definition& b) {
  return a.name == b.name && a.owner == b.owner && a.when == b.when && a.command == b.command &&
         alike(a.rules, b.rules) && alike(a.surroundings, b.surroundings);
}

std::string_view to_text(overlap_rule r) noexcept {
  switch (r) {
    case overlap_rule::skip:
      return "skip";
    case overlap_rule::queue:
      return "queue";
    case overlap_rule::allow:
      return "allow";
    case overlap_rule::replace:
      return "replace";
  }
  return "?";
}

std::string_view to_text(catchup_rule r) noexcept {
  switch (r) {
    case catchup_rule::none:
      return "none";
    case catchup_rule::one:
      return "one";
    case catchup_rule::all:
      return "all";
  }
  return "?";
}

std::string_view to_text(unknown_rule r) noexcept {
  switch (r) {
    case unknown_rule::report:
      return "report";
    case unknown_rule::rerun:
      return "rerun";
  }
  return "?";
}

std::string_view to_text(dependency_on d) noexcept {
  switch (d) {
    case dependency_on::success:
      return "success";
    case dependency_on::failure:
      return "failure";
    case dependency_on::any:
      return "any";
  }
  return "?";
}

std::string_view to_text(trigger t) noexcept {
  switch (t) {
    case trigger::schedule:
      return "schedule";
    case trigger::catchup:
      return "catchup";
    case trigger::retry:
      return "retry";
    case trigger::manual:
      return "manual";
    case trigger::after:
      return "after";
    case trigger::reboot:
      return "reboot";
  }
  return "?";
}

std::string_view to_text(phase p) noexcept {
  switch (p) {
    case phase::due:
      return "due";
    case phase::launched:
      return "launched";
    case phase::over:
      return "over";
  }
  return "?";
}

std::string_view to_text(outcome o) noexcept {
  switch (o) {
    case outcome::none:
      return "none";
    case outcome::success:
      return "success";
    case outcome::failed:
      return "failed";
    case outcome::signalled:
      return "signalled";
    case outcome::timed_out:
      return "timed_out";
    case outcome::cancelled:
      return "cancelled";
    case outcome::replaced:
      return "replaced";
    case outcome::skipped:
      return "skipped";
    case outcome::not_started:
      return "not_started";
    case outcome::lost:
      return "lost";
    case outcome::unknown:
      return "unknown";
  }
  return "?";
}

std::string_view to_text(reason r) noexcept {
  switch (r) {
    case reason::none:
      return "none";
    case reason::missed:
      return "missed";
    case reason::too_old:
      return "too_old";
    case reason::overlap:
      return "overlap";
    case reason::queue_full:
      return "queue_full";
    case reason::paused:
      return "paused";
    case reason::removed:
      return "removed";
  }
  return "?";
}

}  // namespace rota::job
