// Lets tests map what an object holds to the state of a model.
#ifndef ROTA_BASE_INSPECT_H
#define ROTA_BASE_INSPECT_H

namespace rota::detail {

// A friend of whatever has a spec. Defined by the tests (tests/support/inspect.h), nowhere else.
struct inspect;

}  // namespace rota::detail

#endif
