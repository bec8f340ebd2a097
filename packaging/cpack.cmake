# SPDX-License-Identifier: Apache-2.0
# What differs between the two kinds of package (cmake/TrigdPackages.cmake).
if(CPACK_GENERATOR STREQUAL "DEB")
    set(CPACK_SET_DESTDIR ON) # /etc is beside /usr
    set(CPACK_INSTALL_PREFIX /usr)
    set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
    set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
else()
    # runs from any folder, so nothing that belongs to a system is in it
    list(REMOVE_ITEM CPACK_COMPONENTS_ALL trigd-system)
    set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
endif()
