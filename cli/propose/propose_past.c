/* propose_past.c: see propose_past.h. */
#include "propose/propose_past.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lineage/code.h>
#include <lineage/notes.h>
#include <lineage/text.h>

#include "output/settings_out.h"
#include "propose/propose_math.h"
#include "support/environment.h"
#include "support/running_files.h"

static bool make_room(struct propose_past *past)
{
    if (past->n < past->room)
        return true;
    size_t room = past->room ? 2 * past->room : 64;
    struct propose_trial *trials = realloc(past->trials, room * sizeof *trials);
    if (trials)
        past->trials = trials;
    char(*ids)[64] = realloc(past->ids, room * sizeof *ids);
    if (ids)
        past->ids = ids;
    struct propose_others *settings = realloc(past->settings, room * sizeof *settings);
    if (settings)
        past->settings = settings;
    past->room = trials && ids && settings ? room : past->room;
    return trials && ids && settings;
}

static bool add(struct propose_past *past, const struct propose_trial *trial, const char *id)
{
    if (!make_room(past))
        return false;
    past->trials[past->n] = *trial;
    past->settings[past->n] = (struct propose_others){0};
    snprintf(past->ids[past->n++], sizeof *past->ids, "%s", id);
    past->measured += trial->end == PROPOSE_MEASURED;
    past->failed += trial->end == PROPOSE_FAILED || trial->end == PROPOSE_UNRELATED;
    past->running += trial->end == PROPOSE_RUNNING;
    return true;
}

bool propose_past_add(struct propose_past *past, const double *x, size_t n, enum propose_end end)
{
    struct propose_trial trial = {.end = end};
    memcpy(trial.x, x, n * sizeof *x);
    return add(past, &trial, "");
}

static void forget_trials(struct propose_past *past)
{
    for (size_t i = 0; i < past->n; i++)
        free(past->settings[i].at);
    past->n = past->measured = past->failed = past->elsewhere = 0;
}

void propose_past_release(struct propose_past *past)
{
    forget_trials(past);
    free(past->trials);
    free(past->ids);
    free(past->settings);
    free(past->others);
    json_decref(past->source);
    *past = (struct propose_past){0};
}

/* ---- rows ---- */

/* How much a failure says about its setting; 0: nothing. A preflight also fails where a machine lacks something. */
static const double failure_weights[LINEAGE_N_LABELS] = {
    [LINEAGE_CRASH] = 1,
    [LINEAGE_EVAL_BUDGET_OVERRUN] = 1,
    [LINEAGE_TRAIN_BUDGET_OVERRUN] = 1,
    [LINEAGE_SIZE_BLOCKED] = 1,
    [LINEAGE_PREFLIGHT_CRASH] = 0.5,
};

/* Returns false if the row says nothing about the setting: harness_abort, or a keep or discard without a score, which
 * a user wrote by hand. A trial that was pruned has no score either, but its setting was bad. */
static bool ended(struct propose_trial *trial, const struct lineage_trial *row)
{
    bool pruned = strncmp(lineage_notes_reason(row->notes), "pruned at step ", 15) == 0;
    bool compared = lineage_label_is_measured(row->status);
    if (compared && row->score.present && isfinite(row->score.value)) {
        trial->end = PROPOSE_MEASURED;
        return true;
    }
    trial->weight = compared ? 1 : cli_blames_environment(row->notes) ? 0 : failure_weights[row->status];
    trial->end = trial->weight > 0 ? PROPOSE_FAILED : PROPOSE_UNRELATED;
    return compared ? row->score.present || pruned : lineage_label_is_failure(row->status);
}

