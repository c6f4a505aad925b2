#!/bin/sh
# Installs what is missing, builds with and without sanitizers, and runs every test. At the end it lists the slowest tests, what was
# skipped and why, and for each failure where its output and its store are.
#
# usage: sh tests/run.sh [core|long|arm] [CTEST-ARGUMENT...]      e.g. sh tests/run.sh -L unit
#
# core is for everyday work: it builds once, without sanitizers, and leaves out the tests that need large things, which it does not
# install: a browser, a database server, PyTorch, Node, Debian's tools for packages (labels browser, server, pytorch, node,
# package).
#
# long runs what takes many minutes: every single fault where the other commands test a sample, portable builds and packages in a
# bare Debian (label long), threads of servers and trainer, 20000 kills of the marathon, and bits flipped in stores for five minutes.
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
large='browser|server|pytorch|node|package'

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
plain=$here/build-test
sanitized=$here/build-sanitize
. "$here/cli/install-deps.sh"

# ---- what the tests need ----

# shellcheck disable=SC2086
need_packages $build_packages ccache libcmocka-dev sqlite3 strace zlib1g-dev g++ git python3-numpy openssh-client curl jq
# The static libraries of BLAS need the archive of the compiler that is here.
need_packages "libgfortran-$(gcc -dumpversion | cut -d . -f 1)-dev"

# fetch: what the tests need and the first build does not: large packages, and those of other registries, which the tests find in
# the build directory. In one call, because each reads the lists of packages anew and runs dpkg's triggers.
fetch()
{
    # The tests start servers themselves; the installation would make and start one of the distribution's own.
    if ! installed postgresql; then
        as_root mkdir -p /etc/postgresql-common
        [ -e /etc/postgresql-common/createcluster.conf ] ||
            echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
    fi
    # shellcheck disable=SC2086
    need_packages $test_packages
    BUILD=$plain
    . "$here/tests/support/npm.sh"
    npm_fetch npm "$npm_clients"
    npm_fetch npm-axe "$npm_axe"
    npm_fetch npm-pyright "$npm_pyright"
    [ -e "$plain/fieldkit" ] || /usr/bin/python3 -m pip download -q --no-deps --no-binary fieldkit -d "$plain/fieldkit" fieldkit==0.34.1 ||
        echo "pip cannot fetch fieldkit; its tests are skipped" >&2
    [ -e "$plain/clang-format" ] ||
        /usr/bin/python3 -m pip install -q --root-user-action=ignore --target "$plain/clang-format" clang-format==19.1.7 ||
        echo "pip cannot fetch clang-format; its test is skipped" >&2
}
fetching=
if [ "$which" != core ]; then
    test_packages="clang libclang-rt-dev libomp-dev"
    command -v npm >/dev/null || test_packages="$test_packages nodejs npm" # clients of `lineage mcp`
    test_packages="$test_packages postgresql pgbouncer" # a log in PostgreSQL, also behind a pooler in transaction mode
    test_packages="$test_packages slurmctld slurmd slurm-client munge" # a night by Slurm; the daemons run only while their test does
    test_packages="$test_packages parallel iproute2 openssh-server" # workers by GNU parallel, in network namespaces, by ssh
    test_packages="$test_packages chromium chromium-driver python3-selenium" # pages of `lineage report` and `lineage serve`
    test_packages="$test_packages python3-torch python3-pytest python3-setuptools python3-wheel python3-pip mypy" # the Python package
    test_packages="$test_packages dpkg-dev file lintian debootstrap man-db mandoc zsh fish" # packages, manual pages, completions
    # shellcheck disable=SC2086
    # A password is asked for here, before the output of the build covers the question.
    installed $test_packages || as_root true
    fetch & # beside the first build
    fetching=$!
fi

# ---- building and testing ----

# The test of the wheel builds libraries and command again, as a user would. ccache has what the first build compiled with the same
# options; there a warning is an error, and a test has a locale of its own, which changes nothing in the result.
export CMAKE_C_COMPILER_LAUNCHER="${CMAKE_C_COMPILER_LAUNCHER:-ccache}" CCACHE_DIR="${CCACHE_DIR:-$plain/ccache}"
export CCACHE_IGNOREOPTIONS=-Werror CCACHE_SLOPPINESS=locale

