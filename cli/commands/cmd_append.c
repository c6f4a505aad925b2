/* cmd_append.c: `lineage append`: records one or several trials. */
#include <fts.h>

#include <lineage/text.h>

#include "commands/append_request.h"
#include "git/git.h"
#include "output/ideas_out.h"
#include "output/show.h"
#include "support/secrets.h"

/* ---- the trials of an `append` that records several rows ---- */

struct append_rows {
    struct lineage_trial *trials; /* [n]; they own their settings and texts */
    bool *auto_status;            /* [n] */
    size_t n, capacity, statuses_capacity;
};

/* Copies the trial of a request. Prints a message and returns false when out of memory. */
static bool append_rows_add(struct append_rows *rows, const struct append_request *request)
{
    struct lineage_error err;
    if (!CLI_ROOM(rows->trials, rows->n, rows->capacity) || !CLI_ROOM(rows->auto_status, rows->n, rows->statuses_capacity))
        return cli_no_memory(), false;
    if (lineage_trial_copy(&rows->trials[rows->n], &request->trial, &err) != LINEAGE_OK)
        return cli_fail(&err), false;
    rows->auto_status[rows->n++] = request->options.auto_status;
    return true;
}

static void append_rows_release(struct append_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        lineage_trial_release(&rows->trials[i]);
    free(rows->trials);
    free(rows->auto_status);
}

/* ---- `lineage append`: records one or several trials ---- */

/* Options that set a column. popt fills the last three members. */
struct column_option {
    const char *option, *column, *help, *argument;
    char *text;
};

#define N_COLUMN_OPTIONS 19

struct append_options {
    struct cli_session session;
    struct column_option columns[N_COLUMN_OPTIONS];
    char *metric, *score, *json, *telemetry, *snapshot, *alpha, *beta, *gamma;
    char *min_delta, *noise_std, *noise_seeds;
    char **params, **metrics, **require;
    struct cli_texts texts;
    char *again, *again_notes;
    int no_sync, allow_missing_parent, check_tried, create;
    const char **argv;
    struct append_request request;
    struct append_rows rows; /* for a --json with several objects; the request then holds what they have in common */
};

static const struct column_option column_options[N_COLUMN_OPTIONS] = {
    {"exp-id", "exp_id", "id of the trial (default: the next number)", "ID", NULL},
    {"timestamp", "timestamp", "time of the end, ISO 8601 (default: now, UTC)", "TIME", NULL},
    {"specialist", "specialist", "person or agent that tried it", "NAME", NULL},
    {"parent", "parent_exp", "id of the trial that it started from", "ID", NULL},
    {"parent-exp", "parent_exp", NULL, "ID", NULL}, /* old spelling of --parent, without help */
    {"baseline-exp", "baseline_exp", "id of the best trial at the time (default: looked up)", "ID", NULL},
    {"domain", "domain", "area of the change, e.g. optimizer", "TEXT", NULL},
    {"hypothesis", "hypothesis", "what was tried and why", "TEXT", NULL},
    {"expected-delta", "expected_delta", "expected improvement", "TEXT", NULL},
    {"status", "status", "a label, or auto: keep or discard according to the score", "LABEL", NULL},
    {"core-metric", "core_metric", "the score", "NUMBER", NULL},
    {"val-bpb", "val_bpb", "validation loss in bits per byte", "NUMBER", NULL},
    {"delta-vs-best", "delta_vs_best", "score minus the best so far (default: computed)", "NUMBER", NULL},
    {"train-s", "train_s", "training time in seconds", "NUMBER", NULL},
    {"total-s", "total_s", "total time in seconds", "NUMBER", NULL},
    {"job-name", "job_name", "name of the job, e.g. in a cluster's queue", "TEXT", NULL},
    {"notes", "notes", "free text; NAME=VALUE pairs at its beginning become parameters", "TEXT", NULL},
    {"ig-clip-scale-mean", "ig_clip_scale_mean", "mean of the clip scale", "NUMBER", NULL},
    {"ig-clip-scale-std", "ig_clip_scale_std", "standard deviation of the clip scale", "NUMBER", NULL},
};

/* Sets only columns whose option was given. An option with an empty text counts as given: it clears a column that the
 * JSON filled. */
static bool set_columns(struct append_options *o)
{
    for (size_t i = 0; i < N_COLUMN_OPTIONS; i++)
        if (o->columns[i].text && !append_set_column(&o->request, o->columns[i].column, o->columns[i].text))
            return false;
    return true;
}

