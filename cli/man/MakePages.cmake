# cmake -DCOMMANDS= -DLINEAGE= -DVERSION= -DSOURCE= -DFORMAT= -DOUT= -P MakePages.cmake: all manual pages in OUT.
cmake_minimum_required(VERSION 3.25)
string(TIMESTAMP date "%Y-%m-%d" UTC)

# write(NAME TEXT): with date and version in their places.
function(write name text)
  string(REPLACE "@DATE@" "${date}" text "${text}")
  string(REPLACE "@VERSION@" "${VERSION}" text "${text}")
  file(WRITE "${OUT}/${name}" "${text}")
endfunction()

# page(NAME COMMAND...): what COMMAND prints.
function(page name)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  write(${name} "${text}")
endfunction()

page(lineage.1 ${LINEAGE} manual)
foreach(command IN LISTS COMMANDS)
  page(lineage-${command}.1 ${LINEAGE} manual ${command})
endforeach()
page(results.tsv.5 awk -f ${SOURCE}/format.awk ${FORMAT})
file(READ ${SOURCE}/lineage.7 text)
write(lineage.7 "${text}")
