#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh and trainer.sh
# train.sh: a trial from recipe to row, and every way in which a trial can end, each caused on purpose.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/trainer.sh"

# ---- a trial that is measured ----
must_run train tiny.json -C t -q
must_equal 000 "$(cat out)"
must_equal '{"direction": "higher",  "score": "em"}' "$(tr -d '\n' <t/lineage.json | sed 's/{ *"/{"/; s/ *}/}/')"
must_run init other --direction higher
must_run append -C other --score acc --status auto --core-metric 0.5 # names the score
must_fail 2 'scores of another name, `em`, are not compared with it' train tiny.json -C other -q
must_equal 2 "$(wc -l <other/results.tsv | tr -d ' ')"
must_run -C t show 000 --format json
cp out row
must_equal 'keep tiny what the recipe says multi-hop-qa' \
    "$(json status) $(json specialist) $(json hypothesis) $(json domain)"
must_equal '' "$(json parent_exp)"
must_equal '1 0.0003 6 4 1 2' "$(for p in seed lr iterations group_size k_min k_max; do
    json "params.$p"; done | tr '\n' ' ' | sed 's/ $//')"
must_equal 0.02 "$(sed -n 's/.*start.warm_start.lr=\([0-9.]*\);.*/\1/p' t/results.tsv)" "a setting by its path"
must_lack t/results.tsv 'alpha=' # grpo has none
must_lack t/results.tsv 'threads='
must_equal 'null null' "$(json ig_clip_scale_mean) $(json ig_clip_scale_std)" "no loss has read a clip scale"
score=$(json core_metric)
must_equal 1 "$(awk "BEGIN {print ($score > 0.8)}")" "EM $score after the warm start"
must_equal 1 "$(awk "BEGIN {print ($(json total_s) >= $(json train_s) && $(json train_s) > 0)}")" "times"
must_equal 'policy.ckpt recipe.json' "$(cd t/snapshots/000_tiny && echo *)"
must_equal 6.0 "$(json training.iterations t/snapshots/000_tiny/recipe.json | sed 's/^6$/6.0/')"
must_run -C t sql "SELECT count(*) FROM step_metrics WHERE exp_id = '000' AND key = 'em'" --format tsv
must_equal 4 "$(tail -n 1 out)" "evaluations at 0, 2, 4 and 6"
must_run -C t sql "SELECT count(*) FROM step_metrics WHERE exp_id = '000' AND key = 'loss'" --format tsv
must_equal 6 "$(tail -n 1 out)" "iterations"
must_equal 100 "$(json 'warm_start.#' t/telemetry/000.json)"
must_equal "$score" "$(json final.em t/telemetry/000.json)"
must_have t/telemetry/000.json '"kernels": "OpenBLAS '
# Means over the steps: what was clipped, and the cost of a step by phase.
for name in entropy clip_fraction generation_s gain_s scoring_s update_s; do
    must_run -C t sql "SELECT avg(value) FROM step_metrics WHERE exp_id = '000' AND key = '$name'" --format tsv
    must_equal 1 "$(awk "BEGIN { x = $(json "final.$name" t/telemetry/000.json) - $(tail -n 1 out); print (x < 1e-9 && -x < 1e-9) }")" \
        "mean $name"
done
must_have t/results.tsv ', entropy 0.'
must_have t/results.tsv ', clip fraction 0.'
must_run -C t verify

# Repeating the trial is not better; another start is worse; a better trial is kept.
must_run train tiny.json -C t -q --format json
must_equal "discard $score 0.0" "$(json status) $(json core_metric) $(json delta_vs_best)"
must_equal '' "$(json snapshot_path)"
must_run train tiny.json -C t -q --set start.warm_start.steps=0 --format json
must_equal discard "$(json status)"
must_run train tiny.json -C u -q --set start.warm_start.steps=0 --baseline --format json
must_equal baseline "$(json status)"
must_run train tiny.json -C u -q --format json
must_equal keep "$(json status)"
must_equal 1 "$(awk "BEGIN {print ($(json delta_vs_best) > 0.5)}")" "better than the baseline"

