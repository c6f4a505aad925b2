#!/bin/sh
# upgrade.sh: a store that version 0.1.0 wrote (fixtures/upgrade-0.1.0, its mirror as SQL) is read, checked and continued by this
# version, and no byte of its rows changes.
. "$SOURCE/tests/support/shell.sh"
old=$SOURCE/fixtures/upgrade-0.1.0

# old_store DIRECTORY: a writable copy, with the mirror of that version where python3 can make it.
old_store()
{
    cp -R "$old" "$1"
    chmod -R u+w "$1"
    rm "$1/mirror.sql"
    command -v python3 >/dev/null || { echo 'skipped: no python3, the store has no old mirror' && return; }
    python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(open(sys.argv[2]).read())' "$1/lineage.db" "$old/mirror.sql" ||
        fail 'the old mirror'
}

old_store store
must_run verify -C store
must_run best -C store --format json
must_equal '007 0.43 n1' "$(json exp_id) $(json core_metric) $(json specialist)"
run query -C store --param lr=0.05 --format tsv
must_equal '001 002' "$(cut -f 1 out | tail -n +2 | sort | tr '\n' ' ' | sed 's/ $//')"
must_run show 002 -C store
must_have out 'wider clip range, "quoted", with a'
must_run tried --param clip_norm=1 -C store
must_have out 004
must_run search -C store gradient
must_have out 004
for command in 'chain' 'tree' 'render' 'knobs' 'logs 005' 'sql SELECT*FROM(trials)' 'sweep lr' 'similar 001' 'report -o page.html'; do
    case $command in
    sql*) must_run sql 'SELECT count(*) FROM step_metrics' -C store ;;
    *) # shellcheck disable=SC2086
        must_run $command -C store ;;
    esac
done
must_run export -C store
must_match_file out "$old/results.tsv"
# It goes on: the next id, the best so far, a parent of that version; no byte of the rows before changes.
must_run append -C store --specialist new --parent 005 --status auto --core-metric 0.41 --param lr=0.01
must_equal 009 "$(cat out)"
must_run best -C store --format json
must_equal '009 005' "$(json exp_id) $(json parent_exp)"
must_equal -0.02 "$(awk "BEGIN { printf \"%.4g\", $(json delta_vs_best) }")" "against the best of 0.1.0"
head -c "$(wc -c <"$old/results.tsv")" store/results.tsv | cmp -s - "$old/results.tsv" || fail 'rows of 0.1.0 changed'
must_run verify -C store
cp store/results.tsv rows.tsv
rm -f store/lineage.db*
must_run rebuild -C store
must_run export -C store
must_match_file out rows.tsv

# A command that only reads does not need to write: another user's old store is read where it is.
old_store closed
chmod -R a-w closed
must_run best -C closed --format json
must_equal 007 "$(json exp_id)"
chmod -R u+w closed
finish
