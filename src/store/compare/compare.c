/*
 * compare.c: differences between variants and a baseline, seed by seed.
 *
 * Pairing by seed removes the effect that a seed has on every variant alike (data order, initial weights). That effect
 * is often larger than the difference in question and would hide it if only two means were compared. So seeds that only
 * the variant or only the baseline has are left out and counted, never filled in.
 */
#include <lineage/compare.h>

#include <float.h>
#include <math.h>

#include <lineage/notes.h>
#include <lineage/settings.h>
#include <lineage/text.h>

#include "../format/arena.h"
#include "../internal.h"
#include "../questions/questions.h"
#include "../settings/ask_settings.h"
#include "../statistics/student.h"

/* ---- which trials belong to each variant, with one score per seed ----
 *
 * Variants are named as people name them: by a specialist, settings (`alpha=0.3,seed=1`), ids, or every value of one
 * parameter. Trials that do not enter a mean are counted by reason (failed, aborted, without a seed), because a variant
 * that fails on half of its seeds is not better just because the other half scores well.
 */

/* One score and its seed: the values of the pairing parameters. */
struct observation {
    double seed[LINEAGE_COMPARE_MAX_OVER];
    const char
        *text[LINEAGE_COMPARE_MAX_OVER]; /* of values that are texts, such as an integer of 2^53 or more; NULL: the number */
    double score; /* while trials are collected: the sum of n scores; then their mean */
    size_t n;
    size_t first; /* place of the first of them among the trials of the variant */
};

struct group {
    struct lineage_variant variant; /* n_trials, counts of trials left out, and settings; names are in the arena */
    double value;                   /* value of `by`, if `by` is a parameter */
    const char *text;               /* the value of `by` if it is text; `value` is then nan */
    struct observation *seen;       /* after collecting: sorted by seed, one per seed */
    size_t n_seen, capacity, settings_capacity;
};

struct comparing {
    struct lineage_store *store;
    const struct lineage_compare_options *options;
    struct arena *arena; /* for everything that lives as long as the comparison */
    const char *over[LINEAGE_COMPARE_MAX_OVER];
    size_t n_over;
    const char **named; /* parameters that distinguish the variants, so they are not listed as confounded */
    size_t n_named;
    struct lineage_settings beyond; /* values that trials have from parents or by their code; empty: rows show all */
    struct lineage_param *in_force; /* room for a trial's parameters and those */
    size_t room;
    struct group *groups; /* [LINEAGE_COMPARE_MAX_VARIANTS], the baseline first */
    size_t n;
};

/* More than anybody types, and well below SQLite's limits for the resulting statement. */
enum { MAX_CONDITIONS = 64, NAME_SIZE = 128 + LINEAGE_PARAM_QUOTED_MAX };

/* ---- trials into groups ---- */

/* A crashed trial may have left the score of its last step, and a trial that was cut short was measured differently.
 * Neither score shows what the setting achieves. */
static bool is_scored(const struct lineage_trial *trial)
{
    return lineage_label_is_measured(trial->status) && trial->score.present && isfinite(trial->score.value);
}

/* Requires all pairing parameters: if trials were paired by only some of them, different seeds would look the same. */
static bool seed_of(const struct comparing *c, const struct lineage_trial *trial, struct observation *seen)
{
    for (size_t i = 0; i < c->n_over; i++) {
        const struct lineage_param *param = lineage_trial_find_param(trial, c->over[i]);
        if (!param || (!param->text && !isfinite(param->value)))
            return false;
        seen->seed[i] = param->text ? 0 : param->value;
        seen->text[i] = param->text;
    }
    return true;
}

/* The texts must outlive the trial. */
static bool keep_texts(struct comparing *c, struct observation *seen)
{
    for (size_t i = 0; i < c->n_over; i++)
        if (seen->text[i] && !(seen->text[i] = arena_text(c->arena, seen->text[i], strlen(seen->text[i]))))
            return false;
    return true;
}

/* The array grows in the arena, because it must live as long as the comparison. Its outgrown copies stay in the arena;
 * they are few. */
static struct lineage_variant_setting *new_setting(struct comparing *c, struct group *g, size_t at, const char *name)
{
    struct lineage_variant_setting *settings = (struct lineage_variant_setting *)(uintptr_t)g->variant.settings;
    if (g->variant.n_settings == g->settings_capacity) {
        size_t capacity = g->settings_capacity ? g->settings_capacity * 2 : 32;
        struct lineage_variant_setting *grown = arena_alloc(c->arena, capacity, sizeof *grown);
        if (!grown)
            return NULL;
        if (g->variant.n_settings)
            memcpy(grown, settings, g->variant.n_settings * sizeof *grown);
        g->variant.settings = settings = grown;
        g->settings_capacity = capacity;
    }
    memmove(settings + at + 1, settings + at, (g->variant.n_settings++ - at) * sizeof *settings);
    settings[at] =
        (struct lineage_variant_setting){.name = arena_text(c->arena, name, strlen(name)), .low = INFINITY, .high = -INFINITY};
    return settings[at].name ? &settings[at] : NULL;
}

