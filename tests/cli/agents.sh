#!/bin/sh
# agents.sh: several agents on one store: work trees, leases of ideas, and four scripted agents that are killed now and then.
# shellcheck disable=SC2016,SC2034,SC2154 # shared with shell.sh; $ is for the commands
. "$SOURCE/tests/support/shell.sh"
command -v git >/dev/null || skip "git is not installed"
HOME=$scratch GIT_CONFIG_NOSYSTEM=1
export HOME GIT_CONFIG_NOSYSTEM
mkdir bin && ln -s "$LINEAGE" bin/lineage && PATH=$scratch/bin:$PATH
mkdir repo && cd repo || exit 3
git init -q . && git config user.email a@b && git config user.name a
cat >train.sh <<'END'
[ -z "${STARTED:-}" ] || { : >"$STARTED"; sleep 60; }
echo "METRIC loss=$(sed 's/x=//' x.txt) gpu=${CUDA_VISIBLE_DEVICES:-none}" | sed 's/ gpu=/\ngpu /'
END
echo x=50 >x.txt
git add . && git commit -q -m start
must_run init runs --direction lower
store=$scratch/repo/runs

# ---- work trees ----
must_run worktree -C runs a0 --gpu 0
must_equal "$scratch/repo-a0" "$(cat out)"
must_run worktree -C runs a1 --path ../other
must_run worktree -C runs --format tsv
must_equal "a0 $scratch/repo-a0 lineage/a0 0
a1 $scratch/other lineage/a1 " "$(sed 1d out | cut -f 1-4 | tr '\t' ' ' | sort)"
must_fail 2 'works in' worktree -C runs a0
must_fail 2 'cannot name an agent' worktree -C runs ../a
must_fail 2 'cannot name an agent' worktree -C runs -- -a
must_fail 2 'names neither a commit nor a trial' worktree -C runs a2 --from 099
must_fail 2 'name the agent' worktree -C runs --gpu 0
must_fail 2 'no work tree of an agent' worktree -C runs a7 --remove
cd ../other && echo 1 >new.txt && cd ../repo
must_fail 1 'it has changes' worktree -C runs a1 --remove
rm ../other/new.txt
cp -r runs ../other/runs # ignores itself, so git would remove it
must_fail 1 'has a store of trials' worktree -C runs a1 --remove
rm -r ../other/runs
must_run worktree -C runs a1 --remove
[ ! -e ../other ] || fail "a removed work tree is there"
must_fail 2 'of earlier work' worktree -C runs a1
git branch -q -D lineage/a1
must_run worktree -C runs a1 --from HEAD

# ---- the agent of a work tree is the specialist, and has its GPU ----
cd ../repo-a0 || exit 3
must_run run -C "$store" -q -m loss --hypothesis 'before any change' -- sh train.sh
must_equal 'a0 50.0' "$(sed 1d "$store/results.tsv" | cut -f 3,10 | tr '\t' ' ')"
must_have "$store/logs/000.log" 'gpu 0'
CUDA_VISIBLE_DEVICES=3 "$LINEAGE" run -C "$store" -q -m loss --specialist me -- sh train.sh >/dev/null 2>&1
must_have "$store/logs/001.log" 'gpu 3'
must_equal me "$(sed -n '3p' "$store/results.tsv" | cut -f 3)"

