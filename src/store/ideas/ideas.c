/* ideas.c: builds a set of ideas: adds trials, and matches the words and names of the whole log. */
#include "ideas_internal.h"

#include <lineage/voids.h>

#include <xxhash.h>

#include "../format/id.h"

const char *lineage_change_source_name(enum lineage_change_source source)
{
    static const char *const names[LINEAGE_N_CHANGE_SOURCES] = {"declared", "measured", "stated"};
    return (unsigned)source < LINEAGE_N_CHANGE_SOURCES ? names[source] : NULL;
}

enum lineage_status lineage_ideas_new(struct lineage_ideas **ideas, struct lineage_error *err)
{
    *ideas = calloc(1, sizeof **ideas);
    return *ideas ? LINEAGE_OK : store_no_memory(err);
}

void lineage_ideas_release(struct lineage_ideas *ideas)
{
    if (!ideas)
        return;
    for (size_t i = 0; i < ideas->n; i++)
        row_release(&ideas->rows[i]);
    free(ideas->candidates);
    free(ideas->listing.items);
    text_table_release(&ideas->terms);
    text_table_release(&ideas->words);
    text_table_release(&ideas->knobs);
    knob_rules_release(ideas);
    text_table_release(&ideas->names);
    text_table_release(&ideas->values);
    text_table_release(&ideas->ids);
    text_table_release(&ideas->shared);
    free(ideas->named);
    free(ideas->given);
    free(ideas->id_rows);
    buf_release(&ideas->packing);
    arena_release(&ideas->scratch);
    free(ideas->rows);
    idea_index_release(ideas);
    arena_release(&ideas->arena);
    free(ideas);
}

/* The last trial that has the id, which is without exp_; TRIAL_NONE if no trial has it. */
static uint32_t row_of(const struct lineage_ideas *ideas, const char *id, size_t length)
{
    uint32_t number = text_table_find(&ideas->ids, id, length);
    return number == TEXT_NONE ? TRIAL_NONE : ideas->id_rows[number];
}

/* Makes an id, which is without exp_, that of a row. Returns the set's copy of it, or NULL when out of memory. */
static const char *place(struct lineage_ideas *ideas, const char *id, size_t row)
{
    uint32_t number = text_table_add(&ideas->ids, id, strlen(id));
    if (number == TEXT_NONE || !LIST_ROOM(ideas->id_rows, number, ideas->ids_capacity))
        return NULL;
    ideas->id_rows[number] = (uint32_t)row;
    return ideas->ids.entries[number].text;
}

bool lineage_ideas_find(size_t *index, const struct lineage_ideas *ideas, const char *id)
{
    uint32_t row = row_of(ideas, id_bare(id), strlen(id_bare(id)));
    if (row != TRIAL_NONE)
        *index = row;
    return row != TRIAL_NONE;
}

/* Ids are zero-padded in the log; a text may omit zeros ("#88") or add some. */
static uint32_t row_of_mention(const struct lineage_ideas *ideas, const char *id, size_t length)
{
    uint32_t there = row_of(ideas, id, length);
    char padded[8];
    size_t width = ideas->n ? strlen(id_bare(ideas->rows[0].idea.exp_id)) : 0;
    if (there != TRIAL_NONE || width <= length || width >= sizeof padded)
        return there;
    memset(padded, '0', width - length);
    memcpy(padded + width - length, id, length);
    return row_of(ideas, padded, width);
}

/* The hypothesis, and behind it the notes; see row_notes. */
static const char *copy_texts(struct lineage_ideas *ideas, const struct lineage_trial *trial, bool *ok)
{
    struct buf *both = &ideas->packing;
    buf_reset(both);
    buf_puts(both, trial->hypothesis ? trial->hypothesis : "");
    buf_put(both, '\0');
    buf_puts(both, trial->notes ? trial->notes : "");
    const char *out = both->failed ? NULL : arena_text(&ideas->arena, both->data, both->length);
    *ok = *ok && out;
    return out;
}

uint64_t ideas_seed(const struct lineage_ideas *ideas)
{
    uint64_t seed = READING_VERSION;
    for (size_t i = 0; i < ideas->n_columns; i++)
        seed = XXH3_64bits_withSeed(ideas->columns[i], strlen(ideas->columns[i]), seed);
    return seed;
}

uint64_t row_digest(const struct lineage_ideas *ideas, const struct idea_row *row)
{
    const char *hypothesis = row->idea.hypothesis, *notes = row_notes(row);
    return XXH3_64bits_withSeed(notes, strlen(notes), XXH3_64bits_withSeed(hypothesis, strlen(hypothesis), ideas_seed(ideas)));
}

