#!/bin/sh
# format.sh: all C is laid out by .clang-format; `sh tests/format.sh --mend` lays it out. The version is fixed, because each lays out a
# little differently: run.sh fetches it from PyPI into BUILD/clang-format.
set -eu
cd "$(dirname -- "$0")/.."
build=${BUILD:-build-test}
version=19.1.7
format=$build/clang-format/clang_format/data/bin/clang-format
[ -x "$format" ] || {
    echo "SKIP clang-format $version is not in $build: python3 -m pip install --target $build/clang-format clang-format==$version"
    exit 77
}
files() { find src cli include tests fixtures -name '*.[ch]' | sort; }
if [ "${1:-}" = --mend ]; then
    files | xargs -n 50 -P 2 "$format" -i
    exit
fi
files | xargs -n 50 "$format" --dry-run -ferror-limit=1 2>&1 |
    sed -n 's/^\([^:]*:[0-9]*\):.*: \(error\|warning\): .*/\1: not as .clang-format lays it out (sh tests\/format.sh --mend)/p' | sort -u >"$build/format.out"
cat "$build/format.out"
echo "$(files | wc -l) files, $(wc -l <"$build/format.out") differences"
[ ! -s "$build/format.out" ]
