# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# The targets "uninstall" and "package" (a Debian package for each component). The top CMakeLists.txt
# includes this file last, when every target and every component exists.
add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -P ${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake)

find_program(DPKG_DEB dpkg-deb)
find_program(GZIP gzip)
if(NOT DPKG_DEB OR NOT GZIP)
    return()
endif()

if(TARGET rocedrill)
    list(APPEND components rocedrill)
    set(CPACK_DEBIAN_ROCEDRILL_PACKAGE_NAME rocedrill)
    set(CPACK_DEBIAN_ROCEDRILL_PACKAGE_SECTION net)
    set(CPACK_DEBIAN_ROCEDRILL_PACKAGE_RECOMMENDS wireshark-plugin-roce)
    set(CPACK_DEBIAN_ROCEDRILL_DESCRIPTION "analyse and replay RoCEv2 captures
RoCEdrill explains why an RDMA flow in a capture failed or was slow, checks it
against the rules of RoCEv2, and replays captures against a software RNIC or a
remote device, as regression tests of an RNIC's transport.")
endif()
if(TARGET roce_plugin)
    list(APPEND components plugin)
    set(CPACK_DEBIAN_PLUGIN_PACKAGE_NAME wireshark-plugin-roce)
    set(CPACK_DEBIAN_PLUGIN_PACKAGE_SECTION net)
    set(CPACK_DEBIAN_PLUGIN_PACKAGE_RECOMMENDS "tshark | wireshark")
    set(CPACK_DEBIAN_PLUGIN_DESCRIPTION "decode and analyse RoCEv2 in Wireshark
This plugin decodes every InfiniBand transport header of RoCEv2 and validates
the flows, as Wireshark's TCP analysis does for TCP. The profile RoCE has its
colours and columns.")
endif()
if(TARGET rnic_run)
    list(APPEND components rnic_run)
    set(CPACK_DEBIAN_RNIC_RUN_PACKAGE_NAME rnic-run)
    set(CPACK_DEBIAN_RNIC_RUN_PACKAGE_SECTION net)
    set(CPACK_DEBIAN_RNIC_RUN_PACKAGE_RECOMMENDS "rocedrill, perftest, ibverbs-utils")
    set(CPACK_DEBIAN_RNIC_RUN_PACKAGE_SUGGESTS rdmacm-utils)
    set(CPACK_DEBIAN_RNIC_RUN_DESCRIPTION "run RDMA programs on a software RNIC
Unmodified programs of libibverbs and librdmacm run without RDMA hardware and
without a kernel module. Their RoCEv2 packets go through libpcap and can be
recorded, impaired and analysed.")
endif()
if(TARGET librnic_shared)
    list(APPEND components librnic_dev)
    set(CPACK_DEBIAN_LIBRNIC_DEV_PACKAGE_NAME librnic-dev)
    set(CPACK_DEBIAN_LIBRNIC_DEV_PACKAGE_SECTION libdevel)
    set(CPACK_DEBIAN_LIBRNIC_DEV_PACKAGE_CONTROL_EXTRA
        "${CMAKE_CURRENT_LIST_DIR}/triggers;${CMAKE_CURRENT_LIST_DIR}/shlibs")
    set(CPACK_DEBIAN_LIBRNIC_DEV_DESCRIPTION "RoCEv2 packet codec, analysis engine and software RNIC
This library builds and parses RoCEv2 packets, judges flows of packets by the
rules of RoCEv2, and has a software RNIC without I/O, clock or thread. The
package has the shared and the static library, headers and an example.")
endif()

# Files about a package, which an installation does not have.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/packaging)
execute_process(COMMAND ${GZIP} -9nc ${CMAKE_CURRENT_LIST_DIR}/changelog
    OUTPUT_FILE ${CMAKE_BINARY_DIR}/packaging/changelog.gz)
foreach(component ${components})
    string(TOUPPER ${component} COMPONENT)
    set(CPACK_DEBIAN_${COMPONENT}_FILE_NAME DEB-DEFAULT)
    install(FILES ${CMAKE_CURRENT_LIST_DIR}/copyright ${CMAKE_BINARY_DIR}/packaging/changelog.gz
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME}
        COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
# DESTDIR, because the plugin goes into Wireshark's folder whatever the prefix is.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGE_CONTACT "RoCEdrill developers <rocedrill@users.noreply.github.com>")
# Each component has a summary of its own.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