# The warnings of a compiler that is newer than the one we build with are not errors.
errors=$([ "$(gcc -dumpversion | cut -d . -f 1)" -gt 12 ] && echo OFF || echo ON)

configure() # BUILD OPTION...
{
    build=$1
    shift
    echo "== $(basename "$build") =="
    cmake -S "$here" -B "$build" -G Ninja -DLINEAGE_WERROR=$errors -DLINEAGE_BUILD_TESTS=ON "$@" >/dev/null
}

# configure_once BUILD OPTION...: nothing in this build is compiled twice, so it has no use for the cache of the first one.
configure_once()
{
    ([ "$CCACHE_DIR" != "$plain/ccache" ] || unset CMAKE_C_COMPILER_LAUNCHER && configure "$@")
}

# Most tests make small files and remove them: in memory where there is room, which takes half as long. Tests of a disk have their own.
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "$(df -Pk /dev/shm | awk 'END { print $4 }')" -gt 4000000 ]; then
    TMPDIR=/dev/shm
    export TMPDIR
fi

# Three times the processors: many tests wait for a clock or for another process, and none depends on being alone.
jobs=$((3 * $(nproc)))
failed=0
logs=$plain/logs
mkdir -p "$logs"
rm -f "$logs"/*

# run_tests BUILD CTEST-ARGUMENT...: notes a failure and goes on, so that the end of the run can report all of them.
run_tests()
{
    build=$1
    shift
    rm -rf "$build/failed"
    ctest --test-dir "$build" --output-on-failure --no-tests=ignore -j"$jobs" -O "$logs/$(basename "$build").log" "$@" || failed=1
}

# report: the slowest tests, what was skipped and why, and how to look at each failure.
report()
{
    for log in "$logs"/*.log; do
        [ -e "$log" ] || continue
        build=$here/$(basename "$log" .log)
        sed -n "s|^ *[0-9]*/[0-9]* *Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec.*|\2 s  \1  $(basename "$build")|p" "$log"
    done | sort -rn | head -n 10 >"$logs/slowest"
    [ -s "$logs/slowest" ] && echo && echo 'The slowest tests:' && sed 's/^/  /' "$logs/slowest"
    for log in "$logs"/*.log; do
        build=$here/$(basename "$log" .log)
        [ -e "$build/Testing/Temporary/LastTest.log" ] || continue
        # A test that passes may have left out a part: it says so in a line of its own.
        awk '/^[0-9]+\/[0-9]+ Test: / { name = $3 }
            /^(SKIP|SKIPPED:|skipped:|left out:) / { if (!said[name, $0]++) print "  " name ": " $0 }' \
            "$build/Testing/Temporary/LastTest.log"
    done | sort -u >"$logs/skipped"
    [ -s "$logs/skipped" ] && echo && echo 'Skipped, as a whole or in part:' && cat "$logs/skipped"
    # A server whose test was killed keeps its files, 47 MB and more.
    for kept in /dev/shm/lpg.* /tmp/lpg.*; do
        [ ! -e "$kept" ] || echo "Files of a PostgreSQL server, to be removed unless another test is using it: $kept"
    done
    for log in "$logs"/*.log; do
        build=$(basename "$log" .log)
        sed -n 's/^ *[0-9]*\/[0-9]* *Test *#[0-9]*: \([^ ]*\) .*\*\*\*\(Failed\|Timeout\|Exception\|Not Run\).*/\1/p' "$log" |
            while read -r name; do
                echo "Failed: $name"
                echo "  again:  ctest --test-dir $build -R '^$name\$' --output-on-failure"
                echo "  output: $build/Testing/Temporary/LastTest.log"
                for kept in "$here/$build/failed/$name" "${TMPDIR:-/tmp}"/lineage-test-"$name"-* /dev/shm/lineage-test-"$name"-*; do
                    [ ! -e "$kept" ] || echo "  store:  $kept"
                done
            done
    done
    return 0
}

