/* cmd_import.c: `lineage import`: appends the rows of another tool's results.tsv, or the runs that another tool has recorded. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/code.h>
#include <lineage/evidence.h>
#include <lineage/move.h>
#include <lineage/notes.h>
#include <lineage/render.h>
#include <lineage/voids.h>

#include "git/git.h"
#include "histories/history_rows.h"
#include "output/show.h"
#include "trial/one_trial.h"

struct import_options {
    char *metric; /* of the imported file, not of the store */
    char *from, *study, *take, *specialist, **map;
    int exact, dry_run, replace;
    bool checks;                      /* whether the history can be imported, before the store is made */
    enum lineage_direction direction; /* that was given */
    char *made; /* the directory that this command made for the rows of a log; NULL: none */
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

/* ---- the rows that are there ---- */

static bool note_void(void *context, const struct lineage_void *entry)
{
    json_t *row = json_pack("{s:s, s:s}", "id", entry->exp_id, "status", lineage_label_name(entry->label));
    if (row && entry->score.present)
        json_object_set_new(row, "score", cli_json_number(entry->score.value));
    json_object_set_new(context, entry->exp_id, row);
    return true;
}

/* A void trial reads as harness_abort, so what its own row says comes from the voids. The last row of a job counts. */
static void know_row(json_t *known, const json_t *voids, const struct lineage_trial *row)
{
    const char *take = strstr(row->notes ? row->notes : "", HISTORY_TAKE_NOTE);
    json_t *entry = json_incref(json_object_get(voids, row->exp_id));
    if (entry)
        json_object_set_new(entry, "void", json_true());
    else if ((entry = json_pack("{s:s, s:s, s:o}", "id", row->exp_id, "status", lineage_label_name(row->status), "metrics",
                                cli_json_params(row->metrics, row->n_metrics))) &&
             row->score.present)
        json_object_set_new(entry, "score", cli_json_number(row->score.value));
    if (take)
        json_object_set_new(entry, "take", json_stringn(take + strlen(HISTORY_TAKE_NOTE), 3));
    json_object_set_new(known, row->job_name && *row->job_name ? row->job_name : row->exp_id, entry);
}

/* Returns the rows of the store by job_name, for struct history_mapping; NULL after printing an error. */
static json_t *known_jobs(struct lineage_store *store)
{
    struct lineage_cursor *cursor = NULL;
    struct lineage_trial row = {0};
    struct lineage_error err;
    uint64_t n;
    json_t *known = json_object(), *voids = json_object();
    enum lineage_status status = lineage_voids_read(store, NULL, note_void, voids, &err);
    if (status == LINEAGE_OK)
        status = lineage_new_trials(&cursor, store, 0, &n, &err);
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &row, &err)) == LINEAGE_OK) {
        if (!lineage_is_void_row(&row, NULL))
            know_row(known, voids, &row);
        lineage_trial_release(&row);
    }
    lineage_cursor_close(cursor);
    json_decref(voids);
    if (status == LINEAGE_ENOTFOUND)
        return known;
    cli_fail(&err);
    json_decref(known);
    return NULL;
}

/* ---- the first lines ---- */

enum { NAMES_MAX = 60 };

/* Prints the names, and behind each its count if they have counts. */
static void print_names_to(FILE *out, const char *what, const json_t *names)
{
    const char *name, *comma = "";
    json_t *value;
    size_t n = 0;
    if (!json_object_size(names))
        return;
    fprintf(out, "%s: ", what);
    json_object_foreach((json_t *)(uintptr_t)names, name, value) {
        if (n++ == NAMES_MAX)
            break;
        fprintf(out, "%s%s", comma, name);
        if (json_is_integer(value))
            fprintf(out, " %" JSON_INTEGER_FORMAT, json_integer_value(value));
        comma = ", ";
    }
    fprintf(out, n > NAMES_MAX ? ", and %zu more\n" : "\n", json_object_size(names) - NAMES_MAX);
}

static void print_names(const char *what, const json_t *names)
{
    print_names_to(stdout, what, names);
}

static json_t *parameters_of(const struct history_rows *rows)
{
    json_t *names = json_object();
    for (size_t i = 0; i < rows->n; i++)
        for (size_t k = 0; k < rows->trials[i].n_params; k++)
            json_object_set_new(names, rows->trials[i].params[k].name, json_true());
    return names;
}

