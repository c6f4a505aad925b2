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

must_fail 2 "missing argument" passk
must_fail 2 "unexpected argument '000'; run it once for each" passk 000 000 -C t
must_fail 2 'this option was removed' passk --counts counts.csv
must_fail 2 '--enough needs --dynamic' passk 000 -C t --enough 1

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
