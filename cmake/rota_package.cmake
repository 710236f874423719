# The Debian packages: `rota`, the program with its daemon, and `librota-dev`, to build programs with.
#
#   ./run package        # or, after `cmake --build build/release --target installable`:
#   cpack --config build/release/CPackConfig.cmake -B build/package

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rota)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Rota maintainers <rota@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # Each package has its own, as the first line.
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL rota development)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# As dpkg has them, whatever the umask of whoever builds.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_ROTA_PACKAGE_NAME rota)
set(CPACK_DEBIAN_ROTA_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_ROTA_PACKAGE_SHLIBDEPS ON)
# The zones are read at run time; what is linked is found by dpkg-shlibdeps.
set(CPACK_DEBIAN_ROTA_PACKAGE_DEPENDS tzdata)
set(CPACK_DEBIAN_ROTA_PACKAGE_SUGGESTS "default-mta | mail-transport-agent")
set(CPACK_DEBIAN_ROTA_DESCRIPTION "job daemon with a page, in place of cron, and tools of a runtime
rota serve runs programs when they are due, from crontabs and TOML files:
never more than so many at once, none lost and none twice, also across a
crash or an upgrade; with retries, timeouts, dependencies, alerts, history
and a page on loopback. rota check searches the specs of its protocols,
rota coop runs the languages of fair scheduling, rota topic, rota top and
rota trace look into programs that are built with librota-dev.

The service is neither enabled nor started by the installation, since it
takes the place of cron; /usr/share/doc/rota/README.Debian says how to.")
set(CPACK_DEBIAN_ROTA_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/packaging/debian/postinst
  ${PROJECT_SOURCE_DIR}/packaging/debian/prerm
  ${PROJECT_SOURCE_DIR}/packaging/debian/postrm)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME librota-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libstdc++-12-dev | libstdc++-dev, libabsl-dev, libsqlite3-dev, libtomlplusplus-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "C++20 runtime of fair tasks, cowns, topics and jobs
Cooperative tasks, behaviours over shared state, event handlers and
scheduled jobs on one pool of workers, with promises that are specs:
nothing ready starves, no wake-up is lost, queues stay bounded, a deadlock
is reported. With the model checker and the explorer that hold them, for
programs of one's own; for CMake (find_package) and pkg-config.")

# What Debian wants beyond `cmake --install`: done by a script when all is in place.
configure_file(${CMAKE_CURRENT_LIST_DIR}/rota_package_files.cmake.in
  ${PROJECT_BINARY_DIR}/package/rota_package_files.cmake @ONLY)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_BINARY_DIR}/package/rota_package_files.cmake)
include(CPack)
