#include "interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <ctime>

namespace rota::app {

namespace {

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

interrupt::interrupt() {
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  listener_ = std::jthread([this](const std::stop_token& over) { listen(over); });
}

interrupt::~interrupt() {
  listener_.request_stop();
  listener_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void interrupt::listen(const std::stop_token& over) {
  const sigset_t set = interrupts();
  const timespec moment{0, 50'000'000};
  while (!over.stop_requested())
    if (sigtimedwait(&set, nullptr, &moment) > 0 && !stop_.request_stop()) _exit(exit_status);
}

}  // namespace rota::app
