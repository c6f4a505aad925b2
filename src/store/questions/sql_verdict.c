/* sql_verdict.c: the SQL functions hypothesis_verdict(expected, happened), which uses the noise of the store, and cause(notes). */
#include "../mirror/statement.h"
#include "questions.h"

#include <lineage/hypothesis.h>
#include <lineage/notes.h>

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

int sql_add_verdict(sqlite3 *db, const struct lineage_config *config)
{
    int code = sqlite3_create_function_v2(db, "cause", 1, SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL, name_cause, NULL, NULL, NULL);
    return code != SQLITE_OK ? code
                             : sqlite3_create_function_v2(db, "hypothesis_verdict", 2, SQLITE_UTF8 | SQLITE_INNOCUOUS,
                                                          (void *)(uintptr_t)config, judge, NULL, NULL, NULL);
}
