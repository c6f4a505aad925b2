/* row_changes.c: the changes of a trial by trust: declared, measured, stated. */
#include "ideas_internal.h"

#include <stdlib.h>
#include <string.h>

#include <lineage/notes.h>

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
        row->own = arena_alloc(&ideas->arena, list.n, sizeof *row->own);
    if (list.n && !row->own)
        return false;
    if (list.n)
        memcpy(row->own, list.items, list.n * sizeof *row->own);
    row->idea.n_changes = list.n;
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