# ---- leases: by parameters, by words, one's own, ended, run out ----
must_run lease -C "$store" --hypothesis 'lr 0.02 -> 0.04: the loss still falls' -p lr=0.04
own=$(cat out)
must_run lease -C "$store" --hypothesis 'weight decay 0.1 -> 0.2' --agent other
other=$(cat out)
must_run lease -C "$store" --format tsv
must_equal 2 "$(sed 1d out | wc -l | tr -d ' ')"
must_equal a0,other "$(sed 1d out | cut -f 2 | sort | paste -sd, -)"
must_fail 1 "a0 has leased this (lease $own" lease -C "$store" --agent third -p lr=4e-2
must_have err 'lr 0.02 -> 0.04: the loss still falls {"lr":0.04}'
must_fail 1 "other has leased this (lease $other" lease -C "$store" --hypothesis 'weight decay 0.1 -> 0.2, because it overfits' -p wd=0.2
must_run lease -C "$store" --agent third -p lr=0.05
third=$(cat out)
must_run lease -C "$store" -p lr=0.04 --hypothesis 'lr 0.02 -> 0.04: the loss still falls'
[ ! -e "$store/telemetry/leases/$own.json" ] || fail "an agent has two leases of one idea"
own=$(cat out)
run run -C "$store" -q -m loss --hypothesis 'weight decay 0.1 -> 0.2' -- sh train.sh
must_exit 1
must_have err 'other has leased this'
must_have err 'nothing is run: take another idea'
must_equal 2 "$(sed 1d "$store/results.tsv" | wc -l | tr -d ' ')" "rows"
must_run suggest -C "$store" --range lr=0.03,0.04,0.05 --propose grid -n 3 --format json
must_equal '[{"lr":0.03}]' "$(json suggestions 2>/dev/null || cat out)" "leased settings are not proposed"
sed -i 's/"until":[0-9.]*/"until":1/' "$store/telemetry/leases/$other.json"
must_run lease -C "$store" --format tsv
must_equal a0,third "$(sed 1d out | cut -f 2 | sort | paste -sd, -)" "a lease that has run out does not count"
must_run lease -C "$store" --end "$third"
must_fail 1 'there is no lease' lease -C "$store" --end "$third"
must_fail 1 'there is no lease' lease -C "$store" --end ../../results
must_fail 2 'whose is it' lease -C "$store" -p a=1 --agent ''
must_fail 2 'control character' lease -C "$store" -p a=1 --agent "a
b"
LINEAGE_AGENT=$(seq -s _ 50) run run -C "$store" -q -m loss -p a=1 -- sh train.sh
must_exit 2
must_have err 'more than 95 bytes'
must_fail 2 'not UTF-8' lease -C "$store" -p a=1 --agent "$(printf 'a\377')"
must_fail 2 'exclude each other' lease -C "$store" -p a=1 --end "$own"
must_fail 2 'use at least 1 second' lease -C "$store" -p a=1 --for 0
must_fail 2 'api_key' lease -C "$store" -p api_key=sk-1234567890abcdef1234567890abcdef
# ---- words on one side and parameters on the other; what the best trial has and only one of both names ----
"$LINEAGE" init same --direction lower >/dev/null
must_run append -C same --status keep --core-metric 1 --specialist x --param lr=0.1 --param wd=0.1
leases() # EXIT ARGUMENT..
{
    wanted=$1
    shift
    run lease -C same "$@"
    must_exit "$wanted"
}
leases 0 --agent a --hypothesis 'momentum 0.5 -> 0.9'
leases 1 --agent b -p momentum=9e-1
leases 0 --agent b -p momentum=0.8
leases 0 --agent a -p depth=8
leases 1 --agent b --hypothesis 'depth 4 -> 8'
leases 0 --agent b --hypothesis 'depth 4 -> 16'
leases 0 --agent a -p lr=0.2
leases 1 --agent b -p lr=0.2 -p wd=0.1
leases 0 --agent b -p lr=0.2 -p wd=0.3
seq 1100 | while read -r i; do # however many there are
    printf '{"agent":"many","hypothesis":"","params":{"k":%s},"until":99999999999}' "$i" >"$(printf 'same/telemetry/leases/%06x.json' "$i")"
done
leases 1 --agent b -p k=1099
# A run of nobody holds what it trains from the first lease on; two of them may train the same.
rm -f "$scratch/started"
LINEAGE_AGENT='' STARTED=$scratch/started "$LINEAGE" run -C same -q -p n=1 -m core_metric -- sh -c ': >$STARTED; sleep 60' >/dev/null 2>&1 &
running=$!
while [ ! -e "$scratch/started" ]; do sleep 0.05; done
must_have "$(grep -l '"n":1' same/telemetry/leases/*)" '"runs":true'
LINEAGE_AGENT='' run run -C same -q -p n=1 -m core_metric -- echo METRIC core_metric=3
must_exit 0
kill -TERM $running
wait $running 2>/dev/null
(cd ../repo && "$LINEAGE" lease -C runs -p a=1) 2>err && fail "a lease of nobody"
must_have err 'whose is it'

# ---- a night leaves out what an agent has leased ----
echo '{"name": "n", "direction": "lower", "command": ["sh", "train.sh"], "metrics": ["loss"], "grid": {"depth": [2, 4, 6]}}' >"$scratch/night.json"
must_run lease -C "$store" --agent third -p depth=4
third=$(cat out)
run night "$scratch/night.json" -C "$store" --no-confirm
must_exit 0
must_have err 'is left out: third has leased this'
must_equal '2 6' "$(sed -n 's/.*depth=\([0-9]*\).*/\1/p' "$store/results.tsv" | xargs)" "settings of the night"
must_have err '1 of 3 trials are left'
must_run lease -C "$store" --end "$third"

