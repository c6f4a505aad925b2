#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh and trainer.sh
# rollout.sh: looks at a policy: rollouts turn by turn, its score, its pass@k.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/trainer.sh"

# holds CONDITION: an awk condition is true.
holds()
{
    checks=$((checks + 1))
    [ "$(awk "BEGIN {print ($1)}")" = 1 ] || fail "$last: not so: $1"
}

must_run train tiny.json -C t -q
policy=t/snapshots/000_tiny/policy.ckpt

# ---- score: a checkpoint has the score of its trial ----
must_run -C t show 000 --format json
score=$(json core_metric)
greedy=$(json final.em_greedy t/telemetry/000.json)
deviation=$(json final.em_std t/telemetry/000.json)
for what in 000 t/snapshots/000_tiny "$policy"; do
    must_run eval "$what" -C t --format json
    must_equal "$score $greedy 4 32 reverse" \
        "$(json 0.em) $(json 0.em_greedy) $(json 0.seeds) $(json 0.questions) $(json 0.environment)"
    holds "$(json 0.em_std) - $deviation < 1e-9 && $deviation - $(json 0.em_std) < 1e-9"
done
must_run eval tiny.json --checkpoint "$policy" --format json
must_equal "$score" "$(json 0.em)"
must_run eval 000 -C t --seeds 1 --questions 10 --format json
must_equal '1 10 null' "$(json 0.seeds) $(json 0.questions) $(json 0.em_std)"

# ---- rollouts: the reverse environment as a person reads it ----
run rollout 000 -C t --n 4
must_exit 0
must_equal 4 "$(grep -c '^reverse, grpo: reverse e' out)" "questions"
must_have out 'turn  policy'
must_equal 4 "$(grep -c '   0  answer e' out)"
must_run rollout 000 -C t --n 4 --format json
must_equal 4 "$(json '#')"
must_run rollout 000 -C t --n 2 --group --format json
must_equal 8 "$(json '#')" "rollouts of two groups of four"
must_equal '0 0 0 0' "$(json 0.group) $(json 1.group) $(json 2.group) $(json 3.group)"
must_equal "$(json 0.prompt)" "$(json 3.prompt)"
# The right answer is the string read backwards.
i=0
while [ "$i" -lt 8 ]; do
    case $(json $i.reward) in
    1*) must_equal "$(json $i.answer)" "$(json $i.turns.0.policy | sed 's/"ANS",//')" "the right answer" ;;
    esac
    holds "$(json $i.turns.0.log_prob) <= 0"
    i=$((i + 1))
done
cp out once
must_run rollout 000 -C t --n 2 --group --format json
must_match_file once out
must_run rollout 000 -C t --n 2 --group --format json --seed 2
! cmp -s once out || fail "another seed gives the same rollouts"

# hopworld: searches, responses of the tool, information gain; a recipe without a checkpoint trains its warm start
# first.
cat >hop.json <<'END'
{
  "threads": 1, "world": {"regions": 2, "region_size": 2, "relations": 2},
  "model": {"width": 16, "heads": 2, "layers": 1, "mlp": 32},
  "start": {"warm_start": {"steps": 150, "batch": 16, "warmup": 5, "learning_rate": 0.02, "k_min": 1, "k_max": 2}},
  "environments": [{"name": "hopworld", "k_min": 2, "k_max": 2, "max_turns": 3,
                    "algorithm": {"name": "turn-group-v1d"}}],
  "training": {"group_size": 4}
}
END
run rollout hop.json --n 6 --group
must_exit 0
must_have err 'no checkpoint, so first the warm start'
must_have out 'hopworld, turn-group-v1d: from e'
grep -Eq '^ +0  search e[0-9] r[01] +(nothing|r[01] e[0-9], r[01] e[0-9]) ' out || fail "no search with its answer"
grep -q 'answer e' out || fail "no answer"
run rollout hop.json --n 6 --group --format json
must_exit 0
searches=0 i=0
while [ "$i" -lt 24 ]; do
    n=$(json $i.searches) t=0
    searches=$((searches + n))
    while [ "$t" -lt "$n" ]; do
        case $(json $i.turns.$t.gain) in null) fail "rollout $i, turn $t: no gain" ;; esac
        holds "$(json $i.turns.$t.clip_scale) > 0.69 && $(json $i.turns.$t.clip_scale) < 1.31"
        t=$((t + 1))
    done
    i=$((i + 1))
done
holds "$searches > 5"