static bool note_text(struct comparing *c, struct lineage_variant_setting *setting, const char *text)
{
    setting->mixed = setting->mixed || (setting->text ? strcmp(setting->text, text) != 0 : setting->n > 0);
    if (!setting->text)
        setting->text = arena_text(c->arena, text, strlen(text));
    return setting->text != NULL;
}

/* A trial's parameters and the settings are both sorted by name, so one pass over both is enough. Only the first value
 * and the range are kept, because the question is whether a setting was the same in all trials of a variant. */
static bool note_settings(struct comparing *c, struct group *g, const struct lineage_trial *trial)
{
    size_t at = 0;
    for (size_t i = 0; i < trial->n_params; i++) {
        const struct lineage_param *param = &trial->params[i];
        while (at < g->variant.n_settings && strcmp(g->variant.settings[at].name, param->name) < 0)
            at++;
        struct lineage_variant_setting *setting = (struct lineage_variant_setting *)(uintptr_t)g->variant.settings + at;
        if (at == g->variant.n_settings || strcmp(setting->name, param->name) != 0)
            setting = new_setting(c, g, at, param->name);
        if (!setting)
            return false;
        if (param->text && !note_text(c, setting, param->text))
            return false;
        setting->mixed = setting->mixed || (!param->text && setting->text);
        setting->n++;
        setting->low = fmin(setting->low, param->value); /* fmin of a number and nan is the number */
        setting->high = fmax(setting->high, param->value);
    }
    return true;
}

/* Unused members are 0 in both observations, so all members are compared. */
static int variants_order(const struct observation *a, const struct observation *b)
{
    int order = 0;
    for (size_t i = 0; i < LINEAGE_COMPARE_MAX_OVER && !order; i++)
        if (a->text[i] && b->text[i])
            order = strcmp(a->text[i], b->text[i]);
        else if (a->text[i] || b->text[i])
            order = a->text[i] ? 1 : -1;
        else
            order = (a->seed[i] > b->seed[i]) - (a->seed[i] < b->seed[i]);
    return order;
}

static int by_seed(const void *a, const void *b)
{
    const struct observation *x = a, *y = b;
    int order = variants_order(x, y);
    return order ? order : (x->first > y->first) - (x->first < y->first);
}

/* Adds up the scores of each seed in the order in which they came, so that the last digit does not depend on when this is called. */
static void merge_seeds(struct group *g)
{
    size_t n = 0;
    if (g->n_seen)
        qsort(g->seen, g->n_seen, sizeof *g->seen, by_seed);
    for (size_t i = 0, j; i < g->n_seen; i = j) {
        struct observation sum = g->seen[i];
        for (j = i + 1; j < g->n_seen && variants_order(&sum, &g->seen[j]) == 0; j++) {
            sum.score += g->seen[j].score;
            sum.n += g->seen[j].n;
        }
        g->seen[n++] = sum;
    }
    g->n_seen = n;
}

/* Scores of one seed become their mean, because repeating a seed adds no information about other seeds. If they were
 * counted as separate pairs, they would make the interval narrower without a new observation (Hurlbert 1984:
 * pseudoreplication). */
static void average_seeds(struct group *g)
{
    merge_seeds(g);
    for (size_t i = 0; i < g->n_seen; i++)
        g->seen[i].score /= (double)g->seen[i].n;
}

/* A full array is merged first, so that a million trials of a few seeds need a few entries. */
static bool note_score(struct group *g, const struct observation *seen)
{
    const bool full = g->n_seen == g->capacity;
    if (full)
        merge_seeds(g);
    if (full && g->n_seen >= g->capacity / 2 && !LIST_ROOM(g->seen, g->capacity, g->capacity))
        return false;
    g->seen[g->n_seen++] = *seen;
    return true;
}

/* The order of the checks matters: each trial is counted once, under the first reason that applies. Aborts come first,
 * because the score of an aborted trial means nothing. */
static enum lineage_status add_trial(struct comparing *c, struct group *g, const struct lineage_trial *trial,
                                     struct lineage_error *err)
{
    struct observation seen = {.score = trial->score.value + 0.0, .n = 1, .first = g->variant.n_trials}; /* a mean of -0.0 is 0 */
    if (!lineage_label_is_informational(trial->status))
        g->variant.aborted++;
    else if (!is_scored(trial))
        g->variant.failed++;
    else if (!seed_of(c, trial, &seen))
        g->variant.without_seed++;
    else if (!keep_texts(c, &seen) || !note_score(g, &seen) || !note_settings(c, g, trial))
        return store_no_memory(err);
    else
        g->variant.n_trials++;
    return LINEAGE_OK;
}

