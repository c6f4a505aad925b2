/* cmd_run.c: `lineage run`: any command as a trial. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lineage/notes.h>

#include "cli.h"
#include "output/show.h"
#include "run/command_trial.h"

enum { GRACE_SECONDS = 10 };

struct run_options {
    struct cli_session session;
    const char *const *command; /* the words behind -- */
    char *specialist, *domain, *hypothesis, *expected_delta, *parent, *score, *eval, *preflight;
    char *train_seconds, *eval_seconds, *silence, *memory, *grace, *seed, *seeds;
    char **metrics, **params, **environment, **keep, **versions, **artifacts, **protect;
    int baseline, quiet, stop_on_nan;

    struct command_trial trial;
    struct cli_texts texts;
    struct lineage_param param[TRIAL_PARAMS_MAX];
    char names[TRIAL_PARAMS_MAX][LINEAGE_NAME_MAX];
    struct command_artifact *artifact;
    struct lineage_trial found; /* the parent */
};

static size_t count(char **list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

/* ---- the command line ---- */

/* One less than there is room for: the seed becomes a parameter, too. */
static bool read_params(struct run_options *o)
{
    size_t n = count(o->params);
    if (n > TRIAL_PARAMS_MAX - 1)
        return cli_error(CLI_USAGE, "run: more than %d parameters", TRIAL_PARAMS_MAX - 1), false;
    for (size_t i = 0; i < n; i++) {
        const char *value;
        if (!cli_assignment_parse(o->names[i], &value, "param", o->params[i]) ||
            !cli_value_parse(&o->param[i], &o->texts, o->names[i], value))
            return false;
        if (!lineage_param_name_ok(o->names[i]))
            return cli_error(CLI_USAGE, "--param '%s': the name of a parameter is letters, digits, _ . -", o->names[i]), false;
        o->param[i].name = lineage_param_canonical(o->names[i]);
    }
    o->trial.params = o->param;
    o->trial.n_params = n;
    return true;
}

/* GLOB:MAXBYTES at the last colon; a file's name may have others. Without a number behind it the colon is the name's. */
static bool read_artifact(struct command_artifact *artifact, char *text)
{
    char *colon = strrchr(text, ':');
    *artifact = (struct command_artifact){.glob = text};
    if (!colon || colon[1] == '\0' || strspn(colon + 1, "0123456789.e+") != strlen(colon + 1))
        return true;
    *colon = '\0';
    return cli_amount_parse(&artifact->max_bytes, "artifact", colon + 1);
}

static bool read_artifacts(struct run_options *o)
{
    size_t n = count(o->artifacts);
    o->artifact = calloc(n + 1, sizeof *o->artifact);
    if (!o->artifact)
        return cli_no_memory(), false;
    for (size_t i = 0; i < n; i++)
        if (!read_artifact(&o->artifact[i], o->artifacts[i]))
            return false;
    o->trial.artifacts = o->artifact;
    o->trial.n_artifacts = n;
    return true;
}

static bool read_amount(double *value, const char *option, const char *text)
{
    return !text || cli_amount_parse(value, option, text);
}

static bool read_counts(struct run_options *o)
{
    size_t seed = 0;
    if ((o->seed && !cli_count_parse(&seed, "seed", o->seed)) ||
        (o->seeds && !cli_count_parse(&o->trial.seeds, "seeds", o->seeds)))
        return false;
    if (o->seeds && o->trial.seeds == 0)
        return cli_error(CLI_USAGE, "--seeds wants a number from 1 on"), false;
    o->trial.has_seed = o->seed != NULL;
    o->trial.first_seed = o->seed ? seed : 1;
    return true;
}

/* A file that is not there now protects nothing: more likely a slip of the finger. */
static bool check_protected(const struct run_options *o)
{
    for (char **path = o->protect; path && *path; path++)
        if (access(*path, R_OK) != 0)
            return cli_error(CLI_USAGE, "--protect %s: %s", *path, strerror(errno)), false;
    return true;
}

/* Checked before anything starts: a slip would show only in what the command does. */
static bool check_environment(const struct run_options *o)
{
    for (char **set = o->environment; set && *set; set++)
        if (!strchr(*set, '=') || **set == '=')
            return cli_error(CLI_USAGE, "--env '%s' is not NAME=VALUE", *set), false;
    return true;
}

static void fill_trial(struct run_options *o)
{
    struct command_trial *t = &o->trial;
    t->argv = o->command;
    t->eval = o->eval;
    t->preflight = o->preflight;
    t->metrics = (const char *const *)o->metrics;
    t->n_metrics = count(o->metrics);
    t->score = o->score;
    t->environment = (const char *const *)o->environment;
    t->keep_environment = (const char *const *)o->keep;
    t->version_of = (const char *const *)o->versions;
    t->protect = (const char *const *)o->protect;
    t->specialist = o->specialist;
    t->domain = o->domain;
    t->hypothesis = o->hypothesis;
    t->expected_delta = o->expected_delta;
    t->name = o->specialist ? o->specialist : o->command[0];
    t->baseline = o->baseline;
    t->stop_on_nan = o->stop_on_nan;
    t->quiet = o->quiet;
    t->grace_seconds = GRACE_SECONDS;
}

/* A directory becomes a store only if somebody says which score is better: which trials are kept hangs on it. */
static int make_store(const struct cli_session *session)
{
    const char *dir = session->where.dir ? session->where.dir : ".";
    struct lineage_config config = {0};
    if (cli_is_store(dir))
        return CLI_GO_ON;
    if (!session->where.direction)
        return cli_error(CLI_USAGE, "%s is no store; say which score is better: --direction lower|higher makes one", dir);
    if (!cli_direction_parse(&config.direction, session->where.direction))
        return CLI_USAGE;
    int status = cli_store_create(dir, &config);
    return status == CLI_OK ? CLI_GO_ON : status;
}

static int read_options(struct cli_session *session, void *context)
{
    struct run_options *o = context;
    struct command_trial *t = &o->trial;
    if (!o->command || !o->command[0])
        return cli_error(CLI_USAGE, "run: what is to be run stands behind --: lineage run [OPTION...] -- COMMAND [ARG...]");
    fill_trial(o);
    if (!read_params(o) || !read_artifacts(o) || !read_counts(o) || !check_protected(o) || !check_environment(o) ||
        !read_amount(&t->train_seconds, "train-seconds", o->train_seconds) ||
        !read_amount(&t->eval_seconds, "eval-seconds", o->eval_seconds) ||
        !read_amount(&t->silence_seconds, "silence", o->silence) ||
        !read_amount(&t->memory_bytes, "memory", o->memory) || !read_amount(&t->grace_seconds, "grace", o->grace))
        return CLI_USAGE;
    return make_store(session);
}

/* ---- the trial ---- */

/* Looked up before the command runs: an id that does not exist would be found out after a night of training. */
static int find_parent(struct run_options *o)
{
    struct lineage_error err;
    if (!o->parent)
        return CLI_GO_ON;
    enum lineage_status status = strcmp(o->parent, "best") == 0
                                     ? lineage_best(o->session.store, &o->found, &err)
                                     : lineage_find(o->session.store, o->parent, &o->found, &err);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    o->trial.parent = o->found.exp_id;
    return CLI_GO_ON;
}

/* As `lineage train` has it: the exp_id alone on standard output, the reason of a failure on standard error. */
static int report(const struct run_options *o, const struct trial_outcome *outcome, const struct lineage_trial *row)
{
    int shown = CLI_OK;
    if (o->session.format_text)
        shown = cli_show_trial(row, o->session.format, NULL);
    else
        puts(row->exp_id);
    if (outcome->reason[0])
        cli_error(CLI_NO, "%s: %s", lineage_label_name(row->status), outcome->reason);
    if (outcome->end == TRIAL_INTERRUPTED)
        return CLI_INTERRUPTED;
    return outcome->reason[0] ? CLI_NO : shown;
}

static int work(struct cli_session *session, void *context)
{
    struct run_options *o = context;
    struct interrupts interrupts;
    struct trial_outcome outcome;
    struct lineage_trial row = {0};
    int status = find_parent(o);
    if (status != CLI_GO_ON)
        return status;
    o->trial.interrupts = &interrupts;
    /* Signals are held until the row is written: an interrupted trial has one, too. */
    status = interrupts_hold(&interrupts) ? command_trial_run(session->store, &o->trial, &outcome, &row) : CLI_SYSTEM;
    if (status == CLI_GO_ON)
        status = report(o, &outcome, &row);
    interrupts_release(&interrupts);
    lineage_trial_release(&row);
    return status;
}

/* The words behind -- are the command's: no option of ours, and nothing of theirs is changed. */
static int find_command(struct run_options *o, int argc, const char **argv)
{
    for (int i = 1; i < argc && !cli_asks_table(argc, argv); i++)
        if (strcmp(argv[i], "--") == 0) {
            o->command = argv + i + 1;
            return i;
        }
    return argc;
}

static int run_run(struct run_options *o, const struct cli_command *command, int argc, const char **argv)
{
    struct poptOption options[] = {
        {"directory", 'C', POPT_ARG_STRING, &o->session.where.dir, 0, "the store (default: current directory)", "DIR"},
        {"direction", 0, POPT_ARG_STRING, &o->session.where.direction, 0,
         "which score is better; makes the store if there is none", "lower|higher"},
        CLI_FORMAT_OPTION(&o->session.format_text),
        {"specialist", 0, POPT_ARG_STRING, &o->specialist, 0, "kind of trial", "NAME"},
        {"domain", 0, POPT_ARG_STRING, &o->domain, 0, "what it is about", "TEXT"},
        {"hypothesis", 0, POPT_ARG_STRING, &o->hypothesis, 0, "what is tried and why", "TEXT"},
        {"expected-delta", 0, POPT_ARG_STRING, &o->expected_delta, 0, "what it is to bring", "TEXT"},
        {"parent", 0, POPT_ARG_STRING, &o->parent, 0, "the trial that this one goes on from", "ID|best"},
        {"param", 'p', POPT_ARG_ARGV, &o->params, 0, "a parameter; may be repeated", "NAME=VALUE"},
        {"seed", 0, POPT_ARG_STRING, &o->seed, 0, "seed of the trial, of the first run of several (default: 1)", "N"},
        {"seeds", 0, POPT_ARG_STRING, &o->seeds, 0, "run it with N seeds; the score is their mean", "N"},
        {"metric", 'm', POPT_ARG_ARGV, &o->metrics, 0, "take lines `NAME: VALUE` of its output; the first NAME is the score",
         "NAME"},
        {"score", 0, POPT_ARG_STRING, &o->score, 0, "the metric that is the score", "NAME"},
        {"train-seconds", 0, POPT_ARG_STRING, &o->train_seconds, 0, "wall of the training", "N"},
        {"eval-seconds", 0, POPT_ARG_STRING, &o->eval_seconds, 0, "wall of the evaluation", "N"},
        {"eval", 0, POPT_ARG_STRING, &o->eval, 0, "shell command that evaluates after the training", "COMMAND"},
        {"preflight", 0, POPT_ARG_STRING, &o->preflight, 0, "shell command that must succeed first", "COMMAND"},
        {"silence", 0, POPT_ARG_STRING, &o->silence, 0, "end what prints and says nothing for so long", "SECONDS"},
        {"memory", 0, POPT_ARG_STRING, &o->memory, 0, "end what holds more, all processes together", "BYTES"},
        {"artifact", 0, POPT_ARG_ARGV, &o->artifacts, 0, "files it must leave, each no larger; may be repeated",
         "GLOB:MAXBYTES"},
        {"stop-on-nan", 0, POPT_ARG_NONE, &o->stop_on_nan, 0, "end what says a metric that is not finite", NULL},
        {"protect", 0, POPT_ARG_ARGV, &o->protect, 0, "file that may not change, or the trial is disqualified", "FILE"},
        {"grace", 0, POPT_ARG_STRING, &o->grace, 0, "seconds between TERM and KILL (default: 10)", "SECONDS"},
        {"env", 0, POPT_ARG_ARGV, &o->environment, 0, "a variable for the command; may be repeated", "NAME=VALUE"},
        {"keep-env", 0, POPT_ARG_ARGV, &o->keep, 0, "a variable to be recorded; may be repeated", "NAME"},
        {"version-of", 0, POPT_ARG_ARGV, &o->versions, 0, "shell command whose output is recorded; may be repeated",
         "COMMAND"},
        {"baseline", 0, POPT_ARG_NONE, &o->baseline, 0, "label a finished trial baseline", NULL},
        {"quiet", 'q', POPT_ARG_NONE, &o->quiet, 0, "no progress, and nothing that it prints", NULL},
        POPT_TABLEEND};
    int own = find_command(o, argc, argv);
    o->session.before_open = read_options;
    return cli_on_store(&o->session, command, options, 0, 0, own, argv, work, o);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct run_options *o = calloc(1, sizeof *o);
    if (!o)
        return cli_no_memory();
    int status = run_run(o, command, argc, argv);
    lineage_trial_release(&o->found);
    free(o->artifact);
    free(o);
    return status;
}

const struct cli_command cmd_run = {
    .name = "run",
    .arguments = "-- COMMAND [ARG...]",
    .description =
        "Runs the command in a session of its own, within its limits, and appends a row: keep or\n"
        "discard by the score, or why there is none: crash, train_budget_overrun,\n"
        "eval_budget_overrun, size_blocked, preflight_crash, disqualified, and harness_abort after an\n"
        "interruption. The label comes from exit status, signal, walls, memory, sizes; never from\n"
        "what was printed. When it is over everything that it started is ended (TERM, a grace, KILL)\n"
        "before the row is written. Prints the exp_id. Exit status: 0 measured, 1 failed but\n"
        "recorded, 130 interrupted.\n"
        "\n"
        "Metrics come by three channels, the first wins: JSON lines on the file that\n"
        "LINEAGE_EVENTS names (schema/events.schema.json), lines `METRIC NAME=VALUE` on standard\n"
        "output or error, lines `NAME: VALUE` for each --metric NAME. The last score counts.\n"
        "\n"
        "Parameters are put in place of {NAME} in the arguments; the command also finds them as\n"
        "LINEAGE_PARAM_NAME and in the JSON file LINEAGE_PARAMS, its seed as {seed} and\n"
        "LINEAGE_SEED, and as {workdir} and LINEAGE_WORKDIR a directory that is kept as the\n"
        "snapshot of a kept trial. Commit, changes and machine are recorded in provenance/ID/\n"
        "(`lineage show`, `lineage diff`).",
    .examples = "  lineage run -C runs/mine --direction lower -m val_bpb -- python3 -u train.py\n"
                "  lineage run -C runs/mine -p lr=0.1 --seeds 3 --train-seconds 600 -- \\\n"
                "      ./train --lr {lr} --seed {seed}",
    .run = run,
};
