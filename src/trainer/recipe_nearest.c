/* recipe_nearest.c: edit distances between keys. */
#include "recipe_nearest.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 63u

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned recipe_distance(const char *a, const char *b)
{
    unsigned rows[3][WORD_MAX + 1], *before = rows[0], *above = rows[1], *row = rows[2];
    size_t n = strnlen(a, WORD_MAX), m = strnlen(b, WORD_MAX);
    if (n > 0 && n < m && strncmp(a, b, n) == 0)
        return 1;
    for (size_t j = 0; j <= m; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[m];
}

/* A key of another object has to fit much better. */
static unsigned score(const struct recipe_field *field, bool same_object, const char *key)
{
    if (strcmp(key, field->path) == 0)
        return 0;
    unsigned distance = recipe_distance(key, recipe_key(field));
    return same_object ? 2 * distance : 6 * distance + 1;
}

void recipe_nearest(char path[128], const struct recipe_place *place, const char *key)
{
    const struct recipe_table *const tables[] = {&recipe_root, &recipe_task};
    unsigned best = UINT_MAX;
    for (size_t t = 0; t < 2; t++) {
        bool here = tables[t] == place->table;
        const char *prefix = here ? place->prefix : t == 1 ? "environments[0]." : "";
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct recipe_field *field = &tables[t]->fields[i];
            unsigned s = score(field, here && recipe_is_in(field, place->parent), key);
            if (s < best) {
                best = s;
                snprintf(path, 128, "%s%s", prefix, field->path);
            }
        }
    }
}
