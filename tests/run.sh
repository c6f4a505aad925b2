#!/bin/sh
# Installs what is missing, builds with and without sanitizers, and runs every test.
#
# usage: sh tests/run.sh [CTEST-ARGUMENT...]      e.g. sh tests/run.sh -L unit
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$here/cli/install-deps.sh"
# shellcheck disable=SC2086
need_packages $build_packages libcmocka-dev sqlite3 zlib1g-dev libgfortran-12-dev

build_and_test() {
    build=$1
    shift
    echo "== $(basename "$build") =="
    cmake -S "$here" -B "$build" -G Ninja -DLINEAGE_WERROR=ON -DLINEAGE_BUILD_TESTS=ON "$@" >/dev/null
    ninja -C "$build" --quiet
}

build_and_test "$here/build-test"
ctest --test-dir "$here/build-test" --output-on-failure -j2 "${@:---no-label-summary}"
build_and_test "$here/build-sanitize" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEAGE_BUILD_BENCH=OFF "-DLINEAGE_SANITIZE=address;undefined"
ctest --test-dir "$here/build-sanitize" --output-on-failure -j2 -LE slow "${@:---no-label-summary}"
