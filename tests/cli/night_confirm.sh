#!/bin/sh
# night_confirm.sh: trials that would be kept run again on fresh seeds until they are confirmed or refuted; races, replicates
# of a planner, workers, kills, and what compare --runs and show say about them.
# shellcheck disable=SC2016,SC2034,SC2154 # $ is for the programs
. "$SOURCE/tests/support/shell.sh"

# The score is the gain plus noise with a standard deviation of about 1, which depends on seed and gain only.
cat >noisy.sh <<'END'
awk -v g="$1" -v s="$2" 'BEGIN { n = (s * 7 + g * 31 + s * s * 3) % 17; print "METRIC score=" g + (n - 8) / 5 }'
END
cat >sweep.json <<'END'
{"name": "noisy", "direction": "higher", "command": ["sh", "noisy.sh", "{gain}", "{seed}"], "metrics": ["score"],
 "baseline_seeds": 3, "trials": [{"name": "a", "params": {"gain": 0}}, {"name": "b", "params": {"gain": 1}},
 {"name": "c", "params": {"gain": 9}}, {"name": "d", "params": {"gain": 2}}, {"name": "e", "params": {"gain": 9.1}}]}
END
column() # STORE COLUMN
{
    sed 1d "$1/results.tsv" | cut -f"$2"
}
goes() # like must_run, but the night may print notices
{
    run "$@"
    must_exit 0
}
keeps()
{
    column "$1" 9 | grep -c keep
}
runs_of() # STORE ID: rows that run this trial again
{
    column "$1" 17 | grep -c "replicates $2[,;]" || :
}

# ---- the runs beyond one of each go where they decide; the row of each is what it measured, and the best has the best mean ----
goes night sweep.json -C s -q
must_have s/results.tsv 'unconfirmed: +'
must_have s/results.tsv 'replicates '
must_lack s/results.tsv ', score '
must_have s/results.tsv 'confirmed: mean +'
[ "$(column s 1 | wc -l)" -le 10 ] || fail "five trials ran more than ten times"
must_equal "" "$(grep 'replicates' s/results.tsv | grep 'trial [ab], ')" "runs again of trials that are far behind"
must_run best -C s
must_have out 'setting'
must_have out 'better than the next, gain='
must_run best -C s --format json
case $(json params.gain) in 9 | 9.1) ;; *) fail "the best setting is far behind" ;; esac
first=$(json exp_id)
[ "$(json setting.runs)" -ge 2 ] || fail "the best setting did not run again"
must_have s/lineage.json noise_freedom
must_run verify -C s
# The end of a night names the setting with its mean, and not the score of its luckiest run; the block gives each run its threshold.
must_run best -C s
answer=$(sed -n 's/^setting  *//p' out)
run night sweep.json -C s
must_have err "the best of the store is $first, $answer"
must_run render -C s --sections recent
must_have out ', another run of '
goes night sweep.json -C seven -q --runs 7
must_equal 7 "$(column seven 1 | wc -l)" "--runs counts runs"
goes night sweep.json -C three -q --runs 3
must_equal 3 "$(column three 1 | wc -l)" "--runs below the number of trials"
# It ended before anything ran again: the best single run is the answer, as of any log of single runs, until it is void.
sed 's/"baseline_seeds": 3, //' sweep.json >single.json
goes night single.json -C cut -q --runs 3
must_run best -C cut --format json
must_equal '9 discard' "$(json params.gain) $(json status)" "the best of a night that confirmed nothing"
must_run best -C cut
must_have out 'not known to be better: the noise is unknown; `lineage rerun -C cut 002 --seeds 3` finds out'
must_run render -C cut
must_have out 'Current best: **exp_002**'
must_have out 'better, but not confirmed by another run'
must_run chain -C cut
must_have out '002  discard'
goes void -C cut 002 --reason 'wrong data'
must_run best -C cut --format json
must_equal 1 "$(json params.gain)" "the best after a void"
must_fail 2 'exclude each other' night sweep.json -C wrong -q --runs 9 --race 3
run night sweep.json -C planned
must_have err '10 runs at most, and one more for each that diverges or fails, at most 2: one of each of 5 trials, and 5 again'

