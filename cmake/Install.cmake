# SPDX-License-Identifier: Apache-2.0
# Installation: library, headers, pkg-config file and CMake package. All of it is relocatable.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/waypost)

install(TARGETS waypost EXPORT waypost-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${WAYPOST_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/waypost)

# The way back from the .pc file to the prefix, whatever the prefix will be.
file(RELATIVE_PATH WAYPOST_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" WAYPOST_PC_PREFIX "${WAYPOST_PC_PREFIX}")
configure_file(cmake/waypost.pc.in waypost.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/waypost.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(EXPORT waypost-targets NAMESPACE waypost:: DESTINATION ${package_dir})
configure_package_config_file(cmake/waypost-config.cmake.in waypost-config.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(waypost-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/waypost-config.cmake
              ${PROJECT_BINARY_DIR}/waypost-config-version.cmake
        DESTINATION ${package_dir})
