// Everything that a program needs.
#ifndef ROTA_ROTA_H
#define ROTA_ROTA_H

#include <rota/cown/cown.h>
#include <rota/cown/pressure.h>
#include <rota/cown/pump.h>
#include <rota/cown/result.h>
#include <rota/cown/when.h>
#include <rota/event/bus.h>
#include <rota/event/codec.h>
#include <rota/event/fault.h>
#include <rota/event/inspector.h>
#include <rota/event/message.h>
#include <rota/event/node.h>
#include <rota/event/options.h>
#include <rota/event/qos.h>
#include <rota/event/schema.h>
#include <rota/event/service.h>
#include <rota/event/topic.h>
#include <rota/event/transport.h>
#include <rota/pool/options.h>
#include <rota/pool/stats.h>
#include <rota/task/blocking.h>
#include <rota/task/channel.h>
#include <rota/task/errors.h>
#include <rota/task/event.h>
#include <rota/task/fork.h>
#include <rota/task/group.h>
#include <rota/task/guard.h>
#include <rota/task/mutex.h>
#include <rota/task/observer.h>
#include <rota/task/runtime.h>
#include <rota/task/semaphore.h>
#include <rota/task/spawn.h>
#include <rota/task/task.h>
#include <rota/task/when.h>
#include <rota/time/alarm.h>
#include <rota/time/sleep.h>

#endif
