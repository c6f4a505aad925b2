# cmake -DOUT=FILE.h "-DFILES=a.js;b.css" -P EmbedAssets.cmake
# A string constant report_NAME_EXT for each file and its SHA-256 in base64, report_NAME_EXT_hash, by which the page's
# content-security policy allows that text and no other.
set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

function(base64_of_hex out hex)
  string(APPEND hex "00") # 32 bytes are padded to 33: the last digit of four becomes "="
  set(text "")
  string(LENGTH "${hex}" length)
  math(EXPR last "${length} - 6")
  foreach(at RANGE 0 ${last} 6)
    string(SUBSTRING "${hex}" ${at} 6 part)
    foreach(shift 18 12 6 0)
      math(EXPR digit "(0x${part} >> ${shift}) & 63")
      string(SUBSTRING "${digits}" ${digit} 1 digit)
      string(APPEND text "${digit}")
    endforeach()
  endforeach()
  string(REGEX REPLACE ".$" "=" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

set(header "/* Made from cli/report/assets by EmbedAssets.cmake. */\n")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  string(REPLACE "." "_" name "${name}")
  file(READ "${file}" bytes HEX)
  file(SHA256 "${file}" hex)
  base64_of_hex(hash "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND header "static const char report_${name}[] = {${bytes}0};\n"
    "static const char report_${name}_hash[] = \"${hash}\";\n")
endforeach()
file(WRITE "${OUT}" "${header}")
