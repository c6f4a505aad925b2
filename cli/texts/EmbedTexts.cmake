# cmake -DOUT=FILE.h "-DFILES=a.md;b.md" -P EmbedTexts.cmake: a string constant text_NAME for each file.
set(header "/* Made from cli/texts by EmbedTexts.cmake. */\n")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND header "__attribute__((unused)) static const char text_${name}[] = {${bytes}0};\n")
endforeach()
file(WRITE "${OUT}" "${header}")
