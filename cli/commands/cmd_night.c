/* cmd_night.c: `lineage night`. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "night/night.h"
#include "night/night_loop.h"
#include "ranks/launch.h"
#include "recipe/recipe_store.h"
#include "run/abandoned_trial.h"
#include "sweep/sweep_file.h"
#include "sweep/trial_rows.h"

struct night_options {
    struct cli_session session;
    char *hours, *jobs, *lease, *stop_after, *method, *planner, *planner_seconds, *trials, *seed;
    char **slots;
    int list, quiet, report, worker;
    const char *const **environments; /* of the slots */
    const char *again[20];            /* options to go on by, ended by NULL */
    struct night night;
};

static const char *parent_text(const struct night *night, const struct night_trial *trial)
{
    switch (trial->parent) {
    case TRAINER_PARENT_BASE: break;
    case TRAINER_PARENT_TRIAL: return night->list.trials[trial->parent_trial].name;
    case TRAINER_PARENT_OTHER: return trial->parent_name;
    }
    return "base";
}

/* Without the lock: a list may be looked at while a night runs. */
static int list_trials(const struct night *night, enum cli_format format)
{
    static const char *const columns[] = {"trial", "parent", "exp_id", "status", "key"};
    struct cli_list *list = cli_list_new(format, stdout, 5, columns);
    char key[17];
    if (!list)
        return cli_no_memory();
    for (size_t i = 0; i < night->list.n; i++) {
        const struct night_trial *trial = &night->list.trials[i];
        snprintf(key, sizeof key, "%016" PRIx64, trial->key);
        cli_list_text(list, trial->name);
        cli_list_text(list, parent_text(night, trial));
        cli_list_text(list, night->list.trials[i].exp_id ? night->list.trials[i].exp_id : "");
        cli_list_text(list, night->list.trials[i].exp_id ? lineage_label_name(night->list.trials[i].label) : "");
        cli_list_text(list, key);
        cli_list_end_row(list);
    }
    return cli_list_finish(list);
}

/* Signals are held for the whole night: an interruption ends the trial at work, which gets its row, and then the
 * night. */
static int run_all(struct night *night)
{
    int status = interrupts_hold(&night->interrupts) ? night_run(night) : CLI_SYSTEM;
    interrupts_release(&night->interrupts);
    return status;
}

/* ---- the command line ---- */

/* "A=1 B=2" as the environment of a slot; the text is cut into words where it stands. */
static const char *const *words_of(char *text)
{
    size_t n = 0;
    /* A word takes two characters with its blank, so there is room for all of them and the NULL. */
    const char **words = calloc(strlen(text) / 2 + 2, sizeof *words);
    char *rest = text, *word;
    while (words && (word = strtok_r(rest, " ", &rest)))
        words[n++] = word;
    return words;
}

static bool read_slots(struct night_options *o)
{
    size_t n = 0, jobs = 1;
    while (o->slots && o->slots[n])
        n++;
    if (o->jobs && !cli_count_parse(&jobs, "jobs", o->jobs))
        return false;
    /* Slots alone say how many jobs there are: one for each. */
    if (!o->jobs && n > 0)
        jobs = n;
    if (jobs < 1 || jobs > NIGHT_SLOTS_MAX || (n > 0 && n < jobs)) {
        cli_error(CLI_USAGE, n > 0 && n < jobs ? "--jobs %zu with only %zu --slot: each job needs one"
                                               : "--jobs %zu: 1 to 64 trials at once", jobs, n);
        return false;
    }
    o->night.slots.n = jobs;
    if (!n)
        return true;
    o->environments = calloc(jobs, sizeof *o->environments);
    for (size_t i = 0; o->environments && i < jobs; i++)
        for (const char *const *word = o->environments[i] = words_of(o->slots[i]); word && *word; word++)
            if (!strchr(*word, '=') || **word == '=')
                return cli_error(CLI_USAGE, "--slot: '%s' is not NAME=VALUE", *word), false;
    o->night.slots.environments = o->environments;
    return o->environments != NULL;
}

/* A claim that ends before it can be renewed is none. */
static bool read_lease(struct night_options *o)
{
    if (o->lease && !cli_amount_parse(&o->night.claims.lease, "lease", o->lease))
        return false;
    return o->night.claims.lease >= 1 || (cli_error(CLI_USAGE, "--lease %s: 1 second at least", o->lease), false);
}

