/*
 * sql.c: runs a user's SELECT. Three checks make this safe: there must be a single statement, SQLite must report it as
 * read-only, and an authorizer allows only listed functions and tables. Limits guard against a statement that never
 * ends.
 */
#define _GNU_SOURCE /* memmem */
#include <lineage/hypothesis.h>
#include <lineage/notes.h>
#include <lineage/query.h>
#include <lineage/text.h>

#include <limits.h>

#include "../clock.h"
#include "../mirror/statement.h"
#include "questions.h"

/* ---- functions for a user's statement. hypothesis_verdict(expected, happened) uses the noise of the store, and
 * cause(notes) names the cause in them. The others are those of SQLite whose time grows with the product of two long arguments, in
 * bounded versions: SQLite looks at the limits of a statement only between two calls of a function, so each call must end soon.
 */

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

/* Longest value in bytes. It is limited because a function works on a whole value between two checks of the other
 * limits. A cell has 128 KiB at most; the rest is room for group_concat and for JSON made of many cells. */
#define LONGEST_VALUE ((size_t)1 << 20)
#define STEPS_PER_LOOK 20 /* of SQLite's virtual machine, each of which may copy a longest value */

#define PREPARE_BYTES ((size_t)64 << 20) /* a usual statement needs less than 1 MiB until it runs */

/* Limits of SQLite that a user's statement gets. The time to prepare a statement, and that of LIKE, grow faster than
 * their length, and neither is interrupted. */
static const struct {
    int which, most;
} narrow[] = {{SQLITE_LIMIT_LENGTH, (int)LONGEST_VALUE},
              {SQLITE_LIMIT_SQL_LENGTH, 100000},
              {SQLITE_LIMIT_EXPR_DEPTH, 200},
              {SQLITE_LIMIT_COMPOUND_SELECT, 100},
              {SQLITE_LIMIT_VDBE_OP, 250000},
              {SQLITE_LIMIT_FUNCTION_ARG, 40}, /* json_extract walks the whole value for each of its paths */
              {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200}};
enum { N_NARROW = sizeof narrow / sizeof *narrow };

/* The allowed functions, between blanks. They only compute from values; functions that access files, pointers, the process or
 * the connection are missing. */
static const char functions[] =
    " -> ->> abs acos acosh asin asinh atan atan2 atanh avg cause ceil ceiling char coalesce cos cosh"
    " count cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp"
    " first_value floor format glob group_concat hex hypothesis_verdict ifnull iif instr json json_array"
    " json_array_length json_extract json_group_array json_group_object json_object json_quote json_type"
    " json_valid julianday lag last_value lead length like likelihood likely ln log log10 log2 lower ltrim"
    " max min mod nth_value ntile nullif param percent_rank pi pow power printf quote radians random rank"
    " replace round row_number rtrim sign sin sinh sqrt strftime substr substring sum tan tanh time total"
    " trim trunc typeof unicode unixepoch unlikely upper ";

/* The readable tables: those of the schema. Other things that SQLite can read (pragma_*, other virtual tables)
 * reveal facts about the machine, or about more than the store. */
static const char readable[] = " calibration change_rows changes citation_rows citations extras findings judged judged_with"
                               " label_counts meta metric_rows metrics night_rows param_rows param_values params readings "
                               "sqlite_master sqlite_schema step_metrics"
                               " text_params trials turn_stats void_changes voided ";

/* A running statement. Limits are checked in callbacks that cannot return a message, so the reason for ending is
 * noted here. */
struct asking {
    struct mirror *mirror;
    struct lineage_sql_limits limits;
    double start; /* by clock_now */
    int64_t memory_at_start;
    int wide[N_NARROW]; /* the connection's own limits, which end() restores */
    enum { WITHIN, CANCELLED, TOO_LONG, TOO_LARGE } ended;
    char refused[64]; /* the function or table that was refused */
};

/* Remembers the first refused name for the message, because SQLite only says "not authorized". */
static int allow_name(struct asking *asking, const char *name, const char *list)
{
    char word[40] = " ";
    size_t n = strlen(name);
    if (n + 3 <= sizeof word && !strchr(name, ' ')) {
        for (size_t i = 0; i < n; i++)
            word[i + 1] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] | 0x20) : name[i];
        strcpy(word + n + 1, " ");
        if (strstr(list, word))
            return SQLITE_OK;
    }
    sqlite3_snprintf(sizeof asking->refused, asking->refused, "%s", name);
    return SQLITE_DENY;
}

/* If no column is read (count(*)), the name may be defined by the statement's WITH clause, so only SQLite's own virtual
 * tables are refused. */
static int allow_table(struct asking *asking, const char *name, const char *column)
{
    static const char *const prefixes[] = {"pragma_", "sqlite_", "fts", "dbstat", "json_"};
    if (*column)
        return allow_name(asking, name, readable);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (sqlite3_strnicmp(name, prefixes[i], (int)strlen(prefixes[i])) == 0)
            return allow_name(asking, name, readable);
    return SQLITE_OK;
}

