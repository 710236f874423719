# How the targets of this project are made. All of them get what they need from these functions
# and from the targets they link.

# The directories seen from here also when rota is part of another project.
set(rota_source_dir ${CMAKE_CURRENT_LIST_DIR}/..)
cmake_path(NORMAL_PATH rota_source_dir)

# Most sources include most of these.
set(rota_precompiled <algorithm> <array> <chrono> <coroutine> <cstdint> <deque> <functional> <map> <memory>
  <optional> <set> <span> <sstream> <stdexcept> <string> <string_view> <unordered_map> <utility> <vector>)

# rota_precompile(<target> [<header>...])
#
# Precompiles the headers that most sources include, and those given, if ROTA_PRECOMPILE asks for it.
# To do so takes as long as a few sources, so libraries that see the same sync.h share the outcome.
function(rota_precompile target)
  if(NOT ROTA_PRECOMPILE)
    return()
  endif()
  get_target_property(definitions ${target} COMPILE_DEFINITIONS)
  if(ARGN OR definitions MATCHES "ROTA_SYNC_HEADER" OR target STREQUAL "rota")
    target_precompile_headers(${target} PRIVATE ${rota_precompiled} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM rota)
  endif()
endfunction()

# rota_add_shared_header(<name> <header>...)
#
# A target of nothing but precompiled headers, which others reuse; it has to see what they see.
function(rota_add_shared_header name)
  file(WRITE ${PROJECT_BINARY_DIR}/${name}.cpp "")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cpp)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

