/* cmd_run.c: `lineage run`: runs any command as a trial. */
#include <unistd.h>

#include "git/git.h"
#include "output/ideas_out.h"
#include "output/lease_idea.h"
#include "output/show.h"
#include "plan/planning.h"
#include "run/command_trial.h"
#include "support/launchers.h"

struct run_options {
    struct cli_session session;
    const char *const *command; /* the words after -- */
    char *again, *again_notes;
    int baseline, quiet, check_tried, dry_metrics;
    char *dry_lines;
    struct notify notify;
    struct command_dry dry;
    struct command_options settings;
    struct command_trial trial;
    struct lineage_trial parent;
    char agent[AGENT_NAME_MAX]; /* the name of the agent that runs it; "": unknown */
    char lease[LEASE_ID_BYTES];
    int hold; /* descriptor that holds the lease; -1: none */
};

/* Finds the stores of the main work tree of the repository; an agent may work in another one, which is removed later: one with this
 * path, or for "." what cli_store_below finds. */
static bool main_tree_has(char path[PATH_MAX + 32], const char *dir)
{
    char common[PATH_MAX];
    char *slash = *dir != '/' && repository_common(common, ".") ? strrchr(common, '/') : NULL;
    if (!slash)
        return false;
    *slash = '\0';
    if (strcmp(dir, ".") == 0) {
        cli_store_below(path, ".");
        if (!*path)
            cli_store_below(path, common);
        return *path;
    }
    int n = snprintf(path, PATH_MAX, "%s/%s", common, dir);
    return n > 0 && n < PATH_MAX && cli_is_store(path);
}

/* A directory becomes a store only if the user says which score is better, since that decides which trials are kept. */
static int make_store(const struct cli_session *session)
{
    const char *dir = session->where.dir ? session->where.dir : ".";
    struct lineage_config config = {0};
    char path[PATH_MAX + 32];
    if (cli_is_store(dir))
        return CLI_GO_ON;
    if (!session->where.direction && lineage_store_lost(dir))
        return cli_has_store(dir, true) ? CLI_GO_ON : CLI_USAGE;
    const bool here = strcmp(dir, ".") == 0, has = !session->where.direction && main_tree_has(path, dir);
    if (has && !here)
        return cli_error(CLI_USAGE, "%s is not a store here; the one of the main work tree is %s (-C)", dir, path);
    if (!session->where.direction && here)
        return cli_error(
            CLI_USAGE,
            "no store here%s%s; `-C runs/NAME --direction lower|higher` makes one in a directory of its own and says "
            "which score is better",
            has ? path : "", has ? " (-C)" : "");
    if (!session->where.direction)
        return cli_error(CLI_USAGE,
                         "%s is not a store; add --direction lower|higher, which creates it and says which score is better", dir);
    if (!cli_direction_parse(&config.direction, session->where.direction))
        return CLI_USAGE;
    int status = cli_store_create(dir, &config);
    if (status == CLI_OK)
        (void)work_tree_exclude_store(dir);
    return status == CLI_OK ? CLI_GO_ON : status;
}

/* Needs no store: it reads the output of the command, or a saved log, and appends nothing. */
static int show_metrics(struct run_options *o)
{
    struct command_trial *t = &o->trial;
    struct interrupts interrupts;
    struct trial_outcome outcome = {0};
    const char *file = o->session.args.n_positional ? o->session.args.positional[0] : "-";
    if (o->command && o->session.args.n_positional)
        return cli_error(CLI_USAGE, "run: --dry-metrics reads either the file '%s' or the command after --", file);
    o->dry = (struct command_dry){.log = o->command ? NULL : file, .format = o->session.format};
    if (o->dry_lines && !cli_count_parse(&o->dry.lines, "dry-lines", o->dry_lines))
        return CLI_USAGE;
    t->dry = &o->dry;
    t->identity.parent = NULL;
    if (!o->command)
        return command_trial_run(NULL, t, &outcome, NULL);
    t->interrupts = &interrupts;
    int status = interrupts_hold(&interrupts) ? command_trial_run(NULL, t, &outcome, NULL) : CLI_SYSTEM;
    interrupts_release(&interrupts);
    return status;
}