/* ---- the variants of a parameter or of the specialist ---- */

static struct group *new_group(struct comparing *c, const char *name, struct lineage_error *err)
{
    char *copy = arena_text(c->arena, name, strlen(name));
    if (!copy) {
        (void)store_no_memory(err);
        return NULL;
    }
    if (c->n == LINEAGE_COMPARE_MAX_VARIANTS) {
        (void)store_fail(err, LINEAGE_ELIMIT, "more than %d variants; name those to compare", LINEAGE_COMPARE_MAX_VARIANTS);
        return NULL;
    }
    c->groups[c->n] = (struct group){.variant = {.name = copy}};
    return &c->groups[c->n++];
}

/* Numbers are compared exactly: 0.30000000000000004 and 0.3 are two variants, because the rows contain two settings. A
 * linear search is enough for at most 256 groups. */
static struct group *group_by_value(struct comparing *c, const char *by, const struct lineage_trial *trial,
                                    struct lineage_error *err)
{
    char name[NAME_SIZE], number[LINEAGE_NUMBER_MAX], quoted[LINEAGE_PARAM_QUOTED_MAX];
    const struct lineage_param *param = lineage_trial_find_param(trial, by);
    if (!param)
        return NULL;
    for (size_t i = 0; i < c->n; i++) {
        const char *text = c->groups[i].text;
        if (text && param->text ? strcmp(text, param->text) == 0 : !text && c->groups[i].value == param->value)
            return &c->groups[i];
    }
    snprintf(name, sizeof name, "%.80s=%s", by,
             param->text ? lineage_param_text_format(quoted, param->text) : lineage_setting_format(number, param->value));
    struct group *g = new_group(c, name, err);
    if (!g)
        return NULL;
    g->value = param->value;
    g->text = param->text ? arena_text(c->arena, param->text, strlen(param->text)) : NULL;
    if (param->text && !g->text)
        (void)store_no_memory(err);
    return param->text && !g->text ? NULL : g;
}

/* A trial without a specialist belongs to no group, because there cannot be a variant with an empty name. */
static struct group *group_by_specialist(struct comparing *c, const struct lineage_trial *trial, struct lineage_error *err)
{
    if (!trial->specialist || !*trial->specialist)
        return NULL;
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->groups[i].variant.name, trial->specialist) == 0)
            return &c->groups[i];
    return new_group(c, trial->specialist, err);
}

/* ---- what trials have beyond their rows ---- */

/* Returns the next piece up to a comma outside quotes, NULL at the end; *rest moves past the comma. */
static char *next_piece(char **rest)
{
    char *piece = *rest, *end = piece;
    bool quoted = false;
    if (!piece)
        return NULL;
    for (; *end && (quoted || *end != ','); end++)
        quoted = quoted != (*end == '\'');
    *rest = *end ? end + 1 : NULL;
    *end = '\0';
    return *piece ? piece : next_piece(rest);
}

/* Names of parameters that the question is about: `by`, and those of variants such as `lr=0.1,seed=1`. */
static enum lineage_status find_beyond(struct comparing *c, struct lineage_error *err)
{
    const struct lineage_compare_options *o = c->options;
    const char *names[LINEAGE_SETTINGS_NAMES];
    size_t n = 0;
    if (o->by && strcmp(o->by, "specialist") != 0)
        names[n++] = lineage_param_canonical(o->by);
    for (size_t i = 0; i <= o->n_variants; i++) {
        const char *text = i < o->n_variants ? o->variants[i] : o->baseline;
        char *rest = text && !o->by ? arena_text(c->arena, text, strlen(text)) : NULL;
        for (char *piece; n < LINEAGE_SETTINGS_NAMES && (piece = next_piece(&rest));) {
            char *equals = strchr(piece, '=');
            if (equals) {
                *equals = '\0';
                names[n++] = lineage_param_canonical(piece);
            }
        }
    }
    return n ? settings_beyond_rows(&c->beyond, c->store, names, n, err) : LINEAGE_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct lineage_param *)a)->name, ((const struct lineage_param *)b)->name);
}

/* Adds to the trial's parameters, which stay sorted, what it has beyond its row. */
static bool complete(struct comparing *c, struct lineage_trial *trial)
{
    const size_t room = trial->n_params + c->beyond.n;
    struct lineage_param *all = room > c->room ? realloc(c->in_force, room * sizeof *all) : c->in_force;
    if (!all)
        return !room;
    c->in_force = all;
    c->room = room > c->room ? room : c->room;
    memcpy(all, trial->params, trial->n_params * sizeof *all);
    size_t n = trial->n_params;
    for (size_t i = 0; i < c->beyond.n; i++) {
        const struct lineage_setting *setting = lineage_settings_get(&c->beyond, trial->seq, i, 0);
        const char *name = c->beyond.names[i].name;
        if (setting && !lineage_trial_find_param(trial, name))
            all[n++] = (struct lineage_param){.name = name,
                                              .value = setting->value.present ? setting->value.value : NAN,
                                              .text = setting->value.present ? NULL : setting->text};
        trial->params = all;
        trial->n_params = n;
    }
    qsort(all, n, sizeof *all, by_name);
    return true;
}