# The token streams of a run are the data set of another one.
must_run train tiny.json -C streams -q --set start.warm_start.steps=30 --set iterations=2 --rollouts streams.jsonl
must_equal "$((2 * $(json environments.0.questions streams/snapshots/000_tiny/recipe.json) * 4))" "$(wc -l <streams.jsonl)" 'two iterations'
head -n 1 streams.jsonl >first
must_equal '1 0' "$(json reward first | tr -dc '01' | wc -c) $(json iteration first)"
versions() { sed 's/.*"weight_version": \([0-9]*\).*/\1/' "$1" | sort -u | paste -sd ,; }
must_equal 0,1 "$(versions streams.jsonl)" "versions of the weights"
must_run train tiny.json -C streams -q --set iterations=2 --set sampler.staleness=1 --rollouts stale.jsonl
must_equal 0 "$(versions stale.jsonl)" "the weights of the iteration before"
must_equal "$(json 'tokens.#' first)" "$(json 'log_prob.#' first)"
must_equal "$(json 'mask.#' first) $(json 'advantage.#' first)" "$(json 'rl.#' first) $(json 'turn.#' first)"
run train tiny.json -C streams -q --rollouts streams.jsonl
must_exit 2
must_have err "exists already"
must_run train tiny.json -C streams -q --set iterations=2 --set algorithm=sft --set env.data.file=streams.jsonl
sed -e 's/"group": [0-9]*, //' -e 3d streams.jsonl >part.jsonl # what another program has chosen has no groups of equal sizes
must_run train tiny.json -C streams -q --set iterations=2 --set algorithm=sft --set env.data.file=part.jsonl
must_run train tiny.json -C streams -q --set iterations=2 --set correction.name=bypass --set env.data.file=streams.jsonl
run train tiny.json -C streams -q --set env.data.file=streams.jsonl
must_exit 2
must_have err 'needs a correction for rollouts of another policy'
must_run train tiny.json -C given -q --set iterations=2 --set algorithm=custom --set correction.name=tis --set env.data.file=streams.jsonl
must_run -C given rollout 000 --n 1 # a policy of such a trial writes rollouts of its own
# Advantages from a command, which gets one rollout per line: the reward minus a half.
cat >advantages.awk <<'END'
{ match($0, /"reward": [0-9.]+/); print "{\"advantage\": " substr($0, RSTART + 10, RLENGTH - 10) - 0.5 "}" }
END
must_run train tiny.json -C command -q --set iterations=2 --set algorithm=custom --set 'algorithm.custom.command=awk -f advantages.awk' \
    --rollouts given.jsonl
must_equal 0 "$(grep -vc -e ',-0.5' -e ',0.5' given.jsonl)" 'every rollout has an advantage of a half'
mv advantages.awk away
must_run -C command rollout 000 --n 1 # looking at a policy runs no command
mv away advantages.awk
run train tiny.json -C command -q --set iterations=2 --set algorithm=custom --set 'algorithm.custom.command=head -n 3 | awk -f advantages.awk'
must_exit 1
must_have command/results.tsv 'printed fewer lines than it was given rollouts'
run train tiny.json -C command -q --set iterations=2 --set algorithm=custom --set 'algorithm.custom.command=sed s/.*/x/'
must_exit 1
must_have command/results.tsv 'line 1: not '
run train tiny.json -C command -q --set iterations=2 --set algorithm=custom --set 'algorithm.custom.command=exit 3'
must_exit 1
must_have command/results.tsv ': it failed'

