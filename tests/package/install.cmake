# Installs a build into a fresh prefix: what an older build left there would hide a missing file.
#
#   cmake -D build=<folder> -D scratch=<folder> -D prefix=<folder> -P install.cmake

file(REMOVE_RECURSE ${scratch})
execute_process(
  COMMAND ${CMAKE_COMMAND} --install ${build} --prefix ${prefix}
  COMMAND_ERROR_IS_FATAL ANY)

# The program comes with all that is read or typed, and with units that name it where it is.
if(EXISTS ${prefix}/bin/rota)
  set(files share/man/man1/rota.1 share/man/man1/rota-check.1 share/bash-completion/completions/rota
    share/zsh/site-functions/_rota share/fish/vendor_completions.d/rota.fish share/doc/rota/README.md
    share/doc/rota/docs/installing.md)
  if(EXISTS ${prefix}/libexec/rota/rota-runner)
    list(APPEND files share/man/man8/rota-runner.8 share/systemd/user/rota.service
      lib/systemd/system/rota.service)
  endif()
  foreach(file IN LISTS files)
    if(NOT EXISTS ${prefix}/${file})
      message(FATAL_ERROR "${file} was not installed")
    endif()
    file(READ ${prefix}/${file} text)
    if(file MATCHES "service$" AND NOT text MATCHES "ExecStart=${prefix}/bin/rota serve ")
      message(FATAL_ERROR "${file} does not name ${prefix}/bin/rota:\n${text}")
    endif()
  endforeach()
  execute_process(COMMAND ${prefix}/bin/rota --version COMMAND_ERROR_IS_FATAL ANY)
endif()