/* The set's copy of a text that many trials have in common. */
static const char *share(struct lineage_ideas *ideas, const char *text, bool *ok)
{
    if (!text || !*text)
        return "";
    uint32_t number = text_table_find(&ideas->ids, text, strlen(text)); /* a parent that is in the log */
    if (number != TEXT_NONE)
        return ideas->ids.entries[number].text;
    number = text_table_add(&ideas->shared, text, strlen(text));
    *ok = *ok && number != TEXT_NONE;
    return number == TEXT_NONE ? NULL : ideas->shared.entries[number].text;
}

static bool copy_params(struct lineage_ideas *ideas, struct idea_row *row, const struct lineage_trial *trial)
{
    struct idea_param *params = trial->n_params ? arena_alloc(&ideas->arena, trial->n_params, sizeof *params) : NULL;
    if (trial->n_params > UINT32_MAX || (trial->n_params && !params))
        return false;
    for (size_t i = 0; i < trial->n_params; i++) {
        params[i].name = ideas_name(ideas, trial->params[i].name);
        params[i].value = ideas_param_value(ideas, &trial->params[i]);
        if (params[i].name == TEXT_NONE || params[i].value == TEXT_NONE)
            return false;
    }
    row->params = params;
    row->n_params = (uint32_t)trial->n_params;
    return true;
}

/* The id as it is written, with or without exp_. */
static const char *copy_id(struct lineage_ideas *ideas, const char *id, bool *ok)
{
    const char *text = id ? id : "", *bare = id_bare(text), *placed = place(ideas, bare, ideas->n);
    *ok = *ok && placed;
    return placed && bare == text ? placed : share(ideas, text, ok);
}

enum lineage_status lineage_ideas_add(struct lineage_ideas *ideas, const struct lineage_trial *trial, bool running,
                                      struct lineage_error *err)
{
    bool ok = true;
    if (ideas->settled)
        return store_fail(err, LINEAGE_EINVAL, "a trial cannot be added to a settled set of ideas");
    if (ideas->n == UINT32_MAX - 1)
        return store_fail(err, LINEAGE_ELIMIT, "a set of ideas holds at most %u trials", UINT32_MAX - 1);
    if (!LIST_ROOM(ideas->rows, ideas->n, ideas->capacity))
        return store_no_memory(err);
    struct idea_row *row = &ideas->rows[ideas->n];
    *row = (struct idea_row){.parent = TRIAL_NONE, .base = TRIAL_NONE, .is_void_row = lineage_is_void_row(trial, NULL)};
    row->idea = (struct lineage_idea){.exp_id = copy_id(ideas, trial->exp_id, &ok),
                                      .specialist = share(ideas, trial->specialist, &ok),
                                      .parent_exp = share(ideas, trial->parent_exp, &ok),
                                      .status = trial->status,
                                      .running = running,
                                      .score = trial->score,
                                      .delta_vs_best = trial->delta_vs_best,
                                      .seq = trial->seq};
    row->snapshot = share(ideas, trial->snapshot_path, &ok);
    for (size_t i = 0; !ideas->n && i < trial->n_extras && ideas->n_columns < COLUMNS_MAX; i++)
        ideas->columns[ideas->n_columns++] = share(ideas, trial->extras[i].column, &ok);
    ideas->has_parents = ideas->has_parents || (ok && *row->idea.parent_exp);
    row->idea.hypothesis = copy_texts(ideas, trial, &ok);
    if (!ok || !copy_params(ideas, row, trial))
        return store_no_memory(err);
    ideas->n++;
    return LINEAGE_OK;
}

static int by_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static bool read_citations(struct lineage_ideas *ideas, size_t index, size_t *counts)
{
    size_t list[LINEAGE_IDEAS_CITES], found = 0, n = 0;
    struct idea_row *row = &ideas->rows[index];
    for (size_t i = 0; i < row->n_mentions; i++) {
        const struct text_entry *mention = &ideas->shared.entries[row->mentions[i]];
        uint32_t there = row_of_mention(ideas, mention->text, mention->length);
        if (there != TRIAL_NONE && there != index)
            list[found++] = there;
    }
    qsort(list, found, sizeof *list, by_size);
    for (size_t i = 0; i < found; i++)
        if (!i || list[i] != list[i - 1])
            list[n++] = list[i];
    for (size_t i = 0; i < n; i++)
        counts[list[i]]++;
    row->idea.cites = arena_copy(&ideas->arena, list, n, sizeof *list);
    row->idea.n_cites = n;
    return row->idea.cites != NULL;
}

