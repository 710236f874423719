// Pages of text that follow each other: on a terminal each takes the place of the one before.
#ifndef ROTA_APPS_LIVE_PAGE_H
#define ROTA_APPS_LIVE_PAGE_H

#include <unistd.h>

#include <iostream>
#include <string>

namespace rota::app {

class live_page {
 public:
  void show(const std::string& text) {
    // From the top of the screen, and nothing below.
    std::cout << (on_terminal_ ? "\x1b[H\x1b[J" : "") << text;
    std::cout.flush();
  }

 private:
  const bool on_terminal_ = ::isatty(STDOUT_FILENO) != 0;
};

}  // namespace rota::app

#endif
