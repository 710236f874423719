#include "explored/scenarios.h"

int main(int argc, char** argv) {
  return rota::explore::main(argc, argv, rota::scenarios::known());
}
