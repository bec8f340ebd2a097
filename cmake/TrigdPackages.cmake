# SPDX-License-Identifier: Apache-2.0
# Debian packages and a tarball, by CPack (`make packages`).  A component is a package of that name; trigd-system, which
# has the paths of one prefix, goes into the package trigd and not into the tarball.
set(CPACK_PACKAGE_NAME trigd)
set(CPACK_PACKAGE_VENDOR "the trigd project")
set(CPACK_PACKAGE_CONTACT "the trigd project <trigd@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME trigd-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/packaging/cpack.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib) # libtrigd-client, for trigreplay
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
# packages of one release of Debian do not fit the next: their revision names it
file(STRINGS /etc/os-release release REGEX "^(ID|VERSION_ID)=")
list(TRANSFORM release REPLACE "^[A-Z_]*=\"?([^\"]*)\"?$" "\\1")
list(SORT release)
list(REVERSE release)
list(JOIN release "" release)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~${release})

function(trigd_package name summary)
    cmake_parse_arguments(P "" "" "DEPENDS;RECOMMENDS;SUGGESTS;SECTION;ARCHITECTURE;EXTRA" ${ARGN})
    string(TOUPPER ${name} key)
    set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name} PARENT_SCOPE)
    set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}" PARENT_SCOPE)
    set(CPACK_COMPONENT_${key}_DESCRIPTION "${summary}" PARENT_SCOPE)
    foreach(field DEPENDS RECOMMENDS SUGGESTS SECTION ARCHITECTURE)
        list(JOIN P_${field} ", " text)
        if(text)
            set(CPACK_DEBIAN_${key}_PACKAGE_${field} "${text}" PARENT_SCOPE)
        endif()
    endforeach()
    set(CPACK_DEBIAN_${key}_PACKAGE_CONTROL_EXTRA "${P_EXTRA}" PARENT_SCOPE)
    install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} RENAME copyright
        COMPONENT ${name})
endfunction()

# of this release exactly: what a plugin, a backend and a daemon say to each other has no version of its own
set(same "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(scripts ${CMAKE_SOURCE_DIR}/packaging/debian)
trigd_package(trigd "trigger daemon for online farms
RoIs arrive as protobuf messages over ZeroMQ or through shared memory and are batched into algorithm plugins, which run \
on CUDA, OpenCL or the CPU.  An accept or reject decision is returned for each.  With the supervisor of farms, the \
operator's client and the replayer."
    DEPENDS "libtrigd-client ${same}" "systemd | systemd-standalone-sysusers | systemd-sysusers"
        "systemd | systemd-standalone-tmpfiles | systemd-tmpfiles"
    RECOMMENDS trigd-plugins python3 SUGGESTS trigd-cuda pocl-opencl-icd slurm-client python3-yaml python3-trigd
    EXTRA ${scripts}/conffiles ${scripts}/postinst ${scripts}/prerm ${scripts}/postrm)
trigd_package(trigd-plugins "algorithms of the trigger daemon trigd
z-finder, Hough transform, doublets, paths, vertexing, clustering and voxel labelling, as plugins for all devices."
    DEPENDS "trigd ${same}")
if(TARGET trigd-cuda)
    trigd_package(trigd-cuda "CUDA devices for the trigger daemon trigd
The backend that opens NVIDIA GPUs.  The driver's libcuda.so.1 is looked for when the daemon starts."
        DEPENDS "trigd ${same}" RECOMMENDS libcuda1)
endif()
trigd_package(libtrigd-client "client library of the trigger daemon trigd
Sends regions of interest over ZeroMQ or shared memory and calls back with their decisions."
    SECTION libs)
trigd_package(libtrigd-dev "headers of the trigger daemon trigd
For clients (pkg-config, CMake) and for plugins: headers, kernels' build rules, a library that tests plugins."
    SECTION libdevel DEPENDS "libtrigd-client ${same}" SUGGESTS trigd)
trigd_package(python3-trigd "Python client of the trigger daemon trigd
Sends numpy arrays as regions of interest and reads RoI files."
    SECTION python ARCHITECTURE all DEPENDS python3 python3-numpy python3-zmq "python3-protobuf (>= 3.20)"
    SUGGESTS python3-yaml python3-zstandard)

get_cmake_property(CPACK_COMPONENTS_ALL COMPONENTS)
list(REMOVE_ITEM CPACK_COMPONENTS_ALL Unspecified)
include(CPack)
cpack_add_component_group(trigd)
cpack_add_component(trigd GROUP trigd)
cpack_add_component(trigd-system GROUP trigd)
