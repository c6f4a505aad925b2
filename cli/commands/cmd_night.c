/* cmd_night.c: `lineage night`. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "night/night.h"
#include "recipe/recipe_store.h"

struct night_options {
    struct cli_session session;
    char *hours;
    int list, quiet, report;
    struct night night;
};

static const char *parent_text(const struct night *night, const struct trainer_trial *trial)
{
    switch (trial->parent) {
    case TRAINER_PARENT_BASE: break;
    case TRAINER_PARENT_TRIAL: return trainer_sweep_trial(night->sweep, trial->parent_trial)->name;
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
        return cli_error(CLI_SYSTEM, "out of memory");
    for (size_t i = 0; i < night->n; i++) {
        const struct trainer_trial *trial = trainer_sweep_trial(night->sweep, i);
        snprintf(key, sizeof key, "%016" PRIx64, trial->key);
        cli_list_text(list, trial->name);
        cli_list_text(list, parent_text(night, trial));
        cli_list_text(list, night->exp_id[i] ? night->exp_id[i] : "");
        cli_list_text(list, night->exp_id[i] ? lineage_label_name(night->label[i]) : "");
        cli_list_text(list, key);
        cli_list_end_row(list);
    }
    return cli_list_finish(list);
}

static int run_all(struct night *night)
{
    int status = interrupts_hold(&night->interrupts) ? night_run(night) : CLI_SYSTEM;
    interrupts_release(&night->interrupts);
    return status;
}

/* Before there is a store to be made: a sweep that is refused leaves nothing behind. */
static int read_sweep(struct cli_session *session, void *context)
{
    struct night_options *o = context;
    o->night.quiet = o->quiet;
    o->night.report = o->report;
    o->night.hours = INFINITY;
    if (o->hours && !cli_amount_parse(&o->night.hours, "hours", o->hours))
        return CLI_USAGE;
    int status = night_read(&o->night, session->args.positional[0]);
    return status == CLI_GO_ON ? recipe_store_make(session->where.dir) : status;
}

/* The lock before the rows are read: otherwise a row that the other night wrote in between
 * would be run a second time. */
static int work(struct cli_session *session, void *context)
{
    struct night_options *o = context;
    struct night *night = &o->night;
    int status = recipe_store_check(session->store);
    if (status == CLI_GO_ON)
        status = night_open(night, session->store);
    if (status == CLI_GO_ON && !o->list)
        status = night_lock(night);
    if (status == CLI_GO_ON)
        status = night_read_rows(night);
    if (status == CLI_GO_ON)
        status = o->list ? list_trials(night, session->format) : run_all(night);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct night_options *o = calloc(1, sizeof *o);
    if (!o)
        return cli_error(CLI_SYSTEM, "out of memory");
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&o->session),
                                   {"hours", 0, POPT_ARG_STRING, &o->hours, 0,
                                    "begin no trial that would end later than this", "H"},
                                   {"list", 0, POPT_ARG_NONE, &o->list, 0,
                                    "only list the trials and what became of them", NULL},
                                   {"report", 0, POPT_ARG_NONE, &o->report, 0,
                                    "rewrite report.html beside KNOWLEDGE.md too (lineage report)", NULL},
                                   {"quiet", 'q', POPT_ARG_NONE, &o->quiet, 0, "no progress", NULL},
                                   CLI_INPUT_OPTION, POPT_TABLEEND};
    o->session.before_open = read_sweep;
    o->night.lock = -1;
    int status = cli_on_store(&o->session, command, options, 1, 1, argc, argv, work, o);
    night_close(&o->night);
    free(o);
    return status;
}

const struct cli_command cmd_night = {
    .name = "night",
    .arguments = "SWEEP",
    .description =
        "Runs the trials of a sweep (schema/sweep.schema.json: a list, a grid, or both) one after\n"
        "another, each as `train` does, from the best trial, a given one, or its own start.\n"
        "Prints exp_id, status, EM and name of each and rewrites KNOWLEDGE.md in the store after\n"
        "it. The first trial measured in a store is its baseline. A warm start that several "
        "trials\n"
        "begin with is trained once.\n"
        "\n"
        "The same command goes on where an earlier one ended, however it ended: a trial whose row\n"
        "is there is not run again, one that was cut off or interrupted is. --hours begins no\n"
        "trial that would not be over in time: its length is forecast from the pace of those of\n"
        "this sweep that were measured and from its recipe; while none was, from 1 minute.",
    .examples = "  lineage night ladder.json -C runs/hop --hours 8\n"
                "  lineage night ladder.json -C runs/hop --list",
    .run = run,
};
