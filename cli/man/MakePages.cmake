# cmake -DCOMMANDS= -DLINEAGE= -DVERSION= -DSOURCE= -DLOWDOWN= -DOUT= -P MakePages.cmake: writes all manual pages to OUT.
# With an empty or missing LOWDOWN, only those of the commands.
cmake_minimum_required(VERSION 3.25)
string(TIMESTAMP date "%Y-%m-%d" UTC)
set(man ${SOURCE}/cli/man)

# The page of a command that is no more would be installed.
file(GLOB former ${OUT}/lineage-*.1)
if(former)
  file(REMOVE ${former})
endif()

# write(NAME TEXT): fills in date and version.
function(write name text)
  string(REPLACE "@DATE@" "${date}" text "${text}")
  string(REPLACE "@VERSION@" "${VERSION}" text "${text}")
  file(WRITE "${OUT}/${name}" "${text}")
endfunction()

# page(NAME ARGUMENT...): the page that `lineage manual` prints.
function(page name)
  execute_process(COMMAND ${LINEAGE} manual ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  write(${name} "${text}")
endfunction()

# guide(NAME SECTION FILE SUMMARY): the page that lowdown makes of FILE. No hyphenation: a name that is split at the end
# of a line cannot be found or pasted.
function(guide name section file summary)
  execute_process(COMMAND awk -v stage=markdown -f ${man}/pages.awk ${SOURCE}/${file}
    COMMAND ${LOWDOWN} -tman --out-no-smarty --parse-no-intraemph
    COMMAND awk -v stage=troff -f ${man}/pages.awk
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "^\\.[LP]P\n" "" text "${text}")
  string(TOUPPER ${name} title)
  string(REPLACE "-" "\\-" name_in_troff ${name})
  if(section EQUAL 5)
    set(volume "File Formats")
  else()
    set(volume "Guides")
  endif()
  write(${name}.${section} ".TH ${title} ${section} @DATE@ \"lineage @VERSION@\" \"${volume}\"\n.nh\n.ad l
.SH NAME\n${name_in_troff} \\- ${summary}\n.SH DESCRIPTION\n${text}.SH SEE ALSO
\\fBlineage\\fR(1),\n\\fBlineage\\fR(7),\n\\fBresults.tsv\\fR(5)\n")
endfunction()

page(lineage.1)
foreach(command IN LISTS COMMANDS)
  page(lineage-${command}.1 ${command})
endforeach()
if(LOWDOWN)
  file(STRINGS ${man}/guides.def entries REGEX "^CLI_GUIDE\\(")
  foreach(entry IN LISTS entries)
    string(REGEX MATCH "^CLI_GUIDE\\([a-z]+, \"([^\"]+)\", ([0-9]), \"([^\"]+)\", \"([^\"]+)\"" found "${entry}")
    guide(${CMAKE_MATCH_1} ${CMAKE_MATCH_2} ${CMAKE_MATCH_3} "${CMAKE_MATCH_4}")
  endforeach()
endif()
