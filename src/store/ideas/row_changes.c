/* row_changes.c: what a trial of a set says: the names of its settings, and its changes by trust: declared, measured, stated. */
#include "ideas_internal.h"

#include <lineage/notes.h>
#include <lineage/text.h>

const char *row_notes(const struct idea_row *row)
{
    return row->is_text ? "" : row->idea.hypothesis + strlen(row->idea.hypothesis) + 1;
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

/* Stores the words of a change's name, each once, as one text and as terms. */
static bool row_name_knob(struct lineage_ideas *ideas, struct lineage_change *change, struct change_key *key,
                          const char **ruled_by, struct arena *arena, bool add)
{
    struct knob_words words;
    char knob[KNOB_TEXT_MAX], stem[KNOB_WORD_MAX];
    const char *ruled = knob_rule_name(ideas, change->name, &key->apart);
    if (ruled_by)
        *ruled_by = ruled;
    const size_t length = knob_words_sort(knob, &words, ruled ? ruled : change->name);
    key->n = 0;
    for (size_t i = 0; i < words.n; i++) {
        word_stem(stem, words.words[i], strlen(words.words[i]));
        uint32_t term =
            add ? text_table_add(&ideas->terms, stem, strlen(stem)) : text_table_find(&ideas->terms, stem, strlen(stem));
        if (term != TEXT_NONE)
            key->words[key->n++] = term;
    }
    change->knob = arena_text(arena, knob, length);
    return change->knob != NULL;
}

bool row_make_reading(struct lineage_ideas *ideas, struct idea_row *row)
{
    struct reading r;
    struct row_change changes[LINEAGE_IDEAS_CHANGES];
    if (row->mentions)
        return true;
    arena_reset(&ideas->scratch);
    bool ok = reading_make(&r, ideas, row->idea.hypothesis, row_notes(row), &ideas->scratch);
    for (size_t i = 0; ok && i < r.n_changes; i++)
        ok = row_change_of(&changes[i], ideas, &r.changes[i].change, r.changes[i].budget);
    return ok && row_keep_mentions(ideas, row, r.mentions, r.n_mentions, r.n_in_hypothesis) &&
           row_keep_stated(ideas, row, changes, r.n_changes);
}

bool row_read_query(struct lineage_ideas *ideas, struct idea_row *row, struct arena *arena)
{
    struct reading r;
    struct row_search *search = row->search = calloc(1, sizeof *search);
    if (!search || !reading_make(&r, ideas, row->idea.hypothesis, "", arena))
        return false;
    search->changes = arena_alloc(arena, r.n_changes + 1, sizeof *search->changes);
    search->keys = arena_alloc(arena, r.n_changes + 1, sizeof *search->keys);
    if (!search->changes || !search->keys)
        return false;
    for (size_t i = 0; i < r.n_changes; i++) {
        search->changes[i] = r.changes[i].change;
        search->keys[i].budget = r.changes[i].budget;
        if (!row_name_knob(ideas, &search->changes[i], &search->keys[i], NULL, arena, false))
            return false;
    }
    row->idea.n_changes = r.n_changes;
    return true;
}

bool ideas_name_knob(struct lineage_ideas *ideas, uint32_t name)
{
    struct knob_name *named = &ideas->named[name];
    struct lineage_change change = {.name = ideas->names.entries[name].text};
    if (named->knob)
        return true;
    if (!row_name_knob(ideas, &change, &named->key, &named->ruled, &ideas->scratch, true))
        return false;
    named->number = text_table_add(&ideas->knobs, change.knob, strlen(change.knob));
    named->knob = named->number == TEXT_NONE ? NULL : ideas->knobs.entries[named->number].text;
    return named->knob != NULL;
}

bool row_read_knobs(struct lineage_ideas *ideas, struct idea_row *row)
{
    bool ok = true;
    for (size_t i = 0; ok && i < row->idea.n_changes; i++)
        ok = ideas_name_knob(ideas, row->own[i].name);
    return ok;
}

/* The changes and readings of a set in the form in which its trials keep them.
 *
 * A log names the same settings and values again and again, so a trial keeps a change as three numbers, which become a struct again
 * only for the few trials that a question looks at.
 *
 * A value is the entry of a table: how it was written, and what number that is. The entry begins with NUMBER bytes: flags, then
 * the number. The number of a parameter has no text until it becomes part of a change.
 */

enum { HAS_NUMBER = 1, HAS_TEXT = 2, IS_PARAM = 4, NUMBER = 1 + sizeof(double), SHORT_VALUE = 256 };

uint32_t ideas_name(struct lineage_ideas *ideas, const char *name)
{
    const uint32_t before = ideas->names.n;
    if (!LIST_ROOM(ideas->named, before, ideas->names_capacity))
        return TEXT_NONE;
    const uint32_t number = text_table_add(&ideas->names, name, strlen(name));
    if (number != TEXT_NONE && number == before)
        ideas->named[number] = (struct knob_name){0};
    return number;
}

static uint32_t add_value(struct lineage_ideas *ideas, unsigned flags, double value, const char *text)
{
    char place[NUMBER + SHORT_VALUE], *bytes = place;
    size_t length = text ? strlen(text) : 0;
    if (length > SHORT_VALUE && !(bytes = malloc(NUMBER + length)))
        return TEXT_NONE;
    bytes[0] = (char)flags;
    memcpy(bytes + 1, &value, sizeof value);
    if (length)
        memcpy(bytes + NUMBER, text, length);
    uint32_t number = text_table_add(&ideas->values, bytes, NUMBER + length);
    if (bytes != place)
        free(bytes);
    return number;
}

static uint32_t ideas_value(struct lineage_ideas *ideas, const char *text, struct lineage_number number)
{
    return add_value(ideas, (number.present ? HAS_NUMBER : 0) | (text ? HAS_TEXT : 0), number.value, text);
}

uint32_t ideas_param_value(struct lineage_ideas *ideas, const struct lineage_param *param)
{
    return param->text ? add_value(ideas, HAS_TEXT | IS_PARAM, 0, param->text)
                       : add_value(ideas, HAS_NUMBER | IS_PARAM, param->value, NULL);
}

struct lineage_number value_number(const struct lineage_ideas *ideas, uint32_t value)
{
    const char *entry = ideas->values.entries[value].text;
    struct lineage_number number = {.present = (*entry & HAS_NUMBER) != 0};
    memcpy(&number.value, entry + 1, sizeof number.value);
    return number;
}

const char *value_text(const struct lineage_ideas *ideas, uint32_t value)
{
    const char *entry = ideas->values.entries[value].text;
    return *entry & HAS_TEXT || entry[NUMBER] ? entry + NUMBER : NULL;
}

/* The text is written behind the bytes by which the table knows the entry. */
static bool value_write(struct lineage_ideas *ideas, uint32_t value)
{
    char bytes[NUMBER + LINEAGE_NUMBER_MAX];
    struct text_entry *entry = &ideas->values.entries[value];
    if (value_text(ideas, value))
        return true;
    memcpy(bytes, entry->text, NUMBER);
    lineage_setting_format(bytes + NUMBER, value_number(ideas, value).value);
    const char *copy = arena_text(&ideas->values.arena, bytes, NUMBER + strlen(bytes + NUMBER));
    if (copy)
        entry->text = copy;
    return copy != NULL;
}

static bool params_equal(const struct lineage_ideas *ideas, uint32_t a, uint32_t b)
{
    const struct lineage_number x = value_number(ideas, a), y = value_number(ideas, b);
    return x.present && y.present ? x.value == y.value : a == b;
}

struct lineage_param row_param(const struct lineage_ideas *ideas, const struct idea_row *row, size_t i)
{
    const struct idea_param *param = &row->params[i];
    const struct lineage_number number = value_number(ideas, param->value);
    return (struct lineage_param){.name = ideas->names.entries[param->name].text,
                                  .value = number.value,
                                  .text = number.present ? NULL : value_text(ideas, param->value)};
}

struct lineage_change change_of(const struct lineage_ideas *ideas, const struct row_change *change)
{
    return (struct lineage_change){.name = ideas->names.entries[change->name].text,
                                   .knob = ideas->named[change->name].knob,
                                   .from = value_text(ideas, change->from),
                                   .to = value_text(ideas, change->to),
                                   .from_value = value_number(ideas, change->from),
                                   .to_value = value_number(ideas, change->to),
                                   .source = change->source};
}

bool row_expand(struct lineage_ideas *ideas, struct idea_row *row)
{
    size_t n = row->idea.n_changes;
    if (!row->search && !(row->search = calloc(1, sizeof *row->search)))
        return false;
    if (row->search->changes || !n)
        return true;
    struct lineage_change *changes = arena_alloc(&ideas->arena, n, sizeof *changes);
    struct change_key *keys = arena_alloc(&ideas->arena, n, sizeof *keys);
    if (!changes || !keys)
        return false;
    for (size_t i = 0; i < n; i++) {
        changes[i] = change_of(ideas, &row->own[i]);
        keys[i] = ideas->named[row->own[i].name].key;
        keys[i].budget = row->own[i].budget;
    }
    row->search->changes = changes;
    row->search->keys = keys;
    return true;
}

bool row_keep_mentions(struct lineage_ideas *ideas, struct idea_row *row, const uint32_t *mentions, size_t n, size_t n_hypothesis)
{
    row->mentions = arena_copy(&ideas->arena, mentions, n, sizeof *mentions);
    row->n_mentions = (uint16_t)n;
    row->n_in_hypothesis = (uint16_t)n_hypothesis;
    return row->mentions != NULL;
}

bool row_change_of(struct row_change *change, struct lineage_ideas *ideas, const struct lineage_change *stated, bool budget)
{
    *change = (struct row_change){.name = ideas_name(ideas, stated->name),
                                  .from = ideas_value(ideas, stated->from, stated->from_value),
                                  .to = ideas_value(ideas, stated->to, stated->to_value),
                                  .source = LINEAGE_CHANGE_STATED,
                                  .budget = budget};
    return change->name != TEXT_NONE && change->from != TEXT_NONE && change->to != TEXT_NONE;
}

bool row_keep_stated(struct lineage_ideas *ideas, struct idea_row *row, const struct row_change *changes, size_t n)
{
    row->own = arena_copy(&ideas->arena, changes, n, sizeof *row->own);
    row->idea.n_changes = row->own ? n : 0;
    return row->own != NULL;
}

/* The changes of one row while they are ordered. */
struct ordered {
    struct row_change items[LINEAGE_IDEAS_CHANGES];
    size_t n;
};

/* Inserts a change behind the last one that is at least as trusted. If the list is full, the last change is dropped. */
static void put(struct ordered *list, const struct row_change *change)
{
    size_t n = list->n, at = n;
    while (at > 0 && list->items[at - 1].source > change->source)
        at--;
    if (at == LINEAGE_IDEAS_CHANGES)
        return;
    if (n == LINEAGE_IDEAS_CHANGES)
        n--;
    memmove(&list->items[at + 1], &list->items[at], (n - at) * sizeof *list->items);
    list->items[at] = *change;
    list->n = n + 1;
}

/* Returns the row's parameter, or else that of the nearest ancestor that declares it; NULL if none does. A parent of an ancestor
 * comes before it, so that a circle ends. */
static const struct idea_param *in_force(const struct lineage_ideas *ideas, const struct idea_row *row, uint32_t name)
{
    const bool inherited = lineage_param_is_inherited(ideas->names.entries[name].text, ideas->seeds);
    for (const struct idea_row *at = row; at;) {
        for (uint32_t k = 0; k < at->n_params; k++)
            if (at->params[k].name == name)
                return &at->params[k];
        at = inherited && at->parent < (size_t)(at - ideas->rows) ? &ideas->rows[at->parent] : NULL;
    }
    return NULL;
}

static bool declare(struct ordered *list, struct lineage_ideas *ideas, const struct idea_row *row, const struct idea_row *parent)
{
    for (uint32_t i = 0; i < row->n_params; i++) {
        const struct idea_param *mine = &row->params[i], *its = in_force(ideas, parent, mine->name);
        if (its ? params_equal(ideas, mine->value, its->value)
                : !lineage_param_is_inherited(ideas->names.entries[mine->name].text, ideas->seeds))
            continue;
        const uint32_t from = its ? its->value : ideas_value(ideas, NULL, (struct lineage_number){0});
        if (from == TEXT_NONE || !value_write(ideas, mine->value) || (its && !value_write(ideas, its->value)))
            return false;
        put(list, &(struct row_change){.name = mine->name, .from = from, .to = mine->value, .source = LINEAGE_CHANGE_DECLARED});
    }
    return true;
}

bool row_order_changes(struct lineage_ideas *ideas, struct idea_row *row, const struct idea_row *parent,
                       const struct given_change *given, size_t n)
{
    struct ordered list;
    size_t stated = row->idea.n_changes;
    list.n = stated;
    if (stated)
        memcpy(list.items, row->own, stated * sizeof *row->own);
    if (parent && !declare(&list, ideas, row, parent))
        return false;
    for (size_t i = 0; i < n; i++)
        put(&list, &given[i].change);
    if (list.n > stated)
        return row_keep_stated(ideas, row, list.items, list.n);
    if (stated) /* a full list may have lost its last changes to others */
        memcpy(row->own, list.items, stated * sizeof *row->own);
    return true;
}

/* Whether the keys share half of the words of the shorter one, and no rule of the store keeps them apart. */
static bool share_words(const struct change_key *a, const struct change_key *b)
{
    size_t shared = 0, shorter = a->n < b->n ? a->n : b->n;
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++)
            shared += a->words[i] == b->words[k];
    return shared > 0 && 2 * shared >= shorter && !(a->apart & b->apart);
}

