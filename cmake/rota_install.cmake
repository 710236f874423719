# What `cmake --install` leaves behind: the libraries and their headers, the programs, a CMake package
# and a pkg-config file. All of it finds itself from where it stands, so the tree can be moved.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rota)
install(TARGETS rota rota_coop ${scheduled} ${verifiers} ${explored} EXPORT rota-targets FILE_SET HEADERS)
install(EXPORT rota-targets NAMESPACE rota:: DESTINATION ${package_dir})
if(TARGET rota_program)
  install(TARGETS rota_program)
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rota-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/rota-config.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/rota-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/package/rota-config.cmake
  ${PROJECT_BINARY_DIR}/package/rota-config-version.cmake
  DESTINATION ${package_dir})

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
install(FILES ${PROJECT_BINARY_DIR}/package/rota.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
