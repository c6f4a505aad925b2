/*
 * cmd_run_trial.c: `lineage run-trial`, the child process of a trial. It trains, says what happens
 * on a descriptor (trial_wire.h), and dies with the command that started it.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli.h"
#include "trial_wire.h"

struct run_options {
    char *checkpoint;
    int events;
};

static bool write_all(int fd, const char *text, size_t length)
{
    while (length) {
        ssize_t n = write(fd, text, length);
        if (n < 0 && errno != EINTR)
            return false;
        text += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Takes the message over. */
static bool say(int fd, json_t *message)
{
    char *line = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(17));
    bool said = line && write_all(fd, line, strlen(line)) && write_all(fd, "\n", 1);
    free(line);
    json_decref(message);
    return said;
}

static bool on_event(void *context, const struct trainer_event *event)
{
    return say(*(const int *)context, trial_wire_event(event));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool address_space_is_ours = false; /* shadow memory does not fit under any limit */
#else
static const bool address_space_is_ours = true;
#endif

/* Pages that are mapped before the run begins, in bytes. */
static double mapped_bytes(void)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%lu", &pages) != 1)
        pages = 0;
    if (statm)
        fclose(statm);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* A second line of defence behind trainer_memory_bound. Each thread maps a stack and an arena,
 * which are address space, not memory. */
static void limit_memory(const struct trainer_recipe *recipe)
{
    const double per_thread = 160.0 * (1 << 20), slack = 64.0 * (1 << 20);
    double threads = recipe->threads ? recipe->threads : (double)sysconf(_SC_NPROCESSORS_ONLN);
    double bytes = mapped_bytes() + recipe->budget.memory_bytes + slack + threads * per_thread;
    struct rlimit limit;
    if (!address_space_is_ours || recipe->budget.memory_bytes <= 0 || bytes >= (double)INT64_MAX ||
        getrlimit(RLIMIT_AS, &limit) != 0 || (rlim_t)bytes >= limit.rlim_cur)
        return;
    limit.rlim_cur = (rlim_t)bytes;
    setrlimit(RLIMIT_AS, &limit);
}

static int train(const char *path, struct run_options *o)
{
    struct trainer_run_options options = {o->checkpoint, on_event, &o->events};
    struct trainer_recipe recipe;
    struct trainer_error error;
    enum trainer_status status = trainer_recipe_load(&recipe, path, &error);
    if (status == TRAINER_OK) {
        limit_memory(&recipe);
        status = trainer_run(&recipe, &options, &error);
    }
    if (status == TRAINER_OK)
        return CLI_OK;
    say(o->events, trial_wire_failure(&error));
    return CLI_NO;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct run_options o = {.events = STDOUT_FILENO};
    struct poptOption options[] = {
        {"checkpoint", 0, POPT_ARG_STRING, &o.checkpoint, 0, "where the policy goes", "FILE"},
        {"events", 0, POPT_ARG_INT, &o.events, 0, "descriptor for events (default: 1)", "FD"},
        POPT_TABLEEND};
    struct cli_args args;
    int status = cli_parse(&args, command, options, 1, 1, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (status == CLI_GO_ON)
        status = train(args.positional[0], &o);
    cli_args_release(&args);
    return status;
}

const struct cli_command cmd_run_trial = {
    .name = "run-trial",
    .arguments = "RECIPE",
    .summary = "train by a recipe and print events; the child process of `lineage train`",
    .description =
        "Trains and writes one line of JSON per event. Nothing is recorded: see `train`.",
    .examples = "  lineage run-trial recipe.json --checkpoint policy.ckpt",
    .run = run,
};
