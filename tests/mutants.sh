#!/bin/sh
# mutants.sh: puts one small fault at a time into a copy of the code, and says which test of `core` finds it. By hand: each fault is
# compiled and tested alone, which takes an hour or more.
#
# usage: sh tests/mutants.sh [FIRST [LAST]]     default: all of tests/mutants. Exits with 1 if a fault was not found.
#
# A line of tests/mutants is FILE|TEXT|FAULT|TESTS: TEXT, which is in FILE once, becomes FAULT. TESTS is an expression for ctest -R
# with the tests to try first; the others run only if these pass. A `|` within a text is written as `¦`.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
work=$here/build-mutants
large='browser|server|pytorch|node|package|long'
mkdir -p "$work/src"
(cd "$here" && git ls-files -z | tar -cf - --null -T -) | tar -xmf - -C "$work/src"
[ ! -d "$here/../shared" ] || ln -sfn "$(cd "$here/../shared" && pwd)" "$work/shared"
cmake -S "$work/src" -B "$work/src/build" -G Ninja -DLINEAGE_BUILD_TESTS=ON -DLINEAGE_BUILD_BENCH=OFF ${CMAKE_LAUNCHER:+-DCMAKE_C_COMPILER_LAUNCHER=$CMAKE_LAUNCHER} >/dev/null
ninja -C "$work/src/build" --quiet

n=0 unfound=0
while IFS='|' read -r file text fault first; do
    n=$((n + 1))
    text=$(printf '%s' "$text" | sed 's/¦/|/g') fault=$(printf '%s' "$fault" | sed 's/¦/|/g')
    [ "$n" -ge "${1:-1}" ] && [ "$n" -le "${2:-9999}" ] || continue
    if [ "$(grep -cF -- "$text" "$here/$file")" -ne 1 ]; then
        echo "$n: $file does not have this text in exactly one line: $text"
        exit 2
    fi
    TEXT=$text FAULT=$fault perl -pe 's/\Q$ENV{TEXT}\E/$ENV{FAULT}/' "$here/$file" >"$work/src/$file"
    found=
    if ! ninja -C "$work/src/build" --quiet >"$work/log" 2>&1 </dev/null; then
        found='the compiler'
    else
        for tests in "-R ^($first)\$" "-LE ^($large)\$"; do
            # shellcheck disable=SC2086
            ctest --test-dir "$work/src/build" -j4 --stop-on-failure $tests >"$work/log" 2>&1 </dev/null || {
                found=$(sed -n 's/.*: \([a-z0-9_]*\) \.*\*\*\*.*/\1/p' "$work/log" | head -n 1)
                [ "$tests" = "-R ^($first)\$" ] || found="$found, not by $first" # which may have failed for another reason
                break
            }
        done
    fi
    [ -n "$found" ] || unfound=$((unfound + 1))
    printf '%2d %-44s %s\n' "$n" "$file" "${found:-NOT FOUND: $text -> $fault}"
    cp "$here/$file" "$work/src/$file"
done <"$here/tests/mutants"
echo "$unfound not found"
[ "$unfound" -eq 0 ]
