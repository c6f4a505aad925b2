/* ideas.c: builds a set of ideas: adds trials, matches the words and names of the whole log, and makes the search
 * index. */
#include "ideas_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "../format/id.h"

struct id_place {
    UT_hash_handle hh;
    size_t row;
    char id[];
};

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
    short_words_release(ideas);
    word_book_release(&ideas->book);
    reader_release(&ideas->reader);
    knobs_release(ideas);
    knob_rules_release(ideas);
    HASH_CLEAR(hh, ideas->places);
    terms_release(&ideas->terms);
    free(ideas->rows);
    free(ideas->postings_of);
    free(ideas->postings);
    free(ideas->scores);
    free(ideas->found);
    arena_release(&ideas->arena);
    free(ideas);
}

static struct id_place *place_of(const struct lineage_ideas *ideas, const char *id, size_t length)
{
    struct id_place *place = NULL;
    if (ideas->places)
        HASH_FIND(hh, ideas->places, id, length, place);
    return place;
}

static bool place(struct lineage_ideas *ideas, const char *id, size_t row)
{
    id = id_bare(id);
    size_t length = strlen(id);
    struct id_place *there = place_of(ideas, id, length);
    if (there) {
        there->row = row;
        return true;
    }
    there = arena_alloc(&ideas->arena, 1, sizeof *there + length + 1);
    if (!there)
        return false;
    memcpy(there->id, id, length);
    there->row = row;
    HASH_ADD_KEYPTR(hh, ideas->places, there->id, length, there);
    return there->hh.tbl != NULL;
}

bool lineage_ideas_find(size_t *index, const struct lineage_ideas *ideas, const char *id)
{
    const struct id_place *there = place_of(ideas, id_bare(id), strlen(id_bare(id)));
    if (there)
        *index = there->row;
    return there != NULL;
}

/* Ids are zero-padded in the log; a text may omit zeros ("#88") or add some. */
static struct id_place *place_of_mention(const struct lineage_ideas *ideas, const char *id, size_t length)
{
    struct id_place *there = place_of(ideas, id, length);
    char padded[8];
    size_t width = ideas->n ? strlen(id_bare(ideas->rows[0].idea.exp_id)) : 0;
    if (there || width <= length || width >= sizeof padded)
        return there;
    memset(padded, '0', width - length);
    memcpy(padded + width - length, id, length);
    return place_of(ideas, padded, width);
}

static const char *copy(struct lineage_ideas *ideas, const char *text, bool *ok)
{
    const char *out = arena_text(&ideas->arena, text ? text : "", text ? strlen(text) : 0);
    if (!out)
        *ok = false;
    return out;
}

static bool copy_params(struct lineage_ideas *ideas, struct idea_row *row, const struct lineage_trial *trial)
{
    struct lineage_param *params = arena_alloc(&ideas->arena, trial->n_params + 1, sizeof *params);
    bool ok = params != NULL;
    for (size_t i = 0; ok && i < trial->n_params; i++) {
        params[i].name = copy(ideas, trial->params[i].name, &ok);
        params[i].value = trial->params[i].value;
        params[i].text = trial->params[i].text ? copy(ideas, trial->params[i].text, &ok) : NULL;
    }
    row->params = params;
    row->n_params = trial->n_params;
    return ok;
}

enum lineage_status lineage_ideas_add(struct lineage_ideas *ideas, const struct lineage_trial *trial, bool running,
                                      struct lineage_error *err)
{
    bool ok = true;
    if (ideas->settled)
        return store_fail(err, LINEAGE_EINVAL, "a trial cannot be added to a settled set of ideas");
    if (ideas->n == UINT32_MAX - 1)
        return store_fail(err, LINEAGE_ELIMIT, "a set of ideas holds at most %u trials", UINT32_MAX - 1);
    if (ideas->n == ideas->capacity) {
        size_t capacity = ideas->capacity ? 2 * ideas->capacity : 256;
        struct idea_row *rows = realloc(ideas->rows, capacity * sizeof *rows);
        if (!rows)
            return store_no_memory(err);
        ideas->rows = rows;
        ideas->capacity = capacity;
    }
    struct idea_row *row = &ideas->rows[ideas->n];
    *row = (struct idea_row){.parent = SIZE_MAX, .base = SIZE_MAX};
    row->idea = (struct lineage_idea){.exp_id = copy(ideas, trial->exp_id, &ok),
                                      .specialist = copy(ideas, trial->specialist, &ok),
                                      .parent_exp = copy(ideas, trial->parent_exp, &ok),
                                      .hypothesis = copy(ideas, trial->hypothesis, &ok),
                                      .status = trial->status,
                                      .running = running,
                                      .score = trial->score,
                                      .delta_vs_best = trial->delta_vs_best,
                                      .seq = trial->seq};
    row->notes = copy(ideas, trial->notes, &ok);
    for (size_t i = 0; !ideas->n && i < trial->n_extras && ideas->n_columns < COLUMNS_MAX; i++)
        ideas->columns[ideas->n_columns++] = copy(ideas, trial->extras[i].column, &ok);
    ideas->has_parents = ideas->has_parents || (ok && *row->idea.parent_exp);
    if (!ok || !copy_params(ideas, row, trial) || !place(ideas, row->idea.exp_id, ideas->n))
        return store_no_memory(err);
    ideas->n++;
    return LINEAGE_OK;
}