/* How many different texts or numbers of the parameter the rows have. n_rows: how many rows have one. */
static size_t count_values(size_t *n_rows, const struct history_rows *rows, const char *name, bool text)
{
    json_t *values = json_object();
    char number[LINEAGE_NUMBER_MAX];
    *n_rows = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct lineage_param *param = lineage_trial_find_param(&rows->trials[i], name);
        if (!param || (param->text != NULL) != text)
            continue;
        json_object_set_new(values, text ? param->text : lineage_number_format(number, param->value), json_true());
        ++*n_rows;
    }
    const size_t n = json_object_size(values);
    json_decref(values);
    return n;
}

/* What the row says with its seeds, or with its other parameters but those; NULL: nothing. */
static char *said_by(const struct lineage_trial *row, const json_t *without, bool seeds)
{
    json_t *said = json_object();
    for (size_t k = 0; k < row->n_params; k++) {
        const struct lineage_param *param = &row->params[k];
        if (lineage_param_is_seed(param->name, NULL) == seeds && !json_object_get(without, param->name))
            json_object_set_new(said, param->name, param->text ? cli_json_text(param->text) : json_real(param->value));
    }
    char *text = json_object_size(said) ? json_dumps(said, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(said);
    return text;
}

/*
 * Whether the rows are, but for these parameters, settings with several seeds: each seed once a setting, and of several settings. A search
 * that draws the numbers repeats seeds, or has one for all trials or for each.
 */
static bool has_seeds_without(const struct history_rows *rows, const json_t *without)
{
    json_t *settings = json_object(), *seeds = json_object(), *both = json_object();
    bool good = true;
    for (size_t i = 0; i < rows->n && good; i++) {
        char *setting = said_by(&rows->trials[i], without, false), *seed = said_by(&rows->trials[i], NULL, true);
        json_t *pair = setting && seed ? json_pack("[ss]", setting, seed) : NULL;
        char *key = pair ? json_dumps(pair, JSON_COMPACT) : NULL;
        good = key && json_object_set_new(settings, setting, json_true()) == 0 &&
               json_object_set_new(seeds, seed, json_true()) == 0 && !json_object_get(both, key) &&
               json_object_set_new(both, key, json_true()) == 0;
        json_decref(pair);
        free(key);
        free(setting);
        free(seed);
    }
    good = good && json_object_size(settings) < rows->n && json_object_size(seeds) < rows->n;
    json_decref(settings);
    json_decref(seeds);
    json_decref(both);
    return good;
}

enum { RUNS_MIN = 3 }; /* two runs may well differ in everything */

/* Numbers are named only where they split seeds, because each trial of a search has numbers of its own. */
static void print_values_of_one_run(const struct history_rows *rows, const json_t *parameters)
{
    json_t *texts = json_object(), *numbers = json_object(), *value;
    const char *name;
    json_object_foreach((json_t *)(uintptr_t)parameters, name, value) {
        size_t n_rows;
        if (count_values(&n_rows, rows, name, true) == rows->n)
            json_object_set_new(texts, name, json_true());
        else if (!lineage_param_is_seed(name, NULL) && 2 * count_values(&n_rows, rows, name, false) > n_rows &&
                 2 * n_rows > rows->n)
            json_object_set_new(numbers, name, json_true());
    }
    print_names(
        "of these, each run has another text, as of a name or a time (in a table, --map COLUMN=name, started or skip says so)",
        texts);
    if (json_object_size(numbers) && has_seeds_without(rows, numbers))
        print_names(
            "of these, most runs have a number of their own, so that each seed is a setting of its own; if they are results, "
            "in a table, --map COLUMN=metric says so",
            numbers);
    json_decref(texts);
    json_decref(numbers);
}

static const char *direction_of(const json_t *history, const struct history_rows *rows)
{
    return rows->metric ? json_string_value(json_object_get(json_object_get(history, "directions"), rows->metric)) : NULL;
}

static void print_score(const json_t *history, const struct history_rows *rows, struct lineage_store *store)
{
    const char *direction = direction_of(history, rows), *tool = cli_json_string(history, "tool");
    const bool higher =
        store ? lineage_store_config(store)->direction == LINEAGE_HIGHER : direction && strcmp(direction, "maximize") == 0;
    if (!rows->metric)
        return;
    printf("score: %s", rows->score);
    if (strcmp(rows->take, "last") != 0)
        printf(", the %s of its curve", rows->take);
    if (store || direction)
        printf(", a %s one is better, says %s%s%s", higher ? "higher" : "lower", store ? "the store" : "",
               direction && store ? " as does " : "", direction ? tool : "");
    printf("\n");
}

static void print_left_out(const json_t *history, const struct history_rows *rows)
{
    const char *name;
    json_t *value;
    char names[HISTORY_NAMES_MAX];
    if (rows->metric && rows->n_finished > rows->n_scored)
        printf("%zu finished runs have no %s; their metrics: %s\n", rows->n_finished - rows->n_scored, rows->metric,
               history_names(names, rows->instead));
    if (rows->n_running)
        printf("%zu runs have not ended and are left out; import again later\n", rows->n_running);
    if (rows->n_groups)
        printf("%zu runs are left out, because they only group other runs\n", rows->n_groups);
    print_names("columns left out, unless --map COLUMN=param or metric takes them", json_object_get(history, "columns_left_out"));
    print_names_to(stderr, "lineage: settings left out, because they are lists, objects or texts that a line does not hold",
                   json_object_get(history, "settings_left_out"));
    json_object_foreach(json_object_get(history, "left_out"), name, value)
        printf("%" JSON_INTEGER_FORMAT " %s are left out\n", json_integer_value(value), name);
    if (rows->n_not_finite)
        printf("%zu values are left out, because they are nan or infinite, or their step is out of range\n", rows->n_not_finite);
    if (rows->n_cut)
        printf("%zu texts of parameters are cut to %d bytes, with a digest at the end\n", rows->n_cut, LINEAGE_PARAM_TEXT_MAX);
    json_object_foreach(rows->left_out, name, value)
        printf("parameter %s is left out, because it looks like a secret\n", name);
    if (rows->n_known)
        printf("%zu runs were here already\n", rows->n_known);
    if (rows->n_void)
        printf("%zu runs are here and void, and stay so; --replace imports them again\n", rows->n_void);
}

static void describe(const json_t *history, const struct history_rows *rows, struct lineage_store *store)
{
    const char *version = cli_json_string(history, "version"), *study = cli_json_string(history, "study");
    char text[64];
    json_t *parameters = parameters_of(rows);
    printf("%s%s%s%s%s, %zu runs", cli_json_string(history, "tool"), version ? " " : "", version ? version : "",
           study ? ", " : "", study ? study : "", json_array_size(json_object_get(history, "runs")));
    if (!json_object_size(rows->states))
        printf("\n");
    print_names("", rows->states);
    if (json_object_get(history, "ends_unknown") && json_object_size(rows->states) == 1 && rows->n_finished)
        printf("%s does not record how a run ended: one that died or goes on counts as finished\n",
               cli_json_string(history, "tool"));
    snprintf(text, sizeof text, "metrics of %zu finished runs", rows->n_finished);
    print_names(text, rows->metrics);
    print_score(history, rows, store);
    print_names("parameters", parameters);
    if (rows->n >= RUNS_MIN)
        print_values_of_one_run(rows, parameters);
    if (cli_json_string(history, "caution"))
        printf("%s\n", cli_json_string(history, "caution"));
    print_left_out(history, rows);
    json_decref(parameters);
}

/* ---- writing ---- */

/* Keeps the files of a run, and puts the piece that names them in front of the row's notes. */
static enum lineage_status keep_code(struct lineage_store *store, struct history_rows *rows, size_t i, struct lineage_error *err)
{
    json_t *code = json_object_get(rows->runs[i], "code"), *text;
    const char *name, *notes = rows->trials[i].notes;
    char dir[PATH_MAX], path[PATH_MAX + 256], note[LINEAGE_CODE_NOTE_MAX], *joined = NULL;
    if (!json_object_size(code))
        return LINEAGE_OK;
    bool good = cli_temporary_dir(dir, sizeof dir, "lineage");
    const bool made = good;
    json_object_foreach(code, name, text) {
        snprintf(path, sizeof path, "%s/%s", dir, name);
        FILE *out = good && !strchr(name, '/') ? fopen(path, "wxe") : NULL;
        good = out && fwrite(json_string_value(text), 1, json_string_length(text), out) == json_string_length(text);
        good = out && fclose(out) == 0 && good;
    }
    const struct lineage_code_source source = {.dir = dir};
    enum lineage_status status = good ? lineage_code_keep(note, store, &source, err) : LINEAGE_EIO;
    if (!good)
        *err = (struct lineage_error){.status = LINEAGE_EIO, .text = "cannot write the code of a run to a temporary directory"};
    if (status == LINEAGE_OK && asprintf(&joined, "%s%s%s", note, notes && *notes ? "; " : "", notes ? notes : "") > 0)
        rows->trials[i].notes = history_own_text(rows, joined);
    free(joined);
    if (made)
        workdir_remove_tree(AT_FDCWD, dir);
    return status;
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
        char *text = history_telemetry(rows, i), path[PATH_MAX];
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

/* Before the new rows, which are judged without the old ones. */
static enum lineage_status void_replaced(struct lineage_store *store, const struct history_rows *rows,
                                         const struct lineage_append_options *options, struct lineage_error *err)
{
    struct lineage_trial *voids = calloc(rows->n + 1, sizeof *voids);
    size_t n = 0;
    for (size_t i = 0; voids && i < rows->n; i++)
        if (rows->replaces[i])
            voids[n++] =
                (struct lineage_trial){.specialist = rows->trials[i].specialist,
                                       .parent_exp = rows->replaces[i],
                                       .hypothesis = "imported again: the run ended differently, or another score was chosen",
                                       .status = LINEAGE_HARNESS_ABORT,
                                       .job_name = LINEAGE_VOID_JOB};
    enum lineage_status status = voids ? lineage_store_append_many(store, voids, n, NULL, options, NULL, err) : LINEAGE_ENOMEM;
    if (!voids)
        *err = (struct lineage_error){.status = LINEAGE_ENOMEM, .text = "out of memory"};
    free(voids);
    return status;
}

/* Returns how many rows from `from` on can be written at once: up to the first one whose parent is among them. Rows of a parent
 * that was written, now or by an earlier import, get its id. */
static size_t next_batch(struct history_rows *rows, const json_t *history, json_t *ids, size_t from)
{
    json_t *batch = json_object();
    size_t to = from;
    for (; to < rows->n; to++) {
        const char *parent = cli_json_string(rows->runs[to], "parent");
        char *job = parent ? history_job(history, parent) : NULL;
        const bool waits = job && json_object_get(batch, job);
        if (job && !waits)
            rows->trials[to].parent_exp = cli_json_string(ids, job);
        free(job);
        if (waits)
            break;
        json_object_set_new(batch, rows->trials[to].job_name, json_true());
    }
    json_decref(batch);
    return to - from;
}

static enum lineage_status append_rows(struct lineage_store *store, const json_t *history, struct history_rows *rows,
                                       const json_t *known, struct lineage_trial *written, struct lineage_error *err)
{
    struct lineage_append_options options;
    json_t *ids = json_object(), *entry;
    const char *job;
    trial_ref_pass(store, NULL, 0);
    lineage_append_options_init(&options);
    options.no_mirror_sync = true;
    json_object_foreach((json_t *)(uintptr_t)known, job, entry)
        json_object_set(ids, job, json_object_get(entry, "id"));
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < rows->n; i++)
        status = keep_code(store, rows, i, err);
    if (status == LINEAGE_OK)
        status = void_replaced(store, rows, &options, err);
    for (size_t from = 0, n; status == LINEAGE_OK && from < rows->n; from += n) {
        n = next_batch(rows, history, ids, from);
        status = lineage_store_append_many(store, rows->trials + from, n, rows->by_score + from, &options, written + from, err);
        for (size_t i = from; status == LINEAGE_OK && i < from + n; i++)
            json_object_set_new(ids, rows->trials[i].job_name, json_string(written[i].exp_id));
    }
    json_decref(ids);
    return status;
}

static void print_imported(const struct history_rows *rows, const struct lineage_trial *written)
{
    size_t labels[LINEAGE_N_LABELS] = {0}, n_replaced = 0;
    const char *comma = ": ";
    for (size_t i = 0; i < rows->n; i++) {
        labels[written[i].status]++;
        n_replaced += rows->replaces[i] != NULL;
    }
    printf("%zu runs imported", rows->n);
    for (int label = 0; label < LINEAGE_N_LABELS; label++)
        if (labels[label]) {
            printf("%s%zu %s", comma, labels[label], lineage_label_name((enum lineage_label)label));
            comma = ", ";
        }
    printf("\n");
    if (n_replaced)
        printf("%zu of them replace earlier rows, which are void now:", n_replaced);
    for (size_t i = 0, shown = 0; i < rows->n && shown < n_replaced; i++)
        if (rows->replaces[i] && shown++ < NAMES_MAX)
            printf(" %s by %s%s", rows->replaces[i], written[i].exp_id, shown < n_replaced ? "," : "\n");
    if (n_replaced > NAMES_MAX)
        printf(" ..\n");
}

/* Whether two finished runs have the same settings, seeds aside. Without them nothing is known about the noise. */
static bool has_repeats(const struct history_rows *rows)
{
    json_t *seen = json_object();
    bool any = false;
    for (size_t i = 0; i < rows->n && !any; i++) {
        json_t *settings = cli_json_params(rows->trials[i].params, rows->trials[i].n_params);
        json_object_del(settings, "seed");
        char *text = rows->by_score[i] && json_object_size(settings) ? json_dumps(settings, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
        any = text && json_object_get(seen, text);
        if (text)
            json_object_set_new(seen, text, json_true());
        free(text);
        json_decref(settings);
    }
    json_decref(seen);
    return any;
}

/* Has the store measure its noise with the runs, and prints what is known of it now. */
static void print_noise(struct lineage_store *store, const struct history_rows *rows, const struct lineage_trial *written)
{
    const struct lineage_config *config = lineage_store_config(store);
    const double before = config->noise_std;
    struct lineage_noise noise;
    struct lineage_error err;
    char text[LINEAGE_NOISE_TEXT_MAX];
    if (lineage_noise_after_append(store, written, rows->n, &err) != LINEAGE_OK) {
        cli_fail(&err); /* the rows are in the log */
        return;
    }
    lineage_noise_of_config(&noise, config);
    if (config->noise_std <= 0 && rows->n && !has_repeats(rows))
        printf("noise: unknown, because no setting ran twice; a small gain may be chance\n");
    else if (config->noise_std != before && before > 0)
        printf("noise: %s; it was %.3g\n", lineage_noise_text(text, &noise), before);
    else if (config->noise_std != before)
        printf("noise: %s\n", lineage_noise_text(text, &noise));
}

static int write_rows(struct lineage_store *store, const json_t *history, struct history_rows *rows, const json_t *known)
{
    struct lineage_trial *written = calloc(rows->n + 1, sizeof *written);
    struct lineage_error err;
    int status = CLI_OK;
    if (!written)
        return cli_no_memory();
    if (append_rows(store, history, rows, known, written, &err) != LINEAGE_OK)
        status = cli_fail(&err);
    else
        write_curves(store, rows, written);
    if (status == CLI_OK)
        print_imported(rows, written);
    if (status == CLI_OK)
        print_noise(store, rows, written);
    for (size_t i = 0; i < rows->n; i++)
        lineage_trial_release(&written[i]);
    free(written);
    return status;
}

/* The tool may have recorded which value is better; keep and discard would be decided the wrong way round. */
static bool has_direction(const json_t *history, const struct history_rows *rows, const struct lineage_store *store,
                          enum lineage_direction wanted)
{
    const char *direction = direction_of(history, rows);
    const bool higher = (store ? lineage_store_config(store)->direction : wanted) == LINEAGE_HIGHER;
    if ((!store && wanted == LINEAGE_DIRECTION_DEFAULT) || !direction || higher == (strcmp(direction, "maximize") == 0))
        return true;
    return cli_refuse("the study is to %s its %s, but %s a %s score is better", direction, rows->metric,
                      store ? "in this store" : "--direction says that", higher ? "higher" : "lower");
}

/* Whether every row with a score becomes void, so that the store's score may get another name. */
static bool replaces_all(const struct history_rows *rows, const json_t *known)
{
    size_t n_scored = 0, n_replaced = 0;
    const char *job;
    json_t *entry;
    json_object_foreach((json_t *)(uintptr_t)known, job, entry)
        n_scored += json_object_get(entry, "score") && !json_object_get(entry, "void");
    for (size_t i = 0; i < rows->n; i++)
        n_replaced += rows->replaces[i] && json_object_get(json_object_get(known, rows->trials[i].job_name), "score");
    return n_replaced == n_scored;
}

/* A tool that names its score only `value` says nothing about what it is. */
static int name_score(struct lineage_store *store, const struct import_options *o, const json_t *history,
                      const struct history_rows *rows, const json_t *known)
{
    const char *name = lineage_store_score_name(store);
    struct lineage_error err;
    const bool renames = name && o->replace && replaces_all(rows, known);
    if ((!o->metric && json_object_get(history, "score")) || !rows->n_scored || (o->dry_run && (!name || renames)))
        return CLI_GO_ON;
    return (renames ? lineage_store_rename_score : lineage_store_name_score)(store, rows->score, &err) == LINEAGE_OK
               ? CLI_GO_ON
               : cli_fail(&err);
}

/* The store may be missing (NULL) in a dry run. */
static int import_history(struct lineage_store *store, const struct import_options *o, const char *path)
{
    const struct history_options options = {
        .tool = o->from, .study = o->study, .metric = o->metric, .map = (const char *const *)o->map};
    struct history_rows rows;
    char why[HISTORY_WHY_MAX] = "out of memory";
    json_t *history = history_read(path, &options, why), *known = history && store ? known_jobs(store) : NULL;
    int status = CLI_GO_ON;
    if (!history)
        return cli_error(CLI_USAGE, "%s", why);
    if (store && !known) {
        json_decref(history);
        return CLI_SYSTEM;
    }
    const struct history_mapping mapping = {.metric = o->metric,
                                            .take = o->take,
                                            .specialist = o->specialist,
                                            .replace = o->replace,
                                            .known = known,
                                            .harmless = store ? lineage_store_harmless_names(store) : NULL};
    const bool made = history_rows_make(&rows, history, &mapping, why);
    if (!has_direction(history, &rows, store, o->direction))
        status = CLI_USAGE;
    else if (!made)
        status = cli_error(CLI_USAGE, "%s", why);
    if (status == CLI_GO_ON && store)
        status = name_score(store, o, history, &rows, known);
    if (status == CLI_GO_ON && !o->checks)
        describe(history, &rows, store);
    if (status == CLI_GO_ON && o->dry_run)
        status = (printf("nothing is written: %zu runs would be imported\n", rows.n), CLI_OK);
    else if (status == CLI_GO_ON && !o->checks)
        status = write_rows(store, history, &rows, known);
    history_rows_release(&rows);
    json_decref(known);
    json_decref(history);
    return status;
}

/* ---- the command ---- */

static bool is_history(const struct import_options *o, const char *path)
{
    struct stat st;
    const bool there = stat(path, &st) == 0;
    if (o->from || o->map || (there && S_ISDIR(st.st_mode)))
        return true;
    /* A pipe can be read only once. */
    return there && S_ISREG(st.st_mode) && !history_log_score(path, o->metric) &&
           (history_tool_of(path) || history_is_no_log(path));
}

static int check_from(const struct import_options *o)
{
    char names[300] = "";
    const char *tool;
    size_t n = 0;
    for (size_t i = 0; o->from && (tool = history_tool_at(i)); i++) {
        if (strcmp(o->from, tool) == 0)
            return CLI_GO_ON;
        n += (size_t)snprintf(names + n, n < sizeof names ? sizeof names - n : 0, "%s%s",
                              i == 0                   ? ""
                              : history_tool_at(i + 1) ? ", "
                                                       : " or ",
                              tool);
    }
    return o->from ? cli_error(CLI_USAGE, "--from '%.40s': use %s", o->from, names) : CLI_GO_ON;
}

static void add_one(json_t *counts, const char *name)
{
    json_object_set_new(counts, name, json_integer(json_integer_value(json_object_get(counts, name)) + 1));
}

/* Says of the rows of a log, which are those behind the first `before`, what describe() says of runs. */
static int describe_log(struct lineage_store *store, const struct import_options *o, const char *path, uint64_t before)
{
    struct lineage_cursor *cursor = NULL;
    struct lineage_trial row = {0};
    struct lineage_error err;
    json_t *labels = json_object(), *names = json_object();
    const char *score = history_log_score(path, o->metric);
    size_t n_scored = 0;
    uint64_t n = 0;
    enum lineage_status status = lineage_new_trials(&cursor, store, before, &n, &err);
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &row, &err)) == LINEAGE_OK) {
        add_one(labels, lineage_label_name(row.status));
        n_scored += row.score.present;
        for (size_t i = 0; i < row.n_params; i++)
            json_object_set_new(names, row.params[i].name, json_true());
        lineage_trial_release(&row);
    }
    lineage_cursor_close(cursor);
    if (status == LINEAGE_ENOTFOUND) {
        print_names("log of trials", labels);
        printf("score: %s, which %zu rows have; a %s one is better, says the store\n", score ? score : "its score", n_scored,
               lineage_store_config(store)->direction == LINEAGE_HIGHER ? "higher" : "lower");
        print_names("parameters", names);
    }
    json_decref(labels);
    json_decref(names);
    return status == LINEAGE_ENOTFOUND ? CLI_OK : cli_fail(&err);
}

