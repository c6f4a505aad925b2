#!/bin/sh
# Installs what is missing, builds with and without sanitizers, and runs every test. Without CTEST-ARGUMENTs the
# tests in which threads or processes meet run once more under the thread sanitizer.
#
# usage: sh tests/run.sh [core|long|arm] [CTEST-ARGUMENT...]      e.g. sh tests/run.sh -L unit
#
# core is for everyday work and takes a few minutes: it builds once, without sanitizers, and leaves out the tests that need
# large things, which it does not install: a browser, a database server, PyTorch, Node, a bare Debian to install packages into,
# an MPI (labels browser, server, pytorch, node, package, mpi).
#
# long runs what takes many minutes: every single fault where the other commands test a sample (label long), 20000 kills of
# the marathon, and bits flipped in stores for five minutes.
#
# arm builds for aarch64 in a Debian root of its own and runs unit and golden tests under qemu (tests/arm.sh).
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
case ${1:-} in
-h | --help) usage && exit 0 ;;
esac
[ "${1:-}" != arm ] || exec sh "$(dirname -- "$0")/arm.sh"
which=all
case ${1:-} in
core | long) which=$1 && shift ;;
esac
without=long
[ "$which" != core ] || without='long|browser|server|pytorch|node|package|mpi'

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$here/cli/install-deps.sh"
# shellcheck disable=SC2086
need_packages $build_packages libcmocka-dev sqlite3 strace zlib1g-dev libgfortran-12-dev clang libclang-rt-dev libomp-dev g++ python3-numpy git
if [ "$which" = all ] && ! command -v npm >/dev/null; then
    need_packages nodejs npm # clients of `lineage mcp`
fi
# A cluster of the distribution's own would be made and started by the installation; the tests start their servers themselves.
need_server()
{
    dpkg-query -W -f='${Status}' postgresql 2>/dev/null | grep -q 'ok installed' && return
    [ -d /etc/postgresql-common ] || as_root mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] ||
        echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
    need_packages postgresql
}
if [ "$which" = all ]; then
    need_server
    need_packages pgbouncer # a pooler in transaction mode between writers and the server
    need_packages slurmctld slurmd slurm-client munge python3-kubernetes # `night --submit`; the daemons run only while their test does
    need_packages parallel iproute2 # workers by GNU parallel, in network namespaces; sshd is used where it is there
fi
if [ "$which" = all ]; then
    need_packages chromium chromium-driver python3-selenium # pages of `lineage report` and `lineage serve`
    need_packages python3-torch python3-numpy python3-pytest python3-setuptools python3-pip mypy # the Python package
    need_packages libopenmpi-dev openmpi-bin # one trial by several processes
    need_packages dpkg-dev file lintian debootstrap man-db mandoc zsh fish # packages, manual pages, completions
fi

configure() {
    build=$1
    shift
    echo "== $(basename "$build") =="
    cmake -S "$here" -B "$build" -G Ninja -DLINEAGE_WERROR=ON -DLINEAGE_BUILD_TESTS=ON "$@" >/dev/null
}

build_and_test() {
    configure "$@"
    ninja -C "$1" # its own line says how far it is
}

# Twice the processors: many tests wait for a clock or for another process, and none depends on being alone.
jobs=$((2 * $(nproc)))
build_and_test "$here/build-test"
if [ "$which" = long ]; then
    ctest --test-dir "$here/build-test" --output-on-failure -j"$jobs" -L '^long$' "${@:---no-label-summary}"
    "$here/build-test/tests/marathon" 20000 1 "$here/build-test/cli/lineage"
    exec "$here/build-test/tests/flips" 300s 1
fi
ctest --test-dir "$here/build-test" --output-on-failure -j"$jobs" -LE "^($without)\$" "${@:---no-label-summary}"
[ "$which" != core ] || exit 0 # sanitizers are for the whole suite

# -O1 and line numbers alone: with -O3 and full debugging information compiling takes three times as long. gcc sees texts
# cut off there that are never that long; the build above has that warning.
build_and_test "$here/build-sanitize" -DCMAKE_BUILD_TYPE=Sanitize "-DCMAKE_C_FLAGS_SANITIZE=-O1 -Wno-format-truncation" -DCMAKE_CXX_FLAGS_SANITIZE=-O1 \
    -DLINEAGE_BUILD_BENCH=OFF "-DLINEAGE_SANITIZE=address;undefined"
ctest --test-dir "$here/build-sanitize" --output-on-failure -j"$jobs" -LE "^(slow|$without)\$" "${@:---no-label-summary}"

# Where threads or processes meet. Only clang's OpenMP tells the sanitizer what its barriers order (through archer);
# to gcc's libgomp every parallel loop looks like a race.
threaded="writers lineage_rules lineage_cut_off lineage_mirror_changes mcp_hostile serve_hostile rlcore_loss rlcore_properties trainer_generate trainer_run"
if [ $# -eq 0 ]; then
    configure "$here/build-thread" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Sanitize \
        "-DCMAKE_C_FLAGS_SANITIZE=-O1 -Wno-pass-failed" -DCMAKE_CXX_FLAGS_SANITIZE=-O1 -DLINEAGE_BUILD_BENCH=OFF -DLINEAGE_SANITIZE=thread
    # shellcheck disable=SC2086
    ninja -C "$here/build-thread" lineage $threaded
    OMP_TOOL_LIBRARIES=$(find /usr/lib/llvm-*/lib -name libarcher.so | head -n 1)
    export OMP_TOOL_LIBRARIES TSAN_OPTIONS="ignore_noninstrumented_modules=1"
    ctest --test-dir "$here/build-thread" --output-on-failure -j"$jobs" -R "^($(echo $threaded | tr ' ' '|'))\$" --no-label-summary
fi
