# trainer.sh: functions of the tests that train. Sourced after shell.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# A policy of 2576 parameters that learns to reverse two tokens in a tenth of a second.
cat >tiny.json <<'END'
{
  "name": "tiny", "hypothesis": "what the recipe says", "threads": 1,
  "world": {"regions": 2, "region_size": 2, "relations": 2},
  "model": {"width": 16, "heads": 2, "layers": 1, "mlp": 32},
  "start": {"warm_start": {"steps": 100, "batch": 16, "warmup": 5, "learning_rate": 0.02, "k_min": 1, "k_max": 2}},
  "environments": [{"name": "reverse", "questions": 4, "k_min": 1, "k_max": 2, "algorithm": {"name": "grpo"}}],
  "training": {"iterations": 6, "group_size": 4, "minibatch": 8},
  "evaluation": {"questions": 32, "every": 2}
}
END

# A recipe that runs until it is stopped.
endless='--set start.warm_start.steps=0 --set training.iterations=1000000 --set evaluation.every=0'

# wait_for COMMAND...: waits until COMMAND succeeds; false after a minute, because a busy machine is slow.
wait_for()
{
    tries=0
    while ! "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 3000 ] || return 1
        sleep 0.02
    done
}

# child_of PID: the training process of PID.
child_of()
{
    children=$(cat "/proc/$1/task/$1/children" 2>/dev/null)
    [ -z "$children" ] || { echo "${children%% *}" && return; }
    for stat in /proc/[0-9]*/stat; do
        read -r pid _ _ parent _ 2>/dev/null <"$stat" || continue
        [ "$parent" = "$1" ] && grep -q run-trial "/proc/$pid/cmdline" 2>/dev/null && echo "$pid" && return
    done
    return 1
}

# The columns of results.tsv that do not depend on the time.
without_times()
{
    cut -f 1,3-12,15- "$1"
}

field()
{
    tail -n 1 "$1/results.tsv" | cut -f "$2"
}
