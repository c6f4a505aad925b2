#!/bin/sh
# size_limit.sh: a limit on the size of files (`ulimit -f`) and a mirror that cannot be opened lose no measured trial.
. "$SOURCE/tests/support/shell.sh"

# limited ARGUMENT...: the command with files of at most 4 blocks (of 512 or 1024 bytes).
limited()
{
    (ulimit -f 4 && exec "$LINEAGE" "$@") >out 2>err </dev/null
    status=$?
    last="ulimit -f 4; lineage $*"
}

# The log is as long as the limit allows.
must_run -C full init full --direction higher
while [ "$(wc -c <full/results.tsv 2>/dev/null || echo 0)" -lt 5000 ]; do
    must_run -C full append --status discard --core-metric 1 --hypothesis "$(printf '%0400d' 7)"
done
cp full/results.tsv before
limited -C full append --status keep --core-metric 2
must_exit 3
must_have err 'results.tsv: File too large'
must_match_file before full/results.tsv

# A trial that was measured is kept in a file that `append` takes.
TMPDIR=$scratch
export TMPDIR
limited run -C full --direction higher --metric score -- sh -c 'echo score: 3'
must_exit 3
must_have err 'File too large'
must_have err 'the row is kept in '
must_match_file before full/results.tsv
kept=$(sed -n 's/.*the row is kept in \([^;]*\);.*/\1/p' err)
must_run -C full append --json "$kept"
must_run best -C full --direction higher --format json
must_equal 3.0 "$(json core_metric)"

# Commands that a trial starts get the default: the signal ends them.
must_run init signal --direction higher
run run -C signal --metric score -- sh -c 'ulimit -f 1; exec head -c 100000 /dev/zero >big'
must_exit 1
must_have signal/results.tsv 'crash'

# A record that reaches beyond the limit is taken back completely.
must_run -C cut init cut
must_run -C cut append --status discard --core-metric 1
(ulimit -f 1 && exec "$LINEAGE" -C cut append --status keep --core-metric 1 --hypothesis "$(printf '%02000d' 7)") >out 2>err
status=$?
must_exit 3
must_have err 'File too large'
must_equal 2 "$(wc -l <cut/results.tsv)"

# Nothing can be written beside lineage.db: the commands answer from the log.
for obstacle in 'mkdir lineage.db-wal' 'ln -s /nonexistent/file lineage.db-wal' 'mkdir lineage.db-journal'; do
    rm -rf wal && must_run init wal --direction higher
    must_run -C wal append --status baseline --core-metric 1
    rm -f wal/lineage.db*
    (cd wal && $obstacle)
    run -C wal append --status auto --core-metric 2
    must_exit 0
    must_have out 001
    run run -C wal --metric score -- sh -c 'echo score: 3'
    must_exit 0
    run -C wal best --format json
    must_exit 0
    must_equal 002 "$(json exp_id)"
    must_equal 4 "$(wc -l <wal/results.tsv)"
done
finish