# Fewer runs than trials: the night says that they are used up, and what another start has left.
run night sweep.json -C used -q --runs 3
must_exit 0
must_have err 'the runs that --runs allows are used up, those of earlier starts included; 2 of 5 trials are left'
must_lack err '--runs 3'
run night sweep.json -C used --runs 3
must_have err 'are used up'
must_lack err ' at most'
run night sweep.json -C used --runs 6
must_have err '3 of 6 runs are left: one of each of 2 trials, and 1 again'

# The night is done: again it runs nothing.
before=$(cksum <s/results.tsv)
goes night sweep.json -C s -q
must_equal "$before" "$(cksum <s/results.tsv)" "a second night"

# ---- what the runs say ----
must_run compare -C s --runs
must_have out best
must_have out refuted
must_run compare -C s --runs --format json
must_equal 5 "$(json '#')" "one line for each trial"
must_run show -C s "$first"
must_have out 'mean '
must_fail 2 'takes no variants' compare -C s --runs 000
must_run render -C s
must_have out 'seeds, 95 % interval'

# ---- off, by option and by the file; on for a sweep without {seed} ----
goes night sweep.json -C off -q --no-confirm
must_equal 5 "$(column off 1 | wc -l)" "rows"
sed 's/"baseline_seeds"/"confirm": false, "baseline_seeds"/' sweep.json >never.json
goes night never.json -C never -q
must_equal 5 "$(column never 1 | wc -l)" "rows"
goes night never.json -C never2 -q --confirm
[ "$(column never2 1 | wc -l)" -gt 5 ] || fail "--confirm overrides the file"
sed 's/"params": {"gain": 0}/"params": {"gain": 0, "seed": 4}/' sweep.json >varied.json
goes night varied.json -C varied -q
must_equal 5 "$(column varied 1 | wc -l)" "a sweep that varies the seed itself"
# Where it varies nothing else, there is one setting, whose answer does not come from the luckiest of its seeds.
cat >seeds.json <<'EOF'
{"name": "seeds", "direction": "lower", "metrics": ["loss"], "grid": {"seed": [4, 3, 2, 1]}, "command": "echo loss: {seed}"}
EOF
goes night seeds.json -C seeds -q
must_run settings -C seeds --format json
must_equal '1 4 2.5 000' "$(json '#') $(json 0.runs) $(json 0.mean) $(json 0.exp_id)"
must_run init words --direction lower
for hypothesis in idea ''; do
    must_run append -C words --status keep --core-metric 2 --hypothesis "$hypothesis" --notes seed=2
    must_run append -C words --status keep --core-metric 1 --hypothesis "$hypothesis" --notes seed=1
done
must_run settings -C words --format json
must_equal 3 "$(json '#')" "one for the seeds of a hypothesis, and one for each row that says nothing but its seed"
sed 's/"baseline_seeds": 3/"confirm": 3/' sweep.json >wrong.json
must_fail 2 'confirm must be true or false' night wrong.json -C wrong -q
must_fail 2 'exclude each other' night sweep.json -C wrong -q --confirm --no-confirm
must_fail 2 -- '--confirm-runs 1: use 2 to 10000' night sweep.json -C wrong -q --confirm-runs 1
must_fail 2 -- '--no-confirm excludes' night sweep.json -C wrong -q --race 5 --no-confirm
[ ! -e wrong/results.tsv ] || fail "a refused night wrote rows"

# ---- bounds: no trial runs more often than --confirm-runs; scores that no seed changes are confirmed by equal runs ----
goes night sweep.json -C few -q --confirm-runs 2
for id in $(column few 1); do
    [ "$(grep "^$id	" few/results.tsv | cut -f9)" = baseline ] || [ "$(runs_of few "$id")" -le 2 ] || fail "$id ran too often"
done
sed 's/noisy.sh", "{gain}", "{seed}"/same.sh", "{gain}", "{seed}"/; s/"baseline_seeds": 3, //' sweep.json >same.json
echo 'echo METRIC score=$1' >same.sh
goes night same.json -C same -q
must_run best -C same --format json
must_equal 9.1 "$(json core_metric)" "the best of exact scores"

# ---- a race spends a number of runs on near misses ----
goes night sweep.json -C race -q --race 30
[ "$(grep -c '	discard	' race/results.tsv)" -ge "$(grep -c '	discard	' s/results.tsv)" ] || fail "the race ran less than the night"
[ "$(column race 17 | grep -c 'replicates')" -le 30 ] || fail "the race ran more than 30 trials again"