# run_threaded TEST...: where threads or processes meet. Only clang's OpenMP tells the sanitizer what its barriers order (through
# archer); to gcc's libgomp every parallel loop looks like a race.
run_threaded()
{
    configure_threaded
    case $* in
    *_hostile*) set -- "$@" lineage ;; # these tests start the command
    esac
    ninja -C "$here/build-thread" "$@"
    OMP_TOOL_LIBRARIES=$(find /usr/lib/llvm-*/lib -name libarcher.so | head -n 1)
    export OMP_TOOL_LIBRARIES TSAN_OPTIONS="ignore_noninstrumented_modules=1"
    run_tests "$here/build-thread" -R "^($(echo "$@" | tr ' ' '|'))\$" --no-label-summary
}

configure_threaded()
{
    configure_once "$here/build-thread" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Sanitize \
        "-DCMAKE_C_FLAGS_SANITIZE=-O1 -Wno-pass-failed" -DCMAKE_CXX_FLAGS_SANITIZE=-O1 -DLINEAGE_BUILD_BENCH=OFF -DLINEAGE_SANITIZE=thread
}

# meanwhile BUILD TARGET...: builds what the next tests need with the processor time that the tests before `meanwhile_end` leave.
# It has the lowest priority, and whatever it has not done by then, or cannot do, is left to the build in the foreground. It ends with
# this script, also after TERM.
beside=
trap '[ -z "$beside" ] || kill "$beside" 2>/dev/null || :' EXIT
trap 'exit 143' TERM HUP
meanwhile()
{
    nice -n 19 ninja -C "$@" >"$plain/meanwhile.log" 2>&1 &
    beside=$!
}

meanwhile_end() # ninja ends its compilers and removes what they had half written
{
    [ -n "$beside" ] || return 0
    kill "$beside" 2>/dev/null || :
    wait "$beside" || :
    beside=
}

configure "$plain" -DLINEAGE_TESTS_ONCE=$([ "$which" = all ] && [ $# -eq 0 ] && echo ON || echo OFF)
ninja -C "$plain" # its own line says how far it is
[ -z "$fetching" ] || wait "$fetching"
if [ "$which" = long ]; then
    run_tests "$plain" -L '^long$' "${@:---no-label-summary}"
    [ $# -gt 0 ] || run_threaded mcp_hostile serve_hostile trainer_generate trainer_run
    report
    [ "$failed" -eq 0 ] || exit 1
    "$plain/tests/marathon" 20000 1 "$plain/cli/lineage"
    exec "$plain/tests/flips" 300s 1
fi
if [ "$which" = core ]; then
    run_tests "$plain" -LE "^(long|$large)\$" "${@:---no-label-summary}"
    report
    exit $failed
fi

# -O1 and line numbers alone: with -O3 and full debugging information compiling takes three times as long. gcc sees texts
# cut off there that are never that long; the build above has that warning.
configure_once "$sanitized" -DCMAKE_BUILD_TYPE=Sanitize "-DCMAKE_C_FLAGS_SANITIZE=-O1 -Wno-format-truncation" \
    -DCMAKE_CXX_FLAGS_SANITIZE=-O1 -DLINEAGE_BUILD_BENCH=OFF "-DLINEAGE_SANITIZE=address;undefined"

# Each test runs once: here those that sanitizers would disturb, and those whose numbers optimized code computes.
meanwhile "$sanitized"
if [ $# -gt 0 ]; then
    run_tests "$plain" -LE '^long$' "$@"
else
    run_tests "$plain" -L '^(plain|numbers)$' -LE '^long$' --no-label-summary
fi
meanwhile_end

ninja -C "$sanitized"
if [ $# -gt 0 ]; then
    run_tests "$sanitized" -LE "^(plain|long)\$" "$@"
else
    threaded='writers lineage_rules lineage_cut_off lineage_mirror_changes rlcore_loss rlcore_properties'
    # shellcheck disable=SC2086 # a list of words
    configure_threaded && meanwhile "$here/build-thread" $threaded || : # without clang, the tests with sanitizers run, too
    run_tests "$sanitized" -LE "^(plain|long)\$" --no-label-summary
    meanwhile_end
    # shellcheck disable=SC2086
    run_threaded $threaded
fi
report
exit $failed
