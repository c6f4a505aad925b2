#include "support/launchers.h"

#include "cli.h"

static const char *base_name(const char *word)
{
    const char *slash = word ? strrchr(word, '/') : NULL;
    return slash ? slash + 1 : word ? word : "";
}

static bool is_one_of(const char *word, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(word, *names) == 0)
            return true;
    return false;
}

/* Finds the command behind the first `exec` of a shell's text; NULL if there is none. */
static const char *find_exec(const char *text)
{
    const char *at = text;
    for (; (at = strstr(at, "exec")); at += 4)
        if ((at == text || strchr(" \t\n;&|({", at[-1])) && (at[4] == ' ' || at[4] == '\t'))
            return at + 4 + strspn(at + 4, " \t");
    return NULL;
}

/* Whether the script of a shell has an `exec`, or cannot be read. Its name may begin with {workdir}/. */
static bool may_exec(const char *script, const char *dir)
{
    static const char workdir[] = "{workdir}/";
    char path[PATH_MAX], line[1024];
    bool found = false;
    if (strncmp(script, workdir, sizeof workdir - 1) == 0)
        script += sizeof workdir - 1;
    FILE *in =
        snprintf(path, sizeof path, "%s%s%s", *script == '/' ? "" : dir, *script == '/' || !*dir ? "" : "/", script) < PATH_MAX
            ? fopen(path, "re")
            : NULL;
    while (in && !found && fgets(line, sizeof line, in))
        found = find_exec(line) != NULL;
    if (in)
        fclose(in);
    return !in || found;
}

/*
 * Returns the launcher of a command that TERM ends while what it started runs on, as in the table of cli/man/nights.md; NULL if
 * none is known. Words before it that become the command or pass TERM on are skipped.
 */
static const char *leaving_launcher(const char *const *words, const char *dir)
{
    static const char *const passing[] = {"env", "nice", "nohup", "timeout", "stdbuf", "uv", "poetry", "run", NULL};
    static const char *const shells[] = {"sh", "dash", "bash", "ksh", "zsh", NULL};
    static const char *const scripts[] = {"run", "run-script", "start", "test", "exec", NULL};
    while (*words &&
           (is_one_of(base_name(*words), passing) || **words == '-' || strchr("0123456789", **words) || strchr(*words, '=')))
        words++;
    const char *name = base_name(words[0]), *next = words[0] && words[1] ? words[1] : "", *behind = *next ? words[2] : NULL;
    if (is_one_of(name, shells))
        return *next == '-'                    ? (strchr(next, 'c') && behind && !find_exec(behind) ? "sh -c" : NULL)
               : *next && !may_exec(next, dir) ? "sh"
                                               : NULL;
    return strcmp(name, "npm") == 0 && is_one_of(next, scripts)             ? "npm"
           : strcmp(name, "accelerate") == 0 && strcmp(next, "launch") == 0 ? "accelerate launch"
           : strcmp(name, "just") == 0                                      ? "just"
           : strcmp(name, "xargs") == 0                                     ? "xargs"
           : strcmp(name, "setsid") == 0                                    ? "setsid"
           : strcmp(name, "unbuffer") == 0                                  ? "unbuffer"
                                                                            : NULL;
}

/* Only there is this process ended before it can end what a launcher leaves. */
static bool is_job_of_scheduler(void)
{
    return getenv("SLURM_JOB_ID") || getenv("PBS_JOBID") || getenv("LSB_JOBID") || getenv("KUBERNETES_SERVICE_HOST");
}

void launchers_warn(const char *const *given, const char *dir)
{
    const char *words[LAUNCHER_WORDS_MAX + 1] = {NULL}, *launcher;
    char *copy = NULL;
    if (!is_job_of_scheduler())
        return;
    for (size_t i = 0; given[i] && i < LAUNCHER_WORDS_MAX; i++)
        words[i] = given[i];
    if (words[0] && words[1] && words[2] && strcmp(words[1], "-c") == 0 && find_exec(words[2]) &&
        (copy = strdup(find_exec(words[2])))) {
        size_t n = 0; /* what a shell becomes may be a launcher, too */
        for (char *rest = copy; n < LAUNCHER_WORDS_MAX && (words[n] = strsep(&rest, " \t;&|\n"));)
            n += *words[n] != '\0';
        words[n] = NULL;
    }
    launcher = leaving_launcher(words, dir);
    if (launcher)
        cli_tell("`%s` starts the training and does not pass TERM on: where a scheduler ends the worker before that has ended "
                 "its trial, the training runs on; %s",
                 launcher, strncmp(launcher, "sh", 2) == 0 ? "write `exec` before it" : "start the program itself");
    free(copy);
}

/* 0: not set, or not a number. */
static long number_of(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    const long n = text ? strtol(text, &end, 10) : 0;
    return end && end != text && *end == '\0' ? n : 0;
}

/* With MPI, one of several is meant to do a part, which it would not; copies of srun may be meant to do all, each with other settings. */
int launchers_check_copies(void)
{
    const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", getenv("PMIX_RANK") ? "SLURM_STEP_NUM_TASKS" : NULL};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i]; i++)
        if (number_of(sizes[i]) > 1)
            return cli_error(CLI_USAGE,
                             "started as one of %ld processes (%s), each of which would do all of it: start one, or, if this is "
                             "the only one, `env -u %s lineage ..`; `lineage night --jobs` and `--worker` run several trials at "
                             "a time",
                             number_of(sizes[i]), sizes[i], sizes[i]);
    const long n = number_of("SLURM_STEP_NUM_TASKS");
    if (n > 1 && getenv("SLURM_PROCID") && strcmp(getenv("SLURM_PROCID"), "0") == 0)
        cli_tell("srun started %ld processes, and each does all of it", n);
    return CLI_GO_ON;
}
