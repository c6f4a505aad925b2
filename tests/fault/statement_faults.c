/* statement_faults.c: wrappers around calls of SQLite. A call that the wrapper lets fail is not passed on to SQLite. */
#include "statement_faults.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>

static unsigned countdown;
static int code;
static bool starts_alone;
static bool was_hit;
static void (*watcher)(void);
static bool failing; /* the wrapper let the last call fail, so SQLite has no message for it */

void statement_faults_arm(unsigned n, int with, bool starts)
{
    countdown = n;
    code = with;
    starts_alone = starts;
    was_hit = failing = false;
}

void statement_faults_watch(void (*call)(void))
{
    watcher = call;
}

bool statement_faults_hit(void)
{
    return was_hit;
}

static bool strikes(void)
{
    if (watcher)
        watcher();
    failing = countdown && !--countdown;
    was_hit = was_hit || failing;
    return failing;
}

int __real_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **stmt, const char **rest);
int __real_sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n, unsigned flags, sqlite3_stmt **stmt, const char **rest);
int __real_sqlite3_step(sqlite3_stmt *stmt);
int __real_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *context, char **message);
int __real_sqlite3_errcode(sqlite3 *db);
const char *__real_sqlite3_errmsg(sqlite3 *db);
int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **stmt, const char **rest);
int __wrap_sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n, unsigned flags, sqlite3_stmt **stmt, const char **rest);
int __wrap_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *context, char **message);
int __wrap_sqlite3_errcode(sqlite3 *db);
const char *__wrap_sqlite3_errmsg(sqlite3 *db);

int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **stmt, const char **rest)
{
    *stmt = NULL;
    return strikes() ? code : __real_sqlite3_prepare_v2(db, sql, n, stmt, rest);
}

int __wrap_sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n, unsigned flags, sqlite3_stmt **stmt, const char **rest)
{
    *stmt = NULL;
    return strikes() ? code : __real_sqlite3_prepare_v3(db, sql, n, flags, stmt, rest);
}

int __wrap_sqlite3_step(sqlite3_stmt *stmt)
{
    if (starts_alone && sqlite3_stmt_busy(stmt))
        return __real_sqlite3_step(stmt);
    return strikes() ? code : __real_sqlite3_step(stmt);
}

int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *context, char **message)
{
    return strikes() ? code : __real_sqlite3_exec(db, sql, row, context, message);
}

int __wrap_sqlite3_errcode(sqlite3 *db)
{
    return failing ? code : __real_sqlite3_errcode(db);
}

const char *__wrap_sqlite3_errmsg(sqlite3 *db)
{
    return failing ? sqlite3_errstr(code) : __real_sqlite3_errmsg(db);
}

sqlite3 *other_client_begin(const char *path)
{
    sqlite3 *client = NULL;
    if (sqlite3_open_v2(path, &client, SQLITE_OPEN_READWRITE, "unix") != SQLITE_OK ||
        __real_sqlite3_exec(client, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        abort();
    return client;
}

void other_client_end(sqlite3 *client)
{
    __real_sqlite3_exec(client, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(client);
}