/* Whether change b repeats the more trusted change a. Within one trial, what the program shows and what the text states
 * with the same value and similar words is one change: "damp 0.005" and "GPTQ Hessian damping 0.005". */
static bool repeats(const struct lineage_ideas *ideas, const struct row_change *a, const struct row_change *b)
{
    const struct knob_name *x = &ideas->named[a->name], *y = &ideas->named[b->name];
    if (a->source >= b->source)
        return false;
    bool described = a->source == LINEAGE_CHANGE_MEASURED && share_words(&x->key, &y->key);
    return (described || strcmp(x->knob, y->knob) == 0) &&
           lineage_quantity_equal(value_text(ideas, a->to), value_text(ideas, b->to));
}

void row_drop_repeated(struct lineage_ideas *ideas, struct idea_row *row)
{
    size_t n = 0;
    bool says[LINEAGE_IDEAS_CHANGES] = {false}, any = false; /* whether the row itself names the change */
    for (size_t i = 0; i < row->idea.n_changes; i++) {
        size_t k = 0;
        bool measured = row->own[i].source == LINEAGE_CHANGE_MEASURED;
        while (k < n && !repeats(ideas, &row->own[k], &row->own[i]))
            k++;
        if (k < n && !measured)
            row->own[k].budget = row->own[k].budget || row->own[i].budget;
        if (k < n &&
            !value_text(ideas, row->own[k].from)) /* a parameter that no earlier trial declares: the words may say from what */
            row->own[k].from = row->own[i].from;
        says[k] = says[k] || !measured;
        any = any || !measured;
        if (k < n)
            continue;
        row->own[n++] = row->own[i];
    }
    /* If the row names changes, other changes that are only measured are side effects and not part of the idea. */
    for (size_t k = 0; k < n && any; k++)
        row->own[k].budget = row->own[k].budget || !says[k];
    row->idea.n_changes = n;
}

