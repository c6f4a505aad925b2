#!/bin/sh
# exports.sh: each shared library exports exactly what its public headers declare, and the libraries do not
# know each other.
. "$SOURCE/tests/support/shell.sh"

[ "$INSTRUMENTED" = no ] || skip "instrumentation adds symbols of its own"

# The name before the first parenthesis or semicolon of every declaration marked by MARK.
declared()
{
    cat "$SOURCE"/include/"$1"/*.h | tr '\n' ' ' | sed "s/$2/\n&/g" |
        sed -n "s/^$2 [^(;]*[ *]\($3[a-z0-9_]*\)[(;].*/\1/p" | sort -u
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
check rlcase RL_API rl_ "$(cd "$BUILD" && find src -name librlcase.so)"
check trainer TRAINER_API trainer_ "$(cd "$BUILD" && find src -name libtrainer.so)"

last="includes"
# lacks WHAT HEADERS LIBRARY: neither sources nor public headers of LIBRARY include <HEADERS/..>.
lacks()
{
    sources=$SOURCE/src/$3
    [ "$3" = lineage ] && sources=$SOURCE/src/store
    must_equal "" "$(grep -rlE "include [<\"]($2)/" "$sources" "$SOURCE/include/$3")" "$1"
}

lacks "store includes core or trainer" "rlcore|trainer" lineage
lacks "core includes store or trainer" "lineage|trainer" rlcore
lacks "trainer includes store" lineage trainer
must_equal "" "$(grep -rlE 'include [<"]rlcore/' "$SOURCE/include/trainer")" "the trainer's headers include core"
must_equal "" "$(grep -rnE --include='*.[ch]' '#include "(\.\./|format/|log/|mirror/|render/|store/|internal|real/)' "$SOURCE/cli")" \
    "the command includes private headers"
for header in "$SOURCE"/src/trainer/*.h; do
    header=$(basename "$header")
    [ -n "$(find "$SOURCE/cli" -name "$header")" ] ||
        must_equal "" "$(grep -rnF --include='*.[ch]' "#include \"$header\"" "$SOURCE/cli")" "the command includes the trainer's $header"
done
finish
