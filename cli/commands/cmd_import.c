/* cmd_import.c: `lineage import`: appends the rows of another tool's results.tsv, or the runs that another tool has recorded. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/move.h>
#include <lineage/notes.h>
#include <lineage/query.h>
#include <lineage/render.h>

#include "cli.h"
#include "histories/history_rows.h"
#include "output/finding.h"

struct import_options {
    char *metric; /* of the imported file, not of the store */
    char *from, *study, *take, *specialist, **map;
    int exact;
};

static int import_exact(struct lineage_store *store, const char *path)
{
    struct lineage_error err;
    uint64_t n;
    if (lineage_import_exact(store, path, &n, &err) != LINEAGE_OK)
        return cli_fail(&err);
    printf("%" PRIu64 " bytes imported\n", n);
    return CLI_OK;
}

/* ---- the runs of another tool ---- */

/* Returns an object whose names are the job_names of the store's rows; NULL after printing an error. */
static json_t *known_jobs(struct lineage_store *store)
{
    struct lineage_cursor *cursor = NULL;
    struct lineage_trial row = {0};
    struct lineage_error err;
    uint64_t rows;
    json_t *known = json_object();
    enum lineage_status status = lineage_new_trials(&cursor, store, 0, &rows, &err);
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &row, &err)) == LINEAGE_OK) {
        if (row.job_name && *row.job_name)
            json_object_set_new(known, row.job_name, json_true());
        lineage_trial_release(&row);
    }
    lineage_cursor_close(cursor);
    if (status == LINEAGE_ENOTFOUND)
        return known;
    cli_fail(&err);
    json_decref(known);
    return NULL;
}

/* The curves are written behind the rows, because they are named after the rows' ids, and before the mirror reads the rows. A
 * curve that cannot be written does not undo the import. */
static void write_curves(struct lineage_store *store, const struct history_rows *rows, const struct lineage_trial *written)
{
    struct lineage_error err;
    char *dir = NULL;
    bool told = false;
    if (lineage_store_path(&dir, store, LINEAGE_PLACE_TELEMETRY, &err) != LINEAGE_OK)
        return;
    for (size_t i = 0; i < rows->n; i++) {
        char *text = history_telemetry(rows->runs[i]), path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/%s.json", dir, written[i].exp_id);
        if (text && (mkdir(dir, 0777) == 0 || errno == EEXIST) && n > 0 && n < PATH_MAX) {
            FILE *out = fopen(path, "wxe");
            bool good = out && fputs(text, out) >= 0;
            good = out && fclose(out) == 0 && good;
            if (!good && !told)
                told = (cli_error(CLI_NO, "warning: cannot write the curves to %s: %s", path, strerror(errno)), true);
        }
        free(text);
    }
    lineage_free(dir);
}

static void print_names(const char *what, const struct history_rows *rows, bool metrics)
{
    json_t *names = json_object(), *one;
    const char *name;
    const char *comma = "";
    for (size_t i = 0; i < rows->n; i++) {
        const struct lineage_trial *trial = &rows->trials[i];
        const struct lineage_param *list = metrics ? trial->metrics : trial->params;
        for (size_t k = 0; k < (metrics ? trial->n_metrics : trial->n_params); k++)
            json_object_set_new(names, list[k].name, json_true());
    }
    if (json_object_size(names))
        printf("%s: ", what);
    json_object_foreach(names, name, one) {
        printf("%s%s", comma, name);
        comma = ", ";
    }
    fputs(json_object_size(names) ? "\n" : "", stdout);
    json_decref(names);
}

static void print_imported(const struct history_rows *rows, const struct lineage_trial *written)
{
    size_t labels[LINEAGE_N_LABELS] = {0};
    const char *name, *comma = ": ";
    json_t *value;
    for (size_t i = 0; i < rows->n; i++)
        labels[written[i].status]++;
    printf("%zu runs imported", rows->n);
    for (int label = 0; label < LINEAGE_N_LABELS; label++)
        if (labels[label]) {
            printf("%s%zu %s", comma, labels[label], lineage_label_name((enum lineage_label)label));
            comma = ", ";
        }
    printf("\nscore: %s\n", rows->score);
    print_names("parameters", rows, false);
    print_names("metrics", rows, true);
    if (rows->n_known)
        printf("%zu runs were here already\n", rows->n_known);
    if (rows->n_running)
        printf("%zu runs have not ended and are left out; import again later\n", rows->n_running);
    if (rows->n_not_finite)
        printf("%zu values are left out, because they are nan or infinite\n", rows->n_not_finite);
    if (rows->n_cut)
        printf("%zu texts of parameters are cut to %d bytes\n", rows->n_cut, LINEAGE_PARAM_TEXT_MAX);
    json_object_foreach(rows->left_out, name, value)
        printf("parameter %s is left out, because it looks like a secret\n", name);
}

