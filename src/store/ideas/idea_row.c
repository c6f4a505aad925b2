/* idea_row.c: a trial of a set: its changes with their knobs, and the terms by which a search finds it. */
#include "ideas_internal.h"

#define WEAK_WORDS                                                                                                               \
    " the a an and or of to in on at for with by from as is are be was were it its this that these those which into "            \
    "than then so but not no we our their they can may will would should could has have had do does did only also "              \
    "more most less each per every all any both while where when if because via using use used between under over "              \
    "after before during instead same other such s t "

/* Weights of the parts of a row's text. */
static const float TEXT_WEIGHT = 1, HEAD_WEIGHT = 1, PART_WEIGHT = 0.4f, NOTES_WEIGHT = 0.15f, KNOB_WEIGHT = 1.5f,
                   SETTING_WEIGHT = 2, CITES_WEIGHT = 1;

const char *row_notes(const struct idea_row *row)
{
    return row->is_text ? "" : row->idea.hypothesis + strlen(row->idea.hypothesis) + 1;
}

bool row_is_weak(const char *word, size_t length)
{
    return text_in(word, length, WEAK_WORDS);
}

bool row_is_metric(void *context, const char *name, size_t length)
{
    static const char *const names[] = {"core_metric", "val_bpb",  "delta_vs_best", "bpb", "delta",
                                        "Δ",           "score",    "accuracy",      "acc", "loss",
                                        "val_loss",    "mean_acc", "artifact_bytes"};
    const struct lineage_ideas *ideas = context;
    for (size_t i = 0; i < ideas->n_columns; i++)
        if (strlen(ideas->columns[i]) == length && memcmp(ideas->columns[i], name, length) == 0)
            return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

static int by_word(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Stores the words of a change's name, each once, as one text and as terms. */
bool row_name_knob(struct lineage_ideas *ideas, struct lineage_change *change, struct change_key *key, const char **ruled_by,
                   struct arena *arena, bool add)
{
    struct knob_words words;
    const char *list[CHANGE_WORDS];
    char knob[CHANGE_WORDS * (KNOB_WORD_MAX + 1)] = "", stem[KNOB_WORD_MAX];
    size_t length = 0;
    const char *ruled = knob_rule_name(ideas, change->name, &key->apart), *name = ruled ? ruled : change->name;
    if (ruled_by)
        *ruled_by = ruled;
    knob_words_split(&words, name, strlen(name));
    for (size_t i = 0; i < words.n; i++)
        list[i] = words.words[i];
    qsort(list, words.n, sizeof *list, by_word);
    key->n = 0;
    for (size_t i = 0; i < words.n; i++) {
        if (i && strcmp(list[i], list[i - 1]) == 0)
            continue;
        length += (size_t)snprintf(knob + length, sizeof knob - length, "%s%s", i ? " " : "", list[i]);
        word_stem(stem, list[i], strlen(list[i]));
        uint32_t term = terms_find(&ideas->terms, stem, strlen(stem), add);
        if (term != TERM_NONE)
            key->words[key->n++] = term;
    }
    change->knob = arena_text(arena, knob, length);
    return change->knob != NULL;
}

static bool read_texts(struct reading *r, struct lineage_ideas *ideas, const struct idea_row *row, struct arena *arena)
{
    struct reader *reader = &ideas->reader;
    reader->book = &ideas->book;
    reader->is_metric = row_is_metric;
    reader->context = ideas;
    return reading_make(r, reader, row->idea.hypothesis, row_notes(row), arena);
}

bool row_make_reading(struct lineage_ideas *ideas, struct idea_row *row)
{
    struct reading r;
    if (row->reading)
        return true;
    struct row_change changes[LINEAGE_IDEAS_CHANGES];
    arena_reset(&ideas->scratch);
    bool ok = read_texts(&r, ideas, row, &ideas->scratch) && row_keep_reading(row, &r, &ideas->arena);
    for (uint32_t i = 0; ok && i < r.n_changes; i++)
        ok = row_change_of(&changes[i], ideas, &r.changes[i].change, r.changes[i].budget);
    return ok && row_keep_stated(ideas, row, changes, r.n_changes);
}

bool row_read_words(struct lineage_ideas *ideas, struct idea_row *row)
{
    struct reading r;
    if (row->reading->worded)
        return true;
    arena_reset(&ideas->scratch);
    return read_texts(&r, ideas, row, &ideas->scratch) && row_keep_reading(row, &r, &ideas->arena);
}

bool row_read_query(struct lineage_ideas *ideas, struct idea_row *row, struct arena *arena)
{
    struct reading r;
    if (!read_texts(&r, ideas, row, arena) || !row_keep_reading(row, &r, arena))
        return false;
    struct row_search *search = row->search = calloc(1, sizeof *search);
    if (!search)
        return false;
    search->changes = arena_alloc(arena, r.n_changes + 1, sizeof *search->changes);
    search->keys = arena_alloc(arena, r.n_changes + 1, sizeof *search->keys);
    if (!search->changes || !search->keys)
        return false;
    for (uint32_t i = 0; i < r.n_changes; i++) {
        search->changes[i] = r.changes[i].change;
        search->keys[i].budget = r.changes[i].budget;
        if (!row_name_knob(ideas, &search->changes[i], &search->keys[i], NULL, arena, false))
            return false;
    }
    row->idea.n_changes = r.n_changes;
    return true;
}

bool row_read_knobs(struct lineage_ideas *ideas, struct idea_row *row)
{
    for (size_t i = 0; i < row->idea.n_changes; i++) {
        struct knob_name *name = &ideas->named[row->own[i].name];
        struct lineage_change change = {.name = ideas->names.entries[row->own[i].name].text};
        if (name->known)
            continue;
        if (!row_name_knob(ideas, &change, &name->key, &name->ruled, &ideas->scratch, true))
            return false;
        name->number = text_table_add(&ideas->knobs, change.knob, strlen(change.knob));
        if (name->number == TEXT_NONE)
            return false;
        name->knob = ideas->knobs.entries[name->number].text;
        name->known = true;
    }
    return true;
}

/* Where a term is, in the texts of a row. */
enum { IN_HYPOTHESIS = 1, IN_HEAD = 2, IS_NUMBER = 4, IN_TITLE = 8 };

enum { TITLE_WORDS = 6 }; /* the title is the first words of the headline */

struct term_visit {
    struct lineage_ideas *ideas;
    bool add;
    void (*visit)(void *context, uint32_t term, float weight, unsigned where);
    void *context;
};

static uint32_t word_term(struct term_visit *v, const char *text, size_t length)
{
    return terms_find(&v->ideas->terms, text, length, v->add);
}

/* Finds the terms of a word: its parts, and an identifier as a whole. A weak word has none. */
static void take_apart(struct term_visit *v, const struct word *word, const struct text_entry *text, struct word_terms *found)
{
    char stem[KNOB_WORD_MAX], whole[LONGEST_IDENTIFIER];
    *found = (struct word_terms){.whole = TERM_NONE};
    if (text->text[0] == '#' || text->text[0] == '^') {
        found->whole = word_term(v, text->text, text->length);
        return;
    }
    if (row_is_weak(text->text, text->length))
        return;
    for (size_t k = 0; k < word->n_parts && found->n < WORD_TERMS_MAX; k++) {
        word_stem(stem, word->parts[k], strlen(word->parts[k]));
        found->parts[found->n++] = word_term(v, stem, strlen(stem));
    }
    found->compound = word->n_parts > 1;
    if (found->compound && text->length < sizeof whole) {
        for (size_t k = 0; k < text->length; k++)
            whole[k] = text->text[k] >= 'A' && text->text[k] <= 'Z' ? (char)(text->text[k] | 0x20) : text->text[k];
        found->whole = word_term(v, whole, text->length);
    }
}

/* The terms of a word of the book. They are remembered once the dictionary is complete. */
static const struct word_terms *terms_of(struct term_visit *v, uint32_t number, struct word_terms *spare)
{
    struct word_book *book = &v->ideas->book;
    struct word *word = word_book_split(book, number);
    if (!word || word->terms)
        return word ? word->terms : NULL;
    take_apart(v, word, word_book_text(book, number), spare);
    if (!v->add)
        return spare;
    size_t size = offsetof(struct word_terms, parts) + spare->n * sizeof *spare->parts;
    word->terms = arena_alloc(&book->arena, 1, size);
    if (word->terms)
        memcpy(word->terms, spare, size);
    return word->terms;
}

static bool visit_word(struct term_visit *v, uint32_t number, float text_weight, unsigned where)
{
    struct word_terms spare;
    const struct word_terms *terms = terms_of(v, number, &spare);
    float weight = text_weight;
    if (!terms)
        return false;
    if (word_book_text(&v->ideas->book, number)->text[0] == '#') {
        v->visit(v->context, terms->whole, weight, where | IS_NUMBER);
        return true;
    }
    if (where & IN_HEAD)
        weight += HEAD_WEIGHT;
    for (size_t k = 0; k < terms->n; k++)
        v->visit(v->context, terms->parts[k], terms->compound ? weight * PART_WEIGHT : weight, where);
    v->visit(v->context, terms->whole, weight, 0);
    return true;
}

static void visit_changes(struct term_visit *v, const struct idea_row *row)
{
    char text[CHANGE_WORDS * (KNOB_WORD_MAX + 1) + 48];
    for (size_t i = 0; i < row->idea.n_changes; i++) {
        const struct lineage_change c = row->is_text ? row->search->changes[i] : change_of(v->ideas, &row->own[i]);
        int length = snprintf(text, sizeof text, "=%s", c.knob);
        v->visit(v->context, word_term(v, text, (size_t)length), KNOB_WEIGHT, 0);
        if (c.to_value.present) {
            length += snprintf(text + length, sizeof text - (size_t)length, ":%.5g", c.to_value.value);
            v->visit(v->context, word_term(v, text, (size_t)length), SETTING_WEIGHT, 0);
        }
    }
}

/* Visits all terms of a row: those of its hypothesis, its notes, its changes, and its id. */
static bool visit_terms(struct term_visit *v, const struct idea_row *row)
{
    const struct reading *r = row->reading;
    const char *id = row->idea.exp_id;
    char text[LINEAGE_NAME_MAX + 2] = "^";
    for (uint32_t i = 0, n = 0; i < r->n_hypothesis; i++) {
        unsigned where = IN_HYPOTHESIS | (i < r->n_head ? IN_HEAD : 0) | (i < r->n_head && n < TITLE_WORDS ? IN_TITLE : 0);
        if (r->words[i] && !visit_word(v, r->words[i], TEXT_WEIGHT, where))
            return false;
        n += r->words[i] != 0;
    }
    for (uint32_t i = 0; i < r->n_cites_hypothesis; i++)
        if (!visit_word(v, r->cites[i], CITES_WEIGHT * TEXT_WEIGHT, 0))
            return false;
    for (uint32_t i = r->n_hypothesis; i < r->n_searched; i++)
        if (r->words[i] && !visit_word(v, r->words[i], NOTES_WEIGHT, 0))
            return false;
    visit_changes(v, row);
    if (*id && strlen(id) < LINEAGE_NAME_MAX) {
        memcpy(text + 1, id, strlen(id));
        v->visit(v->context, word_term(v, text, strlen(id) + 1), CITES_WEIGHT, 0);
    }
    return true;
}

static void add_weights(void *context, uint32_t term, float weight, unsigned where)
{
    struct row_search *search = context;
    weights_add(&search->terms, term, weight);
    if (where & IN_HYPOTHESIS)
        weights_add(&search->text, term, 1);
    if (where & IN_HEAD)
        weights_add(&search->head, term, 1);
    if (where & IN_TITLE)
        weights_add(&search->title, term, 1);
    if ((where & IN_HEAD) && (where & IS_NUMBER))
        weights_add(&search->head_numbers, term, 1);
}

bool row_read_terms(struct lineage_ideas *ideas, struct idea_row *row)
{
    if (!row_expand(ideas, row) || !row_read_words(ideas, row))
        return false;
    struct row_search *search = row->search;
    struct term_visit v = {ideas, false, add_weights, search};
    struct weights *const lists[] = {&search->terms, &search->text, &search->head, &search->head_numbers, &search->title};
    if (search->terms_known)
        return true;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        lists[i]->n = 0, lists[i]->failed = false; /* left by a call that ran out of memory */
    bool ok = visit_terms(&v, row);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        weights_sort(lists[i]);
        ok = ok && !lists[i]->failed;
    }
    search->length = row->is_text || !ideas->lengths ? 0 : ideas->lengths[row - ideas->rows];
    if (search->length <= 0)
        for (size_t i = 0; i < search->terms.n; i++)
            search->length += (double)search->terms.items[i].weight;
    search->terms_known = ok;
    return ok;
}

static void add_term(void *context, uint32_t term, float weight, unsigned where)
{
    (void)where;
    weights_add(context, term, weight);
}

bool row_list_terms(struct weights *list, struct lineage_ideas *ideas, struct idea_row *row)
{
    struct term_visit v = {ideas, true, add_term, list};
    return row_read_words(ideas, row) && visit_terms(&v, row) && !list->failed;
}

void row_release(struct idea_row *row)
{
    struct row_search *search = row->search;
    if (!search)
        return;
    free(search->terms.items);
    free(search->text.items);
    free(search->head.items);
    free(search->head_numbers.items);
    free(search->title.items);
    free(search);
    row->search = NULL;
}
