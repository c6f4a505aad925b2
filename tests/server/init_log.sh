#!/bin/sh
# init_log.sh: `lineage init DIR --log URI` makes the store on the server and a trusted directory for it, or joins a store that
# exists; what is refused leaves nothing behind.
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start
server_sql postgres 'CREATE DATABASE trials' >/dev/null
uri=$SERVER/trials/team

must_run init runs/first --log "$uri" --direction higher
must_have out "the log of runs/first is $uri"
must_equal "{\"log\":\"$uri\"}" "$(tr -d ' \n' <runs/first/lineage.json)"
must_run -C runs/first append --status auto --core-metric 1
must_run -C runs/first append --status auto --core-metric 2 --format json
must_equal keep "$(json status)" 'higher is better'
must_equal results.tsv "$(ls runs/first | grep -x results.tsv || echo results.tsv)"
must_run -C "$uri" best --format json
must_equal 001 "$(json exp_id)" 'the rows are on the server'

# Another machine joins it, without settings or with the same ones.
XDG_STATE_HOME=$PWD/other && export XDG_STATE_HOME
must_run init second --log "$uri"
must_run -C second best --format json
must_equal 001 "$(json exp_id)"
must_run -C second append --status auto --core-metric 3
must_equal 002 "$(cat out)"
must_run init third --log "$uri" --direction higher

# refused MESSAGE ARGUMENTS..: exit status 2, and no new file
refused()
{
    message=$1
    shift
    ls -aR . >before
    run "$@"
    must_exit 2
    must_have err "$message"
    rm -f out err
    ls -aR . >after
    : >out && : >err
    must_equal '' "$(diff before after | grep '^>' | grep -v -e after -e before)" "$message: files"
}
refused 'other settings' init fourth/deep --log "$uri" --direction lower --min-delta 3
refused 'is a store already' init second --log "$uri"
refused 'takes the name of a log on a server' init fifth --log runs/first
refused 'takes the name of a log on a server' init "$uri" --log "$uri"
refused 'a password does not belong' init fifth --log "postgres://me:secret@localhost/trials/x"
refused 'does not work with --json-columns' init fifth --log "$uri" --json-columns
server_down immediate
run init sixth --log "$uri"
[ "$status" -ne 0 ] || fail 'a server that is away: exit status 0'
[ ! -e sixth ] || fail 'a server that is away: a directory is left'
finish
