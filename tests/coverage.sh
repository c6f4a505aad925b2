#!/bin/sh
# Lines and branches of the store, of the process that watches trials and of the command that the suite runs through, by
# room. Children of the fault tests count as well: who kills himself writes his counts first.
#
# usage: sh tests/coverage.sh [FILTER]      FILTER: rooms whose files are listed one by one, e.g. src/store/append
#        TESTS='^lineage_' sh tests/coverage.sh      only the tests that match, which says what they alone reach
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$here/cli/install-deps.sh"
# shellcheck disable=SC2086
need_packages $build_packages libcmocka-dev sqlite3 gcovr

build=$here/build-coverage
cmake -S "$here" -B "$build" -G Ninja -DLINEAGE_BUILD_TESTS=ON -DLINEAGE_BUILD_BENCH=OFF -DLINEAGE_COVERAGE=ON \
    -DCMAKE_BUILD_TYPE=Debug >/dev/null
ninja -C "$build" --quiet
find "$build" -name '*.gcda' -delete
ctest --test-dir "$build" -j2 --output-on-failure --no-label-summary -LE bench \
    -R "${TESTS:-^lineage_|^cases|^(append|operation)_faults|^writers|^workers|^enospc|^flips|^marathon|^fuzz_(tsv|notes)|^cli_|^server_}" ||
    failed=yes

# Not counted: branches on lines without code; a failing assert; what the macros of uthash and Jansson expand to (the
# rounds of a hash function, the growth of its table, a second look at a value), which are not conditions of ours.
gcovr --root "$here" --filter "$here/src/store/" --filter "$here/cli/" --exclude-unreachable-branches \
    --exclude-branches-by-pattern '\s*(assert|HASH_[A-Z_]+|json_object_foreach)\(' \
    --csv --output "$build/coverage.csv" "$build" 2>/dev/null
awk -F , -v filter="${1:-}" '
    function row(name) {
        printf "%-28s %6d %6.1f %8d %6.1f\n", name, lines[name], 100 * run[name] / (lines[name] ? lines[name] : 1),
            branches[name], 100 * taken[name] / (branches[name] ? branches[name] : 1)
    }
    function add(name) {
        if (!(name in lines))
            names[++n] = name
        lines[name] += $2; run[name] += $3; branches[name] += $5; taken[name] += $6
    }
    NR > 1 {
        room = $1
        sub("/[^/]*$", "", room)
        add(room)
        if (filter != "" && index(room, filter) == 1)
            add($1)
        split(room, part, "/")
        all = part[1] == "src" ? "src/" part[2] : part[1]
        total[all " in all"] = 1
        lines[all " in all"] += $2; run[all " in all"] += $3; branches[all " in all"] += $5; taken[all " in all"] += $6
    }
    END {
        printf "%-28s %6s %6s %8s %6s\n", "room", "lines", "%", "branches", "%"
        for (i = 1; i <= n; i++)
            row(names[i])
        for (name in total)
            row(name)
    }' "$build/coverage.csv"
[ -z "${failed:-}" ] || { echo "some tests failed"; exit 1; }
