// What bench/job/spawn starts: a program that does nothing but say when it started.
//
//   job_stamp FILE SLOT
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  if (argc != 3) return 2;
  const int64_t now = int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  const int file = open(argv[1], O_WRONLY);
  const off_t at = static_cast<off_t>(strtoll(argv[2], nullptr, 10)) * 8;
  return pwrite(file, &now, sizeof(now), at) == sizeof(now) ? 0 : 1;
}
