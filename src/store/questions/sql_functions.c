/*
 * sql_functions.c: functions for a user's statement. hypothesis_verdict(expected, happened) uses the noise of the store, and
 * cause(notes) names the cause in them. The others are those of SQLite whose time grows with the product of two long arguments, in
 * bounded versions: SQLite looks at the limits of a statement only between two calls of a function, so each call must end soon.
 */
#define _GNU_SOURCE /* memmem */
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include <lineage/hypothesis.h>
#include <lineage/notes.h>

#include "../mirror/statement.h"
#include "questions.h"

enum {
    LEFT = 1, /* sides of trim */
    RIGHT = 2,
    SET_BYTES = 256 /* in a set of characters to trim: each is compared with each character of the text */
};

/* NULL if either number is missing, so that rows without a prediction drop out of counts. */
static void judge(sqlite3_context *context, int n, sqlite3_value **values)
{
    const struct lineage_config *config = sqlite3_user_data(context);
    (void)n;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL || sqlite3_value_type(values[1]) == SQLITE_NULL)
        return;
    struct lineage_hypothesis h = lineage_hypothesis_judge(sqlite3_value_double(values[0]), sqlite3_value_double(values[1]),
                                                           lineage_hypothesis_margin(config));
    if (h.verdict)
        sqlite3_result_text(context, lineage_verdict_name(h.verdict), -1, SQLITE_STATIC);
}

/* NULL if the notes name no cause. */
static void name_cause(sqlite3_context *context, int n, sqlite3_value **values)
{
    enum lineage_cause cause = lineage_notes_cause((const char *)sqlite3_value_text(values[0]));
    (void)n;
    if (cause)
        sqlite3_result_text(context, lineage_cause_name(cause), -1, SQLITE_STATIC);
}

/* ---- functions that compare every place of one text with the whole of another ---- */

/* The state of a text that grows piece by piece. If SQLite knew the limit of this text, it would add room for one piece at a time
 * from half of the limit on, and could copy the text each time. So such a text begins without a limit (sqlite3_str_new(NULL)), and
 * its length is compared after each piece. */
static int grown(sqlite3_str *out, int longest)
{
    int code = sqlite3_str_errcode(out);
    return code == SQLITE_OK && sqlite3_str_length(out) > longest ? SQLITE_TOOBIG : code;
}

/* SQLite compares at every place, which takes hours for two texts of a few MiB; memmem is linear. */
static void bounded_instr(sqlite3_context *context, int n, sqlite3_value **values)
{
    (void)n;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL || sqlite3_value_type(values[1]) == SQLITE_NULL)
        return;
    bool bytes = sqlite3_value_type(values[0]) == SQLITE_BLOB && sqlite3_value_type(values[1]) == SQLITE_BLOB;
    const char *hay = bytes ? sqlite3_value_blob(values[0]) : (const char *)sqlite3_value_text(values[0]);
    const char *needle = bytes ? sqlite3_value_blob(values[1]) : (const char *)sqlite3_value_text(values[1]);
    size_t hay_length = (size_t)sqlite3_value_bytes(values[0]), length = (size_t)sqlite3_value_bytes(values[1]);
    const char *found = !length ? hay : hay && needle ? memmem(hay, hay_length, needle, length) : NULL;
    sqlite3_int64 place = 1;
    if (length && !found)
        place = 0;
    else if (found)
        for (const char *at = hay; at < found; at++)
            place += bytes || (at[1] & 0xc0) != 0x80;
    sqlite3_result_int64(context, place);
}