# rota_unite(<target>)
#
# Compiles the sources of a target a few at a time, if ROTA_UNITY asks for it.
function(rota_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ROTA_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  # It means headers, and takes all sources but the one that includes them for such.
  if(ROTA_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# rota_add_library(<name> LAYERS <layer>... [HEADERS <file>...] [SYNC_HEADER <file>])
#
# A library of some layers, whose files are found by name, so that a new file is no change here.
# With SYNC_HEADER, a file or <a header>, that stands in for what base/sync.h names; whoever links the
# library sees the same.
function(rota_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SYNC_HEADER" "LAYERS;HEADERS")
  foreach(layer IN LISTS arg_LAYERS)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${rota_source_dir}/include/rota/${layer}/*.h)
    list(APPEND headers ${found})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${rota_source_dir}/src/${layer}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  add_library(${name})
  target_sources(${name}
    PRIVATE ${sources}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${rota_source_dir}/include FILES ${arg_HEADERS} ${headers})
  target_include_directories(${name} PRIVATE ${rota_source_dir}/src)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PUBLIC Threads::Threads)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF LINKER_LANGUAGE CXX)
  rota_unite(${name})
  if(ROTA_ASSERTIONS)
    target_compile_definitions(${name} PUBLIC ROTA_ASSERTIONS=1)
  endif()
  if(arg_SYNC_HEADER)
    if(NOT arg_SYNC_HEADER MATCHES "^<.*>$")
      if(NOT EXISTS "${arg_SYNC_HEADER}")
        message(FATAL_ERROR "${name}: the sync header ${arg_SYNC_HEADER} does not exist")
      endif()
      set(arg_SYNC_HEADER "\"${arg_SYNC_HEADER}\"")
    endif()
    target_compile_definitions(${name} PUBLIC "ROTA_SYNC_HEADER=${arg_SYNC_HEADER}")
  endif()
  rota_precompile(${name})
endfunction()

# rota_add_program(<name> <source>...)
#
# A program for users, at bin/<name> of the build directory. The target is called
# <name>_program, since the library has taken the name rota; `apps` builds all of them.
function(rota_add_program name)
  set(target ${name}_program)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE rota::rota)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  if(NOT TARGET apps)
    add_custom_target(apps)
  endif()
  add_dependencies(apps ${target})
endfunction()

# rota_add_example(<file>)
#
# A program that is also the test example_<name>: it exits with 0 and, where <name>.expected
# stands beside it, prints exactly that. Those in a folder coop, cron, job, verify, explore or explored link the
# library of that name.
function(rota_add_example file)
  cmake_path(GET file STEM name)
  cmake_path(GET file PARENT_PATH directory)
  cmake_path(GET directory FILENAME folder)
  set(library rota::rota)
  if(folder MATCHES "^(coop|cron|job|verify|explored?)$")
    set(library rota::${folder})
  endif()
  cmake_path(REPLACE_EXTENSION file LAST_ONLY .expected OUTPUT_VARIABLE expected)
  set(target example_${name})
  add_executable(${target} ${file})
  target_link_libraries(${target} PRIVATE ${library})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF OUTPUT_NAME ${name})
  if(ROTA_PRECOMPILE AND library STREQUAL "rota::rota")
    if(NOT TARGET rota_example_header)
      rota_add_shared_header(rota_example_header <rota/rota.h>)
      target_link_libraries(rota_example_header PRIVATE rota::rota)
    endif()
    target_precompile_headers(${target} REUSE_FROM rota_example_header)
  endif()
  add_test(NAME ${target}
    COMMAND ${CMAKE_COMMAND} -D program=$<TARGET_FILE:${target}> -D expected=${expected}
            -P ${rota_source_dir}/tests/support/run_example.cmake)
  set_tests_properties(${target} PROPERTIES LABELS example TIMEOUT ${ROTA_TEST_TIMEOUT})
  if(folder MATCHES "^explored?$")
    rota_forgive_leaks(${target})
  endif()
endfunction()

# rota_add_test(<file>)
#
# An executable and a test, both called <layer>_<stem of the file>, labelled with the layer. Those of
# verify, coop, cron, job, explore and explored link the library of that name.
# With ROTA_UNITY the files of a layer become one executable, <layer>_tests; the tests stay as they are.
# Those whose <layer>/<stem> matches rota_tests_alone stay alone.
# A file that ends in _stress_test.cpp is built a second time, with the suffix _shaken, against
# rota_shaken; both are labelled stress and get two processors, as far as there are so many.
function(rota_add_test file)
  cmake_path(GET file STEM stem)
  cmake_path(GET file PARENT_PATH directory)
  cmake_path(GET directory FILENAME layer)
  set(target ${layer}_${stem})
  if(stem MATCHES "_stress_test$")
    rota_add_test_program(${target} ${file} rota)
    set_tests_properties(${target} PROPERTIES LABELS "${layer};stress" PROCESSORS 2)
    if(TARGET rota_shaken)
      rota_add_test_program(${target}_shaken ${file} rota_shaken)
      set_tests_properties(${target}_shaken PROPERTIES
        LABELS "${layer};stress;shaken" PROCESSORS 2)
    endif()
  else()
    set(library rota)
    if(layer MATCHES "^(verify|coop|cron|job|explore|explored)$")
      set(library rota_${layer})
    endif()
    if(ROTA_UNITY AND NOT "${layer}/${stem}" MATCHES "${rota_tests_alone}")
      rota_add_united_test(${target} ${file} ${library} ${layer}_tests)
    else()
      rota_add_test_program(${target} ${file} ${library})
    endif()
    set_tests_properties(${target} PROPERTIES LABELS ${layer})
    if("${layer}/${stem}" MATCHES "^job/.*_conform_test$")  # Holds the layer against a model.
      target_link_libraries(${target} PRIVATE rota_verify)
    endif()
    if(layer MATCHES "^explored?$")
      rota_forgive_leaks(${target})
    endif()
  endif()
endfunction()

# A schedule that fails is given up with what stands on its stacks, also a text of the explorer: no
# business of AddressSanitizer.
function(rota_forgive_leaks test)
  set_tests_properties(${test} PROPERTIES
    ENVIRONMENT_MODIFICATION "ASAN_OPTIONS=string_append::detect_leaks=0")
endfunction()

# What tests against the given library have in common: they may look at private headers, and share
# a precompiled header, which halves the time to build them.
function(rota_prepare_test target library)
  target_link_libraries(${target} PRIVATE ${library} GTest::gtest GTest::gtest_main)
  target_include_directories(${target} PRIVATE ${rota_source_dir}/src ${rota_source_dir}/tests)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()

# An executable for tests against the given library. Which of the libraries it is makes no difference
# to the precompiled header, other than by its sync.h.
# Those that ROTA_PLAIN_TESTS names are not optimised: with a sanitizer, tests take three times as long to
# compile if they are, with g++ half as long again. It pays for those with many coroutines; those that
# compute much would lose more.
function(rota_add_test_executable target library)
  set(base rota)
  if(library MATCHES "^rota_(explored|shaken)$")
    set(base ${library})
  endif()
  set(shared ${base}_test_header)
  set(options)
  if(ROTA_PLAIN_TESTS AND target MATCHES "${ROTA_PLAIN_TESTS}")
    set(shared ${base}_plain_test_header)
    set(options -O0)
  endif()
  if(NOT TARGET ${shared})
    rota_add_shared_header(${shared} <gtest/gtest.h> <rota/rota.h>)
    rota_prepare_test(${shared} ${base})
    target_compile_options(${shared} PRIVATE ${options})
  endif()
  add_executable(${target})
  rota_prepare_test(${target} ${library})
  target_compile_options(${target} PRIVATE ${options})
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()

# The step that rota_add_test() takes once or twice.
function(rota_add_test_program target file library)
  rota_add_test_executable(${target} ${library})
  target_sources(${target} PRIVATE ${file})
  add_test(NAME ${target} COMMAND ${target})
  set_tests_properties(${target} PROPERTIES TIMEOUT ${ROTA_TEST_TIMEOUT})
endfunction()

# The same, but the file joins others in one executable, of which the test runs only what stands in
# the file.
function(rota_add_united_test test file library program)
  if(NOT TARGET ${program})
    rota_add_test_executable(${program} ${library})
    rota_unite(${program})
  endif()
  target_sources(${program} PRIVATE ${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} lines REGEX "^(TYPED_)?TEST(_F|_P)?\\(")
  set(filter)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[A-Z_]+\\(([A-Za-z_0-9]+).*" "\\1" suite "${line}")
    list(APPEND filter ${suite}.* */${suite}.*)
  endforeach()
  list(REMOVE_DUPLICATES filter)
  if(NOT filter)  # gtest would be content with nothing.
    message(FATAL_ERROR "${file} has no line that begins with TEST(")
  endif()
  list(JOIN filter : filter)
  add_test(NAME ${test} COMMAND ${program} --gtest_filter=${filter})
  set_tests_properties(${test} PROPERTIES TIMEOUT ${ROTA_TEST_TIMEOUT})
endfunction()

# rota_add_scenarios(<name> <source>...)
#
# A program of scenarios for the explorer, and a test explored_<scenario> for each of them.
function(rota_add_scenarios name)
  add_executable(${name} ${ARGN})
  rota_unite(${name})
  target_link_libraries(${name} PRIVATE rota_explored)
  target_include_directories(${name} PRIVATE ${rota_source_dir}/src ${rota_source_dir}/tests)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  foreach(source IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(STRINGS ${source} lines REGEX "^ +{\"[a-z_]+\\.[a-z_0-9]+\",")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^ +{\"([a-z_.0-9]+)\",.*" "\\1" scenario "${line}")
      add_test(NAME explored_${scenario} COMMAND ${name} ${scenario})
      set_tests_properties(explored_${scenario} PROPERTIES
        LABELS explored TIMEOUT ${ROTA_TEST_TIMEOUT})
      rota_forgive_leaks(explored_${scenario})
    endforeach()
  endforeach()
endfunction()
