/*
 * sql_functions.c: the functions of SQLite whose time a short argument can make endless, in bounded versions. SQLite
 * looks at the limits of a statement only between two calls of a function, so each call must end soon.
 */
#define _GNU_SOURCE /* memmem */
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "../mirror/statement.h"
#include "questions.h"

enum {
    LEFT = 1, /* sides of trim */
    RIGHT = 2,
    SET_BYTES = 256 /* in a set of characters to trim: each is compared with each character of the text */
};

/* ---- printf ---- */

struct arguments {
    int n, next;
    sqlite3_value **values;
};

/* NULL when there are no more: SQLite then prints 0 or nothing. */
static sqlite3_value *next_argument(struct arguments *arguments)
{
    return arguments->next < arguments->n ? arguments->values[arguments->next++] : NULL;
}

/* The state of a text that grows piece by piece. If SQLite knew the limit of this text, it would add room for one piece at a time
 * from half of the limit on, and could copy the text each time. So such a text begins without a limit (sqlite3_str_new(NULL)), and
 * its length is compared after each piece. */
static int grown(sqlite3_str *out, int longest)
{
    int code = sqlite3_str_errcode(out);
    return code == SQLITE_OK && sqlite3_str_length(out) > longest ? SQLITE_TOOBIG : code;
}

/* Reads the number at *at: digits, or `*`, whose value is an argument. Returns -1 if the number is absent, and false in
 * *ok if it is larger than a value may be: printing would take as long as the number says. */
static int read_size(const char **at, struct arguments *arguments, int longest, bool *ok)
{
    sqlite3_int64 size = 0;
    if (**at == '*') {
        sqlite3_value *value = next_argument(arguments);
        ++*at;
        size = value ? sqlite3_value_int64(value) : 0;
    } else {
        for (; **at >= '0' && **at <= '9'; ++*at)
            size = size <= longest ? size * 10 + (**at - '0') : size;
    }
    *ok = size <= longest && size >= -longest;
    return *ok ? (int)size : 0;
}

/* SQLite's `%c` takes the first character of a text, and that of its C interface takes the number of the character. */
static unsigned first_character(const unsigned char *text)
{
    unsigned c = text ? *text : 0;
    if (c < 0xc0)
        return c;
    unsigned code = c & (c < 0xe0 ? 0x1f : c < 0xf0 ? 0x0f : 0x07);
    for (int i = 1; i < 4 && (text[i] & 0xc0) == 0x80; i++)
        code = code << 6 | (text[i] & 0x3f);
    return code;
}

/* Prints one value. `spec` is the conversion with `*` for both sizes, so that a computed and a written size are one
 * case. */
static void print_value(sqlite3_str *out, const char *spec, char conversion, int width, int precision, sqlite3_value *value)
{
    if (strchr("diurxXop", conversion))
        sqlite3_str_appendf(out, spec, width, precision, value ? sqlite3_value_int64(value) : (sqlite3_int64)0);
    else if (strchr("feEgG", conversion))
        sqlite3_str_appendf(out, spec, width, precision, value ? sqlite3_value_double(value) : 0.0);
    else if (conversion == 'c')
        sqlite3_str_appendf(out, spec, width, precision, first_character(value ? sqlite3_value_text(value) : NULL));
    else
        sqlite3_str_appendf(out, spec, width, precision, value ? (const char *)sqlite3_value_text(value) : NULL);
}

/* Without a precision the spec must not have one, so the width alone goes through a spec of its own. */
static void print_plain(sqlite3_str *out, const char *spec, char conversion, int width, sqlite3_value *value)
{
    if (strchr("diurxXop", conversion))
        sqlite3_str_appendf(out, spec, width, value ? sqlite3_value_int64(value) : (sqlite3_int64)0);
    else if (strchr("feEgG", conversion))
        sqlite3_str_appendf(out, spec, width, value ? sqlite3_value_double(value) : 0.0);
    else if (conversion == 'c')
        sqlite3_str_appendf(out, spec, width, first_character(value ? sqlite3_value_text(value) : NULL));
    else
        sqlite3_str_appendf(out, spec, width, value ? (const char *)sqlite3_value_text(value) : NULL);
}

