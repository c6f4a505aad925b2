#!/bin/sh
# promises.sh: every row of schema/PROMISES.md names tests, and each of them exists.
#
# From the build: SOURCE, BUILD, CTEST.
set -u
page=$SOURCE/schema/PROMISES.md
failures=0
tests=$("$CTEST" --test-dir "$BUILD" -N | sed -n 's/^ *Test *#[0-9]*: *//p')

# row | promise | what would break it | held by |: the names in the last cell, without backticks
names=$(sed -n '/^| promise /d; /^|---/d; s/^|.*|\([^|]*\)|$/\1/p' "$page")
[ -n "$names" ] || { echo "FAIL no promises in $page" && exit 1; }
while read -r held; do
    found=0
    for name in $(echo "$held" | tr -d '`,'); do
        found=1
        echo "$tests" | grep -qx "$name" || { failures=$((failures + 1)) && echo "FAIL no test $name"; }
    done
    [ $found -eq 1 ] || { failures=$((failures + 1)) && echo "FAIL a promise that no test holds"; }
done <<END
$names
END
echo "$(echo "$names" | wc -l) promises, $failures failures"
[ "$failures" -eq 0 ]
