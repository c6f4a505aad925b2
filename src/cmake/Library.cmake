# project_library(NAME OUTPUT SOURCES...): one set of objects, a shared and a static library of it.
#   lineage::NAME         shared, SOVERSION = major version, only marked symbols exported
#   lineage::NAME_static  static, for the command and for tests of private parts
# Public headers are include/NAME/*.h (FILE_SET, so each is also compiled alone: target verify_headers).
function(project_library name)
  set(sources ${ARGN})
  add_library(${name}_objects OBJECT ${sources})
  target_include_directories(${name}_objects
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name}_objects PRIVATE project_flags)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/${name}/*.h)
  foreach(kind SHARED STATIC)
    string(TOLOWER ${kind} suffix)
    set(target ${name}_${suffix})
    add_library(${target} ${kind} $<TARGET_OBJECTS:${name}_objects>)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
    target_sources(${target} PUBLIC FILE_SET HEADERS
      BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:project_flags>)
  endforeach()
  set_target_properties(${name}_shared PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME ${name})
  set_target_properties(${name}_static PROPERTIES EXPORT_NAME ${name}_static)
  add_library(lineage::${name} ALIAS ${name}_shared)
  add_library(lineage::${name}_static ALIAS ${name}_static)
  project_install(${name})
endfunction()

# The two flavours are exported apart, so that a user of the shared library needs none of the
# development packages of the libraries below it. Headers go in once, with the shared flavour. In the
# build tree the static libraries keep their private names, for tests of private parts.
function(project_install name)
  install(TARGETS ${name}_shared EXPORT lineage-shared
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
      COMPONENT lib${name}${PROJECT_VERSION_MAJOR} NAMELINK_COMPONENT liblineage-dev
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT liblineage-dev)
  install(TARGETS ${name}_static EXPORT lineage-static
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT liblineage-dev
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT liblineage-dev)
  if(UNIX AND NOT APPLE AND CMAKE_OBJCOPY)
    install(CODE "execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND sh
      \"${PROJECT_SOURCE_DIR}/src/cmake/localize.sh\" \"${CMAKE_LINKER}\" \"${CMAKE_OBJCOPY}\" \"${CMAKE_AR}\"
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/lib${name}.a\")"
      COMPONENT liblineage-dev)
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/src/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT liblineage-dev)
endfunction()

# project_link(NAME LIBS...): third-party libraries of both flavours and of the objects.
function(project_link name)
  foreach(target ${name}_objects ${name}_shared ${name}_static)
    target_link_libraries(${target} PRIVATE ${ARGN})
  endforeach()
endfunction()
