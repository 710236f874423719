#include <rota/event/bus.h>

#include <rota/base/sync.h>

#include <map>
#include <stdexcept>
#include <utility>

#include "event/bus_state.h"
#include "event/inproc.h"
#include "event/loopback.h"
#include "event/names.h"

namespace rota {

namespace {

struct registry {
  sync::mutex mutex;
  std::map<std::string, transport_factory, std::less<>> all;  // guarded by mutex

  registry() {
    all.emplace("inproc", [](detail::executor& home, std::string_view) {
      return std::make_unique<detail::inproc>(home);
    });
    all.emplace("loop", [](detail::executor& home, std::string_view) {
      return std::make_unique<detail::loopback>(std::make_unique<detail::inproc>(home));
    });
  }
  static registry& get() {
    static registry r;
    return r;
  }
};

// Made when the program begins, not inside of an explored schedule, whose memory goes with it.
[[maybe_unused]] const registry& made_early = registry::get();

}  // namespace

std::unique_ptr<transport> make_transport(detail::executor& home, std::string_view address) {
  transport_factory make;
  std::string known;
  {
    registry& r = registry::get();
    const std::lock_guard guard{r.mutex};
    const std::size_t colon = address.find(':');
    if (colon != std::string_view::npos)
      if (const auto found = r.all.find(address.substr(0, colon)); found != r.all.end())
        make = found->second;
    for (const auto& [scheme, factory] : r.all) known += (known.empty() ? "" : ", ") + scheme + ":";
  }
  if (!make)
    throw std::invalid_argument("there is no transport for the bus " + detail::quoted(address) +
                                "; known are " + known);
  return make(home, address);
}

void register_transport(std::string scheme, transport_factory make) {
  registry& r = registry::get();
  const std::lock_guard guard{r.mutex};
  if (!r.all.emplace(scheme, std::move(make)).second)
    throw std::invalid_argument("the transport " + detail::quoted(scheme) +
                                " is registered already");
}

bus::bus(runtime& rt, std::string_view address)
    : bus(rt, [&](detail::executor& home) { return make_transport(home, address); }) {}

bus::bus(runtime& rt, const maker& make) : state_(detail::make_counted<state>(rt)) {
  try {
    state_->way = make(state_->handlers);
  } catch (...) {
    state_->handlers.stop();
    throw;
  }
}

bus::~bus() { state_->handlers.stop(); }

rota::graph bus::graph() const { return state_->way->graph(); }

transport_capabilities bus::capabilities() const { return state_->way->capabilities(); }

bus_statistics bus::statistics() const {
  const auto t = state_->handlers.schedule().statistics();
  bus_statistics s;
  s.handlers = t.handlers;
  s.queued = t.queued;
  s.runs = t.runs;
  s.steps = t.steps;
  s.max_passed = t.max_passed;
  s.bound = t.most_handlers > 0 ? t.most_handlers - 1 : 0;
  return s;
}

runtime& bus::home() const noexcept { return state_->handlers.home(); }

}  // namespace rota