static int import_log(struct lineage_store *store, const struct import_options *o, char *path, const char *would)
{
    struct lineage_import_stats stats = {0};
    struct lineage_cursor *cursor = NULL;
    struct lineage_error err;
    uint64_t before = 0;
    enum lineage_status status = lineage_new_trials(&cursor, store, UINT64_MAX, &before, &err);
    lineage_cursor_close(cursor);
    if (status == LINEAGE_OK)
        status = lineage_import(store, path, o->metric, &stats, finding_print_import, path, &err);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    const int described = describe_log(store, o, path, before);
    printf("%s%zu rows %simported, %zu left out\n", *would ? "nothing is written: " : "", stats.n_rows, would, stats.n_left_out);
    return described;
}

/*
 * The rows go to a store in a temporary directory, with the settings of this one, so that it says what an import would say.
 * Ids that are in this store are not compared.
 */
static int try_import(const struct lineage_config *config, const struct import_options *o, char *path)
{
    const struct lineage_open_options options = {.no_mirror = true};
    char dir[PATH_MAX];
    struct lineage_store *store = NULL;
    struct lineage_error err;
    if (!cli_temporary_dir(dir, sizeof dir, "lineage"))
        return cli_error(CLI_SYSTEM, "cannot make a temporary directory: %s", strerror(errno));
    enum lineage_status status = lineage_store_create(dir, config, &err);
    if (status == LINEAGE_OK)
        status = lineage_store_open(&store, dir, &options, &err);
    const int done = status == LINEAGE_OK ? import_log(store, o, path, "would be ") : cli_fail(&err);
    lineage_store_close(store);
    workdir_remove_tree(AT_FDCWD, dir);
    return done;
}