static int read_options(struct cli_session *session, void *context)
{
    struct run_options *o = context;
    struct command_trial *t = &o->trial;
    if (session->args.n_positional && !o->dry_metrics)
        return cli_error(CLI_USAGE, "run: unexpected argument '%s'; the command belongs after --", session->args.positional[0]);
    if (!o->dry_metrics && (!o->command || !o->command[0]))
        return cli_error(CLI_USAGE, "run: the command belongs after --: lineage run [OPTION...] -- COMMAND [ARG...]");
    if (o->command && !o->command[0])
        return cli_error(CLI_USAGE, "run: there is no command after --");
    if (!command_options_read(t, &o->settings))
        return CLI_USAGE;
    t->argv = o->command;
    t->identity.name = t->identity.specialist ? t->identity.specialist : o->command ? o->command[0] : "";
    t->identity.baseline = o->baseline;
    t->quiet = o->quiet;
    if (o->again) {
        o->again_notes = cli_notes_again(t->identity.notes, o->again);
        if (!o->again_notes)
            return cli_no_memory();
        t->identity.notes = o->again_notes;
    }
    if (o->dry_lines && !o->dry_metrics)
        return cli_error(CLI_USAGE, "run: --dry-lines belongs to --dry-metrics");
    return o->dry_metrics ? show_metrics(o) : make_store(session);
}

/* Looks the parent up before the command runs, so that a wrong id is reported now instead of after a night of
 * training. */
static int find_parent(struct run_options *o)
{
    struct lineage_error err;
    const char *id = o->trial.identity.parent;
    if (!id)
        return CLI_GO_ON;
    enum lineage_status status = strcmp(id, "best") == 0 ? lineage_best_kept(o->session.store, &o->parent, &err)
                                                         : lineage_find(o->session.store, id, &o->parent, &err);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    o->trial.identity.parent = o->parent.exp_id;
    return command_trial_inherit(&o->trial, o->session.store, o->parent.exp_id) ? CLI_GO_ON : cli_no_memory();
}

/* Prints the exp_id alone on standard output, like `lineage train`, and the reason of a failure on standard error. */
static int report(const struct run_options *o, const struct trial_outcome *outcome, const struct lineage_trial *row)
{
    static const char *const next[] = {"next: `lineage run --parent best -p NAME=VALUE -- COMMAND` tries a change",
                                       "      `lineage tried --param NAME=VALUE` asks whether it was tried",
                                       "      `lineage render`, `lineage report`: what is known, for a model and for you"};
    int shown = CLI_OK;
    if (o->session.format_text)
        shown = cli_show_trial(row, NULL, o->session.format, NULL);
    else
        puts(row->exp_id);
    if (row->seq == 1 && isatty(STDERR_FILENO))
        for (size_t i = 0; i < sizeof next / sizeof *next; i++)
            cli_say(next[i]);
    cli_say_claim(o->session.store, row);
    if (outcome->reason[0])
        cli_error(CLI_NO, "%s: %s", lineage_label_name(row->status), outcome->reason);
    if (outcome->end == TRIAL_FINISHED && row->status == LINEAGE_HARNESS_ABORT && !o->trial.sealed_eval && o->trial.seeds < 2)
        cli_error(CLI_NO, "its log and files are kept: `lineage rescore %s -m NAME` reads the score without running it again",
                  row->exp_id);
    if (outcome->end == TRIAL_PRUNED)
        return shown;
    if (outcome->end == TRIAL_INTERRUPTED)
        return CLI_INTERRUPTED;
    return outcome->reason[0] ? CLI_NO : shown;
}

/* Finds the agent for whom it runs, and the GPU of the agent's work tree. */
static bool find_agent(struct run_options *o)
{
    struct agent_place place;
    const bool here = agent_place_here(&place);
    if (!agent_name(o->agent, getenv("LINEAGE_AGENT") ? NULL : here ? place.agent : ""))
        return false;
    if (here && place.gpu[0])
        setenv("CUDA_VISIBLE_DEVICES", place.gpu, 0);
    if (o->agent[0] && !o->trial.identity.specialist)
        o->trial.identity.specialist = o->trial.identity.name = o->agent;
    return true;
}

/*
 * Refuses what another agent has leased. Where ideas are leased, it takes a lease itself, so that no agent takes one between this look
 * and the start. For an agent, and with --check-tried, what a trial beside it does is refused, too. Earlier rows are looked at after
 * that: whoever runs the same has either its lease or its row.
 */
