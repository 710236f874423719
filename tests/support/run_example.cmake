# Runs an example and compares what it prints with what is expected.
#
#   cmake -D program=<executable> -D expected=<file> -P run_example.cmake
#
# Without the file, it is enough that the example exits with 0.

cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${program} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message("${printed}")
  message(FATAL_ERROR "${program} ended with ${status}, expected 0")
endif()
if(NOT EXISTS ${expected})
  message("${printed}")
  return()
endif()

file(READ ${expected} wanted)
if(NOT printed STREQUAL wanted)
  set(actual ${program}.printed)
  file(WRITE ${actual} "${printed}")
  execute_process(COMMAND diff -u ${expected} ${actual})
  message(FATAL_ERROR "${program} printed ${actual}, expected ${expected}")
endif()
