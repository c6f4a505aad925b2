/*
 * text_table.h: texts, each stored once and known by a number.
 *
 * A log repeats few names and values in many trials, so a set of ideas keeps numbers in its trials and each text once. An entry
 * takes about 24 bytes beside its text; an entry of uthash takes 56 and more.
 */
#pragma once

#include <stddef.h>

#include "../format/arena.h"

#define TEXT_NONE UINT32_MAX

/* A text of any bytes, followed by a NUL. It stays where it is until the table is released. */
struct text_entry {
    const char *text;
    uint32_t length, hash;
};

/* A zeroed table is empty and ready. Numbers begin with 0 and have no gaps. */
struct text_table {
    struct text_entry *entries; /* [n] by number */
    uint32_t n;
    size_t capacity;
    uint32_t *slots; /* [n_slots] a number + 1, or 0 */
    uint32_t n_slots;
    struct arena arena;
};

/* Returns the number of a text, or TEXT_NONE if the table does not have it. */
uint32_t text_table_find(const struct text_table *table, const char *text, size_t length);

/* Likewise, but adds a text that the table does not have. TEXT_NONE when out of memory; the table is then unchanged. */
uint32_t text_table_add(struct text_table *table, const char *text, size_t length);

void text_table_release(struct text_table *table);