static int append_rows(struct lineage_store *store, struct history_rows *rows)
{
    struct lineage_append_options options;
    struct lineage_trial *written = calloc(rows->n + 1, sizeof *written);
    struct lineage_error err;
    int status = CLI_OK;
    lineage_append_options_init(&options);
    options.no_mirror_sync = true;
    if (!written)
        return cli_no_memory();
    if (lineage_store_append_many(store, rows->trials, rows->n, rows->by_score, &options, written, &err) != LINEAGE_OK)
        status = cli_fail(&err);
    else
        write_curves(store, rows, written);
    if (status == CLI_OK)
        print_imported(rows, written);
    for (size_t i = 0; i < rows->n; i++)
        lineage_trial_release(&written[i]);
    free(written);
    return status;
}

/* The tool may have recorded which score is better; keep and discard would be decided the wrong way round. */
static bool has_direction(const json_t *history, const struct lineage_store *store)
{
    const char *direction = json_string_value(json_object_get(history, "direction"));
    const bool higher = lineage_store_config(store)->direction == LINEAGE_HIGHER;
    if (!direction || higher == (strcmp(direction, "maximize") == 0))
        return true;
    cli_error(CLI_USAGE, "the study is to %s its value, but in this store a %s score is better", direction, higher ? "higher" : "lower");
    return false;
}

static int import_history(struct cli_session *session, const struct import_options *o, const char *path)
{
    const struct history_options options = {o->from, o->study, (const char *const *)o->map};
    struct history_rows rows = {.n = 0};
    char why[HISTORY_WHY_MAX] = "out of memory";
    int status = CLI_GO_ON;
    if (o->take && strcmp(o->take, "last") != 0 && strcmp(o->take, "min") != 0 && strcmp(o->take, "max") != 0)
        return cli_error(CLI_USAGE, "--take '%.40s': use last, min or max", o->take);
    struct lineage_error err;
    json_t *history = history_read(path, &options, why), *known = NULL;
    if (!history)
        return cli_error(CLI_USAGE, "%s", why);
    if (!has_direction(history, session->store))
        status = CLI_USAGE;
    else if (!(known = known_jobs(session->store)))
        status = CLI_SYSTEM;
    const struct history_mapping mapping = {o->metric, o->take, o->specialist, lineage_store_harmless_names(session->store), known};
    if (status == CLI_GO_ON && !history_rows_make(&rows, history, &mapping, why))
        status = cli_error(CLI_USAGE, "%s", why);
    /* A tool that names its score only `value` says nothing about what it is. */
    const bool named = status == CLI_GO_ON && (o->metric || !json_object_get(history, "score"));
    if (named && rows.n > rows.n_without_score && lineage_store_name_score(session->store, rows.score, &err) != LINEAGE_OK)
        status = cli_fail(&err);
    if (status == CLI_GO_ON)
        status = append_rows(session->store, &rows);
    history_rows_release(&rows);
    json_decref(known);
    json_decref(history);
    return status;
}

/* ---- the command ---- */

static bool is_history(const struct import_options *o, const char *path)
{
    return o->from || o->map || history_tool_of(path);
}

static int check_from(const struct import_options *o)
{
    const char *tool;
    for (size_t i = 0; o->from && (tool = history_tool_at(i)); i++)
        if (strcmp(o->from, tool) == 0)
            return CLI_GO_ON;
    return o->from ? cli_error(CLI_USAGE, "--from '%.40s': use wandb, mlflow, optuna, tensorboard, trackio or csv", o->from) : CLI_GO_ON;
}

/* Before the store is made: a file that cannot be read must not leave an empty store. */
static int before_open(struct cli_session *session, void *context)
{
    const struct import_options *o = context;
    const char *path = session->args.positional[0], *dir = session->where.dir ? session->where.dir : ".";
    if (o->exact && o->metric)
        return cli_error(CLI_USAGE, "--exact copies the file without reading it and cannot be used with "
                                    "--metric");
    if (check_from(o) != CLI_GO_ON)
        return CLI_USAGE;
    const bool history = !o->exact && is_history(o, path);
    if (!history && (o->study || o->take || o->specialist))
        return cli_error(CLI_USAGE, "--study, --take and --specialist are for histories of other tools; %s is none that is known", path);
    if (history && !cli_is_store(dir))
        return cli_error(CLI_USAGE, "%s is not a store; say first which score is better: lineage init %s --direction lower|higher", dir, dir);
    return CLI_GO_ON;
}