static bool join_citations(struct lineage_ideas *ideas)
{
    size_t *counts = calloc(ideas->n + 1, sizeof *counts);
    bool ok = counts != NULL;
    for (size_t i = 0; ok && i < ideas->n; i++)
        ok = read_citations(ideas, i, counts);
    for (size_t i = 0; ok && i < ideas->n; i++) {
        struct idea_row *row = &ideas->rows[i];
        row->idea.cited_by = counts[i] ? arena_alloc(&ideas->arena, counts[i], sizeof *row->idea.cited_by) : NULL;
        ok = !counts[i] || row->idea.cited_by;
    }
    for (size_t i = 0; ok && i < ideas->n; i++)
        for (size_t k = 0; k < ideas->rows[i].idea.n_cites; k++) {
            struct lineage_idea *cited = &ideas->rows[ideas->rows[i].idea.cites[k]].idea;
            ((size_t *)(uintptr_t)cited->cited_by)[cited->n_cited_by++] = i;
        }
    free(counts);
    return ok;
}

static int by_trial(const void *a, const void *b)
{
    const struct given_change *x = a, *y = b;
    if (x->trial != y->trial)
        return x->trial < y->trial ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

void ideas_order_given(struct lineage_ideas *ideas, size_t from)
{
    if (from < ideas->n_given)
        qsort(ideas->given + from, ideas->n_given - from, sizeof *ideas->given, by_trial);
}

/* Finds the parent, then orders the row's changes by trust. The parameters of a trial without a known parent, such as those of a night,
 * are compared with those of the last kept trial. */
static bool order_changes(struct lineage_ideas *ideas, struct idea_row *row, uint32_t kept, size_t *given)
{
    const char *id = id_bare(row->idea.parent_exp);
    const struct idea_row *parent = NULL;
    if (*row->idea.parent_exp)
        row->parent = row_of(ideas, id, strlen(id));
    if (row->parent != TRIAL_NONE && &ideas->rows[row->parent] != row)
        parent = &ideas->rows[row->parent];
    else if (kept != TRIAL_NONE)
        parent = &ideas->rows[kept];
    size_t first = *given, index = (size_t)(row - ideas->rows);
    while (*given < ideas->n_given && ideas->given[*given].trial == index)
        ++*given;
    return row_order_changes(ideas, row, parent, ideas->given + first, *given - first);
}

static bool find_bases(struct lineage_ideas *ideas)
{
    uint32_t kept = TRIAL_NONE;
    size_t n_given = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < ideas->n; i++) {
        struct idea_row *row = &ideas->rows[i];
        ok = order_changes(ideas, row, kept, &n_given);
        row->base = !ideas->has_parents ? kept : row->parent < i ? row->parent : TRIAL_NONE;
        if (!row->idea.running && (row->idea.status == LINEAGE_KEEP || row->idea.status == LINEAGE_BASELINE))
            kept = i;
    }
    return ok;
}

enum lineage_status lineage_ideas_settle(struct lineage_ideas *ideas, struct lineage_error *err)
{
    bool ok = !ideas->settled;
    if (!ok)
        return store_fail(err, LINEAGE_EINVAL, "a set of ideas is settled once");
    for (size_t i = 0; ok && i < ideas->n; i++)
        ok = row_make_reading(ideas, &ideas->rows[i]);
    arena_release(&ideas->scratch);
    ideas_order_given(ideas, 0);
    ok = ok && find_bases(ideas);
    for (size_t i = 0; ok && i < ideas->n; i++)
        ok = row_read_knobs(ideas, &ideas->rows[i]);
    ok = ok && join_citations(ideas);
    for (size_t i = 0; ok && i < ideas->n; i++)
        row_drop_repeated(ideas, &ideas->rows[i]);
    ideas->settled = ok;
    return ok ? LINEAGE_OK : store_no_memory(err);
}

size_t lineage_ideas_count(const struct lineage_ideas *ideas)
{
    return ideas->n;
}

const struct lineage_idea *lineage_ideas_get(const struct lineage_ideas *ideas, size_t index)
{
    return index < ideas->n ? &ideas->rows[index].idea : NULL;
}

bool lineage_ideas_change_at(struct lineage_change *change, const struct lineage_ideas *ideas, size_t trial, size_t i)
{
    if (!ideas->settled || trial >= ideas->n || i >= ideas->rows[trial].idea.n_changes)
        return false;
    *change = change_of(ideas, &ideas->rows[trial].own[i]);
    return true;
}

/* The name is read as in a hypothesis, so that a person and a trial mean the same knob by it. */
const char *ideas_knob_of(struct lineage_ideas *ideas, const char *name, struct arena *arena)
{
    struct idea_row row = {.idea = {.exp_id = ""}, .is_text = true};
    SCOPED_BUF text = {0};
    buf_printf(&text, "%s 1 → 2", name);
    row.idea.hypothesis = text.data;
    bool ok = !text.failed && row_read_query(ideas, &row, arena);
    const char *knob = ok && row.idea.n_changes ? row.search->changes[0].knob : "";
    row_release(&row);
    return ok ? knob : NULL;
}
