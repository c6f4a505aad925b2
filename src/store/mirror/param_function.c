/*
 * param_function.c: param(notes, key) for statements of this library. param_rows finds trials by
 * the value of one parameter; a second one is read from the notes of those found, which is cheaper
 * than joining two ranges.
 */
#include <math.h>

#include "internal.h"

static void param(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct lineage_trial trial = {0};
    struct arena *arena = sqlite3_user_data(context);
    const char *notes = (const char *)sqlite3_value_text(values[0]),
               *key = (const char *)sqlite3_value_text(values[1]);
    double value;
    (void)n;
    arena_reset(arena);
    if (!notes || !key)
        return;
    if (notes_parse(&trial, notes, arena, NULL) != LINEAGE_OK)
        sqlite3_result_error_nomem(context);
    else if (lineage_trial_param(&value, &trial, key) && !isnan(value))
        sqlite3_result_double(context, value);
}

enum lineage_status param_function_register(struct mirror *mirror, struct lineage_error *err)
{
    int code =
        sqlite3_create_function_v2(mirror->db, "param", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                   &mirror->notes_arena, param, NULL, NULL, NULL);
    return code == SQLITE_OK ? LINEAGE_OK : mirror_fail(mirror, "cannot add a function", err);
}
