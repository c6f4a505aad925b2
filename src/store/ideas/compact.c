/*
 * compact.c: the changes and readings of a set in the form in which its trials keep them.
 *
 * A log names the same settings and values again and again, so a trial keeps a change as three numbers, which become a struct again
 * only for the few trials that a question looks at.
 *
 * A value is the entry of a table: how it was written, and what number that is. The entry begins with NUMBER bytes: flags, then
 * the number. The number of a parameter has no text until it becomes part of a change.
 */
#include "ideas_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

enum { HAS_NUMBER = 1, HAS_TEXT = 2, IS_PARAM = 4, NUMBER = 1 + sizeof(double), SHORT_VALUE = 256 };

uint32_t ideas_name(struct lineage_ideas *ideas, const char *name)
{
    uint32_t number = text_table_add(&ideas->names, name, strlen(name));
    if (number == TEXT_NONE || number < ideas->names_capacity)
        return number;
    uint32_t capacity = ideas->names_capacity ? ideas->names_capacity + ideas->names_capacity / 2 : 64;
    struct knob_name *named = realloc(ideas->named, capacity * sizeof *named);
    if (!named)
        return TEXT_NONE;
    memset(named + ideas->names_capacity, 0, (capacity - ideas->names_capacity) * sizeof *named);
    ideas->named = named;
    ideas->names_capacity = capacity;
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

uint32_t ideas_value(struct lineage_ideas *ideas, const char *text, struct lineage_number number)
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
bool value_write(struct lineage_ideas *ideas, uint32_t value)
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

bool params_equal(const struct lineage_ideas *ideas, uint32_t a, uint32_t b)
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

/* ---- readings ---- */

bool row_keep_reading(struct idea_row *row, const struct reading *r, struct arena *arena)
{
    const size_t n = (size_t)r->n_words + r->n_cites;
    struct reading *kept = arena_alloc(arena, 1, sizeof *kept + n * sizeof(uint32_t));
    if (!kept)
        return false;
    uint32_t *numbers = (uint32_t *)(kept + 1);
    if (r->n_words)
        memcpy(numbers, r->words, r->n_words * sizeof *numbers);
    if (r->n_cites)
        memcpy(numbers + r->n_words, r->cites, r->n_cites * sizeof *numbers);
    *kept = *r;
    kept->words = numbers;
    kept->cites = numbers + r->n_words;
    kept->changes = NULL;
    row->reading = kept;
    return true;
}

bool row_keep_stated(struct lineage_ideas *ideas, struct idea_row *row, const struct reading *r)
{
    row->own = r->n_changes ? arena_alloc(&ideas->arena, r->n_changes, sizeof *row->own) : NULL;
    row->idea.n_changes = 0;
    if (r->n_changes && !row->own)
        return false;
    for (uint32_t i = 0; i < r->n_changes; i++) {
        const struct read_change *c = &r->changes[i];
        struct row_change change = {.name = ideas_name(ideas, c->name),
                                    .from = ideas_value(ideas, c->from, c->from_value),
                                    .to = ideas_value(ideas, c->to, c->to_value),
                                    .source = LINEAGE_CHANGE_STATED,
                                    .budget = c->budget};
        if (change.name == TEXT_NONE || change.from == TEXT_NONE || change.to == TEXT_NONE)
            return false;
        row->own[i] = change;
    }
    row->idea.n_changes = r->n_changes;
    return true;
}
