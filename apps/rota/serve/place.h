// Where a daemon lives: its state directory, and the files in it that are secret or its own.
//
//   token       what opens the page and the API on TCP; 0600
//   rota.sock   the unix socket
//   ledger.db   the ledger
//   runs/ logs/ what the runners write; the launcher's lock there keeps a second daemon out
//   last_good/  the last good version of each table
//
// The directory is 0700; root's is 0711, so that users reach the socket, and see nothing else.
#ifndef ROTA_APPS_SERVE_PLACE_H
#define ROTA_APPS_SERVE_PLACE_H

#include <sys/types.h>

#include <string>
#include <string_view>

namespace rota::app {

// The default: /var/lib/rota for root, $XDG_STATE_HOME/rota or ~/.local/state/rota for others.
std::string default_state_directory(uid_t uid);

class place {
 public:
  // Makes the directory if need be. Throws bad_input (door.h) if somebody else owns it.
  explicit place(std::string directory);

  const std::string& directory() const { return directory_; }
  std::string file(std::string_view name) const;

 private:
  std::string directory_;
};

// The token in that file; made up if there is none. Throws bad_input if others can read it.
std::string token_of(const std::string& file);

// All or nothing, and durable: into a file beside it, which then takes its name. Throws
// std::system_error.
void write_whole_file(const std::string& path, std::string_view text);

// Nothing there: empty. Throws std::system_error, also if it has more than `most` bytes.
std::string read_whole_file(const std::string& path, std::size_t most);

}  // namespace rota::app

#endif
