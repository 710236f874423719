// Starts the program of a run, as the right user and with nothing of ours.
//
// The child shares our memory until it becomes the program (as with vfork), so nothing is copied,
// and what goes wrong in it is written down where we see it. While it is not the program yet, it
// may already be somebody else's process. He cannot reach our memory through it: to change the user
// makes the memory one that only root may trace.
//
// The order is: session, standard files, priority, groups, group, user, and only then what a path
// of the user can influence: directory, environment file, the program.
//
// Not promised: a timeout while a directory or the program's file hangs (a dead network drive); we
// wait for the child as every spawn does. NO_NEW_PRIVS stays off, since cron jobs may call sudo.
#ifndef ROTA_RUNNER_PROGRAM_H
#define ROTA_RUNNER_PROGRAM_H

#include <sys/types.h>

#include "request.h"
#include "text.h"

namespace rota::runner {

using note = text<job::wire::most_note>;

// The pid of the program, which leads a session and a group of its own; -1: it could not be
// started, and `why` says what and what would be right.
pid_t start_program(request& r, int input, int output, note& why) noexcept;

}  // namespace rota::runner

#endif