# ---- a night that is killed between a candidate and its confirmation continues with the confirmation ----
sed 's/"sh", "noisy.sh"/"sh", "slow.sh"/' sweep.json >slow.json
echo 'sleep 0.05; sh noisy.sh "$@"' >slow.sh
for round in 1 2 3 4 5 6; do
    timeout -s KILL 0.7 "$LINEAGE" night slow.json -C killed -q >/dev/null 2>&1
done
goes night slow.json -C killed -q
must_equal 1 "$(keeps killed)" "keeps after kills"
must_equal "$(column s 10 | sort | tr '\n' ' ')" "$(grep -v harness_abort killed/results.tsv | sed 1d | cut -f10 | sort | tr '\n' ' ')" "scores with and without kills"

# ---- workers share the confirmations ----
"$LINEAGE" night slow.json -C shared -q --worker >/dev/null 2>&1 &
goes night slow.json -C shared -q --worker
wait $!
must_equal 1 "$(keeps shared)" "keeps of two workers"
must_equal "$(column shared 17 | grep -o 'key [0-9a-f]*' | sort -u | wc -l)" "$(column shared 17 | grep -c 'key [0-9a-f]')" "one row a run"

# ---- a planner runs a trial again ----
cat >space.json <<'END'
{"name": "space", "direction": "higher", "command": ["sh", "noisy.sh", "{gain}", "{seed}"], "metrics": ["score"],
 "ranges": {"gain": "0:2"}, "params": {"gain": 0}, "trials": [{"name": "base"}]}
END
# What is proposed from ranges runs again at the end, in a tenth of the runs that the list leaves and two.
goes night space.json -C ranges -q --propose gp --trials 30 --runs 20
must_equal '20 3' "$(column ranges 17 | grep -c .) $(column ranges 17 | tail -3 | grep -c 'replicates ')" "runs again"
must_equal 0 "$(column ranges 17 | head -17 | grep -c 'replicates ')" "runs again before the end"
echo 'echo "{\"replicate\": \"000\", \"proposer\": \"me\"}"' >planner.sh
goes night space.json -C plan -q --no-confirm --planner 'sh planner.sh' --trials 2
must_equal 2 "$(runs_of plan 000)" "runs of 000"
must_have plan/results.tsv 'proposer=me'
must_have plan/results.tsv 'seed=3'
echo 'echo "{\"replicate\": \"777\"}"' >planner.sh
goes night space.json -C plan2 -q --no-confirm --planner 'sh planner.sh' --trials 1
must_have err "'777' is not a trial with a score"

# ---- the shipped nights: the page has their figures ----
for name in moons trainer; do
    mkdir "$name"
    cp "$SOURCE/fixtures/experiments/confirm-$name/results.tsv" "$SOURCE/fixtures/experiments/confirm-$name/lineage.json" "$name"
    chmod u+w "$name" "$name"/*
done
must_run compare -C moons --runs --format json
must_equal '006 023 40' "$(json 0.exp_id) $(json 0.kept_as) $(json 0.runs)"
must_equal '024 10 open yes' "$(json 1.exp_id) $(json 1.runs) $(json 1.evidence) $(json 1.run_again)"
must_run compare -C trainer --runs --format json
must_equal 5 "$(keeps trainer)" "confirmed trials"
must_equal '025 029' "$(json 0.exp_id) $(json 0.kept_as)"
# What the owner says about nights stays.
must_run init owner --direction lower --night-trials 50
cat >owner.json <<'EOF'
{"name": "one", "direction": "lower", "metrics": ["loss"], "grid": {"x": [0, 1]},
 "command": "awk -v s={seed} -v x={x} 'BEGIN { srand(s * 7 + x); rand(); print \"loss: \" 1 + x + rand() }'"}
EOF
run night owner.json -C owner -q
must_exit 0
must_equal 50 "$(json night_trials owner/lineage.json)"
must_have owner/KNOWLEDGE.md '50 trials a night'
# The threshold is one figure: in KNOWLEDGE.md, render, the report, MCP and the note of the next row, after a night of four trials.
cat >one.json <<'EOF'
{"name": "one", "direction": "lower", "metrics": ["loss"], "grid": {"x": [0, 1, 2, 3]},
 "command": "awk -v s={seed} -v x={x} 'BEGIN { srand(s * 7 + x); rand(); print \"loss: \" 1 + x + rand() }'"}
EOF
run night one.json -C one -q
must_exit 0
must_have one/lineage.json '"newest_night": 4'
needed=$(sed -n 's/.*beats the best by more than \([0-9.]*\).*/\1/p' one/KNOWLEDGE.md)
must_run render -C one
must_have out "by more than $needed "
must_run report -C one --output one.html
must_have one.html "improvement needed</dt><dd>−$needed<"
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"knowledge","arguments":{}}}' >in
"$LINEAGE" mcp -C one <in >out 2>/dev/null
must_have out "by more than $needed "
must_run append -C one --status auto --core-metric 9 --hypothesis 'worse'
must_run show -C one "$(cat out)" --format json
must_have out "needs less than -$needed"