static int take_lease(struct run_options *o)
{
    const struct trial_identity *t = &o->trial.identity;
    const struct lease_idea idea = {o->agent, t->hypothesis, o->trial.params, o->trial.n_params};
    const char *dir = lineage_store_dir(o->session.store);
    const bool beside = o->agent[0] || o->check_tried, takes = beside || leases_are_used(dir);
    int lock = -1;
    if (lineage_is_server(dir) || (!idea.n_params && (!t->hypothesis || !*t->hypothesis)))
        return CLI_GO_ON;
    if (takes && (lock = leases_lock(dir)) < 0)
        return CLI_SYSTEM;
    json_t *reasons = json_array();
    int status = cli_reasons_print(reasons, lease_reasons(reasons, o->session.store, &idea, beside));
    if (status == CLI_NO)
        status = cli_error(CLI_NO,
                           "nothing is run: take another idea; `lineage lease --end ID` ends a lease of an agent that is gone");
    if (status == CLI_GO_ON && takes)
        status = lease_take(o->lease, o->session.store, &idea, 0, &o->hold);
    cli_close(lock);
    return status;
}

/* After the row is in the store. */
static void end_lease(struct run_options *o)
{
    if (o->hold < 0)
        return;
    lease_remove(lineage_store_dir(o->session.store), o->lease);
    close(o->hold);
    o->hold = -1;
}

static int run_trial(struct cli_session *session, struct run_options *o)
{
    struct interrupts interrupts;
    struct trial_outcome outcome;
    struct lineage_trial row = {0};
    if (o->check_tried && !o->again) {
        const struct trial_identity *t = &o->trial.identity;
        const struct command_trial *all = &o->trial;
        /* Words without a parameter change the code: what such a trial inherits says nothing of it. */
        const bool inherits = all->in_force && (all->n_params || !t->hypothesis || !*t->hypothesis);
        int repeated = cli_check_tried(session->store, t->hypothesis, inherits ? all->in_force : all->params,
                                       inherits ? all->n_in_force : all->n_params);
        if (repeated != CLI_GO_ON)
            return repeated == CLI_NO ? cli_error(CLI_NO, "nothing is run; give the reason to repeat it: --again REASON")
                                      : repeated;
    }
    if (o->command)
        launchers_warn(o->command, o->trial.dir ? o->trial.dir : "");
    o->trial.interrupts = &interrupts;
    /* Signals are held until the row is appended, so that an interrupted trial gets a row too. */
    int status = interrupts_hold(&interrupts) ? command_trial_run(session->store, &o->trial, &outcome, &row) : CLI_SYSTEM;
    end_lease(o);
    if (status == CLI_GO_ON)
        status = report(o, &outcome, &row);
    if (row.exp_id && !notify_trial(&o->notify, session->store, row.exp_id, row.status)) {
        char text[256];
        snprintf(text, sizeof text, "%.80s has ended: %s", row.exp_id, lineage_label_name(row.status));
        notify_send(&o->notify, session->store, "stop", row.exp_id, text);
    }
    interrupts_release(&interrupts);
    lineage_trial_release(&row);
    return status;
}

static int work(struct cli_session *session, void *context)
{
    struct run_options *o = context;
    cli_deliver_waiting(session->store);
    int status = find_agent(o) ? find_parent(o) : CLI_USAGE;
    if (status == CLI_GO_ON)
        status = take_lease(o);
    if (status == CLI_GO_ON)
        status = run_trial(session, o);
    end_lease(o);
    return status;
}

