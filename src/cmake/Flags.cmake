# Language level, warnings and instrumentation for every target of the project: link `project_flags`. A helper of the tests that
# is started thousands of times links `plain_flags`, which has no instrumentation.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Libraries are found where the system looks for them. A run path made for the build tree is padded with empty
# entries until it is replaced at installation, and an empty entry is the current directory: whoever can write
# there would choose the code that the command runs.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)

add_library(plain_flags INTERFACE)
add_library(project_flags INTERFACE)
target_link_libraries(project_flags INTERFACE plain_flags)
target_compile_definitions(plain_flags INTERFACE _POSIX_C_SOURCE=200809L)
target_compile_options(plain_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  -Wvla -Wformat=2 -Wcast-qual
  # Results must not depend on whether the compiler fuses a*b+c.
  -ffp-contract=off)
# Hardening that every build has. A checked access costs nothing that the benches can measure, and the check turns an overrun
# into an end of the process. tests/install/hardening.sh looks for the result in every file that is built.
include(CheckCCompilerFlag)
include(CheckPIESupported)
set(fixed_addresses NO) # see below
if(CMAKE_C_COMPILER_ID STREQUAL GNU AND "address" IN_LIST LINEAGE_SANITIZE)
  set(fixed_addresses YES)
else()
  check_pie_supported()
endif()
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  string(MAKE_C_IDENTIFIER "has${flag}" known)
  check_c_compiler_flag(${flag} ${known}) # -fcf-protection exists on x86 only
  if(${known})
    target_compile_options(plain_flags INTERFACE ${flag})
  endif()
endforeach()
target_link_options(plain_flags INTERFACE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
# glibc checks sizes only in optimised code. The sanitizers check the same calls themselves, and report more.
if(NOT LINEAGE_SANITIZE AND NOT LINEAGE_FUZZ AND NOT LINEAGE_COVERAGE)
  target_compile_options(project_flags INTERFACE $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
                                                 $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
endif()
if(LINEAGE_WERROR)
  target_compile_options(plain_flags INTERFACE -Werror)
endif()
if(LINEAGE_SANITIZE)
  list(JOIN LINEAGE_SANITIZE "," sanitizers)
  target_compile_options(project_flags INTERFACE
    -fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  target_link_options(project_flags INTERFACE -fsanitize=${sanitizers})
  # A check that fails stops the program, and the address sanitizer shows the line (handle_sigill=2 in ASAN_OPTIONS). With texts for
  # each check, gcc makes a variable of each text, which the address sanitizer guards: 78,000 of the 95,000 that a start of `lineage`
  # announced.
  if("address" IN_LIST LINEAGE_SANITIZE AND "undefined" IN_LIST LINEAGE_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(project_flags INTERFACE -fsanitize-undefined-trap-on-error)
    target_link_options(project_flags INTERFACE -fsanitize-undefined-trap-on-error)
  endif()
  # The shell tests start these programs tens of thousands of times. Thousands of pages are touched at each start to relocate the
  # descriptions of variables and checks, and the sanitizers' libraries; with fixed addresses and the libraries inside, a start
  # takes about half as long. `lineage-train` loads a module that needs the shared library.
  if(fixed_addresses)
    set(program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
    target_link_options(project_flags INTERFACE $<${program}:-no-pie>
      $<$<AND:${program},$<NOT:$<STREQUAL:$<TARGET_PROPERTY:NAME>,lineage-train>>>:-static-libasan>
      $<$<AND:${program},$<NOT:$<STREQUAL:$<TARGET_PROPERTY:NAME>,lineage-train>>>:-static-libubsan>)
  endif()
endif()
if(LINEAGE_FUZZ)
  target_compile_options(project_flags INTERFACE -fsanitize=fuzzer-no-link -g)
  target_link_options(project_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(LINEAGE_COVERAGE)
  # A child of a test that is killed writes its counts first (tests/support/last_words.h).
  target_compile_definitions(project_flags INTERFACE LINEAGE_COVERAGE)
  target_compile_options(project_flags INTERFACE --coverage -O0 -fprofile-update=atomic)
  target_link_options(project_flags INTERFACE --coverage)
endif()
