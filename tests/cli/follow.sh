#!/bin/sh
# follow.sh: prints new rows no matter which process writes them, also after the file was replaced.
. "$SOURCE/tests/support/shell.sh"

# until_has FILE TEXT: waits until FILE contains TEXT, at most half a minute.
until_has()
{
    tries=0
    until grep -q -- "$2" "$1" || [ $tries -ge 3000 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    must_have "$1" "$2"
}

mkdir store
must_run -C store append --create --status keep --core-metric 2.0 --hypothesis before
"$LINEAGE" -C store follow --limit 4 >rows 2>errors &
follower=$!
until_has rows exp_id
must_run -C store append --status keep --core-metric 1.5 --hypothesis ours
until_has rows ours
must_lack rows before

# Another program writes a row in two parts: nothing is printed before the second.
printf '009\t2026-01-01T00:00:00Z\topt\t001\t\t\thalf' >>store/results.tsv
sleep 0.3
must_lack rows half
printf ' a row\t\tkeep\t1.0\t\t\t\t\t\t\t\n' >>store/results.tsv
until_has rows 'half a row'

# The file is replaced, first by a shorter one and then by a longer one.
head -n 3 store/results.tsv >copy && mv copy store/results.tsv
until_has errors 'removed from the store'
must_run -C store rebuild
trial 010 001 keep 0.5 new >>store/results.tsv
until_has rows 010
trial 011 001 keep 0.5 newer >>store/results.tsv
wait $follower || fail "follow ends after --limit rows"
must_equal 'exp_id 001 009 010 011 ' "$(cut -f1 rows | tr '\n' ' ')" "rows as they came"

must_run -C store follow --from start --limit 2 --format json
must_equal 2 "$(wc -l <out | tr -d ' ')" "objects, one per line"
head -n 1 out >first && cp first out
must_equal 000 "$(json exp_id)"
must_run -C store follow --from 001 --limit 1
must_equal 010 "$(sed 1d out | cut -f1)"
must_fail 2 'no trial' -C store follow --from nothing
must_fail 2 'would print nothing' -C store follow --limit 0
must_fail 2 'use tsv or json' -C store follow --format table

# A store that is still empty.
mkdir empty
"$LINEAGE" -C empty follow --limit 1 --format json >rows 2>errors &
follower=$!
tries=0 # it follows what is appended after it has started, however late that is
while kill -0 $follower 2>/dev/null && [ $((tries += 1)) -le 3000 ]; do
    must_run -C empty append --create --status keep --core-metric 1.0
    sleep 0.5
done
wait $follower || fail "follow of a new store"
must_equal 1 "$(wc -l <rows | tr -d ' ')" "rows of a new store"

finish
