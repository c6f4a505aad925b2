#!/bin/sh
# exports.sh: each shared library exports exactly what its public headers declare, and the libraries do not
# know each other.
. "$SOURCE/tests/support/shell.sh"

[ "$INSTRUMENTED" = no ] || skip "instrumentation adds symbols of its own"

# The name before the first parenthesis of every declaration marked by MARK.
declared()
{
    cat "$SOURCE"/include/"$1"/*.h | tr '\n' ' ' | sed "s/$2/\n&/g" |
        sed -n "s/^$2 [^(]*[ *]\($3[a-z0-9_]*\)(.*/\1/p" | sort -u
}

# Names that C cannot spell are the compiler's own (clang's lock of an OpenMP critical section).
exported()
{
    nm -D --defined-only "$1" | awk '$NF ~ /^[A-Za-z_]/ { print $NF }' | sort
}

check()
{
    last="lib$1.so"
    declared "$1" "$2" "$3" >declared
    exported "$BUILD/$4" >exported
    must_equal "" "$(grep -v "^$3" exported)" "$last: symbols without the prefix $3"
    must_equal "" "$(comm -13 declared exported | tr '\n' ' ')" "$last: exported, not declared"
    must_equal "" "$(comm -23 declared exported | tr '\n' ' ')" "$last: declared, not exported"
}

check lineage LINEAGE_API lineage_ "$(cd "$BUILD" && find src -name liblineage.so)"
check rlcore RL_API rl_ "$(cd "$BUILD" && find src -name librlcore.so)"

last="includes"
must_equal "" "$(grep -rlE 'include [<"]rlcore/' "$SOURCE/src/store" "$SOURCE/include/lineage")" "store includes core"
must_equal "" "$(grep -rlE 'include [<"]lineage/' "$SOURCE/src/rlcore" "$SOURCE/include/rlcore")" "core includes store"
must_equal "" "$(grep -nE '#include "(\.\./|format/|log/|mirror/|render/|store/)' "$SOURCE"/cli/*.[ch])" \
    "the command includes private headers"
finish
