#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# race.sh: long-lived handles append to one log, each with a stale view of it. In the order of the log each row must be judged
# against the best row before it, and ids are unique.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start 'fsync = off' 'track_functions = pl'
server_sql postgres 'CREATE DATABASE trials' >/dev/null
uri=$SERVER/trials/one
must_run init "$uri" --direction higher
must_run -C "$uri" append --status keep --core-metric 0 --hypothesis first
for i in 1 2 3 4 5 6 7 8; do
    mkdir d$i
    echo "{\"log\": \"$uri\"}" >d$i/lineage.json
    must_run trust d$i
done

# race ROWS: runs the race, then prints errors of the log: ids, status, baseline and delta of each row with a score.
race()
{
    checks=$((checks + 1))
    "$RACE" "$1" d1 d2 d3 d4 d5 d6 d7 d8 >out 2>err || { fail 'an append failed'; show_output; }
    must_run -C "$uri" export
    must_equal '' "$(awk -F '\t' 'BEGIN { last = -1 } NR == 1 { next }
        seen[$1]++ { print $1 ": twice" }
        $1 !~ /^own/ && $1 + 0 <= last { print $1 ": behind " last }
        $1 !~ /^own/ { last = $1 + 0 }
        $10 == "" { next }
        NR > 2 && $5 != best_id { print $1 ": baseline " $5 ", not " best_id }
        NR > 2 && $12 - ($10 - best) > 1e-9 || NR > 2 && ($10 - best) - $12 > 1e-9 { print $1 ": delta " $12 ", not " $10 - best }
        $9 == "keep" && NR > 2 && $10 <= best { print $1 ": kept" }
        $9 == "discard" && $10 > best { print $1 ": discarded" }
        $9 == "keep" { best = $10; best_id = $1 }' out | head -n 5)" 'the log'
}
race 60
must_equal 482 "$(server_sql trials 'SELECT count(*) FROM lineage.record')" 'records'
must_equal 482 "$(server_sql trials 'SELECT told_seq FROM lineage.store')" 'the last append told what is next'
must_run -C "$uri" verify
for i in 1 8; do
    run -C d$i query --format tsv
    must_exit 0
    must_equal 482 "$(wc -l <out)" "rows of mirror $i"
done

# Most of these appends have no claim.
must_equal t "$(server_sql trials "SELECT n > 100 FROM (SELECT coalesce(sum(calls), 0) AS n FROM pg_stat_user_functions WHERE funcname = 'append_next') x")" \
    'calls of append_next'
finish