/* With --direction. A log that lacks its header is tried, so that the reason is printed before a store is made. */
static int make_store(struct import_options *o, bool history, const char *dir, const char *path)
{
    const struct lineage_config config = {.direction = o->direction};
    struct stat st;
    o->checks = history;
    const int status = history ? import_history(NULL, o, path) : CLI_GO_ON;
    o->checks = false;
    if (status != CLI_GO_ON)
        return status;
    if (!history && stat(path, &st) == 0 && S_ISREG(st.st_mode) && !history_log_score(path, o->metric))
        return try_import(&config, o, (char *)(uintptr_t)path);
    return cli_store_create(dir, &config) == CLI_OK ? CLI_GO_ON : CLI_SYSTEM;
}

/* Before the store is made: a file that cannot be read must not leave an empty store. */
static int before_open(struct cli_session *session, void *context)
{
    struct import_options *o = context;
    const char *path = session->args.positional[0], *dir = session->where.dir ? session->where.dir : ".";
    if (o->exact && (o->metric || o->dry_run))
        return cli_error(CLI_USAGE, "--exact copies the file without reading it and cannot be used with %s",
                         o->metric ? "--metric" : "--dry-run");
    if (check_from(o) != CLI_GO_ON)
        return CLI_USAGE;
    if (session->where.direction && !cli_direction_parse(&o->direction, session->where.direction))
        return CLI_USAGE;
    const bool history = !o->exact && is_history(o, path);
    if (!history && (o->study || o->take || o->specialist || o->replace))
        return cli_error(CLI_USAGE,
                         "--study, --take, --specialist and --replace are for histories of other tools; %s is none that is known",
                         path);
    if (o->take && strcmp(o->take, "last") != 0 && strcmp(o->take, "min") != 0 && strcmp(o->take, "max") != 0)
        return cli_error(CLI_USAGE, "--take '%.40s': use last, min or max", o->take);
    if (history && o->dry_run && !cli_is_store(dir))
        return import_history(NULL, o, path);
    const struct lineage_config fresh = {.direction = o->direction};
    if (o->direction && !o->dry_run && !cli_is_store(dir))
        return make_store(o, history, dir, path);
    if (history && !cli_is_store(dir))
        return cli_error(CLI_USAGE,
                         "%s is not a store; say first which score is better: lineage init %s --direction lower|higher, or add "
                         "--direction here",
                         dir, dir);
    if (!history && o->dry_run && !cli_is_store(dir))
        return try_import(&fresh, o, (char *)(uintptr_t)path);
    if (!history && !lineage_is_server(dir) && mkdir(dir, 0777) == 0)
        o->made = strdup(dir);
    return CLI_GO_ON;
}