# Hooks: outcomes in place of the environment's reward, and weights of tokens, each from a command.
cat >hook.awk <<'END'
what == "outcome" { print "{\"outcome\": " NR % 2 "}" }
what == "drop" { print "{\"weights\": " NR % 2 "}" }
what == "tool" {
    match($0, /"mask": \[[01,]*/)
    mask = substr($0, RSTART + 9, RLENGTH - 9)
    gsub(/0/, "0.25", mask)
    print "{\"weights\": [" mask "]}"
}
END
hooks="train tiny.json -C hooks -q --set start.warm_start.steps=30 --set iterations=2"
must_run $hooks --set 'algorithm.hooks.score=awk -f hook.awk -v what=outcome' --rollouts scored.jsonl
must_equal 0 "$(awk 'NR % 2 != ($0 !~ /"advantage": [^]]*-0/ && $0 ~ /"advantage": [^]]*[1-9]/)' scored.jsonl | wc -l)" 'odd rollouts are the better ones'
must_have scored.jsonl '"reward": 0, ' # as the environment says
must_run $hooks --set 'algorithm.hooks.weights=awk -f hook.awk -v what=drop' --rollouts dropped.jsonl
must_equal 0 "$(awk 'NR % 2 != /"rl": [^]]*1/' dropped.jsonl | wc -l)" 'even rollouts are dropped'
must_run -C hooks sql "SELECT avg(value) FROM step_metrics WHERE exp_id = '001' AND key = 'left_out'" --format tsv
must_equal 0.5 "$(tail -n 1 out)" 'half of the rollouts are left out'
# A policy of which all rollouts are dropped stays the one that it was.
for hook in 'weights=sed "s/.*/{\"weights\": 0}/"' weights=; do
    must_run train tiny.json -C still -q --set start.warm_start.steps=30 --set iterations=2 --set "algorithm.hooks.$hook"
done
must_run -C still sql "SELECT sum(value > 0) FROM step_metrics WHERE key = 'grad_norm' GROUP BY exp_id" --format tsv
must_equal '0 2' "$(tail -n 2 out | paste -sd ' ')" 'steps with a gradient'
must_run train tiny.json -C hooks -q --set env.name=hopworld --set env.max_turns=3 --set start.warm_start.steps=150 --set iterations=2 --set 'algorithm.hooks.weights=awk -f hook.awk -v what=tool' --rollouts told.jsonl
must_equal 0 "$(awk '/"mask": [^]]*1,0/ != /"ce": [^]]*0.25/' told.jsonl | wc -l)" "the tool's tokens are trained on"
must_equal 1 "$(grep -c '"ce": [^]]*0.25' told.jsonl | awk '{ print ($1 > 4) }')" "some rollouts have the tool's tokens"
must_equal 0 "$(grep -c '"ce": \[0.25' told.jsonl)" 'prompts are not trained on'
must_run -C hooks sql "SELECT sum(value > 0) FROM step_metrics WHERE exp_id = '002' AND key = 'loss/ce'" --format tsv
must_equal 2 "$(tail -n 1 out)" "iterations with a loss of the tool's tokens"
must_run train tiny.json -C hooks -q --set env.name=hopworld --set env.max_turns=3 --set start.warm_start.steps=150 --set iterations=2 --set algorithm=echo --set algorithm.echo_probability.below=0.5
must_run train tiny.json -C hooks -q --set env.name=hopworld --set env.max_turns=3 --set start.warm_start.steps=150 --set iterations=2 --set algorithm=echo
must_run -C hooks sql "SELECT sum(value) FROM step_metrics WHERE key = 'loss/ce' AND exp_id IN ((SELECT max(exp_id) FROM trials),
    printf('%03d', (SELECT max(exp_id) FROM trials) - 1)) GROUP BY exp_id" --format tsv