# A program that ignores its seed: the night and its answer say so, and offer no run that would find out more.
cat >same.json <<'EOF'
{"name": "same", "direction": "lower", "metrics": ["loss"], "grid": {"x": [3, 1, 2, 4, 5, 6]},
 "command": ["sh", "-c", "echo loss: $0", "{x}", "{seed}"]}
EOF
goes night same.json -C unseeded
must_have err 'same score, which says nothing of the noise unless the command uses {seed} or LINEAGE_SEED'
must_run best -C unseeded
must_have out 'x=1: 1 ± 0 ('
must_have out 'have the same score'
must_lack out 'lineage rerun'
must_run render -C unseeded
must_lack out 'lineage rerun'
must_run best -C unseeded --format json
must_lack out 'lineage rerun'

# Means of three seeds without a baseline tell no floor: the spread may belong to the setting, and all that is better is kept. A rerun that
# reproduces a score belongs to the setting of its trial, also a rerun of a rerun.
for x in 9 5 1; do
    goes run -C loop --direction lower -q -m loss --seeds 3 -p x=$x -- sh -c 'echo "loss: $0.$1"' '{x}' '{seed}'
done
must_lack loop/lineage.json noise_std
for x in 10 3 1 0.3 0.1; do
    goes run -C scan --direction lower -q -m loss --seeds 3 -p lr=$x -- \
        sh -c 'awk -v x="$0" -v s="$1" "BEGIN { printf \"loss: %.4f\\n\", x * x * (1 + 0.3 * s) + 0.3 }"' '{lr}' '{seed}'
done
must_equal 'keep keep keep keep keep' "$(sed 1d scan/results.tsv | cut -f 9 | paste -sd ' ' -)"
goes rerun -q -C loop 001
goes rerun -q -C loop 003
must_run settings -C loop --format tsv
must_equal '002 001 000' "$(sed 1d out | cut -f 2 | paste -sd ' ' -)"
must_run best -C loop
must_have out 'better than the next, x=5'
seeds='echo "loss: $0.$(($1 % 3))"'
field() { sed -n "$2p" "$1/results.tsv" | cut -f "$3"; }
goes run --baseline -C again --direction lower -q -m loss --seeds 3 -p x=50 -- sh -c "$seeds" '{x}' '{seed}'
goes run -C again -q -m loss --seeds 3 -p x=49 -- sh -c "$seeds" '{x}' '{seed}'
goes run -C again -q -m loss --seeds 3 -p x=60 -- sh -c "$seeds" '{x}' '{seed}'
goes rerun -q -C again 001
must_equal 'discard keep' "$(field again 3 9) $(field again 5 9)"
must_run render -C again --sections recent
must_have out 'discard (-1, not enough when it was judged)'
must_run render -C again
must_have out '; 1 seed a score; a mean of 3 by '
goes run -C again -q -m loss --parent best -p x=48 -- sh -c "$seeds" '{x}' '{seed}'
must_equal 003 "$(field again 6 4)"
must_run settings -C again --format tsv
must_have out "$(printf '001\t3\t49.1')"
must_equal 003 "$(awk -F '\t' '$2 == "001" { print $9 }' out)"
echo '{"core_metric": 10, "notes": "discarded: too slow", "params": {"x": 2}}' >slow.json
must_run append -C again --status discard --json slow.json
must_run render -C again --sections recent
must_have out 'not decided by the score'