/* Checks the limits. SQLite counts the memory of the process, not of a statement, so everything that was allocated
 * since the start is attributed to this statement. Called between steps of the virtual machine, so that neither a
 * thread nor a signal is needed to end it. */
static int look(void *context)
{
    struct asking *asking = context;
    const struct lineage_open_options *options = &mirror_store(asking->mirror)->options;
    if (options->cancelled && options->cancelled(options->context))
        asking->ended = CANCELLED;
    else if (clock_now() - asking->start > asking->limits.seconds)
        asking->ended = TOO_LONG;
    else if (sqlite3_memory_used() - asking->memory_at_start > (int64_t)asking->limits.bytes)
        asking->ended = TOO_LARGE;
    return asking->ended != WITHIN;
}

/* Everything is refused by default, so that features of later SQLite versions are not allowed until somebody has
 * reviewed them. */
static int allow(void *context, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)c, (void)d;
    if (look(context)) /* WITH clauses that name each other twice grow without end while the statement is prepared */
        return SQLITE_DENY;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_READ: return allow_table(context, a, b);
    case SQLITE_FUNCTION: return allow_name(context, b, functions);
    default: return SQLITE_DENY;
    }
}

/* The authorizer applies to this statement only, because the library's own statements use more than a user may. */
static void begin(struct asking *asking)
{
    const struct lineage_sql_limits *given = &mirror_store(asking->mirror)->options.sql;
    sqlite3 *db = mirror_db(asking->mirror);
    asking->limits.seconds = given->seconds > 0 ? given->seconds : LINEAGE_SQL_SECONDS;
    asking->limits.bytes = given->bytes ? given->bytes : LINEAGE_SQL_BYTES;
    asking->limits.rows = given->rows ? given->rows : LINEAGE_SQL_ROWS;
    asking->memory_at_start = sqlite3_memory_used();
    asking->start = clock_now();
    for (size_t i = 0; i < N_NARROW; i++)
        asking->wide[i] = sqlite3_limit(db, narrow[i].which, narrow[i].most);
    sqlite3_set_authorizer(db, allow, asking);
    sqlite3_progress_handler(db, STEPS_PER_LOOK, look, asking);
}

/* This must always be called, because a handler or an authorizer that stays set would apply to the library's own
 * statements. The next sync sets the mirror's own handler again. */
static void end(struct asking *asking)
{
    sqlite3 *db = mirror_db(asking->mirror);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    sqlite3_set_authorizer(db, NULL, NULL);
    for (size_t i = 0; i < N_NARROW; i++)
        sqlite3_limit(db, narrow[i].which, asking->wide[i]);
}

/* SQLite reports "interrupted" for every limit. The message names the limit, which the user can raise. */
static enum lineage_status say_why_ended(const struct asking *asking, enum lineage_status status, struct lineage_error *err)
{
    switch (asking->ended) {
    case TOO_LONG:
        return store_fail(err, LINEAGE_ELIMIT, "sql: not done after %g seconds (limit: seconds)", asking->limits.seconds);
    case TOO_LARGE:
        return store_fail(err, LINEAGE_ELIMIT, "sql: more than %zu MiB of memory wanted (limit: memory)",
                          asking->limits.bytes >> 20);
    default: break;
    }
    int code = status == LINEAGE_OK || status == LINEAGE_ELIMIT ? SQLITE_OK : sqlite3_errcode(mirror_db(asking->mirror));
    /* A function refused its arguments: the fault of the statement, not of the file. */
    if (code == SQLITE_ERROR)
        return store_fail(err, LINEAGE_EINVAL, "sql: %s", sqlite3_errmsg(mirror_db(asking->mirror)));
    if (code != SQLITE_TOOBIG)
        return status;
    return store_fail(err, LINEAGE_EINVAL, "sql: a value of more than %zu bytes; select a part of it", LONGEST_VALUE);
}

static bool is_only_blank(const char *text)
{
    return text[strspn(text, " \t\r\n;")] == '\0';
}

/* The statement is tested for being read-only although the authorizer has accepted it. Each of the two checks should be
 * enough, but either may have a gap. */
