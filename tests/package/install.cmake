# Installs a build into a fresh prefix: what an older build left there would hide a missing file.
#
#   cmake -D build=<folder> -D scratch=<folder> -D prefix=<folder> -P install.cmake

file(REMOVE_RECURSE ${scratch})
execute_process(
  COMMAND ${CMAKE_COMMAND} --install ${build} --prefix ${prefix}
  COMMAND_ERROR_IS_FATAL ANY)
