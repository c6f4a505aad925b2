#!/bin/sh
# portable.sh: the portable command (`cli/packages.sh --portable`) is one file that needs nothing: it runs alone in an empty root,
# and says what it cannot do.
. "$SOURCE/tests/support/shell.sh"

[ "$INSTRUMENTED" = no ] || skip "the portable program is not instrumented"
# In the directory of the wheel, which has the same program in it: it is compiled once.
file=$(sh "$SOURCE/cli/packages.sh" --portable "$BUILD/wheel/portable" 2>log) || fail "packages.sh: $(tail -n 3 log)"
must_equal "lineage-$(sed -n 's/^project(lineage VERSION \([0-9.]*\).*/\1/p' "$SOURCE/CMakeLists.txt")-$(uname -m)" "$(basename "$file")"
readelf -d "$file" >dynamic && readelf -l "$file" >segments || fail 'readelf'
grep -q NEEDED dynamic && fail "it needs a library: $(grep NEEDED dynamic)"
grep -q INTERP segments && fail 'it needs a dynamic loader'
grep -q 'Type: *DYN' segments || readelf -h "$file" | grep -q 'Type: *DYN' || fail 'its addresses are not random'

if [ "$(id -u)" -ne 0 ]; then
    echo 'skipped: an empty root takes root'
    LINEAGE=$file
    alone() { "$LINEAGE" "$@"; }
    mkdir bare
    cd bare || exit 1
else
    mkdir -p bare/runs bare/tmp
    cp "$file" bare/lineage
    alone() { chroot bare /lineage "$@"; }
fi
# told STATUS TEXT ARGUMENTS..: the exit status, and a text of the output
told()
{
    wanted=$1 text=$2
    shift 2
    checks=$((checks + 1))
    alone "$@" >said 2>&1
    got=$?
    [ "$got" -eq "$wanted" ] || fail "lineage $*: exit status $got, not $wanted: $(cat said)"
    [ -z "$text" ] || grep -qF -- "$text" said || fail "lineage $*: no '$text' in: $(cat said)"
}
told 0 'lineage ' --version
told 0 '' init runs --direction lower
told 0 000 append -C runs --specialist first --metric 0.5 --status keep --param lr=0.1
told 0 001 append -C runs --specialist second --metric 0.4 --status keep --parent 000 --param lr=0.2
told 0 second best -C runs
told 0 'exp_001' render -C runs
told 0 'checked: 2 rows' verify -C runs
told 0 first search -C runs first
told 0 001 sql -C runs 'SELECT exp_id FROM trials WHERE core_metric < 0.45'
told 0 'Usage' --help
told 0 'sweep' help nights
# What takes a library or another program.
told 3 'this is the portable program, which cannot load libmicrohttpd' serve -C runs
told 3 lineage-train train recipe.json
told 2 "PostgreSQL" best -C postgres://nowhere/db
finish
