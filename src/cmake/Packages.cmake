# Debian packages by CPack: one for each component of installation. Made by cli/packages.sh, which configures the build
# as packages want it; LINEAGE_PACKAGES alone only makes the tree fit (compressed pages, changelog, copyright).
#
#   lineage          the command, its pages, completions, schemas
#   lineage-train    trainer and kernels, behind the same command
#   liblineage0, librlcore0, librlcase0, libtrainer0   a shared library each, as Debian wants it, so that a program that uses the
#                    store alone needs neither OpenBLAS nor OpenMP
#   liblineage-dev   headers, static libraries, pkg-config and CMake files of all of them
#   python3-lineage  the Python package over the shared libraries
set(LINEAGE_MAINTAINER "lineage maintainers <maintainers@lineage.invalid>" CACHE STRING "Maintainer of the packages")
set(major ${PROJECT_VERSION_MAJOR})
set(libraries liblineage${major} librlcore${major} librlcase${major} libtrainer${major})
set(CPACK_COMPONENTS_ALL lineage lineage-train liblineage-dev python3-lineage ${libraries})

# Policy 12: what every package says of itself.
set(debian ${PROJECT_BINARY_DIR}/debian)
foreach(file changelog copyright)
  configure_file(${PROJECT_SOURCE_DIR}/src/cmake/debian/${file}.in ${debian}/${file} @ONLY)
endforeach()
execute_process(COMMAND gzip -9nc ${debian}/changelog OUTPUT_FILE ${debian}/changelog.gz COMMAND_ERROR_IS_FATAL ANY)
foreach(package IN LISTS CPACK_COMPONENTS_ALL)
  install(FILES ${debian}/copyright ${debian}/changelog.gz DESTINATION share/doc/${package} COMPONENT ${package})
endforeach()
# Behind the rules that put the pages there: those of a directory are carried out in the order they were written.
foreach(package lineage lineage-train)
  install(CODE "file(GLOB_RECURSE pages \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/*.[1-8])
    execute_process(COMMAND gzip -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${package})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR lineage)
set(CPACK_PACKAGE_CONTACT "${LINEAGE_MAINTAINER}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)     # what a library needs is read from it, not written down here
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# libtrainer and librlcase need librlcore, which is in no package yet when dpkg-shlibdeps asks.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src/rlcore)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own first line
set(CPACK_PACKAGE_HOMEPAGE_URL "")         # there is none
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/src/cmake/LdconfigTrigger.cmake)

# package(NAME SECTION DESCRIPTION [KEY VALUE]...): KEY as in a control file.
function(package name section description)
  string(TOUPPER ${name} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
  while(ARGN)
    list(POP_FRONT ARGN key value)
    set(CPACK_DEBIAN_${upper}_PACKAGE_${key} "${value}" PARENT_SCOPE)
  endwhile()
endfunction()

package(lineage science "append-only log of training trials
Keeps an append-only lineage of training trials in a text file, with a
mirror in SQLite, and renders the digest that the agent or person who plans
the next trial reads. Answers what was tried and with what result, compares
variants over seeds, writes reports, and serves agents over the Model Context
Protocol."
  # Loaded by `lineage serve` alone, and libpq by a log on a server; git is asked where it is there (provenance, rerun).
  RECOMMENDS libmicrohttpd12
  SUGGESTS "git, libpq5, lineage-train")
package(lineage-train science "append-only log of training trials - trainer
Trains small policies on a CPU with credit assignment and policy losses of
agentic reinforcement learning, as trials that the command lineage records:
the commands train, night, rollout, eval, passk, judge and core."
  DEPENDS "lineage (= ${PROJECT_VERSION})"
  # Loaded where a language model judges steps.
  RECOMMENDS "libcurl4, ca-certificates")
package(liblineage${major} libs "append-only log of training trials - store library
The library of the store: append trials durably, query them, compare
variants, render what the next agent reads.")
package(librlcore${major} libs "append-only log of training trials - training core library
Credit assignment and policy losses of agentic reinforcement learning over
flat arrays, in double and single precision, without state.")
package(librlcase${major} libs "append-only log of training trials - kernels by name library
Any kernel of librlcore by its name, on arrays by theirs: for callers in other
languages."
  DEPENDS "librlcore${major} (= ${PROJECT_VERSION})")
package(libtrainer${major} libs "append-only log of training trials - trainer library
A small transformer policy, environments, and the loop that trains it with
the algorithms of librlcore."
  DEPENDS "librlcore${major} (= ${PROJECT_VERSION})")
# pkg-config wants the .pc files that ours name, also where nothing is linked statically. For static linking, Debian's sqlite3.pc
# and openblas.pc name zlib and libgfortran, whose packages theirs do not depend on.
package(liblineage-dev libdevel "append-only log of training trials - development files
Headers, static libraries, pkg-config and CMake files of the store (lineage),
the training core (rlcore, rlcase) and the trainer (trainer)."
  DEPENDS "liblineage${major} (= ${PROJECT_VERSION}), librlcore${major} (= ${PROJECT_VERSION}), librlcase${major} (= ${PROJECT_VERSION}), libtrainer${major} (= ${PROJECT_VERSION}), libcsv-dev, libjansson-dev, libmd-dev, libopenblas-pthread-dev | libopenblas-dev, libsqlite3-dev, libutf8proc-dev, libxxhash-dev, zlib1g-dev, libgfortran-12-dev | libgfortran-13-dev | libgfortran-14-dev")
# Its modules are compiled where they are installed, and what was compiled goes with them (Debian's Python policy).
set(scripts ${PROJECT_SOURCE_DIR}/src/cmake/debian)
package(python3-lineage python "append-only log of training trials - Python package
Records training runs from Python, and has advantages and losses of agentic
reinforcement learning on NumPy arrays and PyTorch tensors."
  ARCHITECTURE all
  DEPENDS "python3, python3-numpy, liblineage${major} (= ${PROJECT_VERSION}), librlcore${major} (= ${PROJECT_VERSION}), librlcase${major} (= ${PROJECT_VERSION})"
  SUGGESTS python3-torch)
set(CPACK_DEBIAN_PYTHON3-LINEAGE_PACKAGE_CONTROL_EXTRA ${scripts}/postinst ${scripts}/prerm)
include(CPack)
