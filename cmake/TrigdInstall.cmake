# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, beyond the binaries, backends and plugins, which their own folders
# install.  An author's out-of-tree plugin needs the headers and the package:
#     find_package(trigd REQUIRED)
#     trg_add_plugin(NAME)
include(CMakePackageConfigHelpers)
set(trigd_package ${CMAKE_INSTALL_LIBDIR}/cmake/trigd)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/trigd DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libtrigd-dev
    FILES_MATCHING PATTERN "*.h")
# the tool that makes plugins, and those that it copies
install(PROGRAMS ${CMAKE_SOURCE_DIR}/tools/new-plugin DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME trigd-new-plugin
    COMPONENT libtrigd-dev)
file(GLOB tutorial LIST_DIRECTORIES true CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/tut_*)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/plugins/example ${tutorial} DESTINATION ${CMAKE_INSTALL_DATADIR}/trigd/plugins
    COMPONENT libtrigd-dev)
install(FILES ${CMAKE_SOURCE_DIR}/proto/trigd.proto DESTINATION ${CMAKE_INSTALL_DATADIR}/trigd COMPONENT libtrigd-dev)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/trigdConfig.cmake.in
    ${CMAKE_BINARY_DIR}/trigdConfig.cmake INSTALL_DESTINATION ${trigd_package}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/trigdConfigVersion.cmake
    COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/trigdConfig.cmake ${CMAKE_BINARY_DIR}/trigdConfigVersion.cmake
    ${CMAKE_CURRENT_LIST_DIR}/TrigdPlugin.cmake ${CMAKE_CURRENT_LIST_DIR}/trg_kernel.py
    ${CMAKE_CURRENT_LIST_DIR}/TrigdCollections.cmake ${CMAKE_CURRENT_LIST_DIR}/trg_declare.py
    DESTINATION ${trigd_package} COMPONENT libtrigd-dev)

# examples, which run as they are once they are copied to a folder of one's own
install(DIRECTORY ${CMAKE_SOURCE_DIR}/configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/trigd/configs
    FILES_MATCHING PATTERN "*.yaml" PATTERN "*.in" PATTERN "*.conf" PATTERN "*.sbatch" PATTERN state EXCLUDE)
# alert rules and a dashboard for the monitoring of a site
install(FILES ${CMAKE_SOURCE_DIR}/packaging/prometheus/trigd.rules.yml DESTINATION ${CMAKE_INSTALL_DATADIR}/trigd/prometheus)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/grafana/trigd.json DESTINATION ${CMAKE_INSTALL_DATADIR}/trigd/grafana)
# what belongs to a system: configurations of services, which are the operator's once they are there, units with the
# paths of this prefix, user and group
configure_file(${CMAKE_CURRENT_LIST_DIR}/install_system.cmake.in ${CMAKE_BINARY_DIR}/install_system.cmake @ONLY)
install(SCRIPT ${CMAKE_BINARY_DIR}/install_system.cmake COMPONENT trigd-system)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/trigd.sysusers DESTINATION lib/sysusers.d RENAME trigd.conf
    COMPONENT trigd-system)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/trigd.tmpfiles DESTINATION lib/tmpfiles.d RENAME trigd.conf
    COMPONENT trigd-system)
