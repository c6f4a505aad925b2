#include "submit/submit.h"

#include <ctype.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/launchers.h"
#include "support/secrets.h"
#include "support/program.h"

/* A name is lineage-SWEEP-DIGEST in the characters that Slurm allows. With the digest, an edited sweep is another job. */
enum { WORKER_NAME_MAX = 52 };

static const char *worker_name(char out[WORKER_NAME_MAX], const struct night_sweep *sweep)
{
    enum { DIGEST = 9 }; /* a hyphen and eight digits */
    size_t n = (size_t)snprintf(out, WORKER_NAME_MAX, "lineage-");
    for (const char *c = sweep->name; *c && n < WORKER_NAME_MAX - DIGEST - 1; c++)
        if (isalnum((unsigned char)*c))
            out[n++] = (char)tolower((unsigned char)*c);
        else if (out[n - 1] != '-')
            out[n++] = '-';
    n -= out[n - 1] == '-';
    snprintf(out + n, WORKER_NAME_MAX - n, "-%08" PRIx32, (uint32_t)sweep->digest);
    return out;
}

/* Writes `lineage night SWEEP -C STORE --worker ..` for a shell. hours: the value of --hours as the shell shall read it, or NULL. */
static void worker_command_write(FILE *out, const struct submission *submission, const char *hours)
{
    fputs("lineage night", out);
    shell_word_write(out, submission->sweep->file);
    fputs(" -C", out);
    shell_word_write(out, submission->place);
    for (const char *const *option = submission->options; option && *option; option++)
        shell_word_write(out, *option);
    if (hours)
        fprintf(out, " --hours %s", hours);
}

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

static int submit_slurm_write(FILE *out, const struct submission *s)
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

extern char **environ;

static void warn_of_launcher(const struct night_sweep *sweep)
{
    const json_t *command = json_object_get(sweep->root, "command");
    const char *words[LAUNCHER_WORDS_MAX + 1] = {"sh", "-c", json_string_value(command)};
    for (size_t i = 0; i < json_array_size(command) && i < LAUNCHER_WORDS_MAX; i++)
        words[i] = json_string_value(json_array_get(command, i));
    launchers_warn(words, sweep->directory ? sweep->directory : "");
}

static int check(const struct submission *s)
{
    char *masked = secret_masked(s->place);
    const bool open = masked && strcmp(masked, s->place) == 0;
    free(masked);
    if (!lineage_is_server(s->place))
        return cli_error(CLI_USAGE,
                         "--submit: -C %s is a directory, which only processes of one machine can share; make a store on a "
                         "server (`lineage help machines`)",
                         s->place);
    if (!open)
        return cli_error(CLI_USAGE, "--submit: -C has a password, which everybody could read in the job; put it into ~/.pgpass "
                                    "or PGPASSWORD on the machines of the workers");
    return CLI_GO_ON;
}

/* Runs sbatch with the text as its standard input. */
static int run(FILE *text)
{
    char *const argv[] = {(char[]){"sbatch"}, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int result = 0;
    if (fflush(text) != 0 || lseek(fileno(text), 0, SEEK_SET) != 0)
        return cli_error(CLI_SYSTEM, "cannot write a temporary file: %s", strerror(errno));
    int error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        error = posix_spawn_file_actions_adddup2(&actions, fileno(text), STDIN_FILENO);
        if (!error)
            error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (error)
        return cli_error(CLI_SYSTEM, "cannot run %s: %s; --print prints what it would get", argv[0], strerror(error));
    while (waitpid(pid, &result, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(result) && WEXITSTATUS(result) == 0)
        return CLI_OK;
    return cli_error(CLI_SYSTEM, "%s failed%s", argv[0], WIFEXITED(result) ? "" : ": it was ended by a signal");
}

int submit_night(const struct submission *submission)
{
    int status = check(submission);
    FILE *text = status != CLI_GO_ON ? NULL : submission->print ? stdout : tmpfile();
    if (status != CLI_GO_ON)
        return status;
    if (!text)
        return cli_error(CLI_SYSTEM, "cannot make a temporary file: %s", strerror(errno));
    warn_of_launcher(submission->sweep);
    fflush(stdout);
    status = submit_slurm_write(text, submission);
    if (status == CLI_GO_ON)
        status = submission->print ? CLI_OK : run(text);
    if (text != stdout)
        fclose(text);
    return status;
}