static enum lineage_status prepare(struct asking *asking, sqlite3_stmt **stmt, const char *statement, struct lineage_error *err)
{
    const char *rest = "";
    struct mirror *mirror = asking->mirror;
    /* WITH clauses that name each other twice are copied without any callback, so that only a limit of the heap ends it.
     * It is one of the process and is set for this call alone; a lower one of the program stays. */
    size_t bytes = asking->limits.bytes < PREPARE_BYTES ? asking->limits.bytes : PREPARE_BYTES;
    sqlite3_int64 most = asking->memory_at_start + (sqlite3_int64)bytes;
    sqlite3_int64 before = sqlite3_hard_heap_limit64(-1), soft = sqlite3_soft_heap_limit64(-1);
    bool lower = before == 0 || before > most;
    if (lower)
        sqlite3_hard_heap_limit64(most);
    sqlite3_memory_highwater(1);
    int code = sqlite3_prepare_v2(mirror_db(mirror), statement, -1, stmt, &rest);
    if (lower) {
        sqlite3_hard_heap_limit64(before);
        sqlite3_soft_heap_limit64(soft); /* SQLite lowers it with the other, but does not raise it again */
    }
    /* Much was allocated, so the limit refused the rest; otherwise the machine has no memory. */
    if (lower && code == SQLITE_NOMEM && sqlite3_memory_highwater(0) > most - (sqlite3_int64)bytes / 2)
        return store_fail(err, LINEAGE_EINVAL, "sql: the statement is too complex");
    if (asking->ended == CANCELLED)
        return store_fail(err, LINEAGE_ECANCELLED, "sql: cancelled");
    if (asking->ended != WITHIN)
        return say_why_ended(asking, LINEAGE_ELIMIT, err);
    if (asking->refused[0])
        return store_fail(err, LINEAGE_EINVAL, "sql: not authorized to use '%s'", asking->refused);
    if (code == SQLITE_AUTH)
        return store_fail(err, LINEAGE_EINVAL, "sql: only a SELECT is allowed");
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return mirror_fail(mirror, "cannot prepare", err);
    if (code != SQLITE_OK)
        return store_fail(err, LINEAGE_EINVAL, "sql: %s", sqlite3_errmsg(mirror_db(mirror)));
    if (!*stmt)
        return store_fail(err, LINEAGE_EINVAL, "sql: the statement is empty");
    if (!sqlite3_stmt_readonly(*stmt))
        return store_fail(err, LINEAGE_EINVAL, "sql: only a SELECT is allowed");
    if (!is_only_blank(rest))
        return store_fail(err, LINEAGE_EINVAL, "sql: one statement at a time");
    return LINEAGE_OK;
}

/* SQLite would print 15 digits of a double: two scores would look the same, and neither would be found by what is shown. */
static const char *value_text(sqlite3_stmt *stmt, int i, char number[LINEAGE_NUMBER_MAX], bool *is_number)
{
    int type = sqlite3_column_type(stmt, i);
    *is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    return type == SQLITE_FLOAT ? lineage_number_format(number, sqlite3_column_double(stmt, i))
                                : (const char *)sqlite3_column_text(stmt, i);
}

/* The number of rows is limited too, because a statement can return rows fast and without end. */
static enum lineage_status run(struct asking *asking, sqlite3_stmt *stmt, lineage_sql_typed_row *row, void *context,
                               struct lineage_error *err)
{
    size_t n = (size_t)sqlite3_column_count(stmt), rows = 0;
    SCOPED_FREE const char **names = calloc(n * 2 + 1, sizeof *names);
    const char **texts = names + n;
    SCOPED_FREE struct value {
        char text[LINEAGE_NUMBER_MAX];
    } *values = calloc(n + 1, sizeof *values);
    SCOPED_FREE bool *numbers = calloc(n + 1, sizeof *numbers);
    enum lineage_status status = names && values && numbers ? LINEAGE_OK : store_no_memory(err);
    for (size_t i = 0; status == LINEAGE_OK && i < n; i++)
        names[i] = sqlite3_column_name(stmt, (int)i);
    while (mirror_next(&status, asking->mirror, stmt, err)) {
        if (rows++ == asking->limits.rows) {
            status = store_fail(err, LINEAGE_ELIMIT, "sql: more than %zu rows (limit: rows)", asking->limits.rows);
            continue;
        }
        for (size_t i = 0; i < n; i++)
            texts[i] = value_text(stmt, (int)i, values[i].text, &numbers[i]);
        if (!row(context, n, names, texts, numbers))
            break;
    }
    if (status == LINEAGE_OK && !rows)
        row(context, n, names, NULL, numbers);
    return status == LINEAGE_OK ? status : say_why_ended(asking, status, err);
}

enum lineage_status mirror_sql(struct mirror *mirror, const char *statement, lineage_sql_typed_row *row, void *context,
                               struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    struct asking asking = {.mirror = mirror};
    if (sql_add_functions(mirror_db(mirror), &mirror_store(mirror)->config) != SQLITE_OK)
        return mirror_fail(mirror, "cannot prepare", err);
    begin(&asking);
    enum lineage_status status = prepare(&asking, &stmt, statement, err);
    if (status == LINEAGE_OK)
        status = run(&asking, stmt, row, context, err);
    sqlite3_finalize(stmt);
    end(&asking);
    return status;
}
