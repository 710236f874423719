// The commands of the program as data: names, options, help, and what to do.
//
//   void add_greet(command& program) {
//     auto to = std::make_shared<std::string>("world");
//     command& greet = program.add("greet", "says hello");
//     greet.option({.name = "--to", .type = "NAME", .help = "whom to greet", .value = to.get()});
//     greet.run([to] { std::cout << "hello, " << *to << '\n'; return 0; });
//   }
//
// `--help` is there for each command, and `--config`: an option that is not on the command line may
// stand in a file, and behind that in the environment (configuration.h). Man pages (manual.h) and
// completion in shells (completion.h) are made of the same data. Only command_line.cpp knows the
// library that reads the words: it takes long to compile.
#ifndef ROTA_APPS_COMMAND_LINE_H
#define ROTA_APPS_COMMAND_LINE_H

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "configuration.h"

namespace rota::app {

struct option {
  std::string name;       // "--set"; without dashes for a word that stands by itself
  std::string type = {};  // what follows it, for the help: "NAME=VALUE"; a flag has nothing
  std::string help = {};
  // Where it goes; holds the default. A vector's option may be repeated.
  std::variant<bool*, std::string*, std::vector<std::string>*, std::uint32_t*, std::uint64_t*>
      value = static_cast<bool*>(nullptr);
  std::uint64_t least = 0;  // for numbers
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  bool bytes = false;      // a number of bytes, as 500MB
  std::string needs = {};  // an option without which it makes no sense
  bool required = false;
  // For completion: the words that it takes, where they are few, or the words after `rota` that
  // print them, a line each.
  std::vector<std::string> words = {};
  std::string words_by = {};
  // Also above all sections of the file, and as ROTA_NAME (configuration.h).
  bool everywhere = false;
};

// Something that a man page tells of: a variable of the environment, a file.
struct remark {
  std::string name;
  std::string help;
};

class command {
 public:
  command(std::string name, std::string help) : name_(std::move(name)), help_(std::move(help)) {}

  // A command below this one.
  command& add(std::string name, std::string help);
  // The heading in --help of the commands that are added from here on.
  void group(std::string heading) { heading_of_next_ = std::move(heading); }
  void option(app::option o) { options_.push_back(std::move(o)); }
  // What --help says at the end.
  void footer(std::function<std::string()> text) { footer_ = std::move(text); }
  // What else its man page tells: a variable that it reads, a file that it uses.
  void environment(std::string name, std::string text) {
    environment_.push_back({std::move(name), std::move(text)});
  }
  void file(std::string path, std::string text) {
    files_.push_back({std::move(path), std::move(text)});
  }
  // What --version prints; of the program, not of the commands below it.
  void version(std::string number) { version_ = std::move(number); }
  // The exit status for wrong usage of this command, if it is not 2.
  void usage_status(int status) { usage_status_ = status; }
  // What to do when it was chosen; gives the exit status. A command without needs one below it.
  void run(std::function<int()> action) { action_ = std::move(action); }

  const std::string& name() const { return name_; }
  const std::string& help() const { return help_; }
  const std::vector<app::option>& options() const { return options_; }
  const std::vector<std::unique_ptr<command>>& below() const { return below_; }
  const std::vector<remark>& environment() const { return environment_; }
  const std::vector<remark>& files() const { return files_; }
  const std::string& version() const { return version_; }
  std::string footer() const { return footer_ ? footer_() : ""; }
  int usage_status() const { return usage_status_; }
  bool runs() const { return static_cast<bool>(action_); }

 private:
  friend class command_line;

  std::string name_;
  std::string help_;
  std::string group_;            // its heading in the help of the one above
  std::string heading_of_next_;  // of those below
  std::vector<app::option> options_;
  std::vector<std::unique_ptr<command>> below_;
  std::vector<remark> environment_;
  std::vector<remark> files_;
  std::string version_;
  std::function<std::string()> footer_;
  std::function<int()> action_;
  int usage_status_ = 2;
};

// Wrong usage or bad input: the command ends with 2, and these words.
struct bad_input : std::runtime_error {
  using runtime_error::runtime_error;
};

// Says on standard error what is wrong: "rota NAME: MESSAGE". A message that begins with an option,
// as "--listen: ...", which came from the file or the environment, begins with that place instead.
void complain(const std::string& name, const std::string& message);

// Reads the words and does what they say. Exit status 2 (or what the command says), with a line
// that says what there is, if they make no sense, or if the command throws bad_input; 1 if it
// throws something else. Without a reader there is no file.
int run_command_line(command& program, int argc, char** argv, const file_reader& reader = {},
                     const std::string& default_file = {});

}  // namespace rota::app

#endif
