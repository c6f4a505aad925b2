#!/bin/sh
# store_above.sh: a command in a subdirectory finds the store above it, as git does, and none that it must not trust.
# shellcheck disable=SC1091,SC2154
. "$SOURCE/tests/support/shell.sh"

top=$PWD
HOME=$top/home
export HOME
mkdir -p home/project/src/deep other/deep
must_run init home/project
cd home/project/src/deep || exit 3

# Reading and writing from below.
must_run append --status baseline --core-metric 3 --hypothesis 'from below'
must_equal 000 "$(cat out)"
[ -s "$HOME/project/results.tsv" ] || fail 'the row is not in the store above'
must_equal 'err out' "$(ls -A | tr '\n' ' ' | sed 's/ $//')" 'files beside'

must_run best
must_have out 'from below'
must_run verify
must_run report -o page.html
must_have page.html 'from below'
must_run run --direction lower -q -m loss -- sh -c 'echo "loss: 2"'
must_equal 2 "$(sed 1d "$HOME/project/results.tsv" | wc -l)" 'run'
echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"best","arguments":{}}}' >in
"$LINEAGE" mcp <in >out 2>err
must_have out '"exp_id":"001"'

# A store below is named where none is found, since people keep stores in runs/.
(
    mkdir -p "$HOME/below/runs/mine" && cd "$HOME/below" || exit 3
    must_run init runs/mine
    must_fail 2 'there is one in runs/mine;' query
    must_fail 2 'makes one in a directory of its own' run -- true
    must_run init runs
    must_fail 2 'there is one in runs;' query
)
# -C means that directory, and a store here comes first.
must_fail 2 'no store in .. ' best -C ..
must_run init .
must_fail 1 'no kept' best

# Not above the home directory, and not above it from outside either.
cd "$HOME" || exit 3
must_run init "$top"
must_fail 2 'no store in . (no results.tsv, no lineage.json) or the directories above it' best
cd "$top/other/deep" || exit 3
must_fail 1 'no kept' best
HOME=$top/other
must_fail 2 'no store in .' best
HOME=$top/home

# A directory in which everybody may make files is not looked at either.
chmod 1777 "$top/other"
must_fail 2 'no store in .' best
chmod 755 "$top/other"

# The directory of another user is not looked at, nor what is above it. Only root can give one away.
if [ "$(id -u)" = 0 ]; then
    chown 12345 "$top/other"
    must_fail 2 'no store in .' best
    chown 0 "$top/other"
    chown 12345 "$top"
    must_fail 2 'no store in .' best
    chown 0 "$top"
    must_fail 1 'no kept' best
fi
finish