/* The condition of a variant, for a trial that is complete. */
static bool has_value(const struct lineage_trial *trial, const struct lineage_condition *condition)
{
    const struct lineage_param *param = lineage_trial_find_param(trial, condition->name);
    double wide;
    if (!param || !condition->n_texts)
        return param && !param->text && param->value == condition->range.low.value;
    if (!param->text) /* an integer that is a text, in a row that rounded it */
        return lineage_param_is_text(condition->texts[0]) &&
               lineage_number_parse(&wide, condition->texts[0], strlen(condition->texts[0])) && param->value == wide;
    return strcmp(param->text, condition->texts[0]) == 0;
}

/* Adds every trial of the cursor to `fixed`, or to the group of its value of `by`. */
static enum lineage_status add_found(struct comparing *c, const struct lineage_query *query, struct group *fixed, const char *by,
                                     struct lineage_error *err)
{
    const struct lineage_compare_options *o = c->options;
    struct lineage_cursor *cursor = NULL;
    struct lineage_trial trial;
    struct lineage_error why = {0};
    struct lineage_query all = *query;
    all.n_conditions = c->beyond.n ? o->n_conditions : query->n_conditions;
    enum lineage_status status = o->next ? LINEAGE_OK : lineage_query_open(&cursor, c->store, &all, err);
    if (status != LINEAGE_OK)
        return status;
    if (cursor)
        cursor_load_outcomes(cursor);
    while (status == LINEAGE_OK &&
           (cursor ? (status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK : o->next(o->context, &trial))) {
        size_t i = all.n_conditions;
        if (c->beyond.n && !complete(c, &trial))
            status = store_no_memory(err);
        while (i < query->n_conditions && (by || has_value(&trial, &query->conditions[i])))
            i++;
        if (i < query->n_conditions || status != LINEAGE_OK)
            continue;
        struct group *g = fixed ? fixed : by ? group_by_value(c, by, &trial, &why) : group_by_specialist(c, &trial, &why);
        if (g)
            status = add_trial(c, g, &trial, err);
        else if (why.status != LINEAGE_OK)
            status = store_fail(err, why.status, "%s", why.text);
    }
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* The condition has no bounds, so the mirror's index finds every row that has the parameter. */
static enum lineage_status collect_by(struct comparing *c, struct lineage_error *err)
{
    const struct lineage_compare_options *o = c->options;
    struct lineage_condition conditions[MAX_CONDITIONS + 1];
    struct lineage_query query = {.conditions = conditions, .n_conditions = o->n_conditions};
    const char *by = o->by && strcmp(o->by, "specialist") != 0 ? lineage_param_canonical(o->by) : NULL;
    if (o->n_conditions)
        memcpy(conditions, o->conditions, o->n_conditions * sizeof *conditions);
    if (by) {
        conditions[query.n_conditions++] = (struct lineage_condition){.name = by};
        c->named[c->n_named++] = by;
    }
    return add_found(c, &query, NULL, by, err);
}

/* ---- variants by text ---- */

static enum lineage_status unknown_variant(const char *text, struct lineage_error *err)
{
    return store_fail(err, LINEAGE_EINVAL,
                      "'%.80s' names no trial: it is not a specialist of this store, an exp_id or a NAME=VALUE of a "
                      "parameter; `lineage sql 'SELECT DISTINCT specialist FROM trials'` lists specialists",
                      text);
}

/* Specialists are looked up in the trials, because they are not listed anywhere else. */
static enum lineage_status is_specialist(struct comparing *c, const char *text, bool *found, struct lineage_error *err)
{
    const struct lineage_query query = {.specialist = text, .limit = 1};
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    TRY(lineage_query_open(&cursor, c->store, &query, err));
    const enum lineage_status status = lineage_cursor_next(cursor, &trial, err);
    *found = status == LINEAGE_OK;
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* The conditions of the comparison do not apply here, because a user who names a trial by its id wants that trial. */
static enum lineage_status add_ids(struct comparing *c, struct group *g, const char *text, char *pieces,
                                   struct lineage_error *err)
{
    char *rest;
    enum lineage_status status = LINEAGE_OK;
    for (char *id = strtok_r(pieces, ",", &rest); status == LINEAGE_OK && id; id = strtok_r(NULL, ",", &rest)) {
        SCOPED_TRIAL trial = {0};
        status = lineage_find_named(c->store, id, false, &trial, err);
        if (status == LINEAGE_ENOTFOUND)
            return unknown_variant(text, err);
        if (status == LINEAGE_OK)
            status = add_trial(c, g, &trial, err);
    }
    return status;
}

static enum lineage_status take_text(struct comparing *c, struct lineage_condition *condition, const char *name,
                                     const char *value, const char *text, struct lineage_error *err)
{
    char own[LINEAGE_PARAM_TEXT_MAX + 1];
    const char *rest = value;
    double number;
    bool is_number = !lineage_param_is_text(value) && lineage_number_parse(&number, value, strlen(value));
    if (is_number || !lineage_param_text_next(own, &rest) || *rest)
        return store_fail(err, LINEAGE_EINVAL, "variant '%.80s': '%.40s' is not a number, nor text of a parameter", text, value);
    const char **texts = arena_alloc(c->arena, 1, sizeof *texts);
    if (!texts || !(texts[0] = arena_text(c->arena, own, strlen(own))))
        return store_no_memory(err);
    *condition = (struct lineage_condition){.name = name, .texts = texts, .n_texts = 1};
    return LINEAGE_OK;
}

/* Reads NAME=VALUE as a condition; a piece without `=` is a specialist. `named` remembers what distinguishes the
 * variants, so that it is not listed as confounded later. */
static enum lineage_status take_piece(struct comparing *c, struct lineage_query *query, struct lineage_condition *condition,
                                      char *piece, const char *text, struct lineage_error *err)
{
    char *equals = strchr(piece, '=');
    double value;
    if (!equals) {
        if (query->specialist)
            return unknown_variant(text, err);
        query->specialist = piece;
        return LINEAGE_OK;
    }
    *equals = '\0';
    const char *name = lineage_param_canonical(piece);
    if (!lineage_param_is_text(equals + 1) && lineage_number_parse(&value, equals + 1, strlen(equals + 1)) && !isnan(value)) {
        *condition = (struct lineage_condition){.name = name, .range = {{true, value}, {true, value}}};
    } else {
        TRY(take_text(c, condition, name, equals + 1, text, err));
    }
    query->n_conditions++;
    c->named[c->n_named++] = name;
    return LINEAGE_OK;
}

/* The conditions of the comparison are added to those of each variant, so they restrict all variants alike. */
static enum lineage_status add_matching(struct comparing *c, struct group *g, const char *text, char *pieces,
                                        struct lineage_error *err)
{
    const struct lineage_compare_options *o = c->options;
    struct lineage_condition conditions[2 * MAX_CONDITIONS];
    struct lineage_query query = {.conditions = conditions, .n_conditions = o->n_conditions};
    char *rest = pieces;
    if (o->n_conditions)
        memcpy(conditions, o->conditions, o->n_conditions * sizeof *conditions);
    for (char *p = next_piece(&rest); p; p = next_piece(&rest))
        TRY(query.n_conditions == sizeof conditions / sizeof *conditions
                ? store_fail(err, LINEAGE_ELIMIT, "variant '%.80s' has too many conditions", text)
                : take_piece(c, &query, &conditions[query.n_conditions], p, text, err));
    return add_found(c, &query, g, NULL, err);
}

/* The text is first tried as a specialist, because a specialist's name is free text and may look like a setting or an
 * id, and people type the names that they see in the rendered block. A text that matches no trial is an error;
 * otherwise a typing error would show as a variant without trials. */
static enum lineage_status collect_text(struct comparing *c, const char *text, struct lineage_error *err)
{
    bool specialist = false;
    struct lineage_query query = {
        .specialist = text, .conditions = c->options->conditions, .n_conditions = c->options->n_conditions};
    char *pieces = arena_text(c->arena, text, strlen(text));
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->groups[i].variant.name, text) == 0)
            return store_fail(err, LINEAGE_EINVAL, "variant '%.80s' is named twice", text);
    struct group *g = new_group(c, text, err);
    if (!g)
        return err->status;
    if (!pieces)
        return store_no_memory(err);
    TRY(is_specialist(c, text, &specialist, err));
    TRY(specialist          ? add_found(c, &query, g, NULL, err)
        : strchr(text, '=') ? add_matching(c, g, text, pieces, err)
                            : add_ids(c, g, text, pieces, err));
    bool none = !g->variant.n_trials && !g->variant.failed && !g->variant.aborted && !g->variant.without_seed;
    return none && !specialist ? unknown_variant(text, err) : LINEAGE_OK;
}

/* ---- the whole ---- */

/* Splits `over` at its commas. Several parameters are needed if a seed alone does not identify a repetition (for
 * example a seed and a data split). */
static enum lineage_status split_over(struct comparing *c, struct lineage_error *err)
{
    const char *text = c->options->over ? c->options->over : "seed";
    char *copy = arena_text(c->arena, text, strlen(text)), *rest;
    if (!copy)
        return store_no_memory(err);
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (c->n_over == LINEAGE_COMPARE_MAX_OVER)
            return store_fail(err, LINEAGE_ELIMIT, "trials are paired by at most %d parameters", LINEAGE_COMPARE_MAX_OVER);
        c->over[c->n_over++] = lineage_param_canonical(name);
        c->named[c->n_named++] = c->over[c->n_over - 1];
    }
    return c->n_over ? LINEAGE_OK : store_fail(err, LINEAGE_EINVAL, "name at least one parameter that pairs the trials");
}

