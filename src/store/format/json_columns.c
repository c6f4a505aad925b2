/* json_columns.c: the columns `params` and `metrics` (row.h). */
#include "row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <lineage/notes.h>

#include "json_text.h"
#include "number.h"

bool json_column_is(const char *name)
{
    return strcmp(name, JSON_COLUMN_PARAMS) == 0 || strcmp(name, JSON_COLUMN_METRICS) == 0;
}

/* Numbers are written in their shortest form, which jansson does not do; names need no escapes. */
void json_column_write(struct buf *out, const char *name, const char *notes)
{
    struct lineage_trial said = {0};
    struct arena arena = {0};
    if (notes_parse(&said, notes, &arena, NULL) != LINEAGE_OK) {
        out->failed = true;
        arena_release(&arena);
        return;
    }
    bool params = strcmp(name, JSON_COLUMN_PARAMS) == 0;
    const struct lineage_param *list = params ? said.params : said.metrics;
    size_t n = params ? said.n_params : said.n_metrics;
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s\"%s\": ", i ? ", " : "{", list[i].name);
        json_t *text = list[i].text ? json_string(list[i].text) : NULL;
        char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
        if (quoted)
            buf_puts(out, quoted);
        else if (!list[i].text)
            buf_add_number(out, list[i].value);
        else
            out->failed = true;
        free(quoted);
        json_decref(text);
    }
    if (n)
        buf_put(out, '}');
    arena_release(&arena);
}

/* A member of the merged list; of equal names the last one counts. */
struct member {
    struct lineage_param param;
    size_t order;
};

static int by_name(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = strcmp(x->param.name, y->param.name);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* Returns the parameter or metric of a member, with a NULL name if the member cannot be one. */
static struct lineage_param read_member(const char *name, const json_t *value, bool texts, struct arena *arena, bool *ok)
{
    struct lineage_param param = {NULL, json_number_value(value), NULL};
    const char *text = texts ? json_string_value(value) : NULL;
    bool good = lineage_param_name_ok(name) &&
                (json_is_number(value) ? isfinite(param.value)
                                       : text && strlen(text) == json_string_length(value) && lineage_param_text_ok(text));
    if (!good)
        return param;
    param.name = arena_text(arena, name, strlen(name));
    if (text) {
        param.text = arena_text(arena, text, strlen(text));
        param.value = (double)NAN;
    }
    *ok = *ok && param.name && (!text || param.text);
    if (param.name && texts)
        param.name = lineage_param_canonical(param.name);
    return param;
}

/* Merges the members of the object into the list. Sorts them, because a cell may hold ten thousand members. */
static bool merge(const struct lineage_param **list, size_t *n, const char *text, bool texts, struct arena *arena)
{
    const char *name;
    json_t *value, *object;
    if (!text || *text != '{')
        return true;
    if (json_text_parse(&object, "cell", LINEAGE_EINVAL, text, strlen(text), 0, NULL) == LINEAGE_ENOMEM)
        return false;
    size_t most = *n + json_object_size(object), found = 0, kept = 0;
    struct member *members = arena_alloc(arena, most, sizeof *members);
    struct lineage_param *merged = arena_alloc(arena, most, sizeof *merged);
    bool ok = members && merged;
    for (size_t i = 0; ok && i < *n; i++, found++)
        members[found] = (struct member){(*list)[i], found};
    json_object_foreach(object, name, value) {
        struct lineage_param param = ok ? read_member(name, value, texts, arena, &ok) : (struct lineage_param){0};
        if (ok && param.name) {
            members[found] = (struct member){param, found};
            found++;
        }
    }
    json_decref(object);
    if (!ok)
        return false;
    if (found)
        qsort(members, found, sizeof *members, by_name);
    for (size_t i = 0; i < found; i++)
        if (i + 1 == found || strcmp(members[i].param.name, members[i + 1].param.name) != 0)
            merged[kept++] = members[i].param;
    *list = merged;
    *n = kept;
    return true;
}

bool json_params_read(struct lineage_trial *trial, const char *text, struct arena *arena)
{
    return merge(&trial->params, &trial->n_params, text, true, arena);
}

bool json_columns_read(struct lineage_trial *trial, struct arena *arena)
{
    bool ok = true;
    for (size_t i = 0; ok && i < trial->n_extras; i++) {
        const struct lineage_extra *extra = &trial->extras[i];
        if (strcmp(extra->column, JSON_COLUMN_PARAMS) == 0)
            ok = json_params_read(trial, extra->text, arena);
        else if (strcmp(extra->column, JSON_COLUMN_METRICS) == 0)
            ok = merge(&trial->metrics, &trial->n_metrics, extra->text, false, arena);
    }
    return ok;
}