must_equal 1 "$(tail -n 2 out | paste -sd ' ' | awk '{ print ($1 > $2 && $2 > 0) }')" 'what is imitated is less likely on average'
run train tiny.json -C hooks --set start.warm_start.steps=30 --set iterations=2 --set "algorithm.hooks.weights=true; sed 's/.*/{\"weights\": 1}/'"
must_exit 0
must_have err 'warning: 1 settings do not fit into the row; recipe.json has all of them'
refuse_hook()
{
    run $hooks --set "algorithm.hooks.$1=sed 's/.*/$2/'"
    must_exit 1
    must_have hooks/results.tsv "$3"
}
refuse_hook score '{"outcome": [1]}' 'line 1: not {""outcome""'
refuse_hook score '{"reward": 1}' 'line 1: not {""outcome""'
refuse_hook score '{"outcome": 1e39}' 'with a number within 3.4e38 of 0'
refuse_hook weights '{"weights": 1, "keep": 0}' 'line 1: not {""weights""'
refuse_hook weights '{"weights": 0.5}' 'is not 0 or 1 at a token of the policy'
refuse_hook weights '{"weights": [1]}' 'line 1: not {""weights""'

sed '3s/"noise": "./"noise": "z/' streams.jsonl >broken.jsonl
run train tiny.json -C streams -q --set iterations=2 --set algorithm=sft --set env.data.file=broken.jsonl
must_exit 1
must_have streams/results.tsv 'broken.jsonl:3: question and noise are not texts of 16 hexadecimal digits'

# If the sampler differs from the learner, missing corrections of the core's plan are reported as warnings.
run train tiny.json -C lacking --set iterations=1 --set sampler.precision=int8
must_exit 0
must_have err 'warning: without importance_weights: '
run train tiny.json -C lacking --set iterations=1 --set sampler.precision=int8 --set correction.name=recompute
must_exit 0
must_lack err 'without importance_weights'
run train tiny.json -C lacking --set iterations=1
must_exit 0
must_lack err 'warning'
# A mixture of experts that replays its sampler's routes.
must_run train tiny.json -C routed -q --set iterations=2 --set sampler.precision=int8 \
    --set model.experts.count=4 --set routing.replay=R3 --set correction.name=tis
must_have routed/results.tsv 'model.experts.count=4'
for name in expert_load routes_differ experts_common routed_kl replayed_kl; do
    must_run -C routed sql "SELECT count(*) FROM step_metrics WHERE exp_id = '000' AND key = '$name'" --format tsv
    must_equal 2 "$(tail -n 1 out)" "$name"
done
must_run -C routed rollout 000 --n 1

# Both ends of a mixture and pass@k are in telemetry, and in the row if the recipe asks for that.
must_lack t/results.tsv 'pass_'
must_run train tiny.json -C ends -q --set row.ends=true --set row.passk=true --set evaluation.seeds=3
for name in pass_at_3 pass_rate_easy pass_rate_hard response_tokens_easy response_tokens_hard; do
    must_equal 1 "$(tr '\t;' '\n\n' <ends/results.tsv | grep -c "^ *$name=")" "$name is a parameter"
    json "final.$name" ends/telemetry/000.json >>ends.numbers
done
must_equal 1 "$(awk 'NR == 1 { pass = $1 } NR == 5 { hard = $1 } NR == 4 { easy = $1 }
    END { print (pass > 0.8 && pass <= 1 && hard > easy) }' ends.numbers)" "hard questions take more tokens"

# The current alpha if it is adaptive, the values' predictions if there is a value head, and the time of an iteration if
# the recipe asks for it: in telemetry and in the row, and only then.
must_lack t/results.tsv 'alpha_used\|explained\|generation_s'
must_run train tiny.json -C adaptive -q --set algorithm=turn-group-v1d --set algorithm.schedule.kind=adaptive --set k_min=2 \
    --set cost.phases=true
must_have adaptive/results.tsv '; algorithm.schedule.kind=adaptive'
must_have adaptive/results.tsv '; alpha_used=0.'
must_have adaptive/results.tsv '; generation_s='
must_have adaptive/results.tsv '; update_s='
must_run -C adaptive sql "SELECT avg(value) FROM step_metrics WHERE exp_id = '000' AND key = 'alpha_used'" --format tsv
must_equal 1 "$(awk "BEGIN { x = $(json final.alpha_used adaptive/telemetry/000.json) - $(tail -n 1 out); print (x < 1e-9 && -x < 1e-9) }")" \
    "mean alpha"
