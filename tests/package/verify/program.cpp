// A program that needs the checker of an installed Rota, and one of its models.

#include <rota/verify/checker/check.h>
#include <rota/verify/models/models.h>

int main() {
  for (const auto& entry : rota::verify::models())
    if (entry.name == "scheduler")
      return rota::verify::check(*entry.make({})).distinct == 152 ? 0 : 1;
  return 1;
}
