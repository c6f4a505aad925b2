#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh and trainer.sh
# ranks.sh: one trial by several processes under mpirun: the same checkpoint, row and telemetry for any number of
# them; a lost process; an interruption; and what is refused. MODULE is lineage-mpi.so, or empty.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/trainer.sh"

if [ -z "$MODULE" ] || ! command -v mpirun >/dev/null; then
    printf 'skipped: no mpirun of Open MPI here, or built without it\n'
    exit 77
fi
# mpirun refuses root without the first two; a container without ptrace cannot copy from process to process.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
# There are more processes than processors, so a waiting process must sleep. The launcher of Open MPI 5 has another name for it.
PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PRTE_MCA_rmaps_default_mapping_policy
OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMP_WAIT_POLICY=passive
# The launcher of these tests must not be taken for the launcher of their runs.
unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMIX_RANK PMI_SIZE PMI_RANK
# Leaks of Open MPI are not ours.
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_btl_vader_single_copy_mechanism
export OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_mpi_yield_when_idle OMP_WAIT_POLICY ASAN_OPTIONS

# ranks N ARGUMENT...: `lineage ARGUMENT...` by N processes, ended after a quarter of an hour.
ranks()
{
    n=$1
    shift
    last="mpirun -n $n lineage $*"
    mpirun -n "$n" --bind-to none --timeout 900 "$LINEAGE" "$@" >out 2>err </dev/null
    status=$?
}

# Telemetry without times.
story()
{
    sed 's/"[a-z_]*_s": [0-9.e+-]*,* *//g' "$1"/telemetry/*.json
}

# same_by NAME ARGUMENT...: a trial by one process is the same as by two and by four.
same_by()
{
    name=$1
    shift
    must_run train "$@" -C "$name-1" -q
    for n in 2 4; do
        ranks "$n" train "$@" -C "$name-$n" -q
        must_exit 0
        must_equal 000 "$(cat out)"
        must_match_file "$name-1/snapshots"/000_*/policy.ckpt "$name-$n/snapshots"/000_*/policy.ckpt
        without_times "$name-1/results.tsv" >wanted
        without_times "$name-$n/results.tsv" >got
        must_match_file wanted got
        story "$name-1" >wanted
        story "$name-$n" >got
        must_match_file wanted got
    done
}

# Three lanes of rollouts and five chunks of a minibatch, so that no process is idle.
cat >hop.json <<'END'
{
  "name": "hop", "hypothesis": "shared", "threads": 1,
  "world": {"regions": 4, "region_size": 3, "relations": 6},
  "model": {"width": 16, "heads": 2, "layers": 2, "mlp": 32},
  "start": {"warm_start": {"steps": 20, "batch": 32, "warmup": 5, "learning_rate": 0.01, "k_min": 1, "k_max": 2}},
  "environments": [{"name": "hopworld", "questions": 40, "k_min": 1, "k_max": 2, "max_turns": 3,
                    "algorithm": {"name": "turn-group-v1d", "alpha": 0.3}}],
  "training": {"iterations": 2, "group_size": 4, "minibatch": 40},
  "evaluation": {"questions": 130, "every": 1, "seeds": 2}
}
END

same_by tiny tiny.json
same_by gain hop.json
teacher=$(echo tiny-1/snapshots/000_*/policy.ckpt)
same_by opd tiny.json --set algorithm.name=opd --set algorithm.teacher="$teacher"
same_by stale hop.json --set sampler.precision=bf16 --set sampler.staleness=1 --set correction.name=tis --set threads=2
same_by long hop.json --set algorithm.name=grpo --set length_penalty=group --set loss.name=gspo --set kl_coef=0.1
same_by judged hop.json --set algorithm.name=adca --set start.checkpoint="$(echo gain-1/snapshots/000_*/policy.ckpt)"

# Only rank 0 looks up the parent and its checkpoint.
ranks 2 train tiny.json -C tiny-2 --parent best -q
must_exit 0
must_equal 000 "$(field tiny-2 5)"