/* Finds the baseline by its name, or by its value alone ("0.3" for "alpha=0.3"), and moves it to the front, because
 * every difference is computed against it. */
static enum lineage_status place_baseline(struct comparing *c, struct lineage_error *err)
{
    const char *wanted = c->options->baseline;
    double value;
    bool number = wanted && c->options->by && lineage_number_parse(&value, wanted, strlen(wanted));
    size_t i = 0;
    while (wanted && i < c->n && strcmp(c->groups[i].variant.name, wanted) != 0 &&
           !(c->options->by && strcmp(c->options->by, "specialist") != 0 &&
             ((number && c->groups[i].value == value) || (c->groups[i].text && strcmp(c->groups[i].text, wanted) == 0))))
        i++;
    if (i == c->n)
        return store_fail(err, LINEAGE_EINVAL, "baseline '%.80s' is none of the variants", wanted);
    struct group baseline = c->groups[i];
    memmove(c->groups + 1, c->groups, i * sizeof *c->groups);
    c->groups[0] = baseline;
    return LINEAGE_OK;
}

/* A baseline that is not among the given variants is added to them, so the user need not name it twice. */
static enum lineage_status collect_given(struct comparing *c, struct lineage_error *err)
{
    const struct lineage_compare_options *o = c->options;
    bool among = !o->baseline;
    for (size_t i = 0; i < o->n_variants; i++)
        among = among || strcmp(o->variants[i], o->baseline) == 0;
    if (!among)
        TRY(collect_text(c, o->baseline, err));
    for (size_t i = 0; i < o->n_variants; i++)
        TRY(collect_text(c, o->variants[i], err));
    return LINEAGE_OK;
}

