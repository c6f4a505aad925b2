#!/bin/sh
# Workers of a night as an array job of Slurm:
#     sbatch --array=1-32 --gres=gpu:1 --time=11:10:00 night.slurm.sh SWEEP postgres://HOST/DATABASE/STORE ['2026-12-24 07:00']
# No trial starts that would end after the time behind the store, also in a task that starts late or again.
#SBATCH --job-name=lineage
#SBATCH --output=lineage-%A_%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:TERM@120

# Slurm sends TERM before the time limit and when it preempts the job. The worker then ends its trial and gives it
# back, and this task goes back into the queue. If Slurm requeues it anyway, scontrol only says so.
stop()
{
    trap '' TERM
    kill -TERM "$worker" 2>/dev/null
    wait "$worker"
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
    exit 0
}
trap stop TERM
if [ $# -gt 2 ]; then
    hours=$(awk "BEGIN { print ($(date -d "$3" +%s) - $(date +%s)) / 3600 }")
    case $hours in -* | 0) exit 0 ;; esac
fi
lineage night "$1" -C "$2" --worker ${hours:+--hours "$hours"} &
worker=$!
wait "$worker"
