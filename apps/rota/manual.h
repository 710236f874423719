// The man pages, made of the commands: `rota(1)` is the map, and each command of it has a page with
// all that stands below it.
//
//   man_page(program, nullptr)   // rota.1
//   man_page(program, &serve)    // rota-serve.1
#ifndef ROTA_APPS_MANUAL_H
#define ROTA_APPS_MANUAL_H

#include <string>

#include "command_line.h"

namespace rota::app {

// A page in roff. `page` is a command directly below the program; without it, the page of the
// program.
std::string man_page(const command& program, const command* page);

// `rota manual`: prints a page, or writes all of them to a folder. Add it last, it tells of the
// others.
void add_manual(command& program);

}  // namespace rota::app

#endif
