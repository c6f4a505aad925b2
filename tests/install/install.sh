#!/bin/sh
# install.sh: an installed tree is moved, then used by another project through find_package and pkg-config, with the
# shared and the static libraries.
. "$SOURCE/tests/support/shell.sh"

[ "$INSTRUMENTED" = no ] || skip "instrumented libraries need the same instrumentation in the project that uses them"

# uses WHAT PROGRAM: the program trains, appends a trial to a new store and reads it back.
uses()
{
    rm -rf store && mkdir store
    must_equal '000 wider clip ok' "$("$2" store 2>&1)" "$1"
}

through_find_package()
{
    last="find_package, $1"
    "$CMAKE" -G Ninja -S "$SOURCE/tests/install/consumer" -B "cmake-$1" -DCMAKE_C_COMPILER="$CC" \
        -DCMAKE_PREFIX_PATH="$scratch/moved" -DFLAVOUR="$1" >out 2>err &&
        "$CMAKE" --build "cmake-$1" >>out 2>>err || show_output
    uses "$last" "cmake-$1/consumer"
}

# through_pkg_config FLAVOUR OPTION...
# shellcheck disable=SC2046
through_pkg_config()
{
    program=pc-$1
    last="pkg-config, $1"
    shift
    "$CC" -std=c17 -o "$program" "$SOURCE/tests/install/consumer/consumer.c" \
        $(pkg-config "$@" --cflags --libs lineage trainer rlcore) >out 2>err || show_output
    uses "$last" "./$program"
}

# The example of README.md needs the core alone.
example_through_pkg_config()
{
    last="example"
    # shellcheck disable=SC2046
    "$CC" -std=c17 -o example "$SOURCE/tests/examples/a2tgpo.c" $(pkg-config --cflags --libs rlcore) >out 2>err ||
        show_output
    must_equal "$("$EXAMPLE")" "$(./example 2>&1)"
}

"$CMAKE" --install "$BUILD" --prefix "$scratch/first" >out 2>err || fail "cmake --install: $(cat err)"
mv first moved
lib=$(dirname "$(find "$scratch/moved" -name lineage.pc | head -n 1)")
PKG_CONFIG_PATH=$lib
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(dirname "$lib")
export LD_LIBRARY_PATH

through_find_package shared
through_pkg_config shared
example_through_pkg_config
last="ldd"
ldd cmake-shared/consumer >out
must_have out moved/
unset LD_LIBRARY_PATH
through_find_package static
mkdir kept
mv "$(dirname "$lib")"/lib*.so* kept
through_pkg_config static --static
mv kept/* "$(dirname "$lib")"
last="ldd"
ldd cmake-static/consumer ./pc-static >out
must_lack out liblineage
must_lack out libtrainer

last="static libraries"
for name in lineage rlcore trainer; do
    prefix=$([ "$name" = rlcore ] && echo rl || echo "$name")_
    must_equal "" "$(nm --defined-only --extern-only "$(dirname "$lib")/lib$name.a" |
        awk -v p="$prefix" 'NF == 3 && $3 ~ /^[A-Za-z_]/ && index($3, p) != 1 { print $3 }')" "lib$name.a: private names"
done

last="installed command"
must_equal "lineage $VERSION" "$(moved/bin/lineage --version)"
must_equal "$VERSION" "$(pkg-config --modversion lineage)" "version"
must_equal "liblineage.so.${VERSION%%.*}" "$(objdump -p moved/lib*/liblineage.so moved/lib/*/liblineage.so 2>/dev/null |
    awk '$1 == "SONAME" { print $2; exit }')" "soname"
last="installed lineage-train"
[ -x moved/libexec/lineage/lineage-train ] || fail "lineage-train is not in libexec"
[ ! -e moved/bin/lineage-train ] || fail "lineage-train is in bin, where nobody needs it"
moved/bin/lineage core a2tgpo_advantage "$SOURCE/tests/examples/a2tgpo_advantage.json" >out 2>err || show_output
must_equal "$("$LINEAGE" core a2tgpo_advantage "$SOURCE/tests/examples/a2tgpo_advantage.json")" "$(cat out)"
[ -f moved/share/lineage/schema/mirror.sql ] || fail "the schema is not installed"

finish
