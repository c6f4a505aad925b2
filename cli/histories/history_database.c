/* history_database.c: SQLite files of other tools, which may be damaged or made to do harm. */
#include "histories/readers.h"

sqlite3 *history_database(const char *path, char why[HISTORY_WHY_MAX])
{
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
    if (code == SQLITE_OK) {
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
        sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
        sqlite3_busy_timeout(db, 5000);
        code = sqlite3_exec(db, "PRAGMA cell_size_check = ON; SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
    }
    if (code == SQLITE_OK)
        return db;
    history_fail(why, "cannot read %.300s: %.150s", path, db ? sqlite3_errmsg(db) : "out of memory");
    sqlite3_close(db);
    return NULL;
}

struct query history_ask(sqlite3 *db, const char *path, char why[HISTORY_WHY_MAX], const char *sql, const char *text)
{
    struct query query = {.path = path, .why = why, .failed = !db};
    if (db && sqlite3_prepare_v2(db, sql, -1, &query.stmt, NULL) != SQLITE_OK)
        query.failed = !history_fail(why, "cannot read %.300s: %.150s", path, sqlite3_errmsg(db));
    if (query.stmt && text)
        sqlite3_bind_text(query.stmt, 1, text, -1, SQLITE_STATIC);
    return query;
}

bool history_next(struct query *query)
{
    const int code = query->failed ? SQLITE_DONE : sqlite3_step(query->stmt);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        query->failed =
            !history_fail(query->why, "cannot read %.300s: %.150s", query->path, sqlite3_errmsg(sqlite3_db_handle(query->stmt)));
    return code == SQLITE_ROW;
}

bool history_end(struct query *query)
{
    sqlite3_finalize(query->stmt);
    return !query->failed;
}

bool history_has_column(sqlite3 *db, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(db, NULL, table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

json_t *read_stranger(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    static const char sql[] =
        "SELECT m.name, group_concat(c.name, ', ') FROM sqlite_schema m, pragma_table_info(m.name) c"
        " WHERE m.type = 'table' GROUP BY m.name ORDER BY m.name NOT LIKE '%run%' AND m.name NOT LIKE '%trial%', m.name";
    char tables[200] = "", first[64] = "TABLE";
    size_t length = 0;
    sqlite3 *db = history_database(path, why);
    struct query query = history_ask(db, path, why, sql, NULL);
    (void)options;
    while (history_next(&query) && length < sizeof tables) {
        if (!length)
            snprintf(first, sizeof first, "%s", history_column(&query, 0));
        length += (size_t)snprintf(tables + length, sizeof tables - length, "%s%.40s (%.120s)", length ? ", " : "",
                                   history_column(&query, 0), history_column(&query, 1));
    }
    const bool read = history_end(&query);
    sqlite3_close(db);
    if (read)
        history_fail(why,
                     "%.80s is of no known tool; its tables: %s; import one as a table: sqlite3 -header -csv %.60s 'SELECT * "
                     "FROM %.40s' >runs.csv, lineage import runs.csv --map COLUMN=metric",
                     path, tables, path, first);
    return NULL;
}

const char *history_column(const struct query *query, int column)
{
    const char *text = (const char *)sqlite3_column_text(query->stmt, column);
    return text ? text : "";
}

bool history_choose(char id[64], json_t *history, sqlite3 *db, const char *path, const char *what, const char *sql,
                    const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    char names[256] = "";
    size_t found = 0, length = 0;
    struct query query = history_ask(db, path, why, sql, NULL);
    while (history_next(&query)) {
        const char *name = history_column(&query, 1);
        if (length < sizeof names)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%.60s", length ? ", " : "", name);
        if (options->study && strcmp(options->study, name) != 0)
            continue;
        snprintf(id, 64, "%.63s", history_column(&query, 0));
        history_set_text(history, "study", name);
        found++;
    }
    if (!history_end(&query))
        return false;
    if (found > 1)
        history_fail(why, "%.150s has several; choose one by --study: %.250s", path, names);
    else if (found == 0 && options->study)
        history_fail(why, "%.150s has no %s '%.60s', but: %.200s", path, what, options->study, names);
    else if (found == 0)
        history_fail(why, "%.300s has no %s", path, what);
    return found == 1;
}

json_t *history_done(json_t *history, json_t *index, sqlite3 *db, bool good)
{
    json_decref(index);
    sqlite3_close(db);
    if (good)
        return history;
    json_decref(history);
    return NULL;
}