must_run train tiny.json -C valued -q --set algorithm=ppo --set iterations=12
must_have valued/results.tsv ', explained variance '
must_run -C valued sql "SELECT avg(value) FROM step_metrics WHERE exp_id = '000' AND key = 'explained_variance' AND step > 10" --format tsv
must_equal 1 "$(awk "BEGIN { x = $(json final.explained_variance valued/telemetry/000.json) - $(tail -n 1 out); print (x < 1e-9 && -x < 1e-9) }")" \
    "explained variance of the last tenth"
must_have valued/telemetry/000.json '"value_loss"'

# Episodes by markers: the row names the cut, and another cut is another trial.
must_run train tiny.json -C marked -q --set algorithm=vineppo --set k_min=2
must_run train tiny.json -C marked -q --set algorithm=vineppo --set k_min=2 --set algorithm.episodes.markers=e1
must_equal 1 "$(grep -c '; algorithm.episodes.markers=e1' marked/results.tsv)" "markers in rows"
must_run -C marked sql "SELECT max(value) FROM step_metrics WHERE exp_id = '001' AND key = 'info_gain_t0'" --format tsv
must_equal 1 "$(awk "BEGIN { print ($(tail -n 1 out) != 0) }")" "a gain where there is no tool"
must_fail 2 'unknown token e9' train tiny.json -C marked --set algorithm=vineppo --set algorithm.episodes.markers=e9
must_run -C marked rollout 001 --n 1

# The effect of flags beside the outcome, and how much a teacher contributed.
must_run train tiny.json -C told -q --set algorithm=adca --set algorithm.outcome.weight=0.5
must_have told/results.tsv '; algorithm.outcome.weight=0.5'
must_run train tiny.json -C told -q --set algorithm.distill.how=loss --set algorithm.distill.teacher=policy
for name in adca/attr_std adca/outcome_share_last_mean adca/alpha_effective judge_good_success opd/frac_groups opd/frac_rollouts \
    opd/frac_tokens opd/kd_loss opd/kd_clipped; do
    must_run -C told sql "SELECT count(*) FROM step_metrics WHERE key = '$name'" --format tsv
    must_equal 6 "$(tail -n 1 out)" "$name"
done

# Groups by fitted pass rates: the number of rollouts is unchanged, and telemetry has the size of each group.
must_run train tiny.json -C groups -q --set start.warm_start.steps=30 --set group_size=8 --set env.pool.questions=4 \
    --set env.groups.sizes=mixed
must_have groups/results.tsv '; env.groups.sizes=mixed'
must_run -C groups sql "SELECT max(value) > 8 AND min(value) < 8 AND sum(key = 'group_size_least') = 6 FROM step_metrics
    WHERE exp_id = '000' AND key IN ('group_size_least', 'group_size_most')" --format tsv
must_equal 1 "$(tail -n 1 out)" "sizes of groups"
must_run -C t sql "SELECT count(*) FROM step_metrics WHERE key IN ('group_size_most', 'mixed_groups')" --format tsv
must_equal 0 "$(tail -n 1 out)" "groups of a recipe that does not ask for it"
must_run -C groups rollout 000 --n 1

# The same recipe and seed give the same row for any number of threads.
must_run train tiny.json -C again -q --threads 2
without_times t/results.tsv | sed -n 2p >one
without_times again/results.tsv | sed -n 2p >two
must_match_file one two

# ---- the parent, and the effect of options ----
must_run train tiny.json -C t -q --parent exp_000 --seed 5 --iterations 2 --hypothesis 'from options' \
    --expected-delta '+0.01 EM' --set lr=1e-3 --set algorithm.name=turn-group-v1d \
    --set environments[0].algorithm.alpha=0.9 --set env.questions=2 --format json