# sums: the calculator's calls and the list that is summed.
sed 's/"hopworld", "k_min": 2/"sums", "k_min": 1/' hop.json >sums.json
run rollout sums.json --n 6 --group
must_exit 0
grep -Eq '^sums, turn-group-v1d: add up e[0-3]( e[0-3]){1,2}; true answer e[0-3]( e[0-3]){1,3}$' out || fail "no list and its sums"
grep -Eq '^ +0  add e[0-3] e[0-3] +(nothing|e[0-3] e[0-3]) ' out || fail "no addition with its answer"

# ---- pass@k ----
run passk 000 -C t --samples 8 --k 1,2,8,100 --format json
must_exit 0
holds "$(json correct) / $(json samples) - $(json passk.0.unbiased) < 1e-12"
holds "$(json passk.0.unbiased) - $(json correct) / $(json samples) < 1e-12"
must_equal '256 32 4' "$(json samples) $(json questions) $(json 'passk.#')"
holds "$(json passk.1.unbiased) >= $(json passk.0.unbiased)"
must_equal null "$(json passk.3.unbiased)" "k beyond the samples"
run passk hop.json --samples 8 --set evaluation.questions=64
must_exit 0
must_have out 'pass rates are Beta('
must_equal 7 "$(grep -c '^ *[0-9][0-9]*  ' out)" "k = 1 .. 64"
run passk hop.json --dynamic --samples 8 --set evaluation.questions=64 --format json
must_exit 0
holds "$(json samples) < 512 && $(json samples) > 64"
must_equal null "$(json passk.0.unbiased)"
holds "$(json passk.0.beta) > 0 && $(json passk.0.beta) < $(json passk.3.beta)"

# ---- several policies ----
run passk tiny.json 000 -C t --samples 8 --k 1,8 --set start.warm_start.steps=40 --format json
must_exit 0
must_equal '4 1 1 8 8' "$(json '#') $(json 0.k) $(json 1.k) $(json 2.k) $(json 3.k)" "every k of every policy"
must_equal '1 2 1 2' "$(json 0.rank) $(json 1.rank) $(json 2.rank) $(json 3.rank)"
holds "$(json 0.low) < $(json 0.passk) && $(json 0.passk) < $(json 0.high)"
must_equal 000 "$(json 0.policy)" "the warm start is worse"
run passk 000 000 -C t --samples 4 --k 1,4 --questions 16
must_exit 0
must_equal 4 "$(grep -c '^ *[14]  *[12]  000 ' out)"
must_fail 2 'different questions' passk 000 hop.json -C t --samples 2 --k 1 --set start.warm_start.steps=0