/* Seeds are merged last, because a variant given as several ids gets trials of the same seed from several calls. */
static enum lineage_status variants_collect(struct comparing *c, struct lineage_error *err)
{
    const struct lineage_compare_options *o = c->options;
    c->groups = calloc(LINEAGE_COMPARE_MAX_VARIANTS, sizeof *c->groups);
    c->named = arena_alloc(c->arena, 2 * MAX_CONDITIONS * (LINEAGE_COMPARE_MAX_VARIANTS + 1), sizeof *c->named);
    if (!c->groups || !c->named)
        return store_no_memory(err);
    if (o->next && (o->n_variants || o->by || o->n_conditions))
        return store_fail(err, LINEAGE_EINVAL, "trials of the caller are compared by specialist, without conditions");
    if (o->n_conditions > MAX_CONDITIONS)
        return store_fail(err, LINEAGE_ELIMIT, "more than %d conditions", MAX_CONDITIONS);
    TRY(split_over(c, err));
    TRY(find_beyond(c, err));
    TRY(o->n_variants ? collect_given(c, err) : collect_by(c, err));
    if (c->n < 2)
        return store_fail(err, LINEAGE_EINVAL, "nothing to compare: %s", c->n ? "there is only one variant" : "no trial matches");
    TRY(place_baseline(c, err));
    for (size_t i = 0; i < c->n; i++)
        average_seeds(&c->groups[i]);
    return LINEAGE_OK;
}

/* Frees only the arrays that realloc allocated; the arena owns everything else. */
static void variants_release(struct comparing *c)
{
    for (size_t i = 0; c->groups && i < c->n; i++)
        free(c->groups[i].seen);
    free(c->groups);
    free(c->in_force);
    lineage_settings_release(&c->beyond);
}

/* ---- differences ---- */

/* Mean and standard deviation (n - 1) of values[0..n); the mean is absent for n = 0, the deviation for n < 2.
 * Divides by n - 1, because the mean is estimated from the same values; for one value the deviation is absent instead
 * of 0. */
static void paired_moments(const double *values, size_t n, struct lineage_number *mean, struct lineage_number *std)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    *mean = (struct lineage_number){n > 0, n ? sum / (double)n : 0};
    for (size_t i = 0; i < n; i++) /* from the mean, because the mean of squares minus the squared mean cancels */
        squares += (values[i] - mean->value) * (values[i] - mean->value);
    *std = (struct lineage_number){n > 1, n > 1 ? sqrt(squares / (double)(n - 1)) : 0};
}

/* Ends of the interval for a two-sided error probability alpha. */
static void interval(const struct lineage_variant *v, double alpha, struct lineage_number *low, struct lineage_number *high)
{
    double half = student_quantile(alpha, v->freedom.value) * v->error.value;
    *low = (struct lineage_number){true, v->difference.value - half};
    *high = (struct lineage_number){true, v->difference.value + half};
}

