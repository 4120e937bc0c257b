# Install rules: tools, and what find_package(Octet) needs (static libraries, headers, .td files, backends).
include(CMakePackageConfigHelpers)
set(octet_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Octet)

get_property(octet_libraries GLOBAL PROPERTY OCTET_LIBRARIES)
install(TARGETS ${octet_libraries} EXPORT OctetTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/octet)
install(EXPORT OctetTargets DESTINATION ${octet_cmake_dir})

get_property(octet_tools GLOBAL PROPERTY OCTET_TOOLS)
install(TARGETS ${octet_tools}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/octet)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/octet ${PROJECT_BINARY_DIR}/include/octet
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.def" PATTERN "*.inc" PATTERN CMakeFiles EXCLUDE)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/OctetConfig.cmake.in ${PROJECT_BINARY_DIR}/OctetConfig.cmake
  INSTALL_DESTINATION ${octet_cmake_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/OctetConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/OctetConfig.cmake ${PROJECT_BINARY_DIR}/OctetConfigVersion.cmake
  DESTINATION ${octet_cmake_dir})
