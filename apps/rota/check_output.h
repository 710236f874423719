// What `rota check` prints: for people, or as JSON.
#ifndef ROTA_APPS_CHECK_OUTPUT_H
#define ROTA_APPS_CHECK_OUTPUT_H

#include <rota/verify/checker/catalogue.h>
#include <rota/verify/checker/check.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rota::app {

// A number with commas between the thousands: 11,589,006.
std::string grouped(std::uint64_t n);

// What was checked.
struct subject {
  const verify::model_entry& entry;
  const verify::system& system;
  std::vector<verify::setting> settings;  // all constants
};

// "Cowns=3, BehaviourLimit=3, OverloadThreshold=2".
std::string text_of(const std::vector<verify::setting>& settings);

// A sentence on what was searched, and whether it was everything.
std::string summary_of(const verify::check_result& r);
std::string summary_of(const verify::simulate_result& r);

// Verdicts, then the counterexamples of those whose trace is wanted.
void print_properties(const subject& s, const std::vector<verify::property_result>& properties,
                      const std::vector<std::size_t>& asked);

// Actions that no step took: where the model may prove less than it seems to.
void print_never_taken(const subject& s, const std::vector<std::uint64_t>& taken);

nlohmann::ordered_json to_json(const subject& s, const verify::check_result& r);
nlohmann::ordered_json to_json(const subject& s, const verify::simulate_result& r);

// The line on the terminal that tells how far a search is.
class progress_line {
 public:
  progress_line();
  ~progress_line();
  void show(const verify::progress& p);

 private:
  bool terminal_;
  bool shown_ = false;
};

}  // namespace rota::app

#endif