static struct lineage_number number_of(struct lineage_number number, const char *text)
{
    if (!number.present && text)
        number.present = lineage_quantity_parse(&number.value, text, strlen(text));
    return number;
}

enum lineage_status lineage_ideas_add_change(struct lineage_ideas *ideas, size_t trial, const struct lineage_change *change,
                                             struct lineage_error *err)
{
    if (ideas->settled || trial >= ideas->n)
        return store_fail(err, LINEAGE_EINVAL, "a change cannot be added to trial %zu of %zu%s", trial, ideas->n,
                          ideas->settled ? ": the set of ideas is settled" : "");
    if (!change->name || !*change->name || !change->to)
        return store_fail(err, LINEAGE_EINVAL, "a change needs a name and a new value");
    if (change->source != LINEAGE_CHANGE_DECLARED && change->source != LINEAGE_CHANGE_MEASURED)
        return store_fail(err, LINEAGE_EINVAL, "an added change is declared or measured; stated ones are read from texts");
    if (!LIST_ROOM(ideas->given, ideas->n_given, ideas->given_capacity))
        return store_no_memory(err);
    const struct lineage_number from = number_of(change->from_value, change->from), to = number_of(change->to_value, change->to);
    const struct given_change given = {.trial = (uint32_t)trial,
                                       .order = (uint32_t)ideas->n_given,
                                       .change = {.name = ideas_name(ideas, change->name),
                                                  .from = ideas_value(ideas, change->from, from),
                                                  .to = ideas_value(ideas, change->to, to),
                                                  .source = (uint8_t)change->source}};
    if (given.change.name == TEXT_NONE || given.change.from == TEXT_NONE || given.change.to == TEXT_NONE)
        return store_no_memory(err);
    ideas->given[ideas->n_given++] = given;
    return LINEAGE_OK;
}