/* --alpha, --beta and --gamma must be numbers; --param takes texts too. */
static bool set_param(struct append_options *o, const char *name, const char *text)
{
    double value;
    return !text || (cli_number_parse(&value, name, text) && append_set_param(&o->request, name, value));
}

static bool set_params(struct append_options *o)
{
    char name[LINEAGE_NAME_MAX];
    const char *value;
    if (!set_param(o, "alpha", o->alpha) || !set_param(o, "beta", o->beta) || !set_param(o, "gamma", o->gamma))
        return false;
    for (char **option = o->params; option && *option; option++) {
        struct lineage_param param;
        if (!cli_assignment_parse(name, &value, "param", *option) || !cli_value_parse(&param, &o->texts, name, value) ||
            !(param.text ? append_set_text(&o->request, name, param.text) : append_set_param(&o->request, name, param.value)))
            return false;
    }
    return true;
}

static bool set_metrics(struct append_options *o)
{
    char name[LINEAGE_NAME_MAX];
    const char *text;
    double value;
    for (char **option = o->metrics; option && *option; option++)
        if (!cli_assignment_parse(name, &text, "measured", *option) || !cli_number_parse(&value, name, text) ||
            !append_set_metric(&o->request, name, value))
            return false;
    return true;
}

static bool set_how(struct append_options *o)
{
    struct lineage_append_options *how = &o->request.options;
    size_t seeds = 0;
    how->no_sync = o->no_sync;
    how->allow_missing_parent = o->allow_missing_parent;
    how->snapshot_dir = o->snapshot;
    bool ok = (!o->min_delta || cli_amount_parse(&how->min_delta, "min-delta", o->min_delta)) &&
              (!o->noise_std || cli_amount_parse(&how->noise_std, "noise-std", o->noise_std)) &&
              (!o->noise_seeds || cli_count_parse(&seeds, "noise-seeds", o->noise_seeds));
    how->noise_seeds = (unsigned)seeds;
    return ok;
}

static bool read_telemetry(struct append_options *o)
{
    struct append_request *request = &o->request;
    if (!o->telemetry)
        return true;
    free(request->telemetry);
    request->telemetry = cli_read_all(o->telemetry, &request->options.telemetry_length);
    request->options.telemetry = request->telemetry;
    return request->telemetry != NULL;
}

/* The status has no default, because a row cannot be removed and only the caller knows which label is right. */
static bool has_status(const struct append_options *o)
{
    if (!o->request.has_status)
        cli_error(CLI_USAGE,
                  "append: give --status LABEL, or --status auto to let the score decide; see `lineage append --help`");
    return o->request.has_status;
}

/* The JSON is read first, so that options override it: a script keeps one object and changes a number per run. */
static bool fill_request(struct append_options *o)
{
    bool ok = (!o->json || append_take_json(&o->request, o->json)) && read_telemetry(o) && set_columns(o) && set_params(o) &&
              set_metrics(o) && set_how(o);
    if (ok && o->again) {
        o->again_notes = cli_notes_again(o->request.trial.notes, o->again);
        ok = o->again_notes && append_set_column(&o->request, "notes", o->again_notes);
    }
    return ok && has_status(o) && append_require(&o->request, o->require);
}

/* Each object of the file becomes a row of one append; the options apply to every row. */
static bool fill_rows(struct append_options *o)
{
    struct append_request *request = &o->request;
    bool many = append_has_next(request), ok = true;
    while (many && ok) {
        if (request->telemetry || o->snapshot)
            return cli_refuse("append: %s holds several trials, but --snapshot and --telemetry describe only one", o->json);
        if (o->check_tried || o->again)
            return cli_refuse("append: %s holds several trials, but --check-tried and --again are about one", o->json);
        ok = append_rows_add(&o->rows, request);
        if (!ok || !append_has_next(request))
            return ok;
        ok = append_take_next(request) && set_columns(o) && set_params(o) && set_metrics(o) && has_status(o) &&
             append_require(request, o->require);
    }
    return ok;
}

static int print_row(const struct append_options *o, bool judged, const struct lineage_trial *row)
{
    if (judged)
        cli_say_claim(o->session.store, row);
    if (o->session.format_text)
        return cli_show_trial(row, NULL, o->session.format, NULL);
    puts(row->exp_id); /* nothing else is printed, because scripts use ID=$(lineage append ..) */
    return CLI_OK;
}

