# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# The documents that messages and manual pages name, in the same folders as in the sources.
find_program(AWK awk)
if(NOT TARGET rocedrill OR NOT AWK)
    return()
endif()
set(documents ${CMAKE_BINARY_DIR}/documents)
file(GLOB sources CONFIGURE_DEPENDS README.md replay/docs/*.md replay/docs/pictures/* replay/page/screenshots/*
    replay/*/*.schema.json plugin/*.md plugin/screenshots/* rnic/*.md rnic/tools/*.schema.json traces/*.md
    tests/conformance/README.md)
add_custom_command(OUTPUT ${documents}.made
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/documents ${CMAKE_SOURCE_DIR} ${documents}
    COMMAND ${CMAKE_COMMAND} -E touch ${documents}.made
    DEPENDS ${sources} ${CMAKE_CURRENT_LIST_DIR}/documents ${CMAKE_CURRENT_LIST_DIR}/links.awk VERBATIM)
add_custom_target(documents ALL DEPENDS ${documents}.made)
add_dependencies(product documents)
install(DIRECTORY ${documents}/ COMPONENT rocedrill DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/rocedrill)