# ---- failures ----
# processes WORD WORD: those whose command line has both.
processes()
{
    for line in /proc/[0-9]*/cmdline; do
        pid=${line#/proc/}
        # A process may be gone by now.
        { tr '\0' ' ' <"$line" | grep -qe "$1.*$2"; } 2>/dev/null && echo "${pid%/cmdline}"
    done
}

# endless_by N STORE: ranks that train until they are stopped; $launcher is mpirun.
endless_by()
{
    # shellcheck disable=SC2086
    mpirun -n "$1" --bind-to none --timeout 900 "$LINEAGE" train tiny.json -C "$scratch/$2" $endless >out 2>err </dev/null &
    launcher=$!
    last="mpirun -n $1 lineage train, $2"
    wait_for sh -c "cat $2/.*/events.jsonl | grep peers" || show_output
}

# rank N: process N that mpirun started.
rank()
{
    for stat in /proc/[0-9]*/stat; do
        read -r pid _ _ parent _ 2>/dev/null <"$stat" || continue
        [ "$parent" = "$launcher" ] && tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$pid"
    done
}

# over LABEL WHY STORE: mpirun ends, there is one row, and no process is left.
over()
{
    wait "$launcher"
    wait_for sh -c "[ \$(wc -l <$3/results.tsv) -eq 2 ]"
    must_equal "$1" "$(field "$3" 9)"
    must_have "$3/results.tsv" "$2"
    checks=$((checks + 1))
    tries=0
    while [ -n "$(processes lineage "$scratch/$3")" ] && [ "$tries" -lt 3000 ]; do
        tries=$((tries + 1)) && sleep 0.02
    done
    [ -z "$(processes lineage "$scratch/$3")" ] || fail "$last: a process is left"
    must_run -C "$3" verify
}

endless_by 3 lost
kill -KILL "$(rank 2)"
over crash 'rank 2 (process' lost

endless_by 3 first
kill -KILL "$(rank 0)"
over crash 'rank 0 (process' first

endless_by 2 trained
kill -KILL "$(processes 'run-trial --events' "$scratch/trained")"
over crash 'killed by signal 9' trained

endless_by 3 interrupted
kill -INT "$launcher"
over harness_abort 'interrupted by the user' interrupted

# A rank on another machine cannot be watched; the row says that it may have been the cause.
cat >far.sh <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 1 ] && exec unshare -ru sh -c 'hostname far && exec "$@"' sh "$@"
exec "$@"
END
chmod +x far.sh
if unshare -ru sh -c 'hostname far' 2>/dev/null; then
    # shellcheck disable=SC2086
    mpirun -n 2 --bind-to none --timeout 900 ./far.sh "$LINEAGE" train tiny.json -C "$scratch/far" $endless >out 2>err </dev/null &
    launcher=$!
    last="mpirun with a rank on another machine"
    wait_for sh -c "cat far/.*/events.jsonl | grep '\"host\":\"far\"'" || show_output
    kill -KILL "$(rank 1)"
    over harness_abort 'or by its launcher for a process lost on another machine' far
else
    printf 'no rank was put on another machine: that takes namespaces\n'
fi

# Other ranks resume the training of a lost rank from the last state.
long='--set training.iterations=400 --set evaluation.every=0'
# shellcheck disable=SC2086
must_run train tiny.json -C whole -q $long
# shellcheck disable=SC2086
mpirun -n 3 --bind-to none --timeout 900 "$LINEAGE" train tiny.json -C "$scratch/cut" $long --resume run.state \
    --save-every 1 >out 2>err </dev/null &
launcher=$!
last="mpirun -n 3 lineage train --resume"
wait_for sh -c "cat cut/.*/events.jsonl | grep -q 'train\",\"step\":2'" || show_output
kill -KILL "$(rank 1)"
over crash 'rank 1 (process' cut
[ -s run.state ] || fail "no state is left of a lost rank's trial"
# shellcheck disable=SC2086
ranks 2 train tiny.json -C cut $long -q --resume run.state
must_exit 0
must_match_file whole/snapshots/000_*/policy.ckpt cut/snapshots/001_*/policy.ckpt
must_have cut/results.tsv 'resumed_after'
must_equal "$(field whole 10)" "$(field cut 10)" "EM"

# shellcheck disable=SC2086
ranks 2 train tiny.json -C slow $endless --set budget.train_seconds=0.3
must_exit 1
must_equal train_budget_overrun "$(field slow 9)"

ranks 3 train tiny.json -C new --set bogus=1
must_exit 2
must_equal 1 "$(grep -c "lineage: .*unknown setting 'bogus'" err)" # on a line that mpirun may have begun
[ ! -e new ] || fail "a refused recipe made a store"
ranks 3 train nothing.json -C new
must_exit 2
ranks 2 night tiny.json -C new
must_exit 2
must_have err 'a night is run by one process'

# Variables of an earlier launch: MPI starts the process alone, which is reported instead of training as one of four.
for rank in 0 2; do
    OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=$rank run train tiny.json -C "stale-$rank" -q
    [ "$status" -ne 0 ] && [ "$status" -le 3 ] || fail "rank $rank of an earlier launch: exit status $status"
    must_have err "the environment says rank $rank of 4, and MPI says rank 0 of 1"
done
# srun without PMI starts copies; the first one warns, and each trains a trial of its own.
SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 run train tiny.json -C copy-0 -q
must_exit 0
must_have err 'srun started 4 processes without PMI'
SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=1 must_run train tiny.json -C copy-1 -q
SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 must_run train tiny.json -C copy-2 -q

# Without the module no process trains, and above all not each of them for itself.
mkdir alone
cp "$LINEAGE" "$(dirname "$LINEAGE")/lineage-train" alone/
run=$LINEAGE
LINEAGE=$scratch/alone/lineage
ranks 3 train tiny.json -C new
must_exit 3
must_have err 'lineage: started as 3 processes' # each rank says so, unless mpirun kills it first
must_have err 'built without MPI'
[ ! -e new ] || fail "a store was made without MPI"
LINEAGE=$run
must_run train tiny.json -C new -q # one process needs no module
finish