/* ---- settle ---- */

static bool need_short_words(struct lineage_ideas *ideas, const struct idea_row *row)
{
    for (size_t i = 0; i < row->idea.n_changes; i++) {
        struct knob_words words;
        knob_words_split(&words, row->changes[i].name, strlen(row->changes[i].name));
        for (size_t k = 0; k < words.n; k++)
            if (!short_words_need(ideas, words.words[k]))
                return false;
    }
    return true;
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
    for (uint32_t i = 0; i < row->reading.n_cites; i++) {
        const struct word *mention = &ideas->book.words[row->reading.cites[i]];
        const struct id_place *there = place_of_mention(ideas, mention->text + 1, mention->length - 1);
        if (there && there->row != index)
            list[found++] = there->row;
    }
    qsort(list, found, sizeof *list, by_size);
    for (size_t i = 0; i < found; i++)
        if (!i || list[i] != list[i - 1])
            list[n++] = list[i];
    size_t *cites = arena_alloc(&ideas->arena, n + 1, sizeof *cites);
    if (!cites)
        return false;
    memcpy(cites, list, n * sizeof *cites);
    row->idea.cites = cites;
    row->idea.n_cites = n;
    for (size_t i = 0; i < n; i++)
        counts[cites[i]]++;
    return true;
}

static bool join_citations(struct lineage_ideas *ideas)
{
    size_t *counts = calloc(ideas->n + 1, sizeof *counts);
    bool ok = counts != NULL;
    for (size_t i = 0; ok && i < ideas->n; i++)
        ok = read_citations(ideas, i, counts);
    for (size_t i = 0; ok && i < ideas->n; i++) {
        struct idea_row *row = &ideas->rows[i];
        row->idea.cited_by = row->cited_by = arena_alloc(&ideas->arena, counts[i] + 1, sizeof *row->cited_by);
        ok = row->cited_by != NULL;
    }
    for (size_t i = 0; ok && i < ideas->n; i++)
        for (size_t k = 0; k < ideas->rows[i].idea.n_cites; k++) {
            struct idea_row *cited = &ideas->rows[ideas->rows[i].idea.cites[k]];
            cited->cited_by[cited->idea.n_cited_by++] = i;
        }
    free(counts);
    return ok;
}

/* Finds the parent, then orders the row's changes by trust. */
static bool order_changes(struct lineage_ideas *ideas, struct idea_row *row)
{
    const char *id = id_bare(row->idea.parent_exp);
    const struct id_place *there = *row->idea.parent_exp ? place_of(ideas, id, strlen(id)) : NULL;
    if (there)
        row->parent = there->row;
    bool ok = !there || &ideas->rows[there->row] == row || row_declare(ideas, row, &ideas->rows[there->row]);
    row_take_given(row);
    return ok;
}

/* Adds up the weights of equal terms of list[from..) in place. slots has a place for each term: where it is in the
 * list, if it is behind `from`. */
static void add_up(struct weights *list, size_t from, size_t *slots)
{
    size_t n = from;
    for (size_t i = from; i < list->n; i++) {
        struct weight w = list->items[i];
        size_t slot = slots[w.term];
        if (slot >= from && slot < n && list->items[slot].term == w.term)
            list->items[slot].weight += w.weight;
        else {
            slots[w.term] = n;
            list->items[n++] = w;
        }
    }
    list->n = n;
}

/* Lists the terms of all rows: those of row i are list[starts[i]..starts[i + 1]). Fills in the lengths of the rows. */
static bool list_terms(struct weights *list, size_t *starts, struct lineage_ideas *ideas)
{
    size_t *slots = NULL, capacity = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < ideas->n; i++) {
        struct idea_row *row = &ideas->rows[i];
        starts[i] = list->n;
        ok = row_list_terms(list, ideas, row);
        if (ok && ideas->terms.n > capacity) {
            size_t *grown = realloc(slots, 2 * (size_t)ideas->terms.n * sizeof *slots);
            ok = grown != NULL;
            if (ok) {
                memset(grown + capacity, 0, (2 * (size_t)ideas->terms.n - capacity) * sizeof *slots);
                slots = grown;
                capacity = 2 * (size_t)ideas->terms.n;
            }
        }
        if (ok)
            add_up(list, starts[i], slots);
        row->length = 0;
        for (size_t k = starts[i]; ok && k < list->n; k++)
            row->length += (double)list->items[k].weight;
    }
    starts[ideas->n] = list->n;
    free(slots);
    return ok;
}

