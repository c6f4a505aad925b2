/* cmd_rescore.c: `lineage rescore`: reads the score of a trial that finished from what it left, without running it again. */
#include <unistd.h>

#include <lineage/code.h>
#include <lineage/render.h>
#include <lineage/time.h>

#include "run/command_trial.h"
#include "run/run_parts.h"

/* The row's time is read after the trial has ended, and has whole seconds: a file that is newer than its second may be the next trial's. */
enum { CLOCK_SLACK = 5, WHOLE_SECOND = 1 };

struct rescore {
    struct cli_session session;
    char *score, *night, **metrics, **regexes, **takes, **files;
    struct lineage_trial was;
    json_t *run;
    char log[PATH_MAX], work[PATH_MAX];
    char notes[512], link[LINEAGE_NIGHT_LINK_MAX], code[LINEAGE_CODE_NOTE_MAX];
};

static bool finished(const struct lineage_trial *was)
{
    const char *notes = was->notes ? was->notes : "";
    return lineage_label_is_measured(was->status) || strstr(notes, "exit 0 without a score") ||
           strstr(notes, "its score is not a finite number");
}

/* The output of training and evaluation is one log, so only a pattern or a file says which of both is meant. */
static int check(const struct rescore *o, const struct command_trial *t)
{
    const char *id = o->was.exp_id;
    if (!finished(&o->was))
        return cli_error(CLI_NO, "%s did not finish, so what it printed last is not its score", id);
    if (t->sealed_eval)
        return cli_error(CLI_NO, "%s has a sealed evaluation, and its log does not say where the training ends; run it again",
                         id);
    if (t->seeds > 1)
        return cli_error(CLI_NO, "%s ran with %zu seeds, and its log does not say where each begins; run it again", id, t->seeds);
    if (t->eval && !o->regexes && !o->files)
        return cli_error(CLI_USAGE,
                         "%s has an evaluation; say by --metric-regex or --metric-file what it prints that the training does not",
                         id);
    return CLI_GO_ON;
}

/* Writes the path of a file of the trial in logs/; "" if it is not there. */
static void find_file(const struct rescore *o, char path[PATH_MAX], const char *end)
{
    struct lineage_error err;
    char *dir = NULL, name[PATH_MAX];
    path[0] = '\0';
    if (lineage_store_path(&dir, o->session.store, LINEAGE_PLACE_LOGS, &err) != LINEAGE_OK)
        return;
    int n = snprintf(name, sizeof name, "%s/%s%s", dir, o->was.exp_id, end);
    if (n < 0 || n >= PATH_MAX || access(name, F_OK) != 0 || !realpath(name, path))
        path[0] = '\0';
    lineage_free(dir);
}

/* The row is of the same trial: of the same night, code and settings. */
static void set_identity(struct rescore *o, struct command_trial *t)
{
    struct lineage_night_link link;
    struct lineage_code_note code;
    const char *program = strstr(o->was.notes ? o->was.notes : "", "; program ");
    int n = snprintf(o->notes, sizeof o->notes, "rescored %.60s", o->was.exp_id);
    if (program)
        snprintf(o->notes + n, sizeof o->notes - (size_t)n, "; %.*s", (int)strcspn(program + 2, ";"), program + 2);
    char ran[WHAT_RAN_MAX];
    what_ran_of(ran, o->was.notes);
    if (*ran)
        snprintf(o->notes + strlen(o->notes), sizeof o->notes - strlen(o->notes), "; %s", ran);
    o->link[0] = o->code[0] = '\0';
    if (lineage_night_link_parse(&link, o->was.notes))
        lineage_night_link_format(o->link, link.sweep, link.trial, link.key);
    if (lineage_code_note_parse(&code, o->was.notes))
        lineage_code_note_format(o->code, &code);
    t->identity = (struct trial_identity){.specialist = o->was.specialist,
                                          .domain = o->was.domain,
                                          .hypothesis = o->was.hypothesis,
                                          .expected_delta = o->was.expected_delta,
                                          .parent = o->was.parent_exp,
                                          .notes = o->notes,
                                          .night = o->link[0] ? o->link : NULL,
                                          .code = o->code,
                                          .baseline_if_first = o->link[0] != '\0',
                                          .name = o->notes};
}

/* What the command line says replaces what was looked for then. */
static void set_metrics(const struct rescore *o, struct command_trial *t)
{
    if (o->score || o->metrics || o->regexes || o->files) {
        t->settings.score = o->score;
        t->settings.metrics.names = (const char *const *)o->metrics;
        t->metric_regex = (const char *const *)o->regexes;
        t->metric_file = (const char *const *)o->files;
    }
    if (o->takes)
        t->metric_take = (const char *const *)o->takes;
}

static int rescore(struct rescore *o)
{
    struct trial_outcome outcome = {0};
    struct lineage_trial row = {0};
    struct command_trial t;
    struct interrupts none = {.fd = -1};
    const char *dir = cli_json_string(o->run, "directory");
    int64_t ended = 0;
    struct lineage_error err;
    if (!command_from_provenance(&t, o->run, dir ? dir : ".")) {
        command_trial_release(&t);
        return CLI_USAGE;
    }
    find_file(o, o->log, ".log");
    find_file(o, o->work, UNSCORED_WORK);
    if (lineage_time_parse(&ended, o->was.timestamp ? o->was.timestamp : "", 0, &err) != LINEAGE_OK)
        ended = 0; /* then no file counts as its own */
    const struct command_rescore again = {.was = &o->was,
                                          .log = o->log,
                                          .work = o->work[0] ? o->work : NULL,
                                          .began = (double)ended - o->was.total_s.value - CLOCK_SLACK,
                                          .ended = (double)ended + WHOLE_SECOND};
    int status = check(o, &t);
    if (status == CLI_GO_ON && !o->log[0])
        status = cli_error(CLI_NO, "%s has no log", o->was.exp_id);
    set_identity(o, &t);
    set_metrics(o, &t);
    t.rescore = &again;
    t.interrupts = &none;
    if (status == CLI_GO_ON)
        status = command_trial_run(o->session.store, &t, &outcome, &row);
    if (status == CLI_GO_ON && !outcome.late)
        puts(row.exp_id);
    if (status == CLI_GO_ON && outcome.reason[0])
        status = cli_error(CLI_NO, "%s: %s", lineage_label_name(row.status), outcome.reason);
    lineage_trial_release(&row);
    command_trial_release(&t);
    return status == CLI_GO_ON ? CLI_OK : status;
}

