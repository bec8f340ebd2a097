# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, beyond the binaries, backends and plugins, which their own folders
# install.  An author's out-of-tree plugin needs the headers and the package:
#     find_package(trigd REQUIRED)
#     trg_add_plugin(NAME)
include(CMakePackageConfigHelpers)
set(trigd_package ${CMAKE_INSTALL_LIBDIR}/cmake/trigd)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/trigd DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
# the tool that makes plugins, and those that it copies
install(PROGRAMS ${CMAKE_SOURCE_DIR}/tools/new-plugin DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME trigd-new-plugin)
file(GLOB tutorial LIST_DIRECTORIES true CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/tut_*)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/plugins/example ${tutorial} DESTINATION ${CMAKE_INSTALL_DATADIR}/trigd/plugins)
install(FILES ${CMAKE_SOURCE_DIR}/proto/trigd.proto DESTINATION ${CMAKE_INSTALL_DATADIR}/trigd)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/trigdConfig.cmake.in
    ${CMAKE_BINARY_DIR}/trigdConfig.cmake INSTALL_DESTINATION ${trigd_package}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/trigdConfigVersion.cmake
    COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/trigdConfig.cmake ${CMAKE_BINARY_DIR}/trigdConfigVersion.cmake
    ${CMAKE_CURRENT_LIST_DIR}/TrigdPlugin.cmake ${CMAKE_CURRENT_LIST_DIR}/trg_kernel.py
    ${CMAKE_CURRENT_LIST_DIR}/TrigdCollections.cmake ${CMAKE_CURRENT_LIST_DIR}/trg_declare.py
    DESTINATION ${trigd_package})

# configurations, which are the operator's once they are there, and the unit with the paths of this prefix
configure_file(${CMAKE_CURRENT_LIST_DIR}/install_system.cmake.in ${CMAKE_BINARY_DIR}/install_system.cmake @ONLY)
install(SCRIPT ${CMAKE_BINARY_DIR}/install_system.cmake)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/trigd.sysusers DESTINATION lib/sysusers.d RENAME trigd.conf)