static int work(struct cli_session *session, void *context)
{
    struct import_options *o = context;
    struct lineage_import_stats stats;
    struct lineage_error err;
    if (o->exact)
        return import_exact(session->store, session->args.positional[0]);
    cli_deliver_waiting(session->store);
    if (is_history(o, session->args.positional[0]))
        return import_history(session, o, session->args.positional[0]);
    /* The callback's context is not const, but the path is only read. */
    char *path = (char *)(uintptr_t)session->args.positional[0];
    if (lineage_import(session->store, path, o->metric, &stats, finding_print_import, path, &err) != LINEAGE_OK)
        return cli_fail(&err);
    printf("%zu rows imported, %zu left out\n", stats.n_rows, stats.n_left_out);
    return CLI_OK;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {.before_store = true, .before_open = before_open};
    struct import_options o = {0};
    struct poptOption options[] = {
        {"directory", 'C', POPT_ARG_STRING, &session.where.dir, 0,
         "the store (default: the current directory or a parent)", "DIR"},
        {"metric", 0, POPT_ARG_STRING, &o.metric, 0,
         "score column of FILE (default: core_metric or val_bpb), or the metric that is the score of runs", "NAME"},
        {"from", 0, POPT_ARG_STRING, &o.from, 0, "tool that wrote FILE (default: found out)",
         "wandb|mlflow|optuna|tensorboard|trackio|csv"},
        {"study", 0, POPT_ARG_STRING, &o.study, 0, "the study, experiment or project, if FILE has several", "NAME"},
        {"take", 0, POPT_ARG_STRING, &o.take, 0, "which value of a curve is the score (default: last)", "last|min|max"},
        {"map", 0, POPT_ARG_ARGV, &o.map, 0,
         "what a column of a table is: key, name, notes, state, started, ended, seconds, param, metric or skip; may be repeated",
         "COLUMN=ROLE"},
        {"specialist", 0, POPT_ARG_STRING, &o.specialist, 0, "specialist of the rows (default: the tool)", "NAME"},
        {"exact", 0, POPT_ARG_NONE, &o.exact, 0, "copy every byte, into a store that has no other rows", NULL},
        POPT_TABLEEND};
    return cli_on_store(&session, command, options, 1, 1, argc, argv, work, &o);
}

const struct cli_command cmd_import = {
    .name = "import",
    .arguments = "FILE",
    .description = "Appends every valid row of a fieldkit, blackboard or karpathy/autoresearch results.tsv\n"
                   "as a canonical row, in file order. Its score becomes core_metric, and delta_vs_best is\n"
                   "computed if the source lacks it. Other columns of FILE become extra columns of a new\n"
                   "store, which `query --param NAME=RANGE` and --sort find; a store with rows keeps its\n"
                   "header and takes their numbers as metrics. Rows and columns that are left out are\n"
                   "reported with their line number. Either all rows are written or none. With --exact the\n"
                   "store gets FILE byte for byte, damaged rows included, and has the same digests. If the\n"
                   "store already holds the beginning of FILE, only the rest is copied.\n"
                   "\n"
                   "FILE may also be what another tool has recorded: JSON of Weights & Biases, a directory\n"
                   "mlruns or the SQLite file of MLflow, the SQLite file of Optuna or trackio, a directory\n"
                   "with event files of TensorBoard, or a table (.csv). Its runs become rows in the order in\n"
                   "which they started, and the store's rules decide what is kept. Failed runs are crashes,\n"
                   "killed ones harness_abort, pruned ones discards without a score; a run that has not ended\n"
                   "is left out. Curves become telemetry, at most 2,000 steps each. Settings that look like\n"
                   "secrets are left out. A second import adds the runs that are not there yet.",
    .examples = "  lineage -C new import old/results.tsv\n"
                "  lineage export | lineage -C ../copy import --exact /dev/stdin\n"
                "  lineage -C cifar import blackboard/results.tsv --metric train_s\n"
                "  lineage -C cifar import optuna.db\n"
                "  lineage -C cifar import mlruns --study cifar --metric val/loss --take min\n"
                "  lineage -C cifar import wandb.csv --metric val_acc --map val_acc=metric",
    .run = run,
};