static bool make_postings(struct lineage_ideas *ideas, const struct weights *list, const size_t *starts)
{
    size_t n_terms = ideas->terms.n;
    double length = 0;
    free(ideas->postings_of); /* left by an earlier call that ran out of memory */
    free(ideas->scores);
    free(ideas->found);
    free(ideas->postings);
    ideas->postings_of = calloc(n_terms + 2, sizeof *ideas->postings_of);
    ideas->scores = calloc(ideas->n + 1, sizeof *ideas->scores);
    ideas->found = calloc(ideas->n + 1, sizeof *ideas->found);
    ideas->postings = malloc((list->n + 1) * sizeof *ideas->postings);
    if (!ideas->postings_of || !ideas->scores || !ideas->found || !ideas->postings)
        return false;
    for (size_t i = 0; i < list->n; i++)
        ideas->postings_of[list->items[i].term + 2]++;
    for (size_t i = 0; i < n_terms; i++) {
        ideas->terms.df[i] = (uint32_t)ideas->postings_of[i + 2];
        ideas->postings_of[i + 2] += ideas->postings_of[i + 1];
    }
    for (size_t i = 0; i < ideas->n; i++) {
        length += ideas->rows[i].length;
        for (size_t k = starts[i]; k < starts[i + 1]; k++) {
            struct weight w = list->items[k];
            ideas->postings[ideas->postings_of[w.term + 1]++] = (struct posting){(uint32_t)i, w.weight};
        }
    }
    ideas->mean_length = ideas->n && length > 0 ? length / (double)ideas->n : 1;
    ideas->terms.n_rows = ideas->n;
    return terms_weigh(&ideas->terms);
}

bool ideas_prepare_search(struct lineage_ideas *ideas)
{
    struct weights list = {0};
    if (ideas->searchable)
        return true;
    size_t *starts = calloc(ideas->n + 1, sizeof *starts);
    ideas->searchable = starts && list_terms(&list, starts, ideas) && make_postings(ideas, &list, starts);
    free(starts);
    free(list.items);
    return ideas->searchable;
}

static void find_bases(struct lineage_ideas *ideas)
{
    size_t kept = SIZE_MAX;
    for (size_t i = 0; i < ideas->n; i++) {
        struct idea_row *row = &ideas->rows[i];
        row->base = !ideas->has_parents ? kept : row->parent < i ? row->parent : SIZE_MAX;
        if (row->idea.status == LINEAGE_KEEP || row->idea.status == LINEAGE_BASELINE)
            kept = i;
    }
}

enum lineage_status lineage_ideas_settle(struct lineage_ideas *ideas, struct lineage_error *err)
{
    bool ok = !ideas->settled;
    if (!ok)
        return store_fail(err, LINEAGE_EINVAL, "a set of ideas is settled once");
    for (size_t i = 0; ok && i < ideas->n; i++)
        ok = row_read_texts(ideas, &ideas->rows[i], &ideas->arena) && order_changes(ideas, &ideas->rows[i]) &&
             need_short_words(ideas, &ideas->rows[i]);
    find_bases(ideas);
    ok = ok && short_words_begin(ideas);
    for (size_t i = 0; ok && i < ideas->n; i++)
        ok = short_words_learn(ideas, &ideas->rows[i].reading, i + 1);
    short_words_choose(ideas);
    for (size_t i = 0; ok && i < ideas->n; i++)
        ok = row_read_knobs(ideas, &ideas->rows[i], &ideas->arena, true);
    ok = ok && knobs_merge(ideas) && join_citations(ideas);
    for (size_t i = 0; ok && i < ideas->n; i++)
        row_drop_repeated(&ideas->rows[i]);
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

enum lineage_status lineage_ideas_changes(struct lineage_change_list *list, struct lineage_ideas *ideas,
                                          const char *text, struct lineage_error *err)
{
    struct arena *arena = calloc(1, sizeof *arena);
    struct idea_row row = {.idea = {.exp_id = "", .hypothesis = text}, .notes = ""};
    *list = (struct lineage_change_list){0};
    bool ok = arena && row_read_texts(ideas, &row, arena) && row_read_knobs(ideas, &row, arena, false);
    row_release(&row);
    if (!ok) {
        if (arena)
            arena_release(arena);
        free(arena);
        return store_no_memory(err);
    }
    *list = (struct lineage_change_list){row.changes, row.idea.n_changes, arena};
    return LINEAGE_OK;
}

void lineage_change_list_release(struct lineage_change_list *list)
{
    if (list->memory)
        arena_release(list->memory);
    free(list->memory);
    *list = (struct lineage_change_list){0};
}
