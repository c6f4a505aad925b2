/*
 * trial.c: the columns of a trial and its memory. Only the table of columns defines their order: reading, writing,
 * the mirror and JSON loop over it.
 *
 * Their order is that of the header that FORMAT.md promises, and of the mirror's table after its first five columns
 * (seq to digest), so all three change together. With offsets into the struct instead of a switch per column, a column
 * that is added here is read, written, mirrored and printed without another line.
 */
#include <lineage/trial.h>

#include "../fail.h"
#include "id.h"
#include "row.h"

/* ---- the ten status labels, with the name and the kind of each.
 *
 * tests/unit/lineage_labels.c checks everything else that lists the labels against this table: the enum in
 * lineage/trial.h, the schemas, the conditions of schema/indexes.sql, and the lists that the command prints; the Python
 * package reads them from the library. The names are stored in logs and mirrors, so they must not change; the numbers of the enum are stored
 * nowhere.
 */

/* KEPT: may become best. REJECTED: measured, but not better than the best. FAILED: the setting was tried and gave no
 * usable score. ABORTED: the machinery failed before the setting was tried, so it counts as untried. */
enum kind { KEPT, REJECTED, FAILED, ABORTED };

static const struct {
    const char *name;
    enum kind kind;
} labels[LINEAGE_N_LABELS] = {
    [LINEAGE_KEEP] = {"keep", KEPT},
    [LINEAGE_DISCARD] = {"discard", REJECTED},
    [LINEAGE_CRASH] = {"crash", FAILED},
    [LINEAGE_EVAL_BUDGET_OVERRUN] = {"eval_budget_overrun", FAILED},
    [LINEAGE_TRAIN_BUDGET_OVERRUN] = {"train_budget_overrun", FAILED},
    [LINEAGE_SIZE_BLOCKED] = {"size_blocked", FAILED},
    [LINEAGE_PREFLIGHT_CRASH] = {"preflight_crash", FAILED},
    [LINEAGE_HARNESS_ABORT] = {"harness_abort", ABORTED},
    [LINEAGE_DISQUALIFIED] = {"disqualified", FAILED},
    [LINEAGE_BASELINE] = {"baseline", KEPT}, /* not compared with anything, but others are compared with it */
};

static bool is_kind(enum lineage_label label, enum kind kind)
{
    return (unsigned)label < LINEAGE_N_LABELS && labels[label].kind == kind;
}

const char *lineage_label_name(enum lineage_label label)
{
    return (unsigned)label < LINEAGE_N_LABELS ? labels[label].name : NULL;
}

bool lineage_label_parse(enum lineage_label *label, const char *text)
{
    for (int i = 0; i < LINEAGE_N_LABELS; i++)
        if (strcmp(labels[i].name, text) == 0) {
            *label = (enum lineage_label)i;
            return true;
        }
    return false;
}

bool lineage_label_is_kept(enum lineage_label label)
{
    return is_kind(label, KEPT);
}

bool lineage_label_is_measured(enum lineage_label label)
{
    return is_kind(label, KEPT) || is_kind(label, REJECTED);
}

bool lineage_label_is_failure(enum lineage_label label)
{
    return is_kind(label, FAILED);
}

bool lineage_label_is_informational(enum lineage_label label)
{
    return !is_kind(label, ABORTED);
}

#define TEXT(member) {#member, LINEAGE_COLUMN_TEXT, offsetof(struct lineage_trial, member)}
#define NUMBER(member) {#member, LINEAGE_COLUMN_NUMBER, offsetof(struct lineage_trial, member)}

const struct lineage_column trial_columns[LINEAGE_N_COLUMNS] = {
    TEXT(exp_id),        TEXT(timestamp),      TEXT(specialist),
    TEXT(parent_exp),    TEXT(baseline_exp),   TEXT(domain),
    TEXT(hypothesis),    TEXT(expected_delta), {"status", LINEAGE_COLUMN_LABEL, offsetof(struct lineage_trial, status)},
    NUMBER(core_metric), NUMBER(val_bpb),      NUMBER(delta_vs_best),
    NUMBER(train_s),     NUMBER(total_s),      TEXT(job_name),
    TEXT(snapshot_path), TEXT(notes),
};

const struct lineage_column *lineage_column(size_t i)
{
    return i < LINEAGE_N_COLUMNS ? &trial_columns[i] : NULL;
}

int lineage_column_find(const char *name)
{
    for (int i = 0; i < LINEAGE_N_COLUMNS; i++)
        if (strcmp(trial_columns[i].name, name) == 0)
            return i;
    return -1;
}

const char *lineage_trial_text(const struct lineage_trial *trial, size_t column)
{
    if (column >= LINEAGE_N_COLUMNS || trial_columns[column].kind != LINEAGE_COLUMN_TEXT)
        return NULL;
    const char *text = *(const char *const *)(const void *)((const char *)trial + trial_columns[column].offset);
    return text ? text : "";
}

