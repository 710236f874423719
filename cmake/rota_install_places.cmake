# Run by `cmake --install`, when the prefix is known: the units of systemd, which name the program, and zsh's
# completion, whose place is not the same below /usr and elsewhere.
#
# Needs source_dir, scratch, bindir, datadir, zsh_script and jobs.

set(bin ${CMAKE_INSTALL_PREFIX}/${bindir})
if(IS_ABSOLUTE "${bindir}")
  set(bin ${bindir})
endif()

# install_unit(<file> <folder below the prefix>)
function(install_unit file folder)
  cmake_path(GET file FILENAME name)
  file(READ ${source_dir}/packaging/${file} text)
  string(REPLACE "/usr/bin/rota" "${bin}/rota" text "${text}")
  file(WRITE ${scratch}/${folder}/${name} "${text}")
  file(INSTALL ${scratch}/${folder}/${name} DESTINATION ${CMAKE_INSTALL_PREFIX}/${folder})
endfunction()

if(jobs)
  # systemd looks here below /usr and /usr/local; for units of users below ~/.local too.
  install_unit(rota.service lib/systemd/system)
  install_unit(user/rota.service share/systemd/user)
endif()

if(zsh_script)
  set(folder site-functions)
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(folder vendor-completions)
  endif()
  file(INSTALL ${zsh_script} DESTINATION ${CMAKE_INSTALL_PREFIX}/${datadir}/zsh/${folder})
endif()