# ---- selection ----
# Counts of another program. a is always better than b; c is a again, in another order of columns and lines.
{
    echo 'question,note,policy,samples,correct'
    for q in 0 1 2 3 4 5 6 7 8 9; do
        echo "q$q,\"x, y\",a,4,$((q % 4 + 1))"
        echo "q$q,,b,4,$((q % 4))"
    done
    for q in 9 8 7 6 5 4 3 2 1 0; do echo "q$q,,\"c, again\",4,$((q % 4 + 1))"; done
} >counts.csv
run passk --select --counts counts.csv --k 1,4,100 --format json --rates rates.json
must_exit 0
must_equal '9 a c, again b' "$(json '#') $(json 0.policy) $(json 1.policy) $(json 2.policy)"
must_equal '0.5 0.5 0.0' "$(json 0.best) $(json 1.best) $(json 2.best)" "a and c are equal, b is never the best"
must_equal '1 4 100 1 2 3' "$(json 0.k) $(json 3.k) $(json 8.k) $(json 6.rank) $(json 7.rank) $(json 8.rank)"
holds "$(json 0.low) < $(json 0.passk) && $(json 0.passk) < $(json 0.high)"
fitted=$(json 5.passk)
cp rates.json out
must_equal '30 q0 a 4 1 0.25' "$(json '#') $(json 0.question) $(json 0.policy) $(json 0.samples) $(json 0.correct) $(json 0.rate)"
holds "$(json 0.fitted) > 0.25 && $(json 1.fitted) > 0" "a fit moves rates towards the mean"
# The estimate of b for k = 4 is that of the core's fit, with the questions in another order.
echo '{"family": "passk_beta_fit", "inputs": {"n": [4,4,4,4,4,4,4,4,4,4], "c": [0,1,2,3,0,1,2,3,0,1]}}' >fit.json
must_run core passk_beta_fit fit.json
printf '{"family": "passk_beta", "inputs": {"alpha": %s, "beta": %s, "k": [4]}}' "$(json alpha)" "$(json beta)" >curve.json
must_run core passk_beta curve.json
holds "$(json passk.0) - $fitted < 1e-9 && $fitted - $(json passk.0) < 1e-9"
# 1 - (1 - c/n)^k of b for k = 2: rates 0, 1/4, 1/2, 3/4 on 3, 3, 2 and 2 questions.
run passk --select --counts counts.csv --k 2 --estimate bernoulli --format json
holds "$(json 2.passk) - 0.46875 < 1e-12 && 0.46875 - $(json 2.passk) < 1e-12"
# Where the likelihood has no maximum: always or never, one rate for all, and one sample of each question.
printf 'policy,question,samples,correct\na,1,4,4\na,2,4,0\nb,1,4,2\nb,2,4,2\n' >ends.csv
run passk --select --counts ends.csv --k 1,3 --format json
must_exit 0
must_equal '0.5 0.5 0.875 0.5' "$(json 0.passk) $(json 1.passk) $(json 2.passk) $(json 3.passk)"
must_equal 'b a' "$(json 2.policy) $(json 3.policy)"
printf 'policy,question,samples,correct\na,1,1,1\na,2,1,0\n' >single.csv
run passk --select --counts single.csv --k 2 --format json
must_equal '0.75 1.0' "$(json 0.passk) $(json 0.best)" "one sample: the mean rate"
# The policies themselves, with unequal numbers of samples.
run passk tiny.json 000 -C t --select --dynamic --samples 8 --k 1,64 --set start.warm_start.steps=40 --rates rates.tsv
must_exit 0
must_have out 'on 32 questions'
must_equal '1 000' "$(awk '$1 == 1 && $2 == 1 { print $2, $3 }' out)" "the warm start is worse"
must_equal 65 "$(wc -l <rates.tsv)"
awk -F'\t' 'NR > 1 && ($3 > 8 || $4 > 2 || ($3 < 8 && $4 < 2)) { bad = 1 } END { exit bad }' rates.tsv || fail "dynamic n"
must_fail 2 'exists already' passk 000 -C t --samples 2 --rates rates.tsv
must_fail 2 '--rates needs a file' passk 000 -C t --samples 2 --rates -
must_fail 2 'needs --select' passk 000 -C t --estimate beta
must_fail 2 'does not work with --dynamic' passk 000 -C t --select --dynamic --estimate bernoulli
must_fail 2 "beta or bernoulli, not 'x'" passk 000 -C t --select --estimate x
must_fail 2 '--samples does not work with --counts' passk --select --counts counts.csv --samples 4
must_fail 2 'a policy does not work with --counts' passk 000 -C t --select --counts counts.csv
must_fail 2 'needs a RECIPE' passk
must_fail 2 '--enough needs --dynamic' passk 000 -C t --enough 1
refused_table() { # MESSAGE LINE...
    message=$1
    shift
    printf '%s\n' "$@" >bad.csv
    must_fail 2 "$message" passk --select --counts bad.csv --k 2
}
refused_table 'it lacks correct' 'policy,question,samples' 'a,1,2'
refused_table 'no line behind' 'policy,question,samples,correct'
refused_table 'bad.csv:2: samples and correct must be whole' 'policy,question,samples,correct' 'a,1,2.5,1'
refused_table 'bad.csv:2: samples must be at least 1' 'policy,question,samples,correct' 'a,1,2,3'
refused_table 'bad.csv:3: the line has fewer' 'policy,question,samples,correct' 'a,1,2,1' 'a,2'
refused_table "question '1' has not exactly one line" 'policy,question,samples,correct' 'a,1,2,1' 'a,1,2,1' 'b,1,2,1' 'b,2,2,1'
refused_table 'not every policy' 'policy,question,samples,correct' 'a,1,2,1' 'a,2,2,1' 'b,1,2,1'
refused_table 'bad.csv:2: ' 'policy,question,samples,correct' 'a,"1,2,1'
must_fail 2 'cannot read none.csv' passk --select --counts none.csv

# ---- refused ----
must_fail 2 'no file nowhere' rollout nowhere -C t
must_fail 2 'must be table, json or jsonl' rollout 000 -C t --format tsv
must_fail 2 'width' eval tiny.json --checkpoint "$policy" --set model.width=32
head -c 300 "$policy" >short.ckpt
must_fail 2 'short.ckpt' eval short.ckpt
must_fail 2 'short.ckpt' passk tiny.json --checkpoint short.ckpt
printf '{"seed": }' >broken.json
must_fail 2 'broken.json' rollout broken.json
must_fail 2 'ascending' passk 000 -C t --k 4,2
must_fail 2 '--n' rollout 000 -C t --n 0
finish