/* Prints one conversion and returns what follows it; NULL: SQLite stops at an unknown conversion, or a size is too
 * large (*ok is false). `z` would free its argument in the C interface; in SQL it is `s`. */
static const char *print_conversion(sqlite3_str *out, const char *at, struct arguments *arguments, int longest, bool *ok)
{
    char spec[24];
    size_t flags = strspn(at, "-+ #!0,");
    if (flags > 8) {
        *ok = false;
        return NULL;
    }
    sqlite3_snprintf(sizeof spec, spec, "%%%.*s", (int)flags, at);
    at += flags;
    int width = read_size(&at, arguments, longest, ok), precision = 0;
    bool precise = *ok && *at == '.';
    if (precise) {
        at++;
        precision = read_size(&at, arguments, longest, ok);
    }
    at += strspn(at, "l");
    if (!*ok || !*at || !strchr("diurxXopfeEgGcsqQwzn%", *at))
        return NULL;
    if (*at == 'n')
        return at + 1;
    char conversion = *at == 'z' ? 's' : *at;
    size_t n = strlen(spec);
    sqlite3_snprintf((int)(sizeof spec - n), spec + n, "*%s%s%c", precise ? ".*" : "", strchr("diurxXo", conversion) ? "ll" : "",
                     conversion);
    sqlite3_value *value = conversion == '%' ? NULL : next_argument(arguments);
    if (precise)
        print_value(out, spec, conversion, width, precision, value);
    else
        print_plain(out, spec, conversion, width, value);
    return at + 1;
}

static void bounded_printf(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct arguments arguments = {n, 1, values};
    const char *at = n ? (const char *)sqlite3_value_text(values[0]) : NULL;
    int longest = sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1);
    bool ok = true;
    if (!at)
        return;
    sqlite3_str *out = sqlite3_str_new(NULL);
    while (at && *at && grown(out, longest) == SQLITE_OK) {
        size_t plain = strcspn(at, "%");
        if (plain) /* else an empty text would become one that is not NULL */
            sqlite3_str_append(out, at, (int)plain);
        at += plain;
        if (*at == '%' && !at[1]) {
            sqlite3_str_appendchar(out, 1, '%');
            break;
        }
        if (*at == '%')
            at = print_conversion(out, at + 1, &arguments, longest, &ok);
    }
    int code = ok ? grown(out, longest) : SQLITE_TOOBIG, length = sqlite3_str_length(out);
    char *text = sqlite3_str_finish(out);
    if (code == SQLITE_OK)
        sqlite3_result_text(context, text, length, SQLITE_TRANSIENT); /* NULL for an empty text, as in SQLite */
    else if (code == SQLITE_TOOBIG)
        sqlite3_result_error_toobig(context);
    else
        sqlite3_result_error_nomem(context);
    sqlite3_free(text);
}

/* ---- functions that compare every place of one text with the whole of another ---- */

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
int sql_bound_functions(sqlite3 *db)
{
    static const struct {
        const char *name;
        int n;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
        intptr_t data; /* sides of trim; whether a pattern is one of GLOB */
    } functions[] = {{"printf", -1, bounded_printf, 0},       {"format", -1, bounded_printf, 0},
                     {"instr", 2, bounded_instr, 0},          {"replace", 3, bounded_replace, 0},
                     {"trim", 2, bounded_trim, LEFT | RIGHT}, {"ltrim", 2, bounded_trim, LEFT},
                     {"rtrim", 2, bounded_trim, RIGHT},       {"like", 2, sql_match_pattern, 0},
                     {"like", 3, sql_match_pattern, 0},       {"glob", 2, sql_match_pattern, 1}};
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
        code = sqlite3_create_function_v2(db, functions[i].name, functions[i].n,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, (void *)functions[i].data,
                                          functions[i].call, NULL, NULL, NULL);
    return code;
}
