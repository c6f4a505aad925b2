#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh
# experiments.sh: the shipped rows of an experiment give the figures of its page, and its sweep runs.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/trainer.sh"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
page=$SOURCE/fixtures/experiments/README.md

shipped=$SOURCE/fixtures/experiments

# A writable store with the shipped rows.
rows()
{
    mkdir "$1"
    cp "$SOURCE/fixtures/experiments/$1/results.tsv" "$SOURCE/fixtures/experiments/$1/lineage.json" "$1"
    chmod u+w "$1" "$1"/*
}

# ---- acceptance of an environment: with the oracle judge, adca beats GRPO over twelve seeds ----
rows slots-acceptance
must_run compare grpo adca -C slots-acceptance --format json
must_equal 12 "$(json variants.1.pairs)" "seeds"
must_equal 1 "$(awk "BEGIN {print ($(json variants.1.low) > 0)}")" "the interval is away from zero"
told=$(awk "BEGIN {printf \"%+.3f [%+.3f, %+.3f]\", $(json variants.1.difference), $(json variants.1.low), $(json variants.1.high)}")
must_have "$page" "adca over GRPO: $told"

# ---- a held-out score shows what a night has gained by luck; a night that had enough says why ----
rows held-out
cp "$shipped/held-out/held-out.jsonl" held-out
must_run report -C held-out --held-out -o held.html
must_have held.html '<td class="n">0.6167</td><td class="n">0.4918</td><td class="n">+0.125</td>'
must_have "$page" 'a gap of +0.125'
must_run render -C held-out
must_lack out 0.4918
rows plateau
cp "$shipped/plateau/remarks.jsonl" plateau
must_run render -C plateau
must_have out 'After 019, night plateau stopped: plateau: the next 5 runs likely bring 2.1e-05 ± 8.3e-05'

# ---- by their examples, one run each decides what five seeds do not ----
rows agents
must_run render -C agents
must_equal 200 "$(awk -F '\t' '$9 ~ /keep|discard/ { print $7 }' agents/results.tsv | sort -u | wc -l | tr -d ' ')" "ideas of four agents, each once"
rows conditions
must_run render -C conditions
must_have out 'Conditions differ: the verdicts of 2 of the last 3 trials'
rows approved
cp -R "$shipped/approved/telemetry" approved
must_run approve -C approved --all --format tsv
must_equal 'accepted edited refused accepted' "$(sed 1d out | cut -f 4 | xargs)"
rows paired
cp -R "$shipped/paired/examples" paired
must_run compare --examples 000 002 004 -C paired --format tsv
must_equal '002 -0.01373 0.004336 0.3156 better 004' "$(awk -F'\t' 'NR == 2 { printf "%s %.4g %.4g %.4g %s ", $1, $4, $9, $11, $12 } NR == 3 { print $1 }' out)"
must_have "$page" '0.01373 (95 % interval 0.00996 to 0.01768, bar 0.00434)'

# ---- the ladder: tables, curves and pictures of the page are reproduced from the rows ----
bench=$SOURCE/tests/bench
must_tell()
{
    [ -s told ] || fail "$last: said nothing"
    while read -r line; do
        must_have "$page" "$line"
    done <told
}

# table STORE BASELINE,VARIANT..: the page contains the table that ladder_table.sh prints.
table()
{
    store=$1
    IFS=,
    # shellcheck disable=SC2086 # names between commas, which may have blanks
    set -- $2
    unset IFS
    sh "$bench/ladder_table.sh" "$LINEAGE" "$store" "$@" >told || fail "ladder_table.sh: exit status $?"
    must_tell
}
rows ladder-slots
gains=joint,separate,turn-group,turn-group-v1d,v1d-alpha-0,v1d-alpha-0.9,v1d-beta-0,v1d-prob,joint-prob,joint-fast,v1d-fast
hard='joint hard,turn-group-v1d hard,adca hard'
table ladder-slots "grpo-turn,grpo,$gains,grpo-turn-wide,adca"
table ladder-slots "grpo,$gains,grpo-turn-wide,adca"
table ladder-slots turn-group-v1d,v1d-alpha-0,v1d-alpha-0.9,v1d-beta-0,v1d-prob
table ladder-slots joint,joint-prob,joint-fast
table ladder-slots "grpo-turn hard,grpo hard,$hard"
table ladder-slots "grpo hard,$hard"
rows ladder-sums
turned="$gains,grpo-turn-fast,grpo-turn-wide,adca"
table ladder-sums grpo,adca
table ladder-sums 'grpo hard,adca hard'
table ladder-sums "grpo-turn,grpo,$turned"
table ladder-sums "grpo,$turned"
table ladder-sums turn-group-v1d,v1d-alpha-0,v1d-alpha-0.9,v1d-beta-0,v1d-prob
table ladder-sums joint,joint-prob,joint-fast
table ladder-sums grpo-turn-fast,joint-fast,v1d-fast
table ladder-sums "grpo-turn hard,grpo hard,$hard"
table ladder-sums "grpo hard,$hard"
rows sums-acceptance
table sums-acceptance grpo,adca
table sums-acceptance 'grpo hard,adca hard'
rows ledger-acceptance
table ledger-acceptance grpo,adca
table ledger-acceptance 'grpo hard,adca hard'
rows staleness
table staleness fresh,naive-1,decoupled-1,naive-4,decoupled-4,naive-8,decoupled-8,naive-never,decoupled-never
rows off-policy-options
table off-policy-options naive,recompute,tis,compose,compose-turn,compose-opsm,opsm,opsm-turn,after-tool,kl-loss,kl-weighted,kl-reward
rows off-policy-clip
table off-policy-clip 'naive,clip 0.8 1.2,tis,tis clip 0.8 1.2'
rows adca-alpha
table adca-alpha 'grpo,adca 0.1,adca 0.3,adca 1'
rows routing-gspo
table routing-gspo 'grpo none,grpo R3'
table routing-gspo 'gspo none,gspo R3'
rows routing
table routing float,none,tis,R2,R3
for store in algorithms options; do
    awk -F '\t' 'NR > 1 && $3 != "warm" { sum[$3] += $10; n[$3]++ } END { for (v in n) printf "%s %.3f\n", v, sum[v] / n[v] }' \
        "$shipped/$store/results.tsv" >told
    must_tell
done
awk -F '\t' 'NR > 1 { sum[$1] += $3; n[$1]++ }
    END { printf "| the program, 3 seeds |"
          split("grpo joint separate turn-group turn-group-v1d v1d-alpha-0.9", in_order, " ")
          for (i = 1; i <= 6; i++) printf " %.3f |", sum[in_order[i]] / n[in_order[i]]
          print "" }' "$shipped/reference-configuration/program.tsv" >told
must_tell
rows values
table values grpo,ppo,ppo-slower,ppo-lam-1,remax,opo,gpg,hierarchical
rows settings
table settings 'grpo,grpo not by std,grpo epsilon 0.3,grpo scale 2'
table settings 'allocation,allocation consistent 2,allocation bad 1,allocation good 1'
table settings 'v1d,v1d alpha to 0.3'
table settings 'ppo,ppo coef 0.05,ppo cliprange 1'
weighed='old tis,old tis cap 5,old compose,old compose engine 1'
table settings "old,$weighed,old opsm,old opsm product,old opsm both signs,old kl,old kl k1,old kl abs,old kl k2"
rows reverse
table reverse warm,grpo,rloo,max_rl
rows routing-n
for n in 1 2 4 8; do table routing-n "none N=$n,R2 N=$n,R3 N=$n"; done
rows sampler-kernels
table sampler-kernels 'ppo float,ppo bf16,ppo int8,ppo old,ppo bf16 tis,ppo int8 tis'
for range in gspo 'gspo wide'; do table sampler-kernels "$range float,$range bf16,$range int8,$range old"; done
rows later-settings
table later-settings 'grpo,truncated,zero,rf++ baseline,linear,linear output only,step 16,adca 2 epochs'
echoes='echo,echo roles,echo content,echo found'
table later-settings "grpo,$echoes,echo 0.01,echo 0.01 roles,echo 0.002,echo 0.002 content,echo 0.002 found"
sh "$bench/ladder_table.sh" "$LINEAGE" later-settings grpo 'passk 4' 'passk 4 then 1' 'passk 4, 2, 1' >told || fail "ladder_table.sh: exit status $?"
must_tell
table later-settings 'grpo,kl,kl straight,kl lagged,kl ema'
table later-settings 'old,old bypass,old bypass rejects'
rows distill-clip
table distill-clip 'k2,k2 to 1.28,k2 without a range,k2 gap 4.47,k2 gap 1'
rows length-split
table length-split 'none,uniform,group,anchor,linear,step 16'
rows length-bias
table length-bias token-mean,seq-mean-token-mean,seq-mean-token-sum,seq-mean-token-sum-norm
{
    sh "$bench/ends_table.sh" "$shipped/length-bias/results.tsv" warm token-mean seq-mean-token-mean seq-mean-token-sum \
        seq-mean-token-sum-norm &&
        sh "$bench/ends_table.sh" "$shipped/length-growth/results.tsv" warm easy mix hard 'mix kl 0.02' 'mix kl 0.1' 'hard kl 0.1'
} >told || fail "ends_table.sh: exit status $?"
must_tell
if command -v python3 >/dev/null; then
    python3 "$bench/early_split.py" table "$shipped/length-split/questions.tsv" none uniform group anchor linear 'step 16' >told ||
        fail "early_split.py: exit status $?"
    must_tell
    # A rollout of a file is cut into its questions, the first two and the last four iterations of each.
    i=0
    while [ $i -lt 8 ]; do
        echo '{"question": "7", "iteration": '$i', "reward": '$((i > 3))', "mask": [0, 1, 1], "tokens": [1, 2, 3]}'
        echo '{"question": "7", "iteration": '$i', "reward": 1, "mask": [0, 1, 0], "tokens": [1, 2, 3]}'
        i=$((i + 1))
    done >rollouts.jsonl
    python3 "$bench/early_split.py" questions 1 none rollouts.jsonl >told
    must_equal "1${tab}none${tab}0${tab}0.5${tab}1.5${tab}1${tab}1.5" "$(cat told)"
    sed 's/"reward": 1/"reward": 0/' rollouts.jsonl | sed '$s/"reward": 0/"reward": 1/' >hard.jsonl # none of the first two iterations
    python3 "$bench/length_picture.py" lengths 1 none hard.jsonl >told
    must_have told "1${tab}none${tab}hard${tab}late${tab}1${tab}"
    { printf 'seed\tvariant\tquestion\ttime\ttokens\trollouts\trewarded\n' && cat told; } >lengths.tsv
    python3 "$bench/length_picture.py" draw lengths.tsv none >told.svg
    must_have told.svg 'none, hard'
    python3 "$bench/length_picture.py" draw "$shipped/length-split/lengths.tsv" none anchor | cmp -s - "$shipped/length-split.svg" ||
        fail 'length-split.svg is not the picture of its rows'
else
    echo 'skipped: no python3, the questions of length-split were not counted again'
fi
# Each recipe that has no sweep passes its preflight.
for recipe in "$SOURCE"/fixtures/recipes/*.json; do
    grep -qE '"(recipe|trials|grid|planner|checkpoint)"' "$recipe" || must_run preflight "$recipe"
done
rows judge-skips
table judge-skips 'all,rules,all_neg,all_neg by outcome'
rows distill-teacher
{
    sh "$bench/ladder_table.sh" "$LINEAGE" distill-teacher grpo opd sft k1 'k1, 8 tokens' 'k1 as it is' 'k1 where most fail' k2 \
        'k2 where most fail' &&
        sh "$bench/ladder_table.sh" "$LINEAGE" distill-teacher k1 'k1, 8 tokens' 'k1 as it is' 'k1 where most fail' &&
        sh "$bench/ladder_table.sh" "$LINEAGE" distill-teacher k2 'k2 where most fail' &&
        sh "$bench/rates_table.sh" "$shipped/distill-teacher-rates/results.tsv" opd sft &&
        sh "$bench/rates_table.sh" "$shipped/distill-teacher-rates/results.tsv" k1 k2
} >told || fail "a table of distill-teacher: exit status $?"
must_tell
rows adca-outcome
sh "$bench/ladder_table.sh" "$LINEAGE" adca-outcome adca 'adca, outcome 0.3' 'adca, outcome 3' >told || fail "ladder_table.sh: exit status $?"
must_tell
rows adaptive
{
    sh "$bench/ladder_table.sh" "$LINEAGE" adaptive v1d 'v1c, alpha 0.3' &&
        sh "$bench/ladder_table.sh" "$LINEAGE" adaptive 'v1d, alpha 0.9' 'v1c, alpha 0.9' 'v1d, alpha to 0' 'v1d, alpha to 0.3'
} >told || fail "ladder_table.sh: exit status $?"
must_tell
rows allocation
sh "$bench/ladder_table.sh" "$LINEAGE" allocation 'in turn' 'hardness 0.5' 'hardness 1' 'hardness 4' 'groups solved' 'groups mixed' \
    'groups mixed, hardness 1' 'pairs, hardness 1' >told || fail "ladder_table.sh: exit status $?"
must_tell
rows vineppo
sh "$bench/ladder_table.sh" "$LINEAGE" vineppo grpo vineppo 'vineppo, 4 continuations' 'vineppo, 9 continuations' \
    'vineppo by ANS' 'vineppo by OBS' process 'process, 4 continuations' 'process by ANS' >told ||
    fail "ladder_table.sh: exit status $?"
must_tell
for rates in values ladder-slots ladder-sums; do
    sh "$bench/rates_table.sh" "$shipped/$rates-rates/results.tsv" >told || fail "rates_table.sh: exit status $?"
    must_tell
done
main=grpo,grpo-turn,joint,turn-group-v1d,v1d-alpha-0.9,adca
for env in slots sums; do
    curves=$shipped/ladder-$env/curves.tsv
    sh "$bench/ladder_curves.sh" means "$curves" | grep -E '^(grpo|grpo-turn|joint|turn-group-v1d|v1d-alpha-0.9|adca)( hard)?'"$tab" |
        sed "s/$tab/ | /g" >told
    must_tell
    for hardness in '' ' hard'; do
        sh "$bench/ladder_curves.sh" reach "$curves" "grpo$hardness" "adca$hardness" | sed 's/, 16 seeds.*//' >told
        must_tell
    done
done
sh "$bench/ladder_curves.sh" plot 'slots, 16 seeds' "$shipped/ladder-slots/curves.tsv" "$main" \
    'slots, hard, 16 seeds' "$shipped/ladder-slots/curves.tsv" "grpo hard,grpo-turn hard,$hard" \
    'sums, 16 seeds' "$shipped/ladder-sums/curves.tsv" "$main" \
    'sums, hard, 16 seeds' "$shipped/ladder-sums/curves.tsv" "grpo hard,grpo-turn hard,$hard" >curves.svg
must_match_file curves.svg "$shipped/ladder-curves.svg"
sh "$bench/ladder_plot.sh" --variants "$LINEAGE" slots ladder-slots "grpo-turn,grpo,$gains,grpo-turn-wide,adca" \
    'slots, hard' ladder-slots "grpo-turn hard,grpo hard,$hard" sums ladder-sums "grpo-turn,grpo,$turned" \
    'sums, hard' ladder-sums "grpo-turn hard,grpo hard,$hard" >differences.svg
must_match_file differences.svg "$shipped/ladder-differences.svg"

# ---- every algorithm and loss is in a sweep, and every named sweep has rows ----
if command -v python3 >/dev/null; then
    python3 "$SOURCE/tests/bench/sweeps_table.py" >table || fail "sweeps_table.py: exit status $?"
    grep -E '^\| `(algorithm|loss|environments)\.name`' table | cut -d '|' -f 1-3 >names
    while read -r name; do
        must_have "$page" "$name"
    done <names
else
    echo 'skipped: no python3, the table of sweeps was not made again'
fi
sed -n '/^| setting | value | sweeps |/,/^$/p' "$page" | tail -n +3 | cut -d '|' -f 4 | tr -d ' ' | tr ',' '\n' |
    grep -v '^none$' | sort -u >named
checks=$((checks + 1))
[ -s named ] || fail 'no sweep in the table of the page'
while read -r sweep; do
    [ -z "$sweep" ] || [ -s "$SOURCE/fixtures/experiments/$sweep/results.tsv" ] || fail "the page names $sweep: no rows"
done <named

# ---- the judge of judge-skips flags steps by the rules ----
if command -v python3 >/dev/null; then
    timeout 300 python3 "$SOURCE/tests/judge/rules_judge.py" 0 >port 2>judge.err &
    judge=$!
    wait_for test -s port
    cat >attempt.jsonl <<'END'
{"task": "Wanted: of e1 tell r1 r2", "reward": 0, "steps": [{"action": "search e1 r1", "observation": "nothing"}, {"action": "search e1 r1", "observation": "r1 e2"}, {"action": "search e1 r1", "observation": "r1 e2"}, {"action": "search e2 r2", "observation": "r2 e3"}, {"action": "answer r1 e2 r2 e3"}]}
END
    "$LINEAGE" judge attempt.jsonl --no-cache --endpoint "http://127.0.0.1:$(cat port)/v1" --model rules >flags 2>judge.err ||
        fail "lineage judge: exit status $?"
    must_have flags '"flags":[1,1,0,0,0]'
    kill "$judge"
fi

# ---- a small version of the sweep: every trial of it trains ----
mkdir small
for file in slots slots-acceptance; do
    sed -e 's/"steps": 900, "batch": 64/"steps": 2, "batch": 4/' -e 's/"iterations": 24, "group_size": 16/"iterations": 1, "group_size": 2/' \
        -e 's/"minibatch": 16/"minibatch": 4/' -e 's/"questions": 512, "seeds": 4/"questions": 4, "seeds": 1/' -e 's/"seed": \[1,.*\]/"seed": [1]/' \
        "$SOURCE/fixtures/recipes/$file.json" >"small/$file.json"
done
must_run init runs --direction higher
must_run night small/slots-acceptance.json -C runs --list
trials=$(grep -c '"hypothesis"' small/slots-acceptance.json)
must_run night small/slots-acceptance.json -C runs -q --format tsv
must_equal "$trials" "$(($(wc -l <runs/results.tsv) - 1))" "rows"
must_lack runs/results.tsv crash

# ---- debug: every algorithm and every loss of the schema trains ----
mkdir debug && cd debug || exit 1
must_run init runs/debug --direction higher
must_run night "$SOURCE/fixtures/recipes/debug.json" -C runs/debug -q
must_equal "$(grep -c '"hypothesis"' "$SOURCE/fixtures/recipes/debug.json")" "$(($(wc -l <runs/debug/results.tsv) - 1))" 'rows of debug'
must_equal 0 "$(sed 1d runs/debug/results.tsv | cut -f 9 | grep -cvxE 'baseline|keep|discard')" 'trials of debug that failed'
if command -v python3 >/dev/null; then
    python3 - "$SOURCE" >missing <<'END' || fail 'the schema or the sweep cannot be read'
import json, sys
kinds = json.load(open(sys.argv[1] + "/schema/recipe.schema.json"))["$defs"]
trials = json.load(open(sys.argv[1] + "/fixtures/recipes/debug.json"))["trials"]
tried = {e["algorithm"]["name"] for t in trials for e in t.get("environments", [])} | {t["loss"]["name"] for t in trials if "name" in t.get("loss", {})}
print(*sorted({name for kind in ("algorithm", "loss") for name in kinds[kind]["properties"]["name"]["enum"]} - tried))
END
    must_equal '' "$(cat missing)" 'algorithms and losses that debug lacks'
fi
cd .. || exit 1
finish