void propose_row_program(char *out, size_t size, const char *notes)
{
    static const char word[] = "program ";
    *out = '\0';
    for (const char *at = notes ? notes : ""; at; at = (at = strchr(at, ';')) ? at + 1 : NULL) {
        const char *piece = at + strspn(at, " ");
        size_t n = strncmp(piece, word, sizeof word - 1) == 0 ? strspn(piece + sizeof word - 1, "0123456789abcdef") : 0;
        if (n != 16 || n >= size || (piece[sizeof word - 1 + n] && piece[sizeof word - 1 + n] != ';'))
            continue;
        snprintf(out, size, "%.16s", piece + sizeof word - 1);
        return;
    }
}

static bool add_other(struct propose_past *past, const char *id)
{
    if (past->n_others == past->others_room) {
        size_t room = past->others_room ? 2 * past->others_room : 64;
        char(*others)[64] = realloc(past->others, room * sizeof *others);
        if (!others)
            return false;
        past->others = others;
        past->others_room = room;
    }
    snprintf(past->others[past->n_others++], sizeof *past->others, "%s", id);
    return true;
}

static bool is_of_other_program(const struct lineage_trial *row, const char *program, enum propose_end end)
{
    char own[20];
    struct lineage_code_note code;
    if (!program)
        return false;
    propose_row_program(own, sizeof own, row->notes);
    if (own[0] && strcmp(own, program) != 0)
        return true;
    return end != PROPOSE_MEASURED && lineage_code_note_parse(&code, row->notes) && code.change[0];
}

/* The past while it is read from the rows, and what the rows show about the log. */
struct reading {
    struct propose_past *past;
    const struct propose_space *space;
    const struct lineage_number *fallback; /* [ranges], or NULL */
    const char *sweep;                     /* or NULL */
    const char *program;                   /* or NULL */
    const struct lineage_settings *words;  /* or NULL */
    size_t rows, declared[PROPOSE_RANGES_MAX]; /* number of rows, and how many of them declare each range */
    size_t reference;   /* the trial with whose other settings those of the others are compared */
    bool own_reference; /* it is of the sweep */
};

/* Reads the value that a trial states in words, or inherits. */
static bool read_words(double *x, bool *own, const struct lineage_settings *words, const struct propose_range *range,
                       uint64_t seq)
{
    for (size_t i = 0; words && i < words->n; i++) {
        const struct lineage_setting *setting =
            strcmp(words->names[i].name, range->name) == 0 ? lineage_settings_get(words, seq, i, 0) : NULL;
        if (!setting)
            continue;
        const struct lineage_param param = {range->name, setting->value.value, setting->value.present ? NULL : setting->text};
        *own = *own || setting->own;
        return propose_value_of(x, range, &param);
    }
    return false;
}

/* A trial that only inherits its values says nothing about them: it was run for another change. */
static bool read_setting(double *x, struct reading *r, const struct lineage_number *fallback, const struct lineage_trial *row)
{
    bool own = false, has[PROPOSE_RANGES_MAX];
    for (size_t i = 0; i < r->space->n; i++) {
        const struct propose_range *range = &r->space->ranges[i];
        const struct lineage_param *param = lineage_trial_find_param(row, range->name);
        bool falls_back = !param && fallback && fallback[i].present;
        r->declared[i] += param != NULL;
        if (falls_back)
            x[i] = fallback[i].value;
        has[i] = param          ? propose_value_of(&x[i], range, param)
                 : falls_back ? true
                                : read_words(&x[i], &own, r->words, range, row->seq);
        own = own || param || fallback;
    }
    return propose_complete(r->space, x, has) && own;
}

/* ---- other settings ---- */

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0;
    for (; *text; text++)
        hash = propose_mix(hash ^ (unsigned char)*text);
    return hash;
}

static bool is_other(const struct propose_space *space, const char *name)
{
    static const char *const beside[] = {"seed", "proposer"};
    bool other = true;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        other = other && strcmp(name, beside[i]) != 0;
    for (size_t i = 0; i < space->n; i++)
        other = other && strcmp(name, space->ranges[i].name) != 0;
    return other;
}