/* What the store learns from the rows that it has now: once for all of them, because each question about noise looks at many rows. A
 * store that cannot remember the name of the score keeps the rows. */
static void learn(const struct append_options *o, struct lineage_store *store, const struct lineage_trial *rows, size_t n)
{
    struct lineage_noise before;
    struct lineage_error err;
    char text[LINEAGE_FLOOR_TEXT_MAX];
    bool measured = false;
    lineage_noise_of_config(&before, lineage_store_config(store));
    for (size_t i = 0; i < n; i++)
        measured = measured || lineage_label_is_measured(rows[i].status);
    if (o->score && measured)
        (void)!lineage_store_name_score(store, o->score, &err);
    if (lineage_noise_after_append(store, rows, n, &err) != LINEAGE_OK)
        cli_fail(&err); /* the rows are in the log */
    else if (lineage_floor_moved(lineage_store_config(store), &before))
        cli_say(lineage_floor_text(text, lineage_store_config(store), before.std));
}

/* Prints the ids after all rows are in the file, so that a script which reads the first id can rely on the other
 * rows. */
static int append_rows(struct append_options *o, struct lineage_store *store)
{
    struct append_rows *rows = &o->rows;
    struct lineage_trial *written = calloc(rows->n, sizeof *written);
    struct lineage_error err;
    int status = CLI_OK;
    if (!written)
        return cli_no_memory();
    if (lineage_store_append_many(store, rows->trials, rows->n, rows->auto_status, &o->request.options, written, &err) !=
        LINEAGE_OK)
        status = cli_fail(&err);
    else
        learn(o, store, written, rows->n);
    for (size_t i = 0; i < rows->n; i++) {
        if (status == CLI_OK)
            status = print_row(o, rows->auto_status[i], &written[i]);
        lineage_trial_release(&written[i]);
    }
    free(written);
    return status;
}

/* The user has named the directory, so it is copied as a whole; a snapshot stays, and travels with the store. */
static void warn_of_secrets(char *dir, const struct lineage_store *store)
{
    char *const paths[] = {dir, NULL};
    char names[400] = "";
    size_t used = 0, n = 0, root = strlen(dir);
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, NULL);
    for (FTSENT *entry; tree && (entry = fts_read(tree));) {
        const char *path = entry->fts_path + root + strspn(entry->fts_path + root, "/");
        if (entry->fts_info != FTS_F || !secret_file(path, lineage_store_secret_files(store)))
            continue;
        if (n++ < 8 && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", used ? ", " : "", path);
    }
    if (tree)
        fts_close(tree);
    if (n)
        cli_error(CLI_NO, "warning: a snapshot keeps these files of %s, which look secret: %s%s", dir, names,
                  n > 8 ? ", .." : "");
}

/* Compares the name of the score with the store's, and takes scores from metrics of this name. */
static bool take_scores(struct append_options *o, struct lineage_store *store)
{
    struct lineage_error err;
    bool good = !o->score || !lineage_store_score_name(store) || lineage_store_name_score(store, o->score, &err) == LINEAGE_OK;
    for (size_t i = 0; good && i < o->rows.n; i++)
        good = cli_take_score(&o->rows.trials[i], o->rows.auto_status[i], store, &err);
    if (good && !o->rows.n)
        good = cli_take_score(&o->request.trial, o->request.options.auto_status, store, &err);
    return good || (cli_fail(&err), false);
}

static int append_one(struct append_options *o, struct lineage_store *store)
{
    struct lineage_error err;
    struct lineage_trial row = {0}, parent = {0}, trial = o->request.trial;
    if (trial.parent_exp && strcmp(trial.parent_exp, "best") == 0) {
        const enum lineage_status found = lineage_find_named(store, "best", true, &parent, &err);
        if (found != LINEAGE_OK && (found != LINEAGE_ENOTFOUND || !o->request.options.allow_missing_parent))
            return cli_fail(&err);
        if (found == LINEAGE_OK)
            trial.parent_exp = parent.exp_id;
    }
    const enum lineage_status appended = lineage_store_append(store, &trial, &o->request.options, &row, &err);
    lineage_trial_release(&parent);
    if (appended != LINEAGE_OK)
        return cli_fail(&err);
    learn(o, store, &row, 1);
    int status = print_row(o, o->request.options.auto_status, &row);
    lineage_trial_release(&row);
    return status;
}

