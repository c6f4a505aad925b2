#include "submit/submit.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "submit/schedulers.h"
#include "support/launchers.h"
#include "support/secrets.h"

extern char **environ;

static const struct scheduler {
    const char *name;
    int (*write)(FILE *out, const struct submission *submission);
    const char *const argv[5]; /* reads the text from standard input */
} schedulers[] = {{"slurm", submit_slurm_write, {"sbatch", NULL}},
                  {"kubernetes", submit_kubernetes_write, {"kubectl", "apply", "-f", "-", NULL}},
                  {"ssh", submit_ssh_write, {"sh", NULL}}};
enum { N_SCHEDULERS = sizeof schedulers / sizeof *schedulers };

static const struct scheduler *find(const char *name)
{
    for (size_t i = 0; i < N_SCHEDULERS; i++)
        if (strcmp(schedulers[i].name, name) == 0)
            return &schedulers[i];
    return NULL;
}

bool submit_knows(const char *scheduler)
{
    return find(scheduler) != NULL;
}

static void warn_of_launcher(const struct night_sweep *sweep)
{
    const json_t *command = json_object_get(sweep->root, "command");
    const char *words[LAUNCHER_WORDS_MAX + 1] = {"sh", "-c", json_string_value(command)};
    for (size_t i = 0; i < json_array_size(command) && i < LAUNCHER_WORDS_MAX; i++)
        words[i] = json_string_value(json_array_get(command, i));
    launchers_warn(words, sweep->directory ? sweep->directory : "");
}

/* An option that the scheduler does not use would be ignored silently. */
static int check(const struct scheduler *scheduler, const struct submission *s)
{
    const bool slurm = scheduler->write == submit_slurm_write, kubernetes = scheduler->write == submit_kubernetes_write;
    const bool ssh = scheduler->write == submit_ssh_write;
    char *masked = secret_masked(s->place);
    const bool open = masked && strcmp(masked, s->place) == 0;
    free(masked);
    if (!lineage_is_server(s->place))
        return cli_error(CLI_USAGE,
                         "--submit: -C %s is a directory, which only processes of one machine can share; "
                         "make a store on a server (`lineage help machines`)",
                         s->place);
    if (!open)
        return cli_error(CLI_USAGE, "--submit: -C has a password, which everybody could read in the job; put it into ~/.pgpass "
                                    "or PGPASSWORD on the machines of the workers");
    if (ssh != (s->hosts != NULL))
        return cli_error(CLI_USAGE, ssh ? "--submit ssh needs --hosts A,B,C" : "--hosts is for --submit ssh");
    if (kubernetes != (s->image != NULL))
        return cli_error(CLI_USAGE, kubernetes
                                        ? "--submit kubernetes needs --image, an image with `lineage` and what the trials need"
                                        : "--image is for --submit kubernetes");
    if (s->extra && !slurm)
        return cli_error(CLI_USAGE, "--scheduler-option is for --submit slurm");
    if (ssh && (s->workers || s->gpus))
        return cli_error(CLI_USAGE, "--submit ssh starts one worker on each host; %s is for slurm and kubernetes",
                         s->workers ? "--workers" : "--gpus");
    return CLI_GO_ON;
}

/* Runs the program with the text as its standard input. */
static int run(const char *const *argv, FILE *text)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int result = 0;
    if (fflush(text) != 0 || lseek(fileno(text), 0, SEEK_SET) != 0)
        return cli_error(CLI_SYSTEM, "cannot write a temporary file: %s", strerror(errno));
    int error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        error = posix_spawn_file_actions_adddup2(&actions, fileno(text), STDIN_FILENO);
        if (!error)
            error = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
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

int submit_night(const char *name, const struct submission *submission)
{
    const struct scheduler *scheduler = find(name);
    int status = check(scheduler, submission);
    FILE *text = status != CLI_GO_ON ? NULL : submission->print ? stdout : tmpfile();
    if (status != CLI_GO_ON)
        return status;
    if (!text)
        return cli_error(CLI_SYSTEM, "cannot make a temporary file: %s", strerror(errno));
    warn_of_launcher(submission->sweep);
    fflush(stdout);
    status = scheduler->write(text, submission);
    if (status == CLI_GO_ON)
        status = submission->print ? CLI_OK : run(scheduler->argv, text);
    if (text != stdout)
        fclose(text);
    return status;
}