static int work(struct cli_session *session, void *context)
{
    struct import_options *o = context;
    if (o->exact)
        return import_exact(session->store, session->args.positional[0]);
    cli_deliver_waiting(session->store);
    if (is_history(o, session->args.positional[0]))
        return import_history(session->store, o, session->args.positional[0]);
    /* The callback's context is not const, but the path is only read. */
    char *path = (char *)(uintptr_t)session->args.positional[0];
    if (o->dry_run)
        return try_import(lineage_store_config(session->store), o, path);
    return import_log(session->store, o, path, "");
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {.before_store = true, .appends = true, .before_open = before_open};
    struct import_options o = {0};
    struct poptOption options[] = {
        CLI_DIR_OPTION(&session.where.dir),
        CLI_OPTION("direction", &session.where.direction, "lower|higher",
                   "which score is better; makes the store if it is not there (default: the store's)"),
        CLI_OPTION("metric", &o.metric, "NAME",
                   "score column of FILE (default: core_metric or val_bpb), or the metric that is the score of runs"),
        CLI_OPTION("from", &o.from, "TOOL",
                   "tool that wrote FILE: wandb, mlflow, optuna, tensorboard, trackio, ray, aide, openevolve, shinka, mlparty, "
                   "sacred, keras-tuner, smac, hpbandster, clearml, comet, neptune, dvc, lightning, transformers, swanlab or csv "
                   "(default: found out)"),
        CLI_OPTION("study", &o.study, "NAME", "the study, experiment or project, if FILE has several"),
        CLI_OPTION("take", &o.take, "last|min|max", "which value of a curve is the score (default: last)"),
        CLI_REPEATED("map", &o.map, "COLUMN=ROLE",
                     "what a column of a table is: key, name, notes, state, started, ended, seconds, param, metric or skip; may "
                     "be repeated"),
        CLI_OPTION("specialist", &o.specialist, "NAME", "specialist of the rows (default: the tool)"),
        CLI_FLAG("replace", &o.replace, "import runs again whose rows are there; the old rows become void"),
        CLI_FLAG("dry-run", &o.dry_run, "say what would be imported, and write nothing"),
        CLI_FLAG("exact", &o.exact, "copy every byte, into a store that has no other rows"),
        POPT_TABLEEND};
    int status = cli_on_store(&session, command, options, 1, 1, argc, argv, work, &o);
    if (o.made && status != CLI_OK)
        rmdir(o.made); /* unless something is in it */
    free(o.made);
    return status;
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
                   "store already holds the beginning of FILE, only the rest is copied.\n\n"
                   "FILE may also be what another tool has recorded: run logs (run-ID.wandb, or the folder\n"
                   "wandb) and JSON of Weights & Biases, a directory mlruns or the SQLite file of MLflow, the\n"
                   "SQLite file or the journal of Optuna, a directory with event files of TensorBoard, the\n"
                   "SQLite file of trackio, the folder of a Ray Tune experiment, the journal.json of AIDE, a\n"
                   "database of OpenEvolve or ShinkaEvolve, the index.sqlite of mlparty, a folder of Sacred or of\n"
                   "Keras Tuner, the runhistory.json of SMAC3, the folder of an offline task of ClearML, what\n"
                   "`dvc exp show --json` prints, the folder of Lightning's CSVLogger, of SwanLab or of trainings\n"
                   "of Hugging Face's Trainer, or a table (.csv, .tsv, or JSON objects, one a run). The first lines say what it "
                   "is: runs by state, metrics, the score and its direction,\n"
                   "and what is left out; with --dry-run nothing else happens. If no finished run has the score,\n"
                   "or the tool recorded another direction, nothing is written.\n"
                   "A table of which no column is known as the score is refused with its columns and the --map\n"
                   "line that would import it.\n\n"
                   "Runs become rows in the order in which they started, and the store's rules decide what is\n"
                   "kept. Failed runs, and those whose score is not finite, are crashes; killed ones, and\n"
                   "finished ones without a score, harness_abort; those that break a constraint disqualified;\n"
                   "pruned ones discards without a score. A run that has not ended is left out. Parents and\n"
                   "code of AIDE, OpenEvolve and ShinkaEvolve are kept. Curves become telemetry, at most\n"
                   "2,000 steps each. Settings that look like secrets are left out.\n\n"
                   "A second import adds the runs that are not there yet. A run that ended differently since\n"
                   "then gets a new row, and its old one becomes void; --replace does so with every run.",
    .examples = "  lineage -C new import old/results.tsv\n  lineage export | lineage -C ../copy import --exact /dev/stdin\n"
                "  lineage -C cifar import blackboard/results.tsv --metric train_s\n  lineage -C cifar import optuna.db\n"
                "  lineage -C tuned import tuner/project --direction lower --metric val_loss\n"
                "  lineage -C cifar import mlruns --study cifar --metric val/loss --take min\n"
                "  lineage -C cifar import wandb --metric val_acc --dry-run\n  lineage -C cifar import runs.csv --metric val_acc",
    .run = run,
};
