/* propose_past.c: see propose_past.h. */
#include "propose/propose_past.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lineage/code.h>
#include <lineage/notes.h>

#include "output/settings_out.h"
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
    past->room = trials && ids ? room : past->room;
    return trials && ids;
}

static bool add(struct propose_past *past, const struct propose_trial *trial, const char *id)
{
    if (!make_room(past))
        return false;
    past->trials[past->n] = *trial;
    snprintf(past->ids[past->n++], sizeof *past->ids, "%s", id);
    past->measured += trial->end == PROPOSE_MEASURED;
    past->failed += trial->end == PROPOSE_FAILED;
    past->running += trial->end == PROPOSE_RUNNING;
    return true;
}

bool propose_past_add(struct propose_past *past, const double *x, size_t n, enum propose_end end)
{
    struct propose_trial trial = {.end = end};
    memcpy(trial.x, x, n * sizeof *x);
    return add(past, &trial, "");
}

void propose_past_release(struct propose_past *past)
{
    free(past->trials);
    free(past->ids);
    free(past->others);
    json_decref(past->source);
    *past = (struct propose_past){0};
}

/* ---- rows ---- */

/* Returns false if the row says nothing about the setting: harness_abort, or a keep or discard without a score, which
 * a user wrote by hand. A trial that was pruned has no score either, but its setting was bad. */
static bool ended(enum propose_end *end, const struct lineage_trial *row)
{
    bool pruned = strncmp(lineage_notes_reason(row->notes), "pruned at step ", 15) == 0;
    bool compared = row->status == LINEAGE_KEEP || row->status == LINEAGE_DISCARD || row->status == LINEAGE_BASELINE;
    bool scored = row->score.present && isfinite(row->score.value);
    *end = compared && scored ? PROPOSE_MEASURED : PROPOSE_FAILED;
    return compared ? row->score.present || pruned : row->status != LINEAGE_HARNESS_ABORT;
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
    return end == PROPOSE_FAILED && lineage_code_note_parse(&code, row->notes) && code.change[0];
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
    bool own = false, all = true;
    for (size_t i = 0; i < r->space->n; i++) {
        const struct propose_range *range = &r->space->ranges[i];
        const struct lineage_param *param = lineage_trial_find_param(row, range->name);
        r->declared[i] += param != NULL;
        if (param)
            all = propose_value_of(&x[i], range, param) && all;
        else if (fallback && fallback[i].present)
            x[i] = fallback[i].value;
        else
            all = read_words(&x[i], &own, r->words, range, row->seq) && all;
        own = own || param || fallback;
    }
    return all && own;
}

static bool is_of_sweep(const struct lineage_trial *row, const char *sweep)
{
    struct lineage_night_link link;
    return sweep && lineage_night_link_parse(&link, row->notes) && strcmp(link.sweep, sweep) == 0;
}

static bool add_row(struct reading *r, const struct lineage_trial *row)
{
    struct propose_trial trial = {.score = row->score.value};
    const struct lineage_number *fallback = is_of_sweep(row, r->sweep) ? r->fallback : NULL;
    r->rows++;
    if (!ended(&trial.end, row))
        return true;
    if (is_of_other_program(row, r->program, trial.end))
        return add_other(r->past, row->exp_id);
    if (read_setting(trial.x, r, fallback, row))
        return add(r->past, &trial, row->exp_id);
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
        past->n = past->measured = past->failed = past->elsewhere = 0;
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
    bool known = params != NULL;
    for (size_t i = 0; i < space->n && known; i++)
        known = propose_value_of_json(&trial.x[i], &space->ranges[i], json_object_get(params, space->ranges[i].name));
    return !known || add(past, &trial, "");
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
    if (status == LINEAGE_OK)
        running_each(lineage_store_dir(store), add_running, &running);
    return running.added ? status : cli_no_memory_error(err);
}

struct propose_problem propose_problem_of(const struct propose_past *past, const struct propose_space *space,
                                          const struct lineage_store *store, uint64_t seed)
{
    return (struct propose_problem){.ranges = space->ranges,
                                    .n_ranges = space->n,
                                    .past = past->trials,
                                    .n_past = past->n,
                                    .lower_is_better = lineage_store_config(store)->direction == LINEAGE_LOWER,
                                    .seed = seed};
}