static int work(struct cli_session *session, void *context)
{
    struct append_options *o = context;
    const struct lineage_trial *trial = &o->request.trial;
    const char *const *harmless = lineage_store_harmless_names(session->store);
    for (size_t i = 0; i < o->rows.n; i++)
        if (!secret_params_absent(o->rows.trials[i].params, o->rows.trials[i].n_params, harmless))
            return CLI_USAGE;
    cli_deliver_waiting(session->store);
    if (!take_scores(o, session->store) ||
        !trial_ref_pass(session->store, o->rows.n ? o->rows.trials : trial, o->rows.n ? o->rows.n : 1))
        return CLI_USAGE;
    if (o->rows.n)
        return append_rows(o, session->store);
    if (!secret_params_absent(trial->params, trial->n_params, harmless))
        return CLI_USAGE;
    if (o->snapshot)
        warn_of_secrets(o->snapshot, session->store);
    if (o->check_tried && !o->again) {
        int repeated = cli_check_tried(session->store, trial->hypothesis, trial->params, trial->n_params);
        if (repeated != CLI_GO_ON)
            return repeated == CLI_NO ? cli_error(CLI_NO, "nothing is appended; give the reason to repeat it: --again REASON")
                                      : repeated;
    }
    return append_one(o, session->store);
}

/* A number is the score (`--metric 34.96`); any other text names the score column (`--metric val_bpb`). */
static bool take_metric(struct append_options *o)
{
    double value;
    if (!o->metric)
        return true;
    if (lineage_number_parse(&value, o->metric, strlen(o->metric)))
        return append_set_column(&o->request, "core_metric", o->metric);
    o->session.where.metric = strdup(o->metric);
    return true;
}

/* Without a direction, the append itself makes the store, which then has no settings yet. */
static int make_store(struct cli_session *session)
{
    struct lineage_config config = {0};
    const char *dir = session->where.dir ? session->where.dir : ".";
    session->before_store = true;
    if (cli_is_store(dir))
        return CLI_GO_ON;
    if (!session->where.direction) {
        (void)work_tree_exclude_store(dir);
        return CLI_GO_ON;
    }
    if (!cli_direction_parse(&config.direction, session->where.direction))
        return CLI_USAGE;
    int status = cli_store_create(dir, &config);
    return status == CLI_OK ? CLI_GO_ON : status;
}

/* Reports every error of the command line before the store is opened. */
static int before_open(struct cli_session *session, void *context)
{
    struct append_options *o = context;
    if (!take_metric(o) || !fill_request(o) || !fill_rows(o))
        return CLI_USAGE;
    return o->create ? make_store(session) : CLI_GO_ON;
}

/* One table defines each column's option and help text, so a column cannot lack an option. */
static size_t add_columns(struct append_options *o, struct poptOption *options)
{
    memcpy(o->columns, column_options, sizeof column_options);
    for (size_t i = 0; i < N_COLUMN_OPTIONS; i++)
        options[i] =
            (struct poptOption){o->columns[i].option,  0, POPT_ARG_STRING | (o->columns[i].help ? 0 : POPT_ARGFLAG_DOC_HIDDEN),
                                &o->columns[i].text,   0, o->columns[i].help,
                                o->columns[i].argument};
    return N_COLUMN_OPTIONS;
}

