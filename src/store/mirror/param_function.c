/*
 * param_function.c: functions for this library's statements: moment(timestamp), seconds since 1970 or NULL, and
 * param(notes, key[, json]), a number or text. json is the
 * cell of the column `params` in a store that has it. Trials are found
 * in param_rows by the value of one parameter. A second parameter is read from the notes of these trials, which is
 * cheaper than joining two ranges.
 *
 * Notes are parsed by the code that is used everywhere, so a condition sees the same value as a reader of the row. The
 * function is declared deterministic, so SQLite may call it only once for equal arguments.
 */
#include "param_function.h"

#include <math.h>

#include <lineage/time.h>

#include "mirror_internal.h"
#include "statement.h"

static void find_param(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct lineage_trial trial = {0};
    struct arena *arena = sqlite3_user_data(context);
    arena_reset(arena);
    if (sqlite3_value_type(values[0]) == SQLITE_NULL || sqlite3_value_type(values[1]) == SQLITE_NULL)
        return;
    const char *notes = (const char *)sqlite3_value_text(values[0]), *key = (const char *)sqlite3_value_text(values[1]);
    if (!notes || !key || notes_parse(&trial, notes, arena, NULL) != LINEAGE_OK ||
        (n > 2 && !json_params_read(&trial, (const char *)sqlite3_value_text(values[2]), arena))) { /* only if memory runs out */
        sqlite3_result_error_nomem(context);
        return;
    }
    const struct lineage_param *param = lineage_trial_find_param(&trial, key);
    if (param && param->text)
        sqlite3_result_text(context, param->text, -1, SQLITE_TRANSIENT);
    else if (param && !isnan(param->value))
        sqlite3_result_double(context, param->value);
}

static void find_moment(sqlite3_context *context, int n, sqlite3_value **values)
{
    int64_t seconds;
    const char *text = (const char *)sqlite3_value_text(values[0]);
    (void)n;
    if (text && lineage_time_read(&seconds, text))
        sqlite3_result_int64(context, seconds);
}

enum lineage_status param_function_register(struct mirror *mirror, struct lineage_error *err)
{
    int code = sqlite3_create_function_v2(mirror->db, "moment", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, find_moment, NULL,
                                          NULL, NULL);
    for (int n = 2; code == SQLITE_OK && n <= 3; n++)
        code = sqlite3_create_function_v2(mirror->db, "param", n, SQLITE_UTF8 | SQLITE_DETERMINISTIC, &mirror->notes_arena,
                                          find_param, NULL, NULL, NULL);
    return code == SQLITE_OK ? LINEAGE_OK : mirror_fail(mirror, "cannot add a function", err);
}