must_equal '000 from options +0.01 EM' "$(json parent_exp) $(json hypothesis) $(json expected_delta)"
must_equal '5 2 0.001 0.9 0.3 1 2' "$(for p in seed iterations lr alpha beta gamma questions; do
    json "params.$p"; done | tr '\n' ' ' | sed 's/ $//')"
must_lack out 'start.warm_start' # it starts from its parent
must_run train tiny.json -C t -q --parent best --format json
must_equal 000 "$(json parent_exp)"
must_run train tiny.json -C t -q --checkpoint t/snapshots/000_tiny/policy.ckpt --format json
must_equal 000 "$(json parent_exp)" "the checkpoint says whose child"
must_run -C t verify

# ---- refused before the trial starts ----
cp t/results.tsv before
must_fail 2 'cannot read nowhere.json' train nowhere.json -C t
must_fail 2 "no trial '999'" train tiny.json -C t --parent 999
must_fail 2 "is not NAME=VALUE" train tiny.json -C t --set seed
must_fail 2 "no such place" train tiny.json -C t --set environments[7].k_min=1
must_fail 2 "is not a whole number" train tiny.json -C t --seed x
must_fail 2 "missing argument" train -C t
# A refused recipe is not a trial: no row is written, and the message suggests the nearest name.
printf '{"training": {"iterations": 6,}}' >broken.json
must_fail 2 'broken.json:1' train broken.json -C t
printf '{"training": {"iteratoins": 6}}' >typo.json
must_fail 2 'the nearest known one is training.iterations' train typo.json -C t
must_fail 2 'the nearest known one is training.iterations' train tiny.json -C t --set training.iteratoins=3
must_fail 2 'the nearest known one is alpha' train tiny.json -C t --set alhpa=0.3
must_fail 2 'the nearest known one is turn-group-v1d' train tiny.json -C t --set algorithm.name=v1d
must_fail 2 'training.lr is -1' train tiny.json -C t --set lr=-1
must_fail 2 'custom' train tiny.json -C t --set algorithm.name=custom
must_match_file before t/results.tsv
must_run init lower
must_fail 2 "lower score is better" train tiny.json -C lower -q
must_run train tiny.json -C lower -q --direction higher

# ---- every way to fail ----
# fails LABEL TEXT ARGUMENT...: exit status 1, that label, TEXT in the message and in notes, no score.
fails()
{
    label=$1 text=$2
    shift 2
    run train tiny.json -C fail -q --format json "$@"
    must_exit 1
    must_have err "$text"
    must_equal "$label" "$(json status)"
    must_equal null "$(json core_metric)"
    case $(json notes) in *"$text"*) ;; *) fail "$last: no '$text' in notes: $(json notes)" ;; esac
    must_equal '' "$(find fail -name '.trial-*')" "left behind"
}

fails preflight_crash 'nowhere.ckpt' --checkpoint nowhere.ckpt
head -c 2000 t/snapshots/000_tiny/policy.ckpt >short.ckpt
fails preflight_crash 'short.ckpt' --checkpoint short.ckpt
tr 'a' 'b' <t/snapshots/000_tiny/policy.ckpt >damaged.ckpt
fails preflight_crash 'damaged.ckpt' --checkpoint damaged.ckpt
fails preflight_crash 'width' --checkpoint t/snapshots/000_tiny/policy.ckpt --set model.width=32
run train tiny.json -C t -q --parent 001
must_exit 1
must_equal '001 preflight_crash' "$(field t 4) $(field t 9)" "a discarded parent has no checkpoint"

fails size_blocked 'artifact_bytes' --set budget.artifact_bytes=1000
fails size_blocked 'memory_bytes' --set budget.memory_bytes=100000
must_equal null "$(json train_s)" "nothing was trained"

fails crash 'after step 1 of 50: iteration 2' --iterations 50 --set learning_rate=10 \
    --set training.weight_decay=10
