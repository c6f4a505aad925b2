/* text_table.c: texts by number, found by an open hash table of numbers. */
#include "text_table.h"

#include <xxhash.h>

enum { FIRST_SLOTS = 64 };

/* The slot that holds the text, or the empty one where it belongs. At least half of the slots are empty, because each slot that is
 * passed costs a look at an entry elsewhere in memory. */
static uint32_t slot_of(const struct text_table *table, const char *text, size_t length, uint32_t hash)
{
    uint32_t mask = table->n_slots - 1, at = hash & mask;
    for (; table->slots[at]; at = (at + 1) & mask) {
        const struct text_entry *entry = &table->entries[table->slots[at] - 1];
        if (entry->hash == hash && entry->length == length && memcmp(entry->text, text, length) == 0)
            break;
    }
    return at;
}

static uint32_t hash_of(const char *text, size_t length)
{
    return (uint32_t)XXH3_64bits(text, length);
}

uint32_t text_table_find(const struct text_table *table, const char *text, size_t length)
{
    return table->n ? table->slots[slot_of(table, text, length, hash_of(text, length))] - 1 : TEXT_NONE;
}

static bool grow_slots(struct text_table *table)
{
    uint32_t n = table->n_slots ? 2 * table->n_slots : FIRST_SLOTS;
    uint32_t *slots = n > table->n_slots ? calloc(n, sizeof *slots) : NULL;
    if (!slots)
        return false;
    for (uint32_t i = 0; i < table->n; i++) {
        uint32_t at = table->entries[i].hash & (n - 1);
        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = i + 1;
    }
    free(table->slots);
    table->slots = slots;
    table->n_slots = n;
    return true;
}

uint32_t text_table_add(struct text_table *table, const char *text, size_t length)
{
    const uint32_t hash = hash_of(text, length);
    uint32_t at = table->n_slots ? slot_of(table, text, length, hash) : 0;
    if (table->n_slots && table->slots[at])
        return table->slots[at] - 1;
    if (length > UINT32_MAX - 1 || !LIST_ROOM(table->entries, table->n, table->capacity))
        return TEXT_NONE;
    if (table->n >= table->n_slots / 2) {
        if (!grow_slots(table))
            return TEXT_NONE;
        at = slot_of(table, text, length, hash);
    }
    const char *copy = arena_text(&table->arena, text, length);
    if (!copy)
        return TEXT_NONE;
    table->entries[table->n] = (struct text_entry){copy, (uint32_t)length, hash};
    table->slots[at] = table->n + 1;
    return table->n++;
}

void text_table_release(struct text_table *table)
{
    free(table->entries);
    free(table->slots);
    arena_release(&table->arena);
    *table = (struct text_table){0};
}
