# What `cmake --install` leaves behind: the libraries and their headers, a CMake package and a pkg-config
# file (the component `development`); the programs with man pages, completions, units of systemd and pages
# (the component `rota`). All of it finds itself from where it stands, so the tree can be moved.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rota)
set(libraries rota rota_coop ${scheduled} ${verifiers} ${explored})
install(TARGETS ${libraries} EXPORT rota-targets
  ARCHIVE COMPONENT development
  LIBRARY COMPONENT development
  FILE_SET HEADERS COMPONENT development)
install(EXPORT rota-targets NAMESPACE rota:: DESTINATION ${package_dir} COMPONENT development)
# Builds what is installed, and nothing else.
add_custom_target(installable)
add_dependencies(installable ${libraries})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rota-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/rota-config.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/rota-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/package/rota-config.cmake
  ${PROJECT_BINARY_DIR}/package/rota-config-version.cmake
  DESTINATION ${package_dir} COMPONENT development)

# pkg-config knows the folder of the file as ${pcfiledir}; the prefix is so many steps above it.
set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_prefix ${pc_dir} ${CMAKE_INSTALL_PREFIX})
set(pc_prefix "\${pcfiledir}/${pc_prefix}")
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(pc_cflags "")
if(ROTA_ASSERTIONS)
  set(pc_cflags " -DROTA_ASSERTIONS=1")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/rota.pc.in ${PROJECT_BINARY_DIR}/package/rota.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/rota.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

if(NOT TARGET rota_program)
  return()
endif()
add_dependencies(installable apps)
install(TARGETS rota_program RUNTIME COMPONENT rota)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT rota)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT rota)
# Without the pages, for who builds for another machine.
if(TARGET rota_manual)
  install(DIRECTORY ${manual_dir}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT rota)
  install(FILES ${manual_dir}/rota.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME rota COMPONENT rota)
  install(FILES ${manual_dir}/rota.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT rota)
endif()
if(ROTA_JOBS)
  install(FILES packaging/rota-runner.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT rota)
  install(DIRECTORY examples/first_jobs examples/jobs packaging/rota.service.d
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT rota)
endif()
# What depends on the prefix, which may be given as late as with `cmake --install --prefix`.
set(install_places ${CMAKE_CURRENT_LIST_DIR}/rota_install_places.cmake)
install(CODE "set(source_dir \"${PROJECT_SOURCE_DIR}\")
set(scratch \"${PROJECT_BINARY_DIR}/package\")
set(bindir \"${CMAKE_INSTALL_BINDIR}\")
set(datadir \"${CMAKE_INSTALL_DATADIR}\")
set(zsh_script \"$<$<TARGET_EXISTS:rota_manual>:${manual_dir}/_rota>\")
set(jobs \"${ROTA_JOBS}\")
include(\"${install_places}\")" COMPONENT rota)
