/* row_changes.c: the changes of a trial by trust: declared, measured, stated. */
#include "ideas_internal.h"

#include <string.h>

#include <lineage/text.h>

void row_put_change(struct idea_row *row, const struct lineage_change *change)
{
    size_t n = row->idea.n_changes, at = n;
    while (at > 0 && row->changes[at - 1].source > change->source)
        at--;
    if (at == row->capacity)
        return;
    if (n == row->capacity)
        n--;
    memmove(&row->changes[at + 1], &row->changes[at], (n - at) * sizeof *row->changes);
    memmove(&row->keys[at + 1], &row->keys[at], (n - at) * sizeof *row->keys);
    row->changes[at] = *change;
    row->keys[at] = (struct change_key){0};
    row->idea.n_changes = n + 1;
}

static const char *copy(struct lineage_ideas *ideas, const char *text, bool *ok)
{
    const char *out = text ? arena_text(&ideas->arena, text, strlen(text)) : NULL;
    if (text && !out)
        *ok = false;
    return out;
}

bool row_declare(struct lineage_ideas *ideas, struct idea_row *row, const struct idea_row *parent)
{
    bool ok = true;
    for (size_t i = 0; ok && i < row->n_params; i++) {
        const struct lineage_param *mine = &row->params[i], *its = NULL;
        char from[LINEAGE_NUMBER_MAX], to[LINEAGE_NUMBER_MAX];
        for (size_t k = 0; k < parent->n_params && !its; k++)
            if (strcmp(parent->params[k].name, mine->name) == 0)
                its = &parent->params[k];
        if (!its || (mine->text && its->text ? strcmp(mine->text, its->text) == 0
                                             : !mine->text && !its->text && mine->value == its->value))
            continue;
        struct lineage_change change = {
            .name = mine->name,
            .from = copy(ideas, its->text ? its->text : lineage_number_format(from, its->value), &ok),
            .to = copy(ideas, mine->text ? mine->text : lineage_number_format(to, mine->value), &ok),
            .from_value = {!its->text, its->text ? 0 : its->value},
            .to_value = {!mine->text, mine->text ? 0 : mine->value},
            .source = LINEAGE_CHANGE_DECLARED};
        if (ok)
            row_put_change(row, &change);
    }
    return ok;
}

void row_take_given(struct idea_row *row)
{
    for (const struct given_change *given = row->given; given; given = given->next)
        row_put_change(row, &given->change);
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

/* Whether change i repeats the more trusted change k. Within one trial, what the program shows and what the text states
 * with the same value and similar words is one change: "damp 0.005" and "GPTQ Hessian damping 0.005". */
static bool repeats(const struct idea_row *row, size_t k, size_t i)
{
    const struct lineage_change *a = &row->changes[k], *b = &row->changes[i];
    bool described = a->source == LINEAGE_CHANGE_MEASURED && share_words(&row->keys[k], &row->keys[i]);
    return a->source < b->source && (described || strcmp(a->knob, b->knob) == 0) && changes_same_value(a, b);
}

void row_drop_repeated(struct idea_row *row)
{
    size_t n = 0;
    bool says[LINEAGE_IDEAS_CHANGES] = {false}, any = false; /* whether the row itself names the change */
    for (size_t i = 0; i < row->idea.n_changes; i++) {
        size_t k = 0;
        bool measured = row->changes[i].source == LINEAGE_CHANGE_MEASURED;
        while (k < n && !repeats(row, k, i))
            k++;
        if (k < n && !measured)
            row->keys[k].budget = row->keys[k].budget || row->keys[i].budget;
        says[k] = says[k] || !measured;
        any = any || !measured;
        if (k < n)
            continue;
        row->changes[n] = row->changes[i];
        row->keys[n++] = row->keys[i];
    }
    /* If the row names changes, other changes that are only measured are side effects and not part of the idea. */
    for (size_t k = 0; k < n && any; k++)
        row->keys[k].budget = row->keys[k].budget || !says[k];
    row->idea.n_changes = n;
}

static struct lineage_number number_of(struct lineage_number number, const char *text)
{
    if (!number.present && text)
        number.present = lineage_quantity_parse(&number.value, text, strlen(text));
    return number;
}

enum lineage_status lineage_ideas_add_change(struct lineage_ideas *ideas, size_t trial,
                                             const struct lineage_change *change, struct lineage_error *err)
{
    bool ok = true;
    if (ideas->settled || trial >= ideas->n)
        return store_fail(err, LINEAGE_EINVAL, "a change cannot be added to trial %zu of %zu%s", trial, ideas->n,
                          ideas->settled ? ": the set of ideas is settled" : "");
    if (!change->name || !*change->name || !change->to)
        return store_fail(err, LINEAGE_EINVAL, "a change needs a name and a new value");
    if (change->source != LINEAGE_CHANGE_DECLARED && change->source != LINEAGE_CHANGE_MEASURED)
        return store_fail(err, LINEAGE_EINVAL, "an added change is declared or measured; stated ones are read from texts");
    struct given_change *given = arena_alloc(&ideas->arena, 1, sizeof *given);
    struct given_change **end = &ideas->rows[trial].given;
    if (!given)
        return store_no_memory(err);
    given->change = (struct lineage_change){.name = copy(ideas, change->name, &ok),
                                            .from = copy(ideas, change->from, &ok),
                                            .to = copy(ideas, change->to, &ok),
                                            .from_value = number_of(change->from_value, change->from),
                                            .to_value = number_of(change->to_value, change->to),
                                            .source = change->source};
    given->next = NULL;
    if (!ok)
        return store_no_memory(err);
    while (*end)
        end = &(*end)->next;
    *end = given;
    return LINEAGE_OK;
}
