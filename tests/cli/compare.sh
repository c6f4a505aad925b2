#!/bin/sh
# compare.sh: `lineage compare` on the rows of an experiment: figures, what is left out, names of variants, formats.
. "$SOURCE/tests/support/shell.sh"

cp "$SOURCE/fixtures/experiments/ladder-5-tuned/"* . || exit 3

# Differences to grpo over eight seeds. The expected figures were computed elsewhere (mean, sample standard deviation
# and Student's t with 7 degrees of freedom of the eight differences; Holm and Bonferroni over 6 comparisons).
near() # WANTED PATH
{
    got=$(json "$2")
    checks=$((checks + 1))
    awk -v a="$1" -v b="$got" 'BEGIN { d = a - b; exit !(d < 1e-9 && d > -1e-9) }' || fail "$last: $2: wanted $1, got $got"
}
must_run compare --json
must_equal grpo "$(json baseline)"
must_equal 7 "$(json variants.#)"
must_equal 6 "$(json comparisons)"
must_equal joint "$(json variants.1.variant)"
must_equal 8 "$(json variants.1.pairs)"
near 0.08123779296875 variants.1.difference
near 0.011044787091996 variants.1.low
near 0.1514307988455 variants.1.high
near 0.0290564496086 variants.1.p
near -0.026689820293295 variants.1.low_all
near 0.1743386976516 variants.1.p_holm
near 0.20088277052039 variants.2.p_holm
near 1 variants.3.p_holm
must_equal '"unclear"' "\"$(json variants.1.verdict)\""
must_equal 'null' "$(json variants.0.difference 2>/dev/null || echo null)"

# With only two variants nothing is corrected, and the difference becomes clear.
must_run compare grpo joint --json
must_equal better "$(json variants.1.verdict)"
near 0.0290564496086 variants.1.p_holm
near 0.011044787091996 variants.1.low_all
must_run compare grpo joint --direction lower --json
must_equal worse "$(json variants.1.verdict)"

must_run compare grpo joint --format tsv
must_equal 3 "$(wc -l <out)"
must_equal "better" "$(sed -n 3p out | cut -f14)"
must_run compare grpo joint
must_have out "difference: variant minus grpo, mean over common values of seed"
must_have out "also different"
must_have out "clip_high: 0.28; 0.13 in joint"
must_lack out "iterations"

# Pairing by parameter values; a baseline chosen by its value.
must_run compare turn-group-v1d,alpha=0.3 v1d-alpha-0.9 --json
must_equal 8 "$(json variants.1.pairs)"
must_run compare --by alpha --baseline 0.3 --json
must_equal "alpha=0.3" "$(json baseline)"
must_equal 3 "$(json variants.#)"
must_run compare --by specialist --baseline joint --json
must_equal joint "$(json variants.0.variant)"
must_run compare 000,007 001,008 --json
must_equal 2 "$(json variants.1.pairs)"
must_run compare grpo joint --param seed=1:4 --json
must_equal 4 "$(json variants.1.pairs)"

# With one common seed the answer is n/a, not an interval of zero width.
must_run compare 000 001 --json
must_equal 1 "$(json variants.1.pairs)"
must_equal n/a "$(json variants.1.verdict)"
must_equal null "$(json variants.1.low)"
must_run compare 000 001
must_have out "n/a"

# Failures and aborts are counted but not averaged.
must_run append --specialist joint --status crash --param seed=9
must_run append --specialist joint --status harness_abort --param seed=10
must_run append --specialist joint --status discard --core-metric 0.5
must_run append --specialist grpo --status discard --core-metric 0.5 --param seed=11
must_run compare grpo joint
must_have out "joint: 1 without a measured score (failed)"
must_have out "joint: 1 harness_abort"
must_have out "joint: 1 with a score, but without a trial to pair them with"
must_have out "joint: 1 seeds that only one side has"
must_run compare grpo joint --json
must_equal '{"failed":1,"harness_abort":1,"unpaired":1,"without_seed":1}' "$(json variants.1.left_out)"
must_equal 8 "$(json variants.1.pairs)"

must_fail 2 "'beats' names no trial" compare grpo beats
must_fail 2 "only one variant" compare grpo
must_fail 2 "--confidence '2'" compare --confidence 2
must_fail 2 "not both" compare --by alpha grpo joint
must_fail 2 "NAME=VALUE" compare --param lr
must_fail 2 "nothing to compare" compare --param seed=1000:
must_fail 2 "'epoch'" compare --over epoch
run compare --help
must_exit 0
must_have out "subtracted seed by seed"

# The output has exactly the members that the schema names.
must_run compare --json
schema=$SOURCE/schema/compare.schema.json
must_equal "$(json 'required' "$schema" | tr -d '[]"' | tr ',' '\n' | sort)" "$(sed -n 's/^  "\([a-z_]*\)":.*/\1/p' out | sort)"
must_equal "$(sed -n 's/^          "\([a-z_]*\)": {.*/\1/p' "$schema" | sort)" \
    "$(sed -n 's/^      "\([a-z_]*\)":.*/\1/p' out | sort -u)"

# ---- settings: rows that differ in the seed alone are runs of one setting ----
LINEAGE_STORE=
unset LINEAGE_STORE
cat >seeds.json <<'END'
{"name": "seeds", "direction": "lower", "metrics": ["loss"], "command": "echo loss: $(( {x} * 2 + ({seed} * {x} * 7) % 5 ))",
 "grid": {"x": [9, 3, 2], "seed": [1, 2, 3]}}
END
must_run night seeds.json -C seeds -q
must_run settings -C seeds --format json
must_equal '006 3 7.0 3 000' "$(json 0.exp_id) $(json 0.runs) $(json 0.mean) $(json 2.runs) $(json 2.exp_id)"
must_run best -C seeds --format json
must_equal '3 0' "$(json setting.runs) $(json setting.failed)" "the answer is a setting"
must_run render -C seeds
must_have out '**settings** (mean ± half of its 95 % interval, runs): exp_006 7'
must_equal 9 "$(json noise_runs seeds/lineage.json)" "the seeds measure the noise"
# One lucky seed is not better than three good ones, and the same seed again does not replicate it.
add() { must_run append -C lucky --status keep --core-metric "$1" --param "x=$2" --param "seed=$3"; }
must_run init lucky --direction lower
add 5 1 1
add 5.1 1 2
add 5.2 1 3
add 4.9 2 1
add 6.3 2 2
add 6.2 2 3
must_run best -C lucky --format json
must_equal '000 5.1 3' "$(json exp_id) $(json setting.mean) $(json setting.runs)"
add 4.9 2 1
run settings -C lucky --format tsv
must_exit 0
must_have err "more runs of 003 diverged than did not, so it is not named"
must_equal 4 "$(wc -l <out | tr -d ' ')" "the same seed again is a trial of its own"
run run -C ignores --direction lower -q -m loss --baseline --seeds 3 -- echo loss=1
must_exit 0
must_have err 'all seeds have the same score'
must_run render -C ignores
must_have out 'noise unknown: all runs of a setting have the same score'
finish