static int run_run(struct run_options *o, const struct cli_command *command, int argc, const char **argv)
{
    const struct poptOption before[] = {CLI_DIR_OPTION(&o->session.where.dir),
                                        CLI_OPTION("direction", &o->session.where.direction, "lower|higher",
                                                   "which score is better; creates the store if there is none"),
                                        CLI_FORMAT_OPTION(&o->session.format_text)};
    const struct poptOption after[] = {
        CLI_FLAG("baseline", &o->baseline, "label a finished trial baseline"),
        CLI_FLAG("check-tried", &o->check_tried,
                 "run nothing if it repeats an earlier trial, or claims a novelty that the log contradicts (exit status 1)"),
        CLI_OPTION("again", &o->again, "REASON", "why the trial repeats an earlier one; kept in notes"),
        CLI_FLAG("dry-metrics", &o->dry_metrics,
                 "show which metric is read from which line of the command's output or of a saved log; no store, no row"),
        CLI_OPTION("dry-lines", &o->dry_lines, "N",
                   "with --dry-metrics: end the command after its first N lines (default: let it finish)"),
        CLI_OPTION("notify", &o->notify.command, "COMMAND",
                   "run this shell command at the end, which is a new best, a failure or a stop; the facts are in "
                   "LINEAGE_NOTIFY_EVENT, _TEXT .. and as JSON on its standard input"),
        {"quiet", 'q', POPT_ARG_NONE, &o->quiet, 0, "show no progress, and nothing that the command prints", NULL},
        POPT_TABLEEND};
    struct poptOption options[sizeof before / sizeof *before + COMMAND_SETTINGS_MAX + sizeof after / sizeof *after];
    size_t n = sizeof before / sizeof *before;
    memcpy(options, before, sizeof before);
    n += command_options_list(options + n, &o->settings);
    memcpy(options + n, after, sizeof after);
    o->hold = -1;
    o->session.before_open = read_options;
    o->session.appends = true;
    return cli_on_store(&o->session, command, options, 0, 1, cli_words_before(&o->command, argc, argv), argv, work, o);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    static struct run_options chosen, *const o = &chosen;
    int status = run_run(o, command, argc, argv);
    lineage_trial_release(&o->parent);
    free(o->again_notes);
    command_trial_release(&o->trial);
    return status;
}

const struct cli_command cmd_run = {
    .name = "run",
    .arguments = "-- COMMAND [ARG...]",
    .description = "Runs the command in a session of its own, within its limits, and appends a row with a\n"
                   "label: keep or discard by the score, or the way in which it failed: crash,\n"
                   "train_budget_overrun, eval_budget_overrun, size_blocked, preflight_crash, disqualified,\n"
                   "or harness_abort after an interruption. The label comes from the exit status, the signal\n"
                   "and the limits, never from printed text. Before the row is appended, every process that\n"
                   "the command started is ended (TERM, a grace period, KILL). Prints the exp_id. Exit\n"
                   "status: 0 measured, 1 failed but recorded, 130 interrupted.\n\n"
                   "Metrics are read from four channels; the first one with a score counts. They are: JSON\n"
                   "lines in the file that LINEAGE_EVENTS names (schema/events.schema.json); the match of a\n"
                   "--metric-regex; `METRIC NAME=VALUE` in the output; each --metric NAME with a number behind\n"
                   "it, anywhere in a line. The last score counts, unless --metric-take says otherwise. A file\n"
                   "that --metric-file names counts before all of them, and files of usual names that the\n"
                   "command writes (trainer_state.json, metrics.csv, ..) give the score if it was not printed,\n"
                   "or its other digits (`lineage help frameworks`). The score of a store has one name. A\n"
                   "pattern gives up on a line after backtracking 100,000 times. With --dry-metrics nothing is\n"
                   "recorded: it shows which value is read from which line of the command, of the file LOG, or\n"
                   "of standard input. Exit status: 0 there is a score, 1 there is none.\n\n"
                   "In the arguments, {NAME} is replaced by the parameter of that name, {seed} by the seed, and\n"
                   "{workdir} by a directory that becomes the snapshot if the trial is kept. The command also\n"
                   "finds them in its environment: LINEAGE_PARAM_NAME, LINEAGE_SEED, LINEAGE_WORKDIR, and\n"
                   "LINEAGE_PARAMS, a JSON file with all parameters. Commit, changes and machine are recorded\n"
                   "in provenance/ID/ (`lineage show`, `lineage diff`).",
    .examples = "  lineage run -C runs/mine --direction lower -m val_bpb -- python3 -u train.py\n"
                "  lineage run -C runs/mine -p lr=0.1 --seeds 3 --train-seconds 600 -- \\\n"
                "      ./train --lr {lr} --seed {seed}\n"
                "  lineage run --dry-metrics --metric-regex 'loss=test loss: ([\\d.]+)' train.log",
    .run = run,
};