static int rescore_id(struct rescore *o, const char *id)
{
    struct lineage_error err;
    lineage_trial_release(&o->was);
    json_decref(o->run);
    o->was = (struct lineage_trial){0};
    o->run = NULL;
    if (lineage_find_named(o->session.store, id, false, &o->was, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (provenance_is_closed(o->session.store, o->was.exp_id))
        return CLI_SYSTEM;
    o->run = provenance_load(o->session.store, o->was.exp_id);
    if (!o->run)
        return cli_error(CLI_USAGE, "trial '%s' has no provenance; only trials of lineage run and night can be read again",
                         o->was.exp_id);
    return rescore(o);
}

/* Collects {KEY: ID} of the night's trials whose latest row finished without a score. The rows are read first, because each trial adds
 * one. */
static int find_unscored(const struct rescore *o, json_t *ids)
{
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    struct lineage_error err;
    enum lineage_status status = lineage_query_open(&cursor, o->session.store, &all, &err);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    while ((status = lineage_cursor_next(cursor, &row, &err)) == LINEAGE_OK) {
        struct lineage_night_link link;
        char key[32];
        if (!lineage_night_link_parse(&link, row.notes) || strcmp(link.sweep, o->night) != 0)
            continue;
        snprintf(key, sizeof key, "%016" PRIx64, link.key);
        if (finished(&row) && !lineage_label_is_measured(row.status))
            json_object_set_new(ids, key, json_string(row.exp_id));
        else
            json_object_del(ids, key);
    }
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? CLI_GO_ON : cli_fail(&err);
}

static int rescore_night(struct rescore *o)
{
    json_t *ids = json_object(), *id;
    const char *key;
    int status = find_unscored(o, ids), worst = CLI_OK;
    if (status == CLI_GO_ON && json_object_size(ids) == 0)
        worst = cli_error(CLI_NO, "the night '%s' has no trial that finished without a score", o->night);
    json_object_foreach(ids, key, id)
        if (status == CLI_GO_ON && (worst == CLI_OK || worst == CLI_NO)) {
            int one = rescore_id(o, json_string_value(id));
            worst = one == CLI_OK ? worst : one;
        }
    json_decref(ids);
    return status == CLI_GO_ON ? worst : status;
}

static int work(struct cli_session *session, void *context)
{
    struct rescore *o = context;
    int worst = CLI_OK;
    cli_deliver_waiting(session->store);
    if ((o->night != NULL) == (session->args.n_positional > 0))
        return cli_error(CLI_USAGE, "rescore: give the ids of trials, or --night NAME");
    if (o->night)
        return rescore_night(o);
    for (size_t i = 0; i < session->args.n_positional && (worst == CLI_OK || worst == CLI_NO); i++) {
        int one = rescore_id(o, session->args.positional[i]);
        worst = one == CLI_OK ? worst : one;
    }
    return worst;
}

static int check_options(struct cli_session *session, void *context)
{
    const struct rescore *o = context;
    const struct {
        const char *key;
        char **texts;
    } lists[] = {{"metric_regex", o->regexes}, {"metric_take", o->takes}, {"metric_file", o->files}};
    char why[700];
    (void)session;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (char **text = lists[i].texts; text && *text; text++)
            if (!command_setting_check(command_setting_by_key(lists[i].key), *text, why, sizeof why))
                return cli_error(CLI_USAGE, "%s", why);
    return CLI_GO_ON;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    static struct rescore chosen, *const o = &chosen;
    struct poptOption options[] = {
        CLI_STORE_OPTIONS(&o->session.where),
        command_setting_option(command_setting_by_key("metrics"), &o->metrics),
        command_setting_option(command_setting_by_key("score"), &o->score),
        command_setting_option(command_setting_by_key("metric_regex"), &o->regexes),
        command_setting_option(command_setting_by_key("metric_take"), &o->takes),
        command_setting_option(command_setting_by_key("metric_file"), &o->files),
        CLI_OPTION("night", &o->night, "NAME", "every trial of the night NAME that finished without a score"),
        POPT_TABLEEND};
    o->session.before_open = check_options;
    int status = cli_on_store(&o->session, command, options, 0, INT_MAX, argc, argv, work, o);
    lineage_trial_release(&o->was);
    json_decref(o->run);
    return status;
}

const struct cli_command cmd_rescore = {
    .name = "rescore",
    .arguments = "[ID...]",
    .description = "Reads the score of a trial that finished from its log and from the files that it left, by\n"
                   "other names, patterns or files, and appends a row that says so. Nothing is run. The trial's\n"
                   "own row stays. Without options the same names as then are looked for. Files count only if they\n"
                   "were written while the trial ran; if it had no score, its work directory was kept and may\n"
                   "become the snapshot. A trial of a night is then done. Exit status: 0 all have a score, 1 not.",
    .examples = "  lineage rescore 004 -m eval_loss\n  lineage rescore 004 --metric-file eval_loss=out/trainer_state.json\n"
                "  lineage rescore --night lr -m eval_loss",
    .run = run,
};