const char **trial_text_member(struct lineage_trial *trial, size_t column)
{
    return (const char **)(void *)((char *)trial + trial_columns[column].offset);
}

struct lineage_number *trial_number_member(struct lineage_trial *trial, size_t column)
{
    return (struct lineage_number *)(void *)((char *)trial + trial_columns[column].offset);
}

const struct lineage_param *lineage_trial_find_param(const struct lineage_trial *trial, const char *name)
{
    for (size_t i = 0; i < trial->n_params; i++)
        if (strcmp(trial->params[i].name, name) == 0)
            return &trial->params[i];
    return NULL;
}

bool lineage_trial_param(double *value, const struct lineage_trial *trial, const char *name)
{
    const struct lineage_param *param = lineage_trial_find_param(trial, name);
    if (!param || param->text)
        return false;
    *value = param->value;
    return true;
}

bool lineage_trial_metric(double *value, const struct lineage_trial *trial, const char *name)
{
    for (size_t i = 0; i < trial->n_metrics; i++)
        if (strcmp(trial->metrics[i].name, name) == 0) {
            *value = trial->metrics[i].value;
            return true;
        }
    return false;
}

/*
 * Both spellings give the same number, because exp_014 and 014 name the same trial. At most 18 digits fit in an SQLite
 * integer, in which the mirror stores the next id, with room for + 1; a longer sequence of digits is a hash that
 * happens to contain no letters. The width is kept because ids are padded to it, so that people's tools can sort them
 * as text.
 */
void row_note_id(const char *id, uint64_t *next, size_t *width)
{
    const char *digits = id_bare(id);
    uint64_t value = 0;
    size_t n = 0;
    for (; n <= 18 && digits[n] >= '0' && digits[n] <= '9'; n++)
        value = value * 10 + (uint64_t)(digits[n] - '0');
    if (!n || digits[n] || n > 18)
        return;
    if (value + 1 > *next)
        *next = value + 1;
    if (n > *width)
        *width = n;
}

/* The arena is created when it is first needed: a trial that a caller filled in by hand owns nothing and need not be
 * released. */
struct arena *trial_memory(struct lineage_trial *trial)
{
    if (!trial->memory)
        trial->memory = calloc(1, sizeof(struct arena));
    return trial->memory;
}

void lineage_trial_release(struct lineage_trial *trial)
{
    if (!trial)
        return;
    if (trial->memory)
        arena_release(trial->memory);
    free(trial->memory);
    *trial = (struct lineage_trial){0};
}

static const char *copy(struct arena *arena, const char *text, bool *ok)
{
    if (!text)
        return NULL;
    const char *out = arena_text(arena, text, strlen(text));
    *ok = *ok && out;
    return out;
}

static void copy_arrays(struct lineage_trial *out, const struct lineage_trial *in, struct arena *arena, bool *ok)
{
    struct lineage_param *params = arena_alloc(arena, in->n_params, sizeof *params);
    struct lineage_turn_stat *turns = arena_alloc(arena, in->n_turns, sizeof *turns);
    struct lineage_extra *extras = arena_alloc(arena, in->n_extras, sizeof *extras);
    struct lineage_param *metrics = arena_alloc(arena, in->n_metrics, sizeof *metrics);
    if (!params || !turns || !extras || !metrics) {
        *ok = false;
        return;
    }
    for (size_t i = 0; i < in->n_params; i++)
        params[i] =
            (struct lineage_param){copy(arena, in->params[i].name, ok), in->params[i].value, copy(arena, in->params[i].text, ok)};
    for (size_t i = 0; i < in->n_turns; i++)
        turns[i] = in->turns[i];
    for (size_t i = 0; i < in->n_extras; i++)
        extras[i] = (struct lineage_extra){copy(arena, in->extras[i].column, ok), copy(arena, in->extras[i].text, ok)};
    for (size_t i = 0; i < in->n_metrics; i++)
        metrics[i] = (struct lineage_param){copy(arena, in->metrics[i].name, ok), in->metrics[i].value, NULL};
    out->metrics = metrics;
    out->params = params;
    out->turns = turns;
    out->extras = extras;
}

/* The row returned by an append must outlive the caller's strings, the handle and the append's arena, which owns the
 * row's strings before this copy. */
enum lineage_status lineage_trial_copy(struct lineage_trial *out, const struct lineage_trial *in, struct lineage_error *err)
{
    bool ok = true;
    *out = *in;
    out->memory = NULL;
    struct arena *arena = trial_memory(out);
    if (!arena)
        return store_no_memory(err);
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        if (trial_columns[i].kind == LINEAGE_COLUMN_TEXT)
            *trial_text_member(out, i) = copy(arena, lineage_trial_text(in, i), &ok);
    copy_arrays(out, in, arena, &ok);
    if (ok)
        return LINEAGE_OK;
    lineage_trial_release(out);
    return store_no_memory(err);
}
