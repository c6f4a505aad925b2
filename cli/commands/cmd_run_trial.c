/*
 * cmd_run_trial.c: `lineage run-trial`, the child process of a trial. It trains, writes events to a descriptor
 * (recipe_events.h), and dies with the command that started it.
 *
 * It is a separate process because what it runs may crash, be killed for its memory, or hang in a library; the command
 * that started it survives and writes the row. Users are not meant to call it; if they do, events go to standard
 * output.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli.h"
#include "recipe/address_space.h"
#include "recipe/recipe_advantages.h"
#include "recipe/recipe_judge.h"
#include "recipe/recipe_teacher.h"
#include "recipe/recipe_events.h"
#include "recipe/rollout_stream.h"
#include "ranks/launch.h"
#include "ranks/team.h"

struct child_options {
    char *checkpoint, *judge_cache, *teacher_cache, *state, *rollouts;
    int events, state_every;
    struct recipe_events wire;
};

/* Takes ownership of the message. Writes 17 digits, so that the row has exactly the score that was computed. While the
 * reader is busy, the pipe may be full; the write then waits, and so does the trial. */
static bool say(int fd, json_t *message)
{
    char *line = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(17));
    bool said = line && cli_write_all(fd, line, strlen(line)) && cli_write_all(fd, "\n", 1);
    free(line);
    json_decref(message);
    return said;
}

static bool on_event(void *context, const struct trainer_event *event)
{
    struct child_options *o = context;
    return say(o->events, recipe_events_event(&o->wire, event));
}

/* Called if there are several ranks: the others wait for the recipe of rank 0 before they do anything. */
static enum trainer_status meet(struct team *team, const struct launch *launch, struct child_options *o,
                                struct trainer_recipe *recipe, struct trainer_error *error)
{
    enum trainer_status status = team_open(team, launch->rank, launch->size, error);
    json_t *peers = status == TRAINER_OK ? team_peers(team) : NULL;
    if (peers)
        say(o->events, peers);
    return status == TRAINER_OK ? team_share(team, recipe, error) : status;
}

static enum trainer_status run_alone_or_not(struct child_options *o, struct trainer_recipe *recipe,
                                            const struct trainer_run_options *options, struct trainer_error *error)
{
    struct launch launch = launch_read();
    struct trainer_process process = {.state = o->state, .state_every = o->state_every};
    struct team team = {.library = NULL};
    enum trainer_status status = launch.size > 1 ? meet(&team, &launch, o, recipe, error) : TRAINER_OK;
    process.comm = launch.size > 1 ? &team.comm : NULL;
    address_space_limit(recipe);
    if (status == TRAINER_OK)
        status = trainer_run_process(recipe, options, &process, error);
    if (status != TRAINER_OK) /* reported now, or the exit of other ranks would be taken for the reason */
        say(o->events, recipe_events_failure(error));
    team_close(&team, status != TRAINER_ELOST);
    return status;
}

/* Called before the memory limit is set and the trainer's clock starts, so that a missing library or key is reported at
 * once. */
static enum trainer_status open_judge(struct recipe_judge **judge, const struct trainer_recipe *recipe,
                                      const struct child_options *o, struct trainer_run_options *options,
                                      struct trainer_error *error)
{
    *judge = NULL;
    if (!recipe->judge.endpoint[0])
        return TRAINER_OK;
    enum trainer_status status = recipe_judge_open(judge, recipe, o->judge_cache, error);
    options->judge = recipe_judge_ask;
    options->judge_context = *judge;
    return status;
}

/* Sets the memory limit after the recipe is read and before anything large is allocated. Returns 1 on any error,
 * because the watcher reads the error event and not the exit status. */
static int train(const char *path, struct child_options *o)
{
    struct trainer_run_options options = {
        .checkpoint = o->checkpoint, .event = on_event, .context = o, .credit = recipe_advantages_ask};
    struct trainer_recipe recipe;
    struct trainer_error error;
    struct recipe_judge *judge = NULL;
    struct recipe_teacher *teacher = NULL;
    struct rollout_stream *stream = NULL;
    enum trainer_status status = trainer_recipe_load_recorded(&recipe, path, &error);
    if (status == TRAINER_OK)
        status = open_judge(&judge, &recipe, o, &options, &error);
    if (status == TRAINER_OK)
        status = recipe_teacher_open(&teacher, &recipe, o->teacher_cache, &error);
    options.teacher = recipe_teacher_ask;
    options.teacher_context = teacher;
    if (status == TRAINER_OK && o->rollouts && launch_read().rank == 0) {
        stream = rollout_stream_open(o->rollouts, o->state != NULL, &recipe, &error);
        status = stream ? TRAINER_OK : error.status;
        options.rollouts = rollout_stream_write;
        options.rollouts_context = stream;
    }
    if (status == TRAINER_OK)
        status = address_space_suffices(&recipe, trainer_memory_bound(&recipe), &error);
    bool ready = status == TRAINER_OK;
    if (ready)
        status = run_alone_or_not(o, &recipe, &options, &error);
    else
        say(o->events, recipe_events_failure(&error));
    recipe_judge_close(judge);
    recipe_teacher_close(teacher);
    rollout_stream_close(stream);
    return status == TRAINER_OK ? CLI_OK : CLI_NO;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct child_options o = {.events = STDOUT_FILENO};
    struct poptOption options[] = {
        {"checkpoint", 0, POPT_ARG_STRING, &o.checkpoint, 0, "file for the trained policy", "FILE"},
        {"judge-cache", 0, POPT_ARG_STRING, &o.judge_cache, 0, "file of the judge's answers, unless the recipe names one",
         "FILE"},
        {"teacher-cache", 0, POPT_ARG_STRING, &o.teacher_cache, 0, "file of the answers of teachers behind an endpoint", "FILE"},
        {"state", 0, POPT_ARG_STRING, &o.state, 0, "file of the run's state: continue from it if it exists", "FILE"},
        {"state-every", 0, POPT_ARG_INT, &o.state_every, 0, "save the state every N iterations", "N"},
        {"rollouts", 0, POPT_ARG_STRING, &o.rollouts, 0, "file for the token streams of all rollouts", "FILE"},
        {"events", 0, POPT_ARG_INT, &o.events, 0, "descriptor for events (default: 1)", "FD"},
        POPT_TABLEEND};
    struct cli_args args;
    int status = cli_parse(&args, command, options, 1, 1, argc, argv);
    /* If the reader of events is gone, on_event asks the run to stop. If the process that started this one is killed,
     * this process is killed too, because nobody would use its result. */
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
    .description = "Trains and writes one line of JSON per event. Records nothing; see `lineage train`.",
    .examples = "  lineage run-trial recipe.json --checkpoint policy.ckpt",
    .run = run,
};
