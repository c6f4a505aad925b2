#!/bin/sh
# Workers of the night lineage-regression-464059f2. Made by `lineage night --submit slurm`.
#SBATCH --job-name=lineage-regression-464059f2
#SBATCH --output=lineage-regression-464059f2-%A_%a.log
#SBATCH --open-mode=append
#SBATCH --array=1-8
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --gres=gpu:1
#SBATCH --partition=gpu

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
lineage night regression.json -C postgres://db.example/trials/regression --worker &
worker=$!
wait "$worker"