/* What is given over what the file says. */
static bool read_planning(struct night_options *o)
{
    struct night *night = &o->night;
    struct propose_plan *plan = &night->list.sweep.plan;
    size_t seed = (size_t)plan->seed;
    night->planning.method = plan->method;
    night->planning.planner = o->planner;
    if (o->method && !propose_method_parse(&night->planning.method, o->method))
        return cli_error(CLI_USAGE, "--propose '%s': known are sobol, tpe, random, grid", o->method), false;
    if ((o->trials && !cli_count_parse(&plan->trials, "trials", o->trials)) ||
        (o->seed && !cli_count_parse(&seed, "seed", o->seed)))
        return false;
    plan->seed = seed;
    night->planning.on = o->method || o->planner || plan->given;
    bool by_diffs = o->planner && json_object_get(night->list.sweep.root, "files");
    if (night->planning.on && night->list.sweep.space.n == 0 && !by_diffs)
        return cli_error(CLI_USAGE, "%s says no ranges to propose from: \"ranges\": {\"lr\": \"1e-5:1e-2:log\"}",
                         night->list.sweep.file), false;
    if (!night->planning.on && night->list.sweep.space.n > 0 && night->list.sweep.n == 0)
        return cli_error(CLI_USAGE, "%s has ranges and no trials: say --propose METHOD, or --planner COMMAND",
                         night->list.sweep.file), false;
    if (night->planning.on && !o->list && night->planning.method != PROPOSE_GRID && !plan->trials && !o->hours)
        return cli_error(CLI_USAGE, "a night that plans itself ends by --trials or --hours"), false;
    return true;
}

/* What `to go on` prints behind the sweep and the store. */
static void collect_options(struct night_options *o)
{
    const struct {
        const char *option, *value;
    } given[] = {{"--propose", o->method}, {"--planner", o->planner}, {"--trials", o->trials},
                 {"--seed", o->seed},      {"--jobs", o->jobs},       {"--hours", o->hours},
                 {"--lease", o->lease}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].value && strcmp(given[i].option, "--hours") != 0) {
            o->again[n++] = given[i].option;
            o->again[n++] = given[i].value;
        }
    if (o->worker)
        o->again[n++] = "--worker";
    o->night.options = o->again;
}

static int make_store(const struct night_options *o)
{
    const char *dir = o->session.where.dir ? o->session.where.dir : ".";
    const char *direction = json_string_value(json_object_get(o->night.list.sweep.root, "direction"));
    struct lineage_config config = {0};
    if (!o->night.list.sweep.of_commands)
        return recipe_store_make(o->session.where.dir);
    if (cli_is_store(dir))
        return CLI_GO_ON;
    if (o->session.where.direction)
        direction = o->session.where.direction;
    if (!direction)
        return cli_error(CLI_USAGE, "%s is no store; say in the sweep which score is better: \"direction\": \"lower\"", dir);
    if (!cli_direction_parse(&config.direction, direction))
        return CLI_USAGE;
    int status = cli_store_create(dir, &config);
    return status == CLI_OK ? CLI_GO_ON : status;
}

/* Before there is a store to be made: a sweep that is refused leaves nothing behind. */
static int read_sweep(struct cli_session *session, void *context)
{
    struct night_options *o = context;
    struct night *night = &o->night;
    night->quiet = o->quiet;
    night->report = o->report;
    night->claims.shared = o->worker;
    if ((o->hours && !cli_amount_parse(&night->hours.limit, "hours", o->hours)) || !read_lease(o) ||
        (o->planner_seconds && !cli_amount_parse(&night->planning.planner_seconds, "planner-seconds", o->planner_seconds)) ||
        (o->stop_after && !cli_count_parse(&night->failures.stop_after, "stop-after", o->stop_after)) || !read_slots(o))
        return CLI_USAGE;
    int status = night_sweep_read(&night->list.sweep, session->args.positional[0]);
    if (status == CLI_GO_ON)
        status = trial_list_add_sweep(&night->list);
    if (status == CLI_GO_ON && !read_planning(o))
        status = CLI_USAGE;
    collect_options(o);
    return status == CLI_GO_ON ? make_store(o) : status;
}

/* The lock before the rows are read: otherwise a row that the other night wrote in between
 * would be run a second time. What was cut off with the night before gets its row first. A night of several jobs opens the store anew: it is the night's that is closed. */
static int work(struct cli_session *session, void *context)
{
    struct night_options *o = context;
    struct night *night = &o->night;
    int status = night->list.sweep.of_commands ? CLI_GO_ON : recipe_store_check(session->store);
    if (status == CLI_GO_ON)
        status = night_open(night, session->store);
    if (status == CLI_GO_ON && !o->list)
        status = night_lock(night);
    if (status == CLI_GO_ON && !o->list)
        status = abandoned_trials_record(session->store);
    if (status == CLI_GO_ON)
        status = trial_rows_read(&night->list);
    if (status == CLI_GO_ON && !o->list)
        status = claims_open(&night->claims);
    if (status == CLI_GO_ON)
        status = o->list ? list_trials(night, session->format) : run_all(night);
    claims_close(&night->claims); /* before its store */
    session->store = night->list.store;
    return status;
}

