#!/bin/sh
# agent.sh: one of several scripted agents, as `lineage program --agents` instructs them: it leases an idea, edits and commits, trains,
# and resets what was not better. Every KILLED-th training is killed (SIGKILL) with the process that watches it. Prints the ids of
# the rows that it was given.
#
# usage: cd WORK-TREE; sh agent.sh STORE FIRST N KILLED      ideas: x = 1 .. N, beginning with FIRST; 0: kill none
set -eu
store=$1 first=$2 n=$3 killed=$4
runs=0

# rows: how many ideas have a measured trial. A row that is being written is seen by the next look.
rows() { lineage query -C "$store" --status keep,discard --param x=: --format tsv 2>/dev/null | sed 1d | wc -l; }

train()
{
    runs=$((runs + 1))
    echo "x=$1" >x.txt
    git add x.txt && git commit -q --allow-empty -m "x $1"
    rm -f ../started.$$
    if [ "$killed" -gt 0 ] && [ $((runs % killed)) = 0 ]; then
        STARTED=../started.$$ lineage run -C "$store" -q -m loss --hypothesis "x is now $1" -p x="$1" -- sh train.sh >/dev/null &
        run=$!
        while [ ! -e ../started.$$ ] && kill -0 $run 2>/dev/null; do sleep 0.02; done
        kill -9 $run 2>/dev/null || :
        wait $run || :
    else
        lineage run -C "$store" -q -m loss --hypothesis "x is now $1" -p x="$1" -- sh train.sh || :
    fi
}

while [ "$(rows)" -lt "$n" ]; do
    i=0
    while [ $i -lt "$n" ]; do
        x=$(((first + i - 1) % n + 1))
        i=$((i + 1))
        lineage lease -C "$store" --hypothesis "x is now $x" -p x=$x --for 10m >/dev/null 2>&1 || continue
        train $x
        git reset -q --hard HEAD~1
    done
done