# ---- a run takes its agent's lease over, holds it, and ends it with the row; another one is refused meanwhile ----
rm -f "$scratch/started"
STARTED=$scratch/started "$LINEAGE" run -C "$store" -q -m loss --hypothesis 'lr 0.02 -> 0.04: the loss still falls' -p lr=0.04 \
    -- sh train.sh >/dev/null 2>&1 &
running=$!
while [ ! -e "$scratch/started" ]; do sleep 0.05; done
[ ! -e "$store/telemetry/leases/$own.json" ] || fail "the lease was not taken over"
must_run lease -C "$store"
must_have out trains
must_fail 1 'a0 trains this' lease -C "$store" --agent third -p lr=0.04
run run -C "$store" -q -m loss -p lr=0.04 -- sh train.sh
must_exit 1
must_have err 'a0 trains this'
kill -9 $running
wait $running 2>/dev/null
# What the killed process watched is ended by its guardian, and counts as running until then.
for _ in $(seq 600); do
    "$LINEAGE" lease -C "$store" --agent third -p lr=0.04 >out 2>err && break
    sleep 0.1
done
[ -s out ] || fail "a killed run holds its lease: $(cat err)"
must_run lease -C "$store" --end "$(cat out)"
run run -C "$store" -q -m loss -p lr=0.04 -- sh train.sh
must_exit 0
must_fail 1 'tried already' lease -C "$store" -p lr=0.04 --agent third
must_run lease -C "$store" -p lr=0.04 --agent third --again
must_run lease -C "$store" --end "$(cat out)"
printf garbage >"$store/telemetry/leases/00000a.json"
ln -s /etc/passwd "$store/telemetry/leases/00000b.json"
mkfifo "$store/telemetry/leases/00000c.json"
echo '{"agent": "none", "until": 99999999999}' >"$store/telemetry/leases/00000d.json"
echo '{"agent": "odd", "params": {"x": [1], "y": null}, "until": 9e99}' >"$store/telemetry/leases/00000e.json"
must_run lease -C "$store" --format tsv
must_equal none,odd "$(sed 1d out | cut -f 2 | paste -sd, -)" "leases written by others"
run lease -C "$store" --hypothesis 'y 1 -> 2' --agent third
must_exit 0
must_run lease -C "$store" --end "$(cat out)"
must_run verify -C "$store"

# ---- over MCP ----
{
    printf '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
    printf '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    for agent in m1 m2; do
        printf '{"jsonrpc":"2.0","id":"%s","method":"tools/call","params":{"name":"lease","arguments":{"agent":"%s","params":{"depth":8}}}}\n' $agent $agent
    done
    printf '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"lease","arguments":{"agent":"m1"}}}\n'
} | "$LINEAGE" mcp -C "$store" --allow-write >out 2>err
must_equal 'true|false' "$(sed -n 2p out | "$JSON_GET" result.structuredContent.leased)|$(sed -n 3p out | "$JSON_GET" result.structuredContent.leased)"
must_have out 'm1 has leased this'
must_have out 'give the idea'

# ---- the instructions for several agents: the work trees are made by their commands, and the leases taken ----
cd ../repo || exit 3
must_run program -C runs --agents 2
must_have out "lineage worktree -C $store agent1 --gpu 1"
must_have out "lineage lease -C $store --hypothesis"
must_lack out '{store}'
must_fail 2 'use 1 to 64' program -C runs --agents 0
must_run program -C runs
must_lack out 'lineage lease'

# ---- four agents, killed now and then: each idea once, no row lost ----
n=${AGENT_IDEAS:-16}
for i in 2 3; do must_run worktree -C runs a$i --from HEAD; done
before=$(sed 1d "$store/results.tsv" | wc -l)
for i in 0 1 2 3; do
    (cd "$scratch/repo-a$i" && exec sh "$SOURCE/tests/examples/agent.sh" "$store" $((1 + i * n / 4)) "$n" $((3 + i))) >"$scratch/ids$i" 2>"$scratch/errors$i" &
done
wait
"$LINEAGE" run -C runs -q -m loss -- sh train.sh >/dev/null 2>&1 # records what was killed last
must_equal "$(seq 1 "$n")" "$(awk -F '\t' '$9 ~ /keep|discard/ && sub(/^x is now /, "", $7) { print $7 }' "$store/results.tsv" | sort -n)" \
    "each idea once"
cut -f 1 "$store/results.tsv" >all
for id in $(cat "$scratch"/ids[0-3]); do
    grep -qx "$id" all || fail "row $id is lost"
done
grep -c harness_abort "$store/results.tsv" >aborted || :
[ "$(cat aborted)" -ge 2 ] || fail "nothing was killed: $(cat aborted)"
must_run lease -C runs --format tsv
must_run verify -C runs
finish
