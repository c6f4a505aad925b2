# What is installed beside the libraries themselves: the CMake package `lineage` and the mirror's schema.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lineage)

# The .pc files find their prefix from where they lie, so an installed tree may be moved.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
set(pc_openmp ${OpenMP_C_FLAGS})

configure_package_config_file(${PROJECT_SOURCE_DIR}/src/cmake/lineageConfig.cmake.in
  ${PROJECT_BINARY_DIR}/lineageConfig.cmake INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lineageConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lineageConfig.cmake ${PROJECT_BINARY_DIR}/lineageConfigVersion.cmake
  DESTINATION ${package_dir})
foreach(flavour shared static)
  install(EXPORT lineage-${flavour} NAMESPACE lineage:: FILE lineage-${flavour}.cmake
    DESTINATION ${package_dir})
endforeach()
install(DIRECTORY schema DESTINATION ${CMAKE_INSTALL_DATADIR}/lineage)