static int by_name(const void *a, const void *b)
{
    const struct propose_other *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

static bool read_others(struct propose_others *others, const struct propose_space *space, const struct lineage_trial *row)
{
    others->at = malloc((row->n_params + 1) * sizeof *others->at);
    for (size_t i = 0; others->at && i < row->n_params; i++) {
        char number[LINEAGE_NUMBER_MAX];
        const struct lineage_param *param = &row->params[i];
        const char *value = param->text ? param->text : lineage_number_format(number, param->value);
        if (is_other(space, param->name))
            others->at[others->n++] = (struct propose_other){hash_of(param->name), hash_of(value)};
    }
    if (others->at)
        qsort(others->at, others->n, sizeof *others->at, by_name);
    return others->at != NULL;
}

/* Counts the names that have other values, or that only one of the two has; both are sorted by name. */
static size_t count_differences(const struct propose_others *a, const struct propose_others *b)
{
    size_t n = 0, i = 0, k = 0;
    while (i < a->n || k < b->n) {
        bool only_a = k == b->n || (i < a->n && a->at[i].name < b->at[k].name);
        bool only_b = !only_a && (i == a->n || b->at[k].name < a->at[i].name);
        n += only_a || only_b || a->at[i].value != b->at[k].value;
        i += !only_b;
        k += !only_a;
    }
    return n;
}

static void compare_others(struct propose_past *past, size_t reference)
{
    for (size_t i = 0; i < past->n; i++) {
        const struct propose_others *others = &past->settings[i];
        struct propose_trial *trial = &past->trials[i];
        if (!others->at || !(trial->differs = count_differences(others, &past->settings[reference])))
            continue;
        uint64_t context = 0;
        for (size_t k = 0; k < others->n; k++)
            context = propose_mix(context ^ others->at[k].name) ^ others->at[k].value;
        trial->context = context | 1; /* 0 is the context of the proposals */
    }
}

static bool is_of_sweep(const struct lineage_trial *row, const char *sweep)
{
    struct lineage_night_link link;
    return sweep && lineage_night_link_parse(&link, row->notes) && strcmp(link.sweep, sweep) == 0;
}

static bool add_row(struct reading *r, const struct lineage_trial *row)
{
    struct propose_trial trial = {.score = row->score.value};
    bool own = is_of_sweep(row, r->sweep);
    const struct lineage_number *fallback = own ? r->fallback : NULL;
    r->rows++;
    if (!ended(&trial, row))
        return true;
    if (is_of_other_program(row, r->program, trial.end))
        return add_other(r->past, row->exp_id);
    if (read_setting(trial.x, r, fallback, row)) {
        if (own || !r->own_reference)
            r->reference = r->past->n;
        r->own_reference = r->own_reference || own;
        return add(r->past, &trial, row->exp_id) && read_others(&r->past->settings[r->past->n - 1], r->space, row);
    }
    r->past->elsewhere++;
    return true;
}

/*
 * Looks up in words the ranges that not every trial declares; the store decides by the rule of lineage/settings.h. The
 * answer of the question does not matter. An unknown name is not an error here, because its range may be new.
 */
static const struct lineage_settings *find_words(const struct reading *r, struct lineage_store *store)
{
    struct lineage_condition conditions[PROPOSE_RANGES_MAX] = {0};
    struct lineage_query query = {.conditions = conditions, .limit = 1};
    struct lineage_error ignored;
    size_t n;
    for (size_t i = 0; i < r->space->n; i++)
        if (r->declared[i] < r->rows)
            conditions[query.n_conditions++].name = r->space->ranges[i].name;
    if (!query.n_conditions)
        return NULL;
    enum lineage_status status = lineage_query_count(&n, store, &query, &ignored);
    return status == LINEAGE_OK || status == LINEAGE_EINVAL ? lineage_store_settings(store) : NULL;
}

static enum lineage_status add_rows(struct reading *r, struct lineage_cursor *cursor, struct lineage_error *err)
{
    struct lineage_trial row = {0};
    enum lineage_status status;
    while ((status = lineage_cursor_next(cursor, &row, err)) == LINEAGE_OK)
        if (!add_row(r, &row))
            return cli_no_memory_error(err);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status read_rows(struct reading *r, struct lineage_store *store, struct lineage_error *err)
{
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    enum lineage_status status = lineage_query_open(&cursor, store, &all, err);
    if (status == LINEAGE_OK)
        status = add_rows(r, cursor, err);
    lineage_cursor_close(cursor);
    return status;
}

/* Reads the rows once more if values of the ranges are found in words: only the first time shows which ranges the trials
 * declare. The settings are valid until the next question, so the cursor is opened before they are looked up. */
static enum lineage_status read_words_too(struct reading *r, struct lineage_store *store, struct lineage_error *err)
{
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    struct propose_past *past = r->past;
    enum lineage_status status = lineage_query_open(&cursor, store, &all, err);
    r->words = status == LINEAGE_OK ? find_words(r, store) : NULL;
    past->source = cli_settings_sources_json(r->words);
    if (past->source) {
        forget_trials(past);
        status = add_rows(r, cursor, err);
    }
    lineage_cursor_close(cursor);
    return status;
}

/* ---- running trials ---- */

struct running {
    struct propose_past *past;
    const struct propose_space *space;
    bool added;
};

bool propose_past_add_params(struct propose_past *past, const struct propose_space *space, const json_t *params)
{
    struct propose_trial trial = {.end = PROPOSE_RUNNING};
    bool has[PROPOSE_RANGES_MAX];
    for (size_t i = 0; i < space->n; i++)
        has[i] = propose_value_of_json(&trial.x[i], &space->ranges[i], json_object_get(params, space->ranges[i].name));
    return !params || !propose_complete(space, trial.x, has) || add(past, &trial, "");
}

/*
 * The first event line of a trial holds its parameters. If it does not, the file belongs to another program and is
 * ignored.
 */
static void add_running(void *context, int events)
{
    struct running *running = context;
    char head[8192];
    ssize_t n = events >= 0 ? read(events, head, sizeof head) : 0;
    char *end = n > 0 ? memchr(head, '\n', (size_t)n) : NULL;
    json_t *line = end ? json_loadb(head, (size_t)(end - head), JSON_REJECT_DUPLICATES, NULL) : NULL;
    running->added = running->added && propose_past_add_params(running->past, running->space, json_object_get(line, "params"));
    json_decref(line);
}

enum lineage_status propose_past_read(struct propose_past *past, struct lineage_store *store,
                                      const struct propose_space *space, const struct lineage_number *fallback,
                                      const char *sweep, const char *program, struct lineage_error *err)
{
    struct running running = {past, space, true};
    struct reading reading = {.past = past, .space = space, .fallback = fallback, .sweep = sweep, .program = program};
    *past = (struct propose_past){0};
    enum lineage_status status = read_rows(&reading, store, err);
    if (status == LINEAGE_OK && !sweep)
        status = read_words_too(&reading, store, err);
    if (status == LINEAGE_OK && past->n)
        compare_others(past, reading.reference);
    if (status == LINEAGE_OK)
        running_each(lineage_store_dir(store), add_running, &running);
    return running.added ? status : cli_no_memory_error(err);
}

struct propose_problem propose_problem_of(const struct propose_past *past, const struct propose_space *space,
                                          const struct lineage_store *store, uint64_t seed)
{
    const struct lineage_config *config = lineage_store_config(store);
    return (struct propose_problem){.ranges = space->ranges,
                                    .n_ranges = space->n,
                                    .past = past->trials,
                                    .n_past = past->n,
                                    .lower_is_better = config->direction == LINEAGE_LOWER,
                                    .noise = config->noise_std / sqrt(config->noise_seeds ? config->noise_seeds : 1),
                                    .seed = seed};
}
