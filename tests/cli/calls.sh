#!/bin/sh
# calls.sh: how many system calls a command makes more for each thousand rows of a deep store. Counts do not depend on the load
# of the machine. A command that opens a transaction for each row makes about 3,000.
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"

[ "${INSTRUMENTED:-no}" = no ] || skip 'the sanitizers cannot work beside strace'
strace -f -c -o probe true 2>probe.err || skip 'strace is not there or may not trace'

# deep DIR ROWS: every tenth trial is kept, and each trial has the last kept one as its parent.
deep()
{
    must_run init "$1"
    must_run append -C "$1" --status baseline --core-metric 10 --hypothesis first
    awk -F "$tab" -v OFS="$tab" -v rows="$2" '
        { print }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR == 2 {
            parent = $at["exp_id"]
            for (n = 2; n <= rows; n++) {
                $at["exp_id"] = id = sprintf("%07d", 1000000 + n)
                $at["parent_exp"] = parent
                $at["status"] = n % 10 == 1 ? "keep" : "discard"
                $at["core_metric"] = 10 - n / 100000
                $at["notes"] = "alpha=" n % 97 / 97 "; beta=" n % 11 "; seed=" n % 7
                print
                if (n % 10 == 1)
                    parent = id
            }
        }' "$1/results.tsv" >rows && cp rows "$1/results.tsv"
    must_run best -C "$1" # builds the mirror
}

# count DIR COMMAND...: the number of system calls in $calls. LAST is the last kept trial, at the end of the whole chain.
count()
{
    dir=$1
    shift
    (cd "$dir" && exec strace -f -c -o ../calls "$LINEAGE" "$@") >out 2>err </dev/null
    status=$? last="lineage $*"
    must_exit 0
    calls=$(awk '$NF == "total" { print $4 }' calls)
}

deep small 1000
deep large 10000
# The limit of calls for each further 1,000 rows, and the command. They are about twice what was counted, because the number of
# pages that SQLite reads depends on its version.
while read -r limit command; do
    # shellcheck disable=SC2046,SC2086
    count small $(echo "$command" | sed s/LAST/1000991/) && few=$calls
    # shellcheck disable=SC2046,SC2086
    count large $(echo "$command" | sed s/LAST/1009991/)
    more=$(((calls - few) / 9))
    checks=$((checks + 1))
    printf '%-32s %6d %6d %6d of %d\n' "$command" "$few" "$calls" "$more" "$limit"
    [ "$more" -le "$limit" ] || fail "lineage $command: $more system calls for each 1,000 rows, more than $limit"
done <<END
5 best
5 query --limit 5
30 sweep alpha
120 sweep alpha beta
150 chain LAST
150 render
150 compare --by beta
200 suggest --range alpha=0:1
250 query
300 tree
600 report
130 query --since 2099-01-01
300 verify
END
finish