must_have err 'not a finite number'
case $(json notes) in *'EM 0.'*' at step 0'*) ;; *) fail "the last evaluation is not in notes" ;; esac

large='--set model.width=1024 --set model.layers=16 --set model.mlp=4096'
if [ "$INSTRUMENTED" != sanitizers ]; then
    # shellcheck disable=SC2086,SC3045 # dash has it
    (ulimit -v 1500000 && run train tiny.json -C fail -q $large && must_exit 1)
else
    # shellcheck disable=SC2086
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:allocator_may_return_null=1:max_allocation_size_mb=300" \
        run train tiny.json -C fail -q $large
fi
must_equal crash "$(field fail 9)" "out of memory"
case $(field fail 17) in *'out of memory'*) ;; *) fail "out of memory is not in notes" ;; esac

# shellcheck disable=SC2086
fails train_budget_overrun 'training took more than 1 s, stopped after step' $endless \
    --set budget.train_seconds=1
must_equal 1 "$(awk "BEGIN {print ($(json total_s) < 60 && $(json 'steps.#' "fail/telemetry/$(json exp_id).json") > 0)}")" \
    "killed, with what was measured"
fails eval_budget_overrun 'the final evaluation took more than 0.2 s' --set budget.eval_seconds=0.2 \
    --set evaluation.questions=20000 --set evaluation.seeds=64 --set evaluation.every=0
# A budget that was exceeded counts even if the trial ended before the watcher looked.
fails eval_budget_overrun 'the final evaluation took more than 1e-06 s' --set budget.eval_seconds=1e-6

# ---- signals ----
# begin ARGUMENT...: starts an endless trial in the background; $parent is its process, $child its child's.
begin()
{
    rm -f err # that of the one before
    # A shell makes its background processes ignore SIGINT.
    # shellcheck disable=SC2086
    env --default-signal=INT "$LINEAGE" train tiny.json -C sig $endless "$@" >out 2>err </dev/null &
    parent=$!
    last="lineage train $endless $* &"
    wait_for grep -q parameters err || fail "$last: does not begin"
    child=$(child_of "$parent")
    [ "$child" ] || fail "$last: no child"
    sleep 0.5
}

ends_with()
{
    wait "$parent"
    status=$?
    must_exit "$1"
    ! kill -0 "$child" 2>/dev/null || fail "$last: the child lives on"
}

unset OMP_WAIT_POLICY GOMP_SPINCOUNT
begin --set budget.memory_bytes=2e9
must_equal 1 "$(tr '\0' '\n' <"/proc/$child/environ" | grep -c '^OPENBLAS_NUM_THREADS=1$')" "BLAS threads"
if grep -q avx512f /proc/cpuinfo && [ -z "${OPENBLAS_CORETYPE:-}" ]; then
    must_equal 1 "$(tr '\0' '\n' <"/proc/$child/environ" | grep -c '^OPENBLAS_CORETYPE=SKYLAKEX$')" "BLAS kernels"
fi
# Idle threads sleep after some microseconds, unless the user has chosen something.
must_equal 1 "$(tr '\0' '\n' <"/proc/$child/environ" | grep -c '^GOMP_SPINCOUNT=1000$')" "spins of idle threads"
if [ "$INSTRUMENTED" != sanitizers ]; then
    must_equal 0 "$(grep -c 'Max address space *unlimited' "/proc/$child/limits")" "address space limited"
fi
kill -KILL "$child"
ends_with 1
must_equal crash "$(field sig 9)"
case $(field sig 17) in *'killed by signal 9'*' after step '*' of 1000000'*) ;; *) fail "notes: $(field sig 17)" ;; esac

OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
begin
must_equal 0 "$(tr '\0' '\n' <"/proc/$child/environ" | grep -c '^GOMP_SPINCOUNT=')" "spins, with a policy of the user"
kill -TERM "$parent"
ends_with 130
must_equal harness_abort "$(field sig 9)"
case $(field sig 17) in *'interrupted by the user after step '*) ;; *) fail "notes: $(field sig 17)" ;; esac

