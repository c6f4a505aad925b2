#!/bin/sh
# Workers of a night as an array job of Slurm:
#     sbatch --array=1-32 --gres=gpu:1 --time=11:10:00 night.slurm.sh SWEEP postgres://HOST/DATABASE/STORE [@SECONDS]
# No trial starts that would end after the time behind the store, which `date -d '2026-12-24 07:00' +@%s` prints: such a
# time is the same on nodes of another time zone, and for a task that starts late or again.
#SBATCH --job-name=lineage
#SBATCH --output=lineage-%A_%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:TERM@120

refuse()
{
    echo "night.slurm.sh: $1" >&2
    exit "$2"
}
# Slurm sends TERM before the time limit and when it preempts the job. The worker then ends its trial and gives it
# back, and this task goes back into the queue. If Slurm has put it there already, scontrol says so.
stop()
{
    trap '' TERM
    kill -TERM "$!" 2>/dev/null
    wait
    task=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_}${SLURM_ARRAY_TASK_ID:-$SLURM_JOB_ID}
    scontrol requeue "$task" || refuse "scontrol did not put job '$task' back into the queue" 1
    exit 0
}
trap stop TERM
[ $# -eq 2 ] || [ $# -eq 3 ] || refuse 'usage: night.slurm.sh SWEEP STORE [@SECONDS]' 2
if [ $# -eq 3 ]; then
    case ${3#@} in
    "$3" | '' | 0* | *[!0-9]* | ????????????*) refuse "the time '$3' is not of the form that date -d TEXT +@%s prints" 2 ;;
    esac
    left=$((${3#@} - $(date +%s)))
    [ $left -gt 0 ] || refuse "the time $3 ($(date -d "$3")) has passed, so nothing starts" 1
    hours=$(awk "BEGIN { printf \"%.4f\", $left / 3600 }")
fi
lineage night "$1" -C "$2" --worker ${hours:+--hours "$hours"} &
wait "$!"
