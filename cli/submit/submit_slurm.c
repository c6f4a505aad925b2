/* submit_slurm.c: workers as the tasks of an array job of Slurm. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "submit/schedulers.h"
#include "submit/worker_command.h"

/*
 * Seconds before the end of its time at which a worker gets TERM: enough to end a trial and to append its row. The time
 * limit has the same margin behind --hours, so that the last trial, whose length is only a forecast, may end.
 */
enum { NOTICE = 120, MARGIN_MINUTES = 10 };

/* sbatch reads its options up to the first line of the script that is neither empty nor a comment. */
static bool is_one_line(const char *option)
{
    return *option == '-' && !strpbrk(option, "\r\n");
}

/*
 * Hours count from now, also for a worker that starts later or again: the night ends in the morning. So the script
 * contains the moment, not the hours.
 */
static void write_hours(FILE *out, double hours)
{
    char text[32];
    time_t end = time(NULL) + (time_t)(3600 * hours);
    struct tm local;
    if (!localtime_r(&end, &local) || strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local) == 0)
        *text = '\0';
    fprintf(out, "end=%lld # %s; no trial starts that would end later\n", (long long)end, text);
    fputs("hours=$(awk \"BEGIN { print ($end - $(date +%s)) / 3600 }\")\n"
          "case $hours in -* | 0) exit 0 ;; esac\n",
          out);
}

int submit_slurm_write(FILE *out, const struct submission *s)
{
    char name[WORKER_NAME_MAX];
    const bool limited = isfinite(s->hours);
    for (const char *const *extra = s->extra; extra && *extra; extra++)
        if (!is_one_line(*extra))
            return cli_error(CLI_USAGE, "--scheduler-option '%s': give an option of sbatch, for example --partition=gpu", *extra);
    fprintf(out, "#!/bin/sh\n# Workers of the night %s. Made by `lineage night --submit slurm`.\n", worker_name(name, s->sweep));
    fprintf(out, "#SBATCH --job-name=%s\n#SBATCH --output=%s-%%A_%%a.log\n#SBATCH --open-mode=append\n", name, name);
    fprintf(out, "#SBATCH --array=1-%zu\n#SBATCH --requeue\n#SBATCH --signal=B:TERM@%d\n", s->workers ? s->workers : 1, NOTICE);
    if (limited)
        fprintf(out, "#SBATCH --time=%.0f\n", ceil(60 * s->hours) + MARGIN_MINUTES);
    if (s->gpus)
        fprintf(out, "#SBATCH --gres=gpu:%zu\n", s->gpus);
    for (const char *const *extra = s->extra; extra && *extra; extra++)
        fprintf(out, "#SBATCH %s\n", *extra);
    fputs("\n"
          "# Slurm sends TERM before the time limit and when it preempts the job. The worker then ends its trial and gives it\n"
          "# back, and this task goes back into the queue. If Slurm requeues it anyway, scontrol only says so.\n"
          "stop()\n"
          "{\n"
          "    trap '' TERM\n"
          "    kill -TERM \"$worker\" 2>/dev/null\n"
          "    wait \"$worker\"\n"
          "    scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n"
          "    exit 0\n"
          "}\n"
          "trap stop TERM\n",
          out);
    if (limited)
        write_hours(out, s->hours);
    worker_command_write(out, s, limited ? "\"$hours\"" : NULL);
    fputs(" &\nworker=$!\nwait \"$worker\"\n", out);
    return CLI_GO_ON;
}
