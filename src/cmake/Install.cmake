# What is installed beside libraries and programs: the CMake package `lineage`, the schemas, completions; and the target
# that takes it all away again. A component is a Debian package (Packages.cmake).
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
  DESTINATION ${package_dir} COMPONENT liblineage-dev)
foreach(flavour shared static)
  install(EXPORT lineage-${flavour} NAMESPACE lineage:: FILE lineage-${flavour}.cmake
    DESTINATION ${package_dir} COMPONENT liblineage-dev)
endforeach()
install(DIRECTORY schema DESTINATION ${CMAKE_INSTALL_DATADIR}/lineage COMPONENT lineage)

# Where shells look: zsh of Debian's packages looks elsewhere than that of everybody else.
set(LINEAGE_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Completions of zsh")
mark_as_advanced(LINEAGE_ZSH_DIR)
if(LINEAGE_BUILD_CLI)
  set(completions ${PROJECT_SOURCE_DIR}/cli/completions)
  install(FILES ${completions}/lineage.bash RENAME lineage
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT lineage)
  install(FILES ${completions}/_lineage DESTINATION ${LINEAGE_ZSH_DIR} COMPONENT lineage)
  install(FILES ${completions}/lineage.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    COMPONENT lineage)
endif()

# The Python package finds the libraries through the loader, or beside itself under the same prefix.
install(DIRECTORY src/python/lineage DESTINATION lib/python3/dist-packages COMPONENT python3-lineage
  FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed")

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
      -P ${PROJECT_SOURCE_DIR}/src/cmake/Uninstall.cmake VERBATIM)
endif()
