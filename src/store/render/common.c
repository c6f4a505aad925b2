/* common.c: lists of trials and cells as text, for all styles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "render.h"

static bool grow(struct trial_list *list, size_t *capacity)
{
    if (list->n < *capacity)
        return true;
    size_t larger = *capacity ? *capacity * 2 : 32;
    struct lineage_trial *items = realloc(list->items, larger * sizeof *items);
    if (!items)
        return false;
    list->items = items;
    *capacity = larger;
    return true;
}

enum lineage_status trial_list_add(struct trial_list *list, struct mirror *mirror, const char *sql, size_t limit,
                                   struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    size_t capacity = list->n;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_int64(stmt, 1, limit ? (int64_t)limit : -1);
    while ((status = mirror_step(mirror, stmt, err)) == LINEAGE_OK) {
        if (!grow(list, &capacity))
            status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
        else
            status = mirror_own_trial(mirror, stmt, &list->items[list->n], err);
        if (status != LINEAGE_OK)
            break;
        list->n++;
    }
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

void trial_list_release(struct trial_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        lineage_trial_release(&list->items[i]);
    free(list->items);
    *list = (struct trial_list){0};
}

static const char *number_text(char out[NUMBER_TEXT_MAX], struct lineage_number number, bool sign)
{
    if (!number.present)
        return "—";
    if (isnan(number.value))
        return sign ? "+nan" : "nan";
    snprintf(out, NUMBER_TEXT_MAX, sign ? "%+.6f" : "%.6f", number.value);
    for (char *c = out; *c; c++)
        if (*c == ',') /* the locale's decimal point */
            *c = '.';
    return out;
}

const char *metric_text(char out[NUMBER_TEXT_MAX], struct lineage_number number)
{
    return number_text(out, number, false);
}

const char *delta_text(char out[NUMBER_TEXT_MAX], struct lineage_number number)
{
    return number_text(out, number, true);
}

static void add_decoded(struct buf *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        const char *nul = memchr(text + i, '\xc0', length - i);
        size_t n = nul ? (size_t)(nul - text) - i : length - i;
        buf_add(out, text + i, n);
        i += n;
        if (nul) {
            buf_add(out, "", 1);
            i += 2;
        }
    }
}

void add_raw(struct buf *out, const char *text)
{
    add_decoded(out, text, strlen(text));
}

void add_cut(struct buf *out, const char *text, size_t n)
{
    size_t length = strlen(text), end = lineage_text_prefix(text, length, n);
    if (end < length)
        end = lineage_text_prefix(text, length, n ? n - 1 : 0);
    add_decoded(out, text, end);
    if (end < length)
        buf_puts(out, "…");
}

void add_safe(struct buf *out, const char *text, size_t n)
{
    char *safe = lineage_text_safe(text, strlen(text), n);
    if (safe)
        buf_puts(out, safe);
    else
        out->failed = true;
    lineage_free(safe);
}
