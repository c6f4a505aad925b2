#!/bin/sh
# headers.sh: every public header compiles on its own, without warnings, as C11, C17 and C++.
. "$SOURCE/tests/support/shell.sh"

compile()
{
    checks=$((checks + 1))
    printf '#include <%s>\n#include <%s>\n' "$3" "$3" >"once.$1"
    "$2" -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I "$SOURCE/include" $4 "once.$1" 2>err ||
        fail "$2 $4 $3: $(head -n 3 err)"
}

cxx=$(command -v c++ || command -v clang++) || printf 'SKIP headers in C++: there is no C++ compiler\n'
for path in "$SOURCE"/include/*/*.h; do
    header=${path#"$SOURCE/include/"}
    compile c "$CC" "$header" -std=c11
    compile c "$CC" "$header" "-std=c17 -Wstrict-prototypes -Wshadow -Wconversion"
    [ -z "$cxx" ] || compile cc "$cxx" "$header" -std=c++17
done
finish