static void test(struct lineage_variant *v, double confidence)
{
    v->p = (struct lineage_number){true, student_two_sided(fabs(v->difference.value) / v->error.value, v->freedom.value)};
    interval(v, 1 - confidence, &v->low, &v->high);
}

/* Sets the variant's difference, interval and p from differences[0..n); scale is the largest score that they were
 * computed from. */
static void paired_test(struct lineage_variant *v, const double *differences, size_t n, double scale, double confidence)
{
    v->n_pairs = n;
    paired_moments(differences, n, &v->difference, &v->difference_std);
    /* If all differences are equal (up to rounding) their spread cannot be estimated; an interval of zero width would
     * claim certainty. */
    if (n < 2 || !(v->difference_std.value > 8 * DBL_EPSILON * scale))
        return;
    /* There are n - 1 degrees of freedom for n pairs, because the spread is estimated from the same differences. For two
     * pairs and alpha 0.05, the factor is 12.7 instead of the normal distribution's 1.96. */
    v->error = (struct lineage_number){true, v->difference_std.value / sqrt((double)n)};
    v->freedom = (struct lineage_number){true, (double)(n - 1)};
    test(v, confidence);
}

/*
 * Holm's method starts at the smallest p, multiplies each p by the number of tests left, and never lets a later p fall
 * below an earlier one. Among ten variants without any effect, one is below 0.1 by chance. Holm keeps the chance of a
 * single false claim in the family at the chosen level, assumes nothing about how the tests depend on each other (all
 * share one baseline), and rejects whatever Bonferroni would.
 */
static void adjust_holm(struct lineage_variant *variants, size_t n, size_t tests)
{
    double highest = 0;
    for (size_t left = tests; left; left--) {
        struct lineage_variant *next = NULL;
        for (size_t i = 0; i < n; i++)
            if (variants[i].p.present && !variants[i].p_holm.present && (!next || variants[i].p.value < next->p.value))
                next = &variants[i];
        highest = fmax(highest, fmin(1, (double)left * next->p.value));
        next->p_holm = (struct lineage_number){true, highest};
    }
}

/* Computes intervals and p values that hold for all comparisons together; returns the number of comparisons that have a
 * p.
 * Holm's stepwise correction works for p values but not for intervals. The family's intervals are therefore
 * Bonferroni's, which are wider and hold simultaneously. */
static size_t paired_adjust(struct lineage_variant *variants, size_t n, double confidence)
{
    size_t tests = 0;
    for (size_t i = 0; i < n; i++)
        tests += variants[i].p.present;
    for (size_t i = 0; i < n; i++)
        if (variants[i].p.present)
            interval(&variants[i], (1 - confidence) / (double)tests, &variants[i].family_low, &variants[i].family_high);
    adjust_holm(variants, n, tests);
    return tests;
}

/* Computes the differences over the common seeds and returns their number; `seen` of both groups is sorted. *scale
 * becomes the largest score, which shows how large a difference rounding alone could make. */
static size_t pair_up(const struct group *baseline, const struct group *g, double *differences, double *scale)
{
    size_t n = 0;
    *scale = 0;
    for (size_t i = 0, j = 0; i < baseline->n_seen && j < g->n_seen;) {
        int order = variants_order(&baseline->seen[i], &g->seen[j]);
        if (order == 0) {
            *scale = fmax(*scale, fmax(fabs(baseline->seen[i].score), fabs(g->seen[j].score)));
            differences[n++] = g->seen[j].score - baseline->seen[i].score;
        }
        i += order <= 0;
        j += order >= 0;
    }
    return n;
}

/* The number of pairs is not known in advance, so the scratch array has the largest possible size. */
static enum lineage_status test_group(const struct group *baseline, struct group *g, double confidence, struct lineage_error *err)
{
    double scale;
    SCOPED_FREE double *differences = calloc(g->n_seen + 1, sizeof *differences);
    if (!differences)
        return store_no_memory(err);
    size_t n = pair_up(baseline, g, differences, &scale);
    paired_test(&g->variant, differences, n, scale, confidence);
    g->variant.unpaired = baseline->n_seen + g->n_seen - 2 * n;
    return LINEAGE_OK;
}

static enum lineage_status describe(struct group *g, struct lineage_error *err)
{
    double *scores = calloc(g->n_seen + 1, sizeof *scores);
    if (!scores)
        return store_no_memory(err);
    for (size_t i = 0; i < g->n_seen; i++)
        scores[i] = g->seen[i].score;
    g->variant.n_seeds = g->n_seen;
    paired_moments(scores, g->n_seen, &g->variant.mean, &g->variant.std);
    free(scores);
    return LINEAGE_OK;
}

static const struct lineage_variant_setting *find_setting(const struct lineage_variant *v, const char *name)
{
    for (size_t i = 0; i < v->n_settings; i++)
        if (strcmp(v->settings[i].name, name) == 0)
            return &v->settings[i];
    return NULL;
}

