#include "propose/propose_past.h"

#include <float.h>
#include <unistd.h>

#include <lineage/code.h>
#include <lineage/text.h>

#include "output/ideas_out.h"
#include "propose/propose_math.h"
#include "propose/propose_space.h"
#include "support/environment.h"
#include "support/leases.h"
#include "support/running_files.h"

/* ---- propose rows ---- */

/* How much a failure says about its setting; 0: nothing. A preflight also fails where a machine lacks something. */
static const double failure_weights[LINEAGE_N_LABELS] = {
    [LINEAGE_CRASH] = 1,        [LINEAGE_EVAL_BUDGET_OVERRUN] = 1, [LINEAGE_TRAIN_BUDGET_OVERRUN] = 1,
    [LINEAGE_SIZE_BLOCKED] = 1, [LINEAGE_PREFLIGHT_CRASH] = 0.5,
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
static bool read_setting(double *x, struct propose_rows *r, const struct lineage_number *fallback,
                         const struct lineage_trial *row)
{
    bool own = false, has[PROPOSE_RANGES_MAX];
    for (size_t i = 0; i < r->space->n; i++) {
        const struct propose_range *range = &r->space->ranges[i];
        const struct lineage_param *param = lineage_trial_find_param(row, range->name);
        bool falls_back = !param && fallback && fallback[i].present;
        r->declared[i] += param != NULL;
        if (falls_back)
            x[i] = fallback[i].value;
        has[i] = param        ? propose_value_of(&x[i], range, param)
                 : falls_back ? true
                              : read_words(&x[i], &own, r->words, range, row->seq);
        own = own || param || fallback;
    }
    return propose_complete(r->space, x, has) && own;
}

static bool is_of_sweep(const struct lineage_trial *row, const char *sweep)
{
    struct lineage_night_link link;
    return sweep && lineage_night_link_parse(&link, row->notes) && strcmp(link.sweep, sweep) == 0;
}

/* Reads a row and counts it; *own: it is of the sweep. */
static enum propose_row propose_row_read(struct propose_trial *trial, bool *own, struct propose_rows *rows,
                                         const struct lineage_trial *row)
{
    *trial = (struct propose_trial){.score = row->score.value};
    *own = is_of_sweep(row, rows->sweep);
    rows->n++;
    if (!ended(trial, row))
        return PROPOSE_ROW_SILENT;
    if (is_of_other_program(row, rows->program, trial->end))
        return PROPOSE_ROW_OTHER;
    return read_setting(trial->x, rows, *own ? rows->fallback : NULL, row) ? PROPOSE_ROW_PAST : PROPOSE_ROW_ELSEWHERE;
}

/* ---- propose past ---- */

static bool add(struct propose_past *past, const struct propose_trial *trial, const char *id)
{
    if (!CLI_ROOM(past->trials, past->n, past->room[0]) || !CLI_ROOM(past->ids, past->n, past->room[1]) ||
        !CLI_ROOM(past->settings, past->n, past->room[2]))
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

static bool add_other(struct propose_past *past, const char *id)
{
    if (!CLI_ROOM(past->others, past->n_others, past->others_room))
        return false;
    snprintf(past->others[past->n_others++], sizeof *past->others, "%s", id);
    return true;
}

/* The past while it is read from the rows. */
struct reading {
    struct propose_past *past;
    struct propose_rows rows;
    uint64_t reference; /* seq of the trial with whose other settings those of the others are compared; 0: none */
    bool own_reference; /* it is of the sweep */
};

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
        const char *value = param->text ? param->text : lineage_setting_format(number, param->value);
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

static void compare_others(struct propose_past *past, uint64_t seq)
{
    size_t reference = 0;
    while (reference < past->n && past->settings[reference].seq != seq)
        reference++;
    for (size_t i = 0; reference < past->n && i < past->n; i++) {
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

static bool add_row(struct reading *r, const struct lineage_trial *row)
{
    struct propose_trial trial;
    bool own;
    switch (propose_row_read(&trial, &own, &r->rows, row)) {
    case PROPOSE_ROW_SILENT: return true;
    case PROPOSE_ROW_OTHER: return add_other(r->past, row->exp_id);
    case PROPOSE_ROW_ELSEWHERE: return r->past->elsewhere++, true;
    case PROPOSE_ROW_PAST: break;
    }
    if (own > r->own_reference || (own == r->own_reference && row->seq > r->reference))
        r->reference = row->seq;
    r->own_reference = r->own_reference || own;
    if (!add(r->past, &trial, row->exp_id))
        return false;
    r->past->settings[r->past->n - 1].seq = row->seq;
    return read_others(&r->past->settings[r->past->n - 1], r->rows.space, row);
}

/* ---- all rows ---- */

static struct reading begin(struct propose_past *past)
{
    const struct propose_from *from = &past->from;
    return (struct reading){.past = past,
                            .rows = {.space = from->space,
                                     .fallback = from->has_fallback ? from->fallback : NULL,
                                     .sweep = from->sweep,
                                     .program = from->program[0] ? from->program : NULL}};
}

/*
 * Looks up in words the ranges that not every row declares; the store decides by the rule of lineage/settings.h. The
 * answer of the question does not matter. An unknown name is not an error here, because its range may be new.
 */
static const struct lineage_settings *find_words(const struct reading *r, struct lineage_store *store)
{
    struct lineage_condition conditions[PROPOSE_RANGES_MAX] = {0};
    struct lineage_query query = {.conditions = conditions, .limit = 1};
    struct lineage_cursor *cursor;
    struct lineage_error ignored;
    for (size_t i = 0; i < r->rows.space->n; i++)
        if (!r->rows.n || r->rows.declared[i] < r->rows.n)
            conditions[query.n_conditions++].name = r->rows.space->ranges[i].name;
    if (!query.n_conditions)
        return NULL;
    enum lineage_status status = lineage_query_open(&cursor, store, &query, &ignored);
    lineage_cursor_close(cursor);
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

static enum lineage_status read_rows(struct reading *r, struct lineage_error *err)
{
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    enum lineage_status status = lineage_query_open(&cursor, r->past->from.store, &all, err);
    if (status == LINEAGE_OK)
        status = add_rows(r, cursor, err);
    lineage_cursor_close(cursor);
    return status;
}

/* Reads the rows once more if values of the ranges are found in words: only the first time shows which ranges the trials
 * declare. The settings are valid until the next question, so the cursor is opened before they are looked up. */
static enum lineage_status read_words_too(struct reading *r, struct lineage_error *err)
{
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    struct propose_past *past = r->past;
    enum lineage_status status = lineage_query_open(&cursor, past->from.store, &all, err);
    r->rows.words = status == LINEAGE_OK ? find_words(r, past->from.store) : NULL;
    past->source = cli_settings_sources_json(r->rows.words);
    if (past->source) {
        forget_trials(past);
        status = add_rows(r, cursor, err);
    }
    lineage_cursor_close(cursor);
    return status;
}

static enum lineage_status read_all(struct propose_past *past, struct lineage_error *err)
{
    struct reading reading = begin(past);
    past->unread = 0;
    enum lineage_status status = read_rows(&reading, err);
    if (status == LINEAGE_OK && !past->from.sweep)
        status = read_words_too(&reading, err);
    if (status == LINEAGE_OK)
        compare_others(past, reading.reference);
    return status;
}

/* ---- the newest and the best rows ---- */

static enum lineage_status count_rows(uint64_t *n, struct lineage_store *store, struct lineage_error *err)
{
    const struct lineage_query newest = {.sort = "-seq", .limit = 1};
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    *n = 0;
    enum lineage_status status = lineage_query_open(&cursor, store, &newest, err);
    if (status == LINEAGE_OK)
        status = lineage_cursor_next(cursor, &row, err);
    *n = status == LINEAGE_OK ? row.seq : 0;
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* Adds the conditions that a row of the past meets: it declares each range that always has a value. A name of a column would
 * mean that column. */
static size_t add_conditions(struct lineage_condition *conditions, const struct propose_from *from)
{
    size_t n = 0;
    for (size_t i = 0; i < from->space->n; i++) {
        const struct propose_range *range = &from->space->ranges[i];
        if (!range->condition.given && !(from->has_fallback && from->fallback[i].present) && lineage_column_find(range->name) < 0)
            conditions[n++].name = range->name;
    }
    return n;
}

/* Reads the rows that a question finds, from the newest on; those from `below` on are there already. A name that no row declares
 * finds nothing. */
static enum lineage_status add_found(struct reading *r, const struct lineage_query *query, uint64_t below,
                                     struct lineage_error *err)
{
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    enum lineage_status status = lineage_query_open_declared(&cursor, r->past->from.store, query, err);
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &row, err)) == LINEAGE_OK)
        if (row.seq < below && !add_row(r, &row))
            status = cli_no_memory_error(err);
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND || status == LINEAGE_EINVAL ? LINEAGE_OK : status;
}

/* A trial with what belongs to it, for sorting. */
struct with_row {
    struct propose_trial trial;
    struct propose_others settings;
    char id[sizeof *((struct propose_past *)0)->ids];
};

static int by_seq(const void *a, const void *b)
{
    const struct with_row *x = a, *y = b;
    return (x->settings.seq > y->settings.seq) - (x->settings.seq < y->settings.seq);
}

static bool sort_by_age(struct propose_past *past)
{
    struct with_row *list = malloc((past->n + 1) * sizeof *list);
    for (size_t i = 0; list && i < past->n; i++) {
        list[i] = (struct with_row){.trial = past->trials[i], .settings = past->settings[i]};
        memcpy(list[i].id, past->ids[i], sizeof list[i].id);
    }
    if (list)
        qsort(list, past->n, sizeof *list, by_seq);
    for (size_t i = 0; list && i < past->n; i++) {
        past->trials[i] = list[i].trial;
        past->settings[i] = list[i].settings;
        memcpy(past->ids[i], list[i].id, sizeof list[i].id);
    }
    free(list);
    return list != NULL;
}

static enum lineage_status read_newest_and_best(struct propose_past *past, uint64_t rows, struct lineage_error *err)
{
    struct lineage_condition conditions[PROPOSE_RANGES_MAX + 1] = {0};
    const bool lower = lineage_store_config(past->from.store)->direction == LINEAGE_LOWER;
    struct reading reading = begin(past);
    struct lineage_query query = {.conditions = conditions, .sort = "-seq", .limit = PROPOSE_NEWEST};
    query.n_conditions = add_conditions(conditions, &past->from);
    enum lineage_status status = add_found(&reading, &query, UINT64_MAX, err);
    uint64_t oldest = past->n ? past->settings[past->n - 1].seq : UINT64_MAX;
    query.sort = lower ? "score" : "-score";
    query.limit = PROPOSE_BEST;
    for (int i = 0; i < LINEAGE_N_LABELS; i++)
        query.labels |= lineage_label_is_measured((enum lineage_label)i) ? 1u << i : 0;
    conditions[query.n_conditions++] = (struct lineage_condition){.name = "score", .range = {{true, -DBL_MAX}, {true, DBL_MAX}}};
    if (status == LINEAGE_OK)
        status = add_found(&reading, &query, oldest, err);
    if (status == LINEAGE_OK && !sort_by_age(past))
        status = cli_no_memory_error(err);
    past->unread = (size_t)rows - reading.rows.n;
    if (status == LINEAGE_OK)
        compare_others(past, reading.reference);
    return status;
}

/* Values in words are found by reading all texts, so all rows are read if the ranges have such values. */
static enum lineage_status read_some(struct propose_past *past, struct lineage_error *err)
{
    struct reading none = begin(past);
    uint64_t rows;
    enum lineage_status status = count_rows(&rows, past->from.store, err);
    if (status != LINEAGE_OK)
        return status;
    json_t *found = NULL;
    if (rows > PROPOSE_NEWEST + PROPOSE_BEST && !past->from.sweep)
        found = cli_settings_sources_json(find_words(&none, past->from.store));
    bool whole = rows <= PROPOSE_NEWEST + PROPOSE_BEST || found;
    json_decref(found);
    if (whole)
        return read_all(past, err);
    return read_newest_and_best(past, rows, err);
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

/* An agent trains it soon. */
static void add_leased(void *context, const struct lease *lease)
{
    struct running *running = context;
    running->added =
        running->added && propose_past_add_params(running->past, running->space, json_object_get(lease->object, "params"));
}

enum lineage_status propose_past_read(struct propose_past *past, const struct propose_from *from, bool whole,
                                      struct lineage_error *err)
{
    struct running running = {past, from->space, true};
    *past = (struct propose_past){.from = *from};
    enum lineage_status status = whole ? read_all(past, err) : read_some(past, err);
    if (status == LINEAGE_OK)
        running_each(lineage_store_dir(from->store), add_running, &running);
    if (status == LINEAGE_OK)
        leases_each(lineage_store_dir(from->store), add_leased, &running);
    return running.added ? status : cli_no_memory_error(err);
}

/* Reads the rows that were left out. The trials without a row stay, behind the others. */
static enum lineage_status read_rest(struct propose_past *past, struct lineage_error *err)
{
    struct propose_past whole = {.from = past->from};
    enum lineage_status status = read_all(&whole, err);
    for (size_t i = 0; i < past->n && status == LINEAGE_OK; i++)
        if (!past->settings[i].seq && !add(&whole, &past->trials[i], ""))
            status = cli_no_memory_error(err);
    if (status == LINEAGE_OK) {
        propose_past_release(past);
        *past = whole;
    } else {
        propose_past_release(&whole);
    }
    return status;
}

/* ---- proposals ---- */

/* Looks up settings in rows that were left out. More lookups than this cost as much as reading a large log. */
enum { LOOKUPS = 64 };

struct lookup {
    struct reading reading;
    size_t left; /* lookups */
    bool short_of_them;
    enum lineage_status status;
    struct lineage_error *err;
};

/* A row that lacks a value may have the sweep's, so a range whose fallback is wanted makes no condition. */
static size_t add_wanted(struct lineage_condition *conditions, const struct propose_from *from, const double *x)
{
    size_t n = 0;
    for (size_t i = 0; i < from->space->n; i++) {
        const struct propose_range *range = &from->space->ranges[i];
        const struct propose_choice *choice = range->scale == PROPOSE_CHOICE ? &range->choices[(size_t)x[i]] : NULL;
        const double value = choice ? choice->value : x[i];
        bool falls_back = from->has_fallback && from->fallback[i].present && from->fallback[i].value == x[i];
        if (falls_back || !propose_is_active(from->space->ranges, x, i) || lineage_column_find(range->name) >= 0)
            continue;
        conditions[n] = (struct lineage_condition){.name = range->name};
        if (choice && choice->text) {
            conditions[n].texts = &choice->text;
            conditions[n].n_texts = 1;
        } else {
            conditions[n].range = (struct lineage_range){{true, value}, {true, value}};
        }
        n++;
    }
    return n;
}

static bool is_setting_of(struct lookup *lookup, const struct lineage_trial *row, const double *x)
{
    struct propose_trial trial;
    bool own, same = propose_row_read(&trial, &own, &lookup->reading.rows, row) == PROPOSE_ROW_PAST;
    for (size_t i = 0; same && i < lookup->reading.rows.space->n; i++)
        same = trial.x[i] == x[i];
    return same;
}

static bool was_tried_before(void *context, const double *x)
{
    struct lookup *lookup = context;
    struct lineage_condition conditions[PROPOSE_RANGES_MAX] = {0};
    struct lineage_query query = {.conditions = conditions};
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    bool found = false;
    lookup->short_of_them = lookup->short_of_them || !lookup->left;
    if (lookup->short_of_them || lookup->status != LINEAGE_OK)
        return false;
    lookup->left--;
    query.n_conditions = add_wanted(conditions, &lookup->reading.past->from, x);
    enum lineage_status status = lineage_query_open_declared(&cursor, lookup->reading.past->from.store, &query, lookup->err);
    while (status == LINEAGE_OK && !found && (status = lineage_cursor_next(cursor, &row, lookup->err)) == LINEAGE_OK)
        found = is_setting_of(lookup, &row, x);
    lineage_cursor_close(cursor);
    lookup->status = status == LINEAGE_ENOTFOUND || status == LINEAGE_EINVAL ? LINEAGE_OK : status;
    return found;
}

enum lineage_status propose_past_next(double *x, bool *exhausted, struct propose_past *past, enum propose_method method,
                                      uint64_t seed, struct lineage_error *err)
{
    struct lookup lookup = {.reading = begin(past), .left = LOOKUPS, .err = err};
    struct propose_problem problem = propose_problem_of(past, past->from.space, past->from.store, seed);
    if (past->unread) {
        problem.n_unread = past->unread;
        problem.was_tried = was_tried_before;
        problem.context = &lookup;
    }
    enum propose_answer answer = propose_next(x, &problem, method);
    *exhausted = answer == PROPOSE_EXHAUSTED;
    if (answer == PROPOSE_NO_MEMORY)
        return cli_no_memory_error(err);
    if (lookup.status != LINEAGE_OK || !lookup.short_of_them)
        return lookup.status;
    enum lineage_status status = read_rest(past, err);
    return status == LINEAGE_OK ? propose_past_next(x, exhausted, past, method, seed, err) : status;
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