static void bounded_replace(sqlite3_context *context, int n, sqlite3_value **values)
{
    (void)n;
    const char *text = (const char *)sqlite3_value_text(values[0]), *old = (const char *)sqlite3_value_text(values[1]);
    if (!text || !old)
        return;
    size_t left = (size_t)sqlite3_value_bytes(values[0]), length = (size_t)sqlite3_value_bytes(values[1]);
    if (!length || !*old) {
        sqlite3_result_value(context, values[0]);
        return;
    }
    const char *new = (const char *)sqlite3_value_text(values[2]), *found;
    if (!new)
        return;
    int longest = sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1);
    sqlite3_str *out = sqlite3_str_new(NULL);
    while (grown(out, longest) == SQLITE_OK && (found = memmem(text, left, old, length))) {
        sqlite3_str_append(out, text, (int)(found - text));
        sqlite3_str_append(out, new, sqlite3_value_bytes(values[2]));
        left -= (size_t)(found - text) + length;
        text = found + length;
    }
    sqlite3_str_append(out, text, (int)left);
    int code = grown(out, longest), size = sqlite3_str_length(out);
    char *made = sqlite3_str_finish(out);
    if (code == SQLITE_OK)
        sqlite3_result_text(context, made ? made : "", size, made ? SQLITE_TRANSIENT : SQLITE_STATIC);
    else if (code == SQLITE_TOOBIG)
        sqlite3_result_error_toobig(context);
    else
        sqlite3_result_error_nomem(context);
    sqlite3_free(made);
}

/* Length of the character that begins, or, backwards, that ends at a place. */
static size_t character(const char *text, size_t length, bool backwards)
{
    size_t n = 1;
    if (backwards)
        while (n < length && n < 4 && (text[length - n] & 0xc0) == 0x80)
            n++;
    else
        while (n < length && (text[n] & 0xc0) == 0x80)
            n++;
    return n;
}

/* A character of one byte is looked up in `single`, because most characters of a long text have one. */
static bool in_set(const bool *single, const char *set, size_t size, const char *text, size_t length)
{
    if (length == 1)
        return single[(unsigned char)*text];
    for (size_t n; size; set += n, size -= n) {
        n = character(set, size, false);
        if (n == length && memcmp(set, text, n) == 0)
            return true;
    }
    return false;
}

/* The user data says on which sides. */
static void bounded_trim(sqlite3_context *context, int n, sqlite3_value **values)
{
    (void)n;
    intptr_t sides = (intptr_t)sqlite3_user_data(context);
    const char *text = (const char *)sqlite3_value_text(values[0]), *set = (const char *)sqlite3_value_text(values[1]);
    if (!text || !set)
        return;
    size_t length = (size_t)sqlite3_value_bytes(values[0]), size = (size_t)sqlite3_value_bytes(values[1]), step;
    if (size > SET_BYTES) {
        sqlite3_result_error(context, "trim: more than 256 bytes of characters to remove", -1);
        return;
    }
    bool single[UCHAR_MAX + 1] = {false};
    for (size_t i = 0; i < size; i += step)
        if ((step = character(set + i, size - i, false)) == 1)
            single[(unsigned char)set[i]] = true;
    while ((sides & LEFT) && length && in_set(single, set, size, text, step = character(text, length, false)))
        text += step, length -= step;
    while ((sides & RIGHT) && length) {
        step = character(text, length, true);
        if (!in_set(single, set, size, text + length - step, step))
            break;
        length -= step;
    }
    sqlite3_result_text(context, text, (int)length, SQLITE_TRANSIENT);
}

/* They stay on the connection: SQLite cannot give a replaced function back, and for every argument that ends soon they
 * answer as SQLite's own. */
int sql_add_functions(sqlite3 *db, const struct lineage_config *config)
{
    const struct {
        const char *name;
        int n;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
        const void *data; /* sides of trim, or the settings of the store */
    } functions[] = {{"instr", 2, bounded_instr, NULL},
                     {"replace", 3, bounded_replace, NULL},
                     {"trim", 2, bounded_trim, (void *)(intptr_t)(LEFT | RIGHT)},
                     {"ltrim", 2, bounded_trim, (void *)(intptr_t)LEFT},
                     {"rtrim", 2, bounded_trim, (void *)(intptr_t)RIGHT},
                     {"cause", 1, name_cause, NULL},
                     {"hypothesis_verdict", 2, judge, config}};
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
        code = sqlite3_create_function_v2(db, functions[i].name, functions[i].n,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                          (void *)(uintptr_t)functions[i].data, functions[i].call, NULL, NULL, NULL);
    return code;
}