/* Whether `one` has a single value, and it equals the first value of the other setting. */
static bool has_one_value(const struct lineage_variant_setting *one, const struct lineage_variant_setting *other)
{
    if (one->text || other->text)
        return one->text && other->text && !one->mixed && strcmp(one->text, other->text) == 0;
    return one->low == other->low && one->high == other->low;
}

/* Whether every trial that counts has the same value of the setting. A setting that some trials lack counts as
 * different, because its value there is unknown. */
static bool is_constant(const struct comparing *c, const struct lineage_variant_setting *setting)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct lineage_variant *v = &c->groups[i].variant;
        const struct lineage_variant_setting *its = find_setting(v, setting->name);
        if (v->n_trials && (!its || its->n != v->n_trials || !has_one_value(its, setting)))
            return false;
    }
    return true;
}

static bool is_listed(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* If two variants also differ in a second setting, the numbers are right, but the reader must know that the second
 * setting could also have caused the difference. Settings that name the variants or pair the trials differ on purpose,
 * so they are not listed. */
static enum lineage_status list_confounded(const struct comparing *c, struct lineage_comparison *out, struct lineage_error *err)
{
    size_t most = 0, n = 0;
    for (size_t i = 0; i < c->n; i++)
        most += c->groups[i].variant.n_settings;
    const char **names = arena_alloc(c->arena, most + 1, sizeof *names);
    if (!names)
        return store_no_memory(err);
    for (size_t i = 0; i < c->n; i++)
        for (size_t j = 0; j < c->groups[i].variant.n_settings; j++) {
            const struct lineage_variant_setting *setting = &c->groups[i].variant.settings[j];
            if (!is_listed(c->named, c->n_named, setting->name) && !is_listed(names, n, setting->name) &&
                !is_constant(c, setting))
                names[n++] = setting->name;
        }
    out->confounded = names;
    out->n_confounded = n;
    return LINEAGE_OK;
}

/* Names are in the arena already; this function copies the variants there too. Intervals and p values are adjusted
 * after all tests, because both corrections depend on the number of tests. */
static enum lineage_status give(const struct comparing *c, struct lineage_comparison *out, struct lineage_error *err)
{
    out->variants = arena_alloc(c->arena, c->n, sizeof *out->variants);
    if (!out->variants)
        return store_no_memory(err);
    out->n_variants = c->n;
    for (size_t i = 0; i < c->n; i++)
        out->variants[i] = c->groups[i].variant;
    out->n_tests = paired_adjust(out->variants, out->n_variants, out->confidence);
    return list_confounded(c, out, err);
}

/* Without this check, a store whose trials have no seed would give empty variants, as if none had been run. */
static enum lineage_status check_seeds(const struct comparing *c, struct lineage_error *err)
{
    size_t with = 0, without = 0;
    for (size_t i = 0; i < c->n; i++) {
        with += c->groups[i].variant.n_trials;
        without += c->groups[i].variant.without_seed;
    }
    if (with || !without)
        return LINEAGE_OK;
    return store_fail(err, LINEAGE_EINVAL, "none of these trials has '%.60s' to pair them by; name another parameter",
                      c->options->over ? c->options->over : "seed");
}

static enum lineage_status compare(struct comparing *c, struct lineage_comparison *out, struct lineage_error *err)
{
    TRY(variants_collect(c, err));
    TRY(check_seeds(c, err));
    for (size_t i = 0; i < c->n; i++)
        TRY(describe(&c->groups[i], err));
    for (size_t i = 1; i < c->n; i++)
        TRY(test_group(&c->groups[0], &c->groups[i], out->confidence, err));
    return give(c, out, err);
}

enum lineage_status lineage_compare(struct lineage_store *store, const struct lineage_compare_options *options,
                                    struct lineage_comparison *out, struct lineage_error *err)
{
    struct lineage_error local; /* filled in if collecting the trials fails */
    *out = (struct lineage_comparison){.confidence = options->confidence > 0 ? options->confidence : 0.95};
    if (!(options->confidence >= 0 && options->confidence < 1))
        return store_fail(err, LINEAGE_EINVAL, "a confidence lies between 0 and 1, as 0.95 does");
    struct arena *arena = calloc(1, sizeof *arena);
    if (!arena)
        return store_no_memory(err);
    out->memory = arena;
    struct comparing c = {.store = store, .options = options, .arena = arena};
    enum lineage_status status = compare(&c, out, err ? err : &local);
    variants_release(&c);
    if (status != LINEAGE_OK)
        lineage_comparison_release(out);
    return status;
}

void lineage_comparison_release(struct lineage_comparison *comparison)
{
    if (!comparison)
        return;
    if (comparison->memory)
        arena_release(comparison->memory);
    free(comparison->memory);
    *comparison = (struct lineage_comparison){0};
}
