// The file with options, in TOML: a section for each command (configuration.h).
#ifndef ROTA_APPS_CONFIGURATION_FILE_H
#define ROTA_APPS_CONFIGURATION_FILE_H

#include "configuration.h"

namespace rota::app {

// /etc/rota/config.toml for root; $XDG_CONFIG_HOME/rota/config.toml or ~/.config/rota/config.toml
// for others.
std::string default_configuration_file();

// Promised, since what stands there says which programs are run: the file is root's or the user's
// own, nobody else can write it or its directory, and it is no link.
std::vector<setting> read_configuration_file(const std::string& path, bool wanted);

}  // namespace rota::app

#endif
