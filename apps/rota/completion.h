// What a shell needs to complete the words of the program, made of the commands.
//
//   source <(rota completion bash)
#ifndef ROTA_APPS_COMPLETION_H
#define ROTA_APPS_COMPLETION_H

#include <string>

#include "command_line.h"

namespace rota::app {

// Scripts that the shells read; each needs nothing but its shell.
std::string bash_completion(const command& program);
std::string zsh_completion(const command& program);
std::string fish_completion(const command& program);

// `rota completion`. The scripts tell of all commands, also of those that are added later.
void add_completion(command& program);

}  // namespace rota::app

#endif
