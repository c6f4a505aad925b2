#!/bin/sh
# calls.sh: how many system calls a command makes more for each thousand rows of a deep store, and of a wide one. Counts do not
# depend on the load of the machine. A command that opens a transaction for each row makes about 3,000.
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"

[ "${INSTRUMENTED:-no}" = no ] || skip 'the sanitizers cannot work beside strace'
strace -f -c -o probe true 2>probe.err || skip 'strace is not there or may not trace'

# make DIR ROWS SHAPE: every tenth trial is kept. In a deep store each trial has the last kept one as its parent, in a wide one
# the first one. Each setting runs with 14 seeds.
make()
{
    must_run init "$1"
    must_run append -C "$1" --status baseline --core-metric 10 --hypothesis first
    awk -F "$tab" -v OFS="$tab" -v rows="$2" -v shape="$3" '
        { print }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR == 2 {
            parent = $at["exp_id"]
            for (n = 2; n <= rows; n++) {
                $at["exp_id"] = id = sprintf("%07d", 1000000 + n)
                $at["parent_exp"] = parent
                $at["status"] = n % 10 == 1 ? "keep" : "discard"
                $at["core_metric"] = 10 - n / 100000
                $at["notes"] = "alpha=" int(n / 14) % 97 / 97 "; beta=" int(n / 1358) % 11 "; seed=" n % 14
                print
                if (n % 10 == 1 && shape == "deep")
                    parent = id
            }
        }' "$1/results.tsv" >rows && cp rows "$1/results.tsv"
    must_run best -C "$1" # builds the mirror
    must_run similar -C "$1" first # builds the index of words
    must_run append -C "$1" --status discard --core-metric 9.99 --notes 'replicates 1000100'
    sleep 0.2 # a file that has just been written is read under locks, which takes more calls
}

# count DIR COMMAND...: the number of system calls in $calls. LAST is the last kept trial, at the end of the whole chain. Nobody
# tried the settings that `tried` is asked for.
count()
{
    dir=$1
    shift
    (cd "$dir" && exec strace -f -c -o ../calls "$LINEAGE" "$@") >out 2>err </dev/null
    status=$? last="lineage $*"
    if [ "$1" = tried ]; then must_exit 1; else must_exit 0; fi
    calls=$(awk '$NF == "total" { print $4 }' calls)
}

# compare LIMIT SHAPE COMMAND
compare()
{
    limit=$1 shape=$2 command=$3
    # shellcheck disable=SC2046,SC2086
    count "small-$shape" $(echo "$command" | sed 's/LAST/1002991/; s/MIDDLE/1001500/') && few=$calls
    # shellcheck disable=SC2046,SC2086
    count "large-$shape" $(echo "$command" | sed 's/LAST/1011991/; s/MIDDLE/1006000/')
    more=$(((calls - few) / 9))
    checks=$((checks + 1))
    printf '%-5s %-40s %6d %6d %6d of %d\n' "$shape" "$command" "$few" "$calls" "$more" "$limit"
    [ "$more" -le "$limit" ] || fail "lineage $command ($shape): $more system calls for each 1,000 rows, more than $limit"
}

for shape in deep wide; do
    make "small-$shape" 3000 "$shape"
    make "large-$shape" 12000 "$shape"
done
# Commands with a bounded answer. The limit of calls for each further 1,000 rows is about twice what was counted, because the
# number of pages that SQLite reads depends on its version.
while read -r limit command; do
    compare "$limit" deep "$command"
    compare "$limit" wide "$command"
done <<END
14 best
10 render
5 chain LAST --limit 10
28 show MIDDLE
10 show LAST --format json
20 show 1000100
40 similar MIDDLE
10 query --limit 5
5 query --since 2099-01-01
5 query --status train_budget_overrun
5 query --specialist nobody
5 query --sort -core_metric --limit 5
5 query --status keep --sort core_metric --limit 5
5 tried --alpha 0.77
10 tried --alpha 0.77 --beta 3
10 query --alpha 0.5 --beta 3 --limit 5
10 tried --alpha 0.77 --beta 33 --param seed=3 --tolerance 0.1
END
# Commands that read or print more the more there is.
while read -r limit command; do
    compare "$limit" deep "$command"
done <<END
30 sweep alpha
200 sweep alpha beta
150 chain LAST
150 compare --by beta
30 suggest --range alpha=0:1
50 suggest --range alpha=0:1 --range beta=0:10:integer
250 query
300 tree
600 report
300 verify
END

# Several rows in one call, which repeat settings with other seeds: the noise is measured once, and not after each row.
for n in 200 1200; do
    awk -v n=$n 'BEGIN { for (i = 1; i <= n; i++)
        printf "{\"status\": \"keep\", \"core_metric\": %.3f, \"params\": {\"lr\": %d, \"seed\": %d}}\n", i % 13 / 7, i % 40, i / 40 }' >many
    must_run init "many-$n" --direction lower
    count "many-$n" append --json ../many
    printf 'append --json of %-29d %6d\n' $n "$calls"
    [ $n = 200 ] && few=$calls
done
checks=$((checks + 1))
[ $((calls - few)) -le 5000 ] || fail "append --json: $((calls - few)) system calls for 1,000 further rows, more than 5,000"

# The same commands and proposals, from 12,000 to 50,000 rows: a proposal reads all rows of a log of up to 1,000.
make huge-deep 50000 deep
"$LINEAGE" best -C huge-deep >/dev/null # the first question notes how far the mirror is; the other store was asked before
while read -r limit command; do
    # shellcheck disable=SC2086
    count large-deep $command && few=$calls
    # shellcheck disable=SC2086
    count huge-deep $command
    more=$(((calls - few) / 38))
    checks=$((checks + 1))
    printf '%-46s %6d %6d %6d of %d\n' "$command" "$few" "$calls" "$more" "$limit"
    [ "$more" -le "$limit" ] || fail "lineage $command: $more system calls for each 1,000 rows, more than $limit"
done <<END
20 best
1 query --limit 5
1 tried --alpha 0.77 --beta 3
3 suggest --range alpha=0:1
3 suggest --range alpha=0:1 --range beta=0:10:integer
END
finish