begin
kill -INT "$parent"
ends_with 130
must_equal 3 "$(sed 1d sig/results.tsv | wc -l)"
must_equal harness_abort "$(field sig 9)" "after SIGINT"
must_equal '' "$(find sig -name '.trial-*')" "left behind"

# The process is killed with SIGKILL: no row, no child is left, and the next trial cleans up.
begin
kill -KILL "$parent"
wait "$parent" 2>/dev/null
wait_for eval "! kill -0 $child" || fail "the child of a killed command lives on"
must_equal 3 "$(sed 1d sig/results.tsv | wc -l)" "rows after SIGKILL"
must_equal 1 "$(find sig -name '.trial-*' | wc -l)"
must_run train tiny.json -C sig -q
must_equal '' "$(find sig -name '.trial-*')" "left behind by a killed command"
must_run -C sig verify

# ---- progress ----
run train tiny.json -C p
must_have err 'tiny: warm start 100/100'
must_have err 'tiny: step 6/6, EM 0.'
must_lack err "$(printf '\r')"
# Only where pseudo-terminals exist.
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    script -qec "$LINEAGE train tiny.json -C p" /dev/null >typescript 2>&1 </dev/null
    must_have typescript "$(printf '\r\033[K')tiny: step 6/6, EM"
    must_have typescript 'tokens/s'
fi
# One process trains. Several of MPI are refused; copies of srun are reported by the first one.
alone() # NAME=VALUE..: the status of a training with this environment that would end at its recipe, and the variable that is to blame
{
    env -u OMPI_COMM_WORLD_SIZE -u PMI_SIZE -u PMIX_RANK -u SLURM_STEP_NUM_TASKS -u SLURM_PROCID "$@" \
        "$LINEAGE" train none.json -C none >out 2>err
    echo "$? $(sed -n 's/.*`env -u \([A-Z_]*\) lineage ..`.*/\1/p' err)$(sed -n 's/.*\(srun started.*\), and.*/\1/p' err)$(grep -o 'cannot read none.json' err)"
}
for given in '2 OMPI_COMM_WORLD_SIZE=2' '2 PMI_SIZE=3' '2 PMIX_RANK=1 SLURM_STEP_NUM_TASKS=4'; do
    # shellcheck disable=SC2086
    must_equal "2 $(echo "${given##* }" | sed 's/=.*//')" "$(alone ${given#* })" "$given"
done
must_have err 'started as one of 4 processes (SLURM_STEP_NUM_TASKS)'
for given in OMPI_COMM_WORLD_SIZE=1 PMI_SIZE=1 PMI_SIZE=2x PMI_SIZE= SLURM_STEP_NUM_TASKS=1 'SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=1'; do
    # shellcheck disable=SC2086
    must_equal '2 cannot read none.json' "$(alone $given)" "$given"
done
must_equal '2 srun started 4 processescannot read none.json' "$(alone SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0)"
must_equal 0 "$(OMPI_COMM_WORLD_SIZE=2 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 "$LINEAGE" train --help 2>&1 | grep -c 'started')" --help
# A night is one process, too; its workers share it.
printf '{"name": "s", "direction": "lower", "command": ["true"], "score": "x", "grid": {"x": [1]}}' >mpi.json
OMPI_COMM_WORLD_SIZE=2 PMI_SIZE=2
export OMPI_COMM_WORLD_SIZE PMI_SIZE
must_fail 2 'started as one of 2 processes (OMPI_COMM_WORLD_SIZE)' night mpi.json -C none
must_run night --help
must_run night mpi.json -C listed --list
run night mpi.json -C shared --worker --hours 0.0001
must_exit 0
[ ! -e none ] || fail 'a store was made under mpirun'
finish
