/* shared_text.c: see shared_text.h. */
#include "mcp/shared_text.h"

#include <stdbool.h>
#include <string.h>

#define GAP "…"
enum { GAP_BYTES = sizeof GAP - 1, SAVED_LEAST = 120 };

struct shape {
    const char *begin, *end; /* texts of which the shape takes the first and the last bytes */
    size_t n_begin, n_end;
    long saved;
};

static const char *cell(const json_t *rows, size_t i, size_t column)
{
    const char *text = json_string_value(json_array_get(json_array_get(rows, i), column));
    return text ? text : "";
}

/* The words that two texts begin and end with. Only whole words, so that no number is cut into two halves. */
static struct shape shape_of(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), least = n < m ? n : m;
    struct shape shape = {.begin = a, .end = a + n};
    while (shape.n_begin < least && a[shape.n_begin] == b[shape.n_begin])
        shape.n_begin++;
    while (shape.n_begin && strcmp(a, b) != 0 && a[shape.n_begin - 1] != ' ')
        shape.n_begin--;
    while (shape.n_end < least - shape.n_begin && a[n - shape.n_end - 1] == b[m - shape.n_end - 1])
        shape.n_end++;
    while (shape.n_end && a[n - shape.n_end] != ' ')
        shape.n_end--;
    shape.end -= shape.n_end;
    return shape;
}

static bool has_shape(const char *text, const struct shape *shape)
{
    size_t n = strlen(text);
    return n >= shape->n_begin + shape->n_end && memcmp(text, shape->begin, shape->n_begin) == 0 &&
           memcmp(text + n - shape->n_end, shape->end, shape->n_end) == 0;
}

/* Each cell of the shape gets shorter by it, except for the mark; the shape itself is sent once. */
static long saved_by(const json_t *rows, size_t column, const struct shape *shape, size_t max)
{
    size_t bytes = shape->n_begin + shape->n_end;
    long saved = -(long)bytes - GAP_BYTES;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *text = cell(rows, i, column);
        size_t n = strlen(text), rest = n - bytes + GAP_BYTES;
        if (has_shape(text, shape))
            saved += (long)(n < max ? n : max) - (long)(rest < max ? rest : max);
    }
    return saved;
}

/* Neighbours on a page are the likeliest to be alike, so only their shapes are tried. */
static struct shape best_shape(const json_t *rows, size_t column, size_t max)
{
    struct shape best = {.begin = "", .end = ""}, last = best;
    for (size_t i = 0; i + 1 < json_array_size(rows); i++) {
        struct shape shape = shape_of(cell(rows, i, column), cell(rows, i + 1, column));
        if (shape.n_begin == last.n_begin && shape.n_end == last.n_end && memcmp(shape.begin, last.begin, shape.n_begin) == 0 &&
            memcmp(shape.end, last.end, shape.n_end) == 0)
            continue;
        shape.saved = saved_by(rows, column, &shape, max);
        last = shape;
        if (shape.saved > best.saved)
            best = shape;
    }
    return best;
}

json_t *mcp_fold_texts(json_t *rows, size_t column, size_t max)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (strncmp(cell(rows, i, column), GAP, GAP_BYTES) == 0)
            return NULL;
    struct shape shape = best_shape(rows, column, max);
    if (shape.saved < SAVED_LEAST)
        return NULL;
    json_t *shared = json_sprintf("%.*s" GAP "%.*s", (int)shape.n_begin, shape.begin, (int)shape.n_end, shape.end);
    if (!shared)
        return NULL;
    /* The shape's own cells are about to be replaced. */
    shape.begin = json_string_value(shared);
    shape.end = shape.begin + shape.n_begin + GAP_BYTES;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *text = cell(rows, i, column);
        if (!has_shape(text, &shape))
            continue;
        size_t n = strlen(text) - shape.n_begin - shape.n_end;
        json_array_set_new(json_array_get(rows, i), column, json_sprintf(GAP "%.*s", (int)n, text + shape.n_begin));
    }
    return shared;
}
