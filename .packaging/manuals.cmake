# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# Manual pages and shell completions, made from the --help texts of the programs. A sanitizer's build and a
# cross build have none.
find_program(AWK awk)
find_program(GZIP gzip)
if(ROCEDRILL_SANITIZE OR CMAKE_CROSSCOMPILING OR NOT TARGET rocedrill OR NOT AWK OR NOT GZIP)
    return()
endif()
set(manuals ${CMAKE_BINARY_DIR}/manuals)
set(programs rocedrill)
foreach(target rocedrill_agent rnic_run rnic_info)
    if(TARGET ${target})
        list(APPEND programs ${target})
    endif()
endforeach()
set(extcap)
if(TARGET roce_plugin)
    set(extcap ${CMAKE_BINARY_DIR}/lib/wireshark/extcap/rocedump)
endif()
add_custom_command(OUTPUT ${manuals}.made
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/manuals ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${manuals} ${extcap}
    COMMAND sh -c "gzip -9n \"$1\"/man1/*.1" sh ${manuals}
    COMMAND ${CMAKE_COMMAND} -E touch ${manuals}.made
    DEPENDS ${programs} ${extcap} ${CMAKE_CURRENT_LIST_DIR}/manuals ${CMAKE_CURRENT_LIST_DIR}/man.awk
            ${CMAKE_CURRENT_LIST_DIR}/completion.awk ${CMAKE_CURRENT_LIST_DIR}/changelog VERBATIM)
add_custom_target(manuals ALL DEPENDS ${manuals}.made)
add_dependencies(product manuals)

function(install_manuals component pattern)
    install(DIRECTORY ${manuals}/man1/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component}
        FILES_MATCHING PATTERN ${pattern}*)
    install(DIRECTORY ${manuals}/bash/ DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        COMPONENT ${component} FILES_MATCHING PATTERN ${pattern}*)
    install(DIRECTORY ${manuals}/zsh/ DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
        COMPONENT ${component} FILES_MATCHING PATTERN _${pattern}*)
    install(DIRECTORY ${manuals}/fish/ DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT ${component} FILES_MATCHING PATTERN ${pattern}*)
endfunction()
install_manuals(rocedrill rocedrill)
if(TARGET roce_plugin)
    install(FILES ${manuals}/man1/rocedump.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT plugin)
endif()
if(TARGET rnic_run)
    install_manuals(rnic_run rnic-)
endif()