static int run_append(struct append_options *o, const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session *session = &o->session;
    session->appends = session->may_create = true;
    const struct poptOption others[] = {
        CLI_OPTION("metric", &o->metric, "NUMBER|COLUMN", "the score, or the name of the score column"),
        CLI_OPTION("score", &o->score, "NAME", "name of the score, refused if the store's score has another"),
        CLI_OPTION("alpha", &o->alpha, "NUMBER", "parameter alpha"),
        CLI_OPTION("beta", &o->beta, "NUMBER", "parameter beta"),
        CLI_OPTION("gamma", &o->gamma, "NUMBER", "parameter gamma"),
        {"param", 'p', POPT_ARG_ARGV, &o->params, 0, "any parameter; may be repeated", "NAME=NUMBER|TEXT"},
        CLI_REPEATED("measured", &o->metrics, "NAME=NUMBER", "a metric beside the score; may be repeated"),
        CLI_OPTION("json", &o->json, "FILE|-",
                   "take the trial, or several, from JSON objects or one list of them; options override them"),
        CLI_OPTION("telemetry", &o->telemetry, "FILE|-", "metrics of each step, as JSON, to keep beside the row"),
        CLI_OPTION("snapshot", &o->snapshot, "DIR", "copy this work directory into the store if the trial is kept"),
        CLI_OPTION("min-delta", &o->min_delta, "NUMBER", "auto: smallest improvement to keep (default: the store's)"),
        CLI_OPTION("noise-std", &o->noise_std, "NUMBER",
                   "auto: standard deviation of the score between seeds (default: the store's)"),
        CLI_OPTION("noise-seeds", &o->noise_seeds, "N", "auto: number of seeds averaged in a score (default: the store's)"),
        CLI_REPEATED("require", &o->require, "NAME<=NUMBER",
                     "auto: disqualify the trial unless this metric or column is at most (<=, <) or at least (>=, >) NUMBER; may "
                     "be repeated"),
        CLI_FLAG("check-tried", &o->check_tried,
                 "refuse a trial that repeats an earlier one, or a claim of novelty that the log contradicts (exit status 1)"),
        CLI_OPTION("again", &o->again, "REASON", "why the trial repeats an earlier one; kept in notes"),
        CLI_FLAG("no-sync", &o->no_sync, "return before the row is on disk; a power failure may lose it"),
        CLI_FLAG("allow-missing-parent", &o->allow_missing_parent, "accept a parent that is not in the store"),
        CLI_FLAG("create", &o->create, "make the store if there is none"),
        CLI_DIR_OPTION(&session->where.dir),
        CLI_OPTION("direction", &session->where.direction, "lower|higher",
                   "which score is better (default: the store's setting)"),
        CLI_OPTION("format", &session->format_text, "table|tsv|csv|json", "print the whole row instead of its id"),
        CLI_INPUT_OPTION,
        POPT_TABLEEND};
    struct poptOption options[N_COLUMN_OPTIONS + sizeof others / sizeof *others];
    memcpy(options + add_columns(o, options), others, sizeof others);
    session->before_open = before_open;
    return cli_on_store(session, command, options, 0, 0, argc, argv, work, o);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    static struct append_options chosen, *const o = &chosen;
    lineage_append_options_init(&o->request.options);
    int status = run_append(o, command, argc, argv);
    append_request_release(&o->request);
    append_rows_release(&o->rows);
    free(o->session.where.metric); /* set by before_open */
    free(o->again_notes);
    return status;
}

const struct cli_command cmd_append = {
    .name = "append",
    .arguments = "",
    .description = "Appends one row to results.tsv under its lock and prints the exp_id. Missing values are\n"
                   "filled in: the next id, the time, the best trial so far and the difference to its score.\n"
                   "--status auto keeps the trial if its score is better than the best by more than\n"
                   "max(--min-delta, q * --noise-std * sqrt(2 / --noise-seeds)), with Student's t quantile q\n"
                   "for the trials of a night (`lineage help rules`); otherwise it discards the trial and\n"
                   "says why in notes. The statuses auto and keep need a score: --core-metric, or --measured\n"
                   "with the name of the store's score. Parameters and statistics are written into notes. If anything is wrong, "
                   "nothing is written. If the\n"
                   "log's server cannot be reached, the trial waits in the outbox, outbox-NUMBER is printed\n"
                   "and the exit status is 0 (see `lineage sync`).\n\n"
                   "A LABEL is keep, discard, baseline (kept without a comparison), crash, preflight_crash\n"
                   "(before training began), train_budget_overrun, eval_budget_overrun, size_blocked,\n"
                   "disqualified, harness_abort (the trial taught nothing), or auto.\n\n"
                   "--json takes an object (schema/trial.schema.json) whose keys are the columns: exp_id,\n"
                   "timestamp, specialist, parent_exp, baseline_exp, domain, hypothesis, expected_delta,\n"
                   "status, core_metric, val_bpb, delta_vs_best, train_s, total_s, job_name, snapshot_path,\n"
                   "notes; and params {NAME: NUMBER or TEXT}, metrics {NAME: NUMBER}, telemetry {..},\n"
                   "turns [{turn, mean, std, n}],\n"
                   "ig_clip_scale_mean, ig_clip_scale_std. Unknown keys are refused.\n"
                   "Several objects, for example one per line, are appended together: all of them or none.\n"
                   "The parent of one may be an earlier one. The ids are printed in the same order.",
    .examples = "  lineage append --specialist opt --parent 003 --hypothesis 'wider clip' \\\n"
                "      --status auto --core-metric 34.51 --alpha 0.3 --gamma 1.0\n"
                "  lineage append --json trial.json --snapshot workdir\n  train | lineage append --json - --format json",
    .run = run,
};