static int run_night(struct night_options *o, const struct cli_command *command, int argc, const char **argv)
{
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&o->session),
                                   {"hours", 0, POPT_ARG_STRING, &o->hours, 0,
                                    "begin no trial that would end later than this", "H"},
                                   {"list", 0, POPT_ARG_NONE, &o->list, 0,
                                    "only list the trials and what became of them", NULL},
                                   {"jobs", 'j', POPT_ARG_STRING, &o->jobs, 0, "run so many trials at once", "N"},
                                   {"slot", 0, POPT_ARG_ARGV, &o->slots, 0,
                                    "environment of one of the jobs (CUDA_VISIBLE_DEVICES=0); one for each", "NAME=VALUE.."},
                                   {"worker", 0, POPT_ARG_NONE, &o->worker, 0,
                                    "share the trials with other workers of the same sweep and store", NULL},
                                   {"lease", 0, POPT_ARG_STRING, &o->lease, 0,
                                    "a worker that is silent for so long loses its trial to another (default: 60)", "SECONDS"},
                                   {"stop-after", 0, POPT_ARG_STRING, &o->stop_after, 0,
                                    "stop after so many failures alike in a row (default: 5; 0: never)", "K"},
                                   {"propose", 0, POPT_ARG_STRING, &o->method, 0,
                                    "after the list, trials in the sweep's ranges by this method", "sobol|tpe|random|grid"},
                                   {"planner", 0, POPT_ARG_STRING, &o->planner, 0,
                                    "after the list, trials that this shell command proposes", "COMMAND"},
                                   {"planner-seconds", 0, POPT_ARG_STRING, &o->planner_seconds, 0,
                                    "it may think for so long (default: 600)", "N"},
                                   {"trials", 0, POPT_ARG_STRING, &o->trials, 0,
                                    "propose so many in all, earlier nights' included", "N"},
                                   {"seed", 0, POPT_ARG_STRING, &o->seed, 0, "of what is drawn (default: the sweep's, else 0)",
                                    "N"},
                                   {"report", 0, POPT_ARG_NONE, &o->report, 0,
                                    "rewrite report.html beside KNOWLEDGE.md too (lineage report)", NULL},
                                   {"quiet", 'q', POPT_ARG_NONE, &o->quiet, 0, "no progress", NULL},
                                   CLI_INPUT_OPTION, POPT_TABLEEND};
    o->session.before_open = read_sweep;
    return cli_on_store(&o->session, command, options, 1, 1, argc, argv, work, o);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct launch launch = launch_read();
    if (launch_refuse(&launch) != CLI_GO_ON)
        return CLI_USAGE;
    struct night_options *o = calloc(1, sizeof *o);
    if (!o)
        return cli_no_memory();
    night_init(&o->night);
    int status = run_night(o, command, argc, argv);
    night_close(&o->night);
    for (size_t i = 0; o->environments && i < o->night.slots.n; i++)
        free((void *)(uintptr_t)o->environments[i]);
    free((void *)o->environments);
    free(o);
    return status;
}

const struct cli_command cmd_night = {
    .name = "night",
    .arguments = "SWEEP",
    .description =
        "Runs the trials of a sweep (schema/sweep.schema.json: a list, a grid, or both) one after\n"
        "another, each as `train` does or, of a sweep with a `command`, as `run` does; from the best\n"
        "trial, a given one, one drawn by score and children, or its own start.\n"
        "Prints exp_id, status, EM and name of each and rewrites KNOWLEDGE.md in the store after\n"
        "it. The first trial measured in a store is its baseline. A warm start that several "
        "trials\n"
        "begin with is trained once.\n"
        "\n"
        "The same command goes on where an earlier one ended, however it ended: a trial whose row\n"
        "is there is not run again, one that was cut off or interrupted is. --hours begins no\n"
        "trial that would not be over in time: its length is forecast from the pace of those of\n"
        "this sweep that were measured and from its recipe; while none was, from 1 minute.\n"
        "\n"
        "A night plans itself where the sweep has `ranges`: --propose lays settings of a proposer\n"
        "(`lineage suggest`) over the base, --planner asks a command (schema/planner.schema.json).\n"
        "--jobs runs several trials at once, each in a process of its own. With --worker any number of\n"
        "processes on any number of machines (a store in a directory: of one machine) take trials from\n"
        "one list, and each ends when all have their rows. What a worker that was killed, or went silent\n"
        "for longer than --lease, had at work is run by another; the first row of a trial counts.\n"
        "A night in which 5\n"
        "trials in a row fail with the same evidence stops, with exit status 3.",
    .examples = "  lineage night ladder.json -C runs/hop --hours 8\n"
                "  lineage night ladder.json -C runs/hop --list\n"
                "  lineage night ladder.json -C runs/hop --worker\n"
                "  lineage night mine.json -C runs/mine --propose tpe --trials 40 \\\n"
                "      --slot CUDA_VISIBLE_DEVICES=0 --slot CUDA_VISIBLE_DEVICES=1",
    .run = run,
};