# A trial whose only run diverged may have done so by chance: it runs once more, with another seed, before others do, unless trials
# that share a setting failed, too. Its next runs count on from there.
cat >nan.json <<'EOF'
{"name": "nan", "direction": "lower", "score": "loss", "grid": {"x": [1, 2, 4], "w": [0, 1]},
 "command": ["sh", "-c", "case $0$1$2 in 201 | 4*) echo loss: nan ;; *) echo loss: $(($0 * $0 - 4 * $0 + 4 + $1)).$2 ;; esac", "{x}", "{w}", "{seed}"]}
EOF
run night nan.json -C nan -q --runs 11
run night nan.json -C nan
must_have err '1 of 12 runs is left, and one more for each that diverges or fails, at most 2: 1 again where'
must_exit 0
must_equal 14 "$(grep -c 'x=' nan/results.tsv)" 'twelve runs and two for three that diverged'
run night nan.json -C nan -q
must_equal 14 "$(grep -c 'x=' nan/results.tsv)" 'runs after another start'
run night nan.json -C nan13 -q --runs 13
run night nan.json -C nan13
must_have err 'all runs have ended: 13; there may be one more for each that diverges or fails, at most 1'
must_equal 14 "$(grep -c 'x=' nan13/results.tsv)" 'the last one of two'
run night nan.json -C nan13
must_have err 'all runs have ended: 14
'
must_have err 'the best of the store is '
must_equal '1' "$(grep -c 'replicates 002' nan/results.tsv)" 'the run after the one that diverged by chance'
must_equal '006' "$(sed -n 's/^\(00.\).*replicates 002.*/\1/p' nan/results.tsv)" 'before others run again'
must_equal '0' "$(grep -c 'replicates 00[45]' nan/results.tsv)" 'runs of those that share a value'
must_run best -C nan --format json
must_equal '2 0' "$(json params.x) $(json params.w)" 'the best'
must_equal '' "$(sed -n 's/^00[6-9].*w=0; seed=\([0-9]*\).*/\1/p' nan/results.tsv | sort | uniq -d)" 'a seed that ran twice'

# Where the noise is far below the differences, the best of a few settings is kept over a baseline far behind it.
cat >quiet.json <<'EOF'
{"name": "quiet", "direction": "higher", "score": "score", "grid": {"x": [1, 2, 3, 4]},
 "command": ["awk", "-v", "x={x}", "-v", "s={seed}", "BEGIN { print \"score: \" 0.5 + 0.01 * x + 0.0004 * ((s * 7 + x * 31 + s * s * 3) % 17 - 8) }"]}
EOF
must_run init quiet --direction higher
must_run append -C quiet --specialist me --status baseline --core-metric 0.5 --alpha 0
goes night quiet.json -C quiet -q --runs 14
must_equal 1 "$(grep -c '^008.*keep.*x=4' quiet/results.tsv)" 'kept over an appended baseline'
must_equal 1 "$(keeps quiet)" 'kept beside the baseline'
sed 's/\[1, 2, 3, 4\]/[0, 1, 2]/; s/0\.01 \*/0.1 */; s/0\.0004/0.0001/' quiet.json >three.json
goes night three.json -C trio -q
must_equal '1 5' "$(grep -c '^004.*keep' trio/results.tsv) $(column trio 1 | wc -l)" 'a quiet grid of three'

# Another run takes the place of one that diverged, unless --runs says how many there are.
cat >far.json <<'EOF'
{"name": "far", "direction": "lower", "score": "loss", "grid": {"x": [1, 2, 3, 4, 5, 6]},
 "command": ["sh", "-c", "case $0$1 in 31) echo loss: 900 ;; *) echo loss: $((5 + ($0 * 7 + $1 * 5 + $0 * $1) % 11)) ;; esac", "{x}", "{seed}"]}
EOF
run night far.json -C far -q
must_equal 13 "$(grep -c 'x=' far/results.tsv)" 'runs of a night with one that diverged'
run night far.json -C far12 -q --runs 12
must_equal 12 "$(grep -c 'x=' far12/results.tsv)" 'runs that --runs allows'

finish
