/*
 * connection.c: opens the SQLite connection and makes the tables.
 *
 * synchronous = OFF: the file is only a cache, so no row waits until it is on the disk. A crash of the machine may leave pages of
 * different transactions; they are known by their digests (checked_pages.c), and the file is made again, as one of an older
 * version is, and so are those that another program wrote.
 *
 * Each handle has its own connection, used by one thread at a time, so SQLite's lock around each call is turned off
 * (NOMUTEX).
 */
#include "connection.h"

#include <assert.h>
#include <math.h>
#include <poll.h>

#include <lineage/time.h>

#include "../files/fs.h"
#include "checked_pages.h"
#include "mirror_place.h"
#include "schema_sql.h"
#include "statement.h"

/* ---- defines the SQL function param(notes, key) ---- */

/* functions for this library's statements: moment(timestamp), seconds since 1970 or NULL, and
 * param(notes, key[, json]), a number or text. json is the
 * cell of the column `params` in a store that has it. Trials are found
 * in param_rows by the value of one parameter. A second parameter is read from the notes of these trials, which is
 * cheaper than joining two ranges.
 *
 * Notes are parsed by the code that is used everywhere, so a condition sees the same value as a reader of the row. The
 * function is declared deterministic, so SQLite may call it only once for equal arguments. */

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

/* Defines param(notes, key) on the connection: the value of one parameter, NULL if the notes do not have it. */
static enum lineage_status param_function_register(struct mirror *mirror, struct lineage_error *err)
{
    int code = sqlite3_create_function_v2(mirror->db, "moment", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, find_moment, NULL,
                                          NULL, NULL);
    for (int n = 2; code == SQLITE_OK && n <= 3; n++)
        code = sqlite3_create_function_v2(mirror->db, "param", n, SQLITE_UTF8 | SQLITE_DETERMINISTIC, &mirror->notes_arena,
                                          find_param, NULL, NULL, NULL);
    return code == SQLITE_OK ? LINEAGE_OK : mirror_fail(mirror, "cannot add a function", err);
}

/* ---- opens the SQLite connection and makes the tables ---- */

/* It counts the changes of schema/mirror.sql and of what is read into its tables. A file of an older version is made again. */
enum { MIRROR_VERSION = 16 };

/* An ordinary sync takes less time than this. A command that waits longer than this gives up and answers from memory,
 * with a notice. */
#define DEFAULT_BUSY_MS 5000

/* Statements are finalized first, because each open one would keep the connection alive. Everything known about the
 * file is forgotten, but for the layout of the header, because callers keep the name of the score column until the store is closed. */
void mirror_disconnect(struct mirror *mirror)
{
    for (size_t i = 0; i < mirror->n_statements; i++)
        sqlite3_finalize(mirror->statements[i].stmt);
    mirror->n_statements = 0;
    if (mirror->db && mirror_file_is_gone(mirror)) /* the write-ahead log of that name belongs to the new file */
        sqlite3_db_config(mirror->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close_v2(mirror->db); /* memory that an open cursor needs is freed later */
    mirror->db = NULL;
    mirror_place_let_go(mirror);
    mirror->meta = mirror_meta_start();
    mirror->shared = mirror->loaded = false;
}

/* This is also the first read of the file, so damage to the file's header is found here. */
static enum lineage_status read_version(struct mirror *mirror, int *version, struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(mirror->db, "PRAGMA user_version", -1, &stmt, NULL) != SQLITE_OK || sqlite3_step(stmt) != SQLITE_ROW) {
        sqlite3_finalize(stmt);
        return mirror_fail(mirror, "cannot open", err);
    }
    *version = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return LINEAGE_OK;
}

/* The version is set in the same transaction as the tables, so a file with that version has them. The application_id
 * distinguishes mirrors from other databases, also for file(1). */
static enum lineage_status make_tables(struct mirror *mirror, struct lineage_error *err)
{
    char pragma[96];
    enum lineage_status status = mirror_exec(mirror, schema_mirror, err);
    snprintf(pragma, sizeof pragma, "PRAGMA application_id = %d; PRAGMA user_version = %d", MIRROR_APPLICATION_ID,
             MIRROR_VERSION);
    return status == LINEAGE_OK ? mirror_exec(mirror, pragma, err) : status;
}

/* A newer program may store things in its tables that this one would not update; reading or writing them would be
 * wrong for both. */
static enum lineage_status check_version(struct mirror *mirror, int version, struct lineage_error *err)
{
    if (version > MIRROR_VERSION)
        return store_fail(err, LINEAGE_EDB, "lineage.db has schema version %d, this program knows up to %d", version,
                          MIRROR_VERSION);
    if (version == MIRROR_VERSION || version == 0)
        return LINEAGE_OK;
    mirror->damaged = true;
    return store_fail(err, LINEAGE_EDB,
                      version < 0 ? "lineage.db has schema version %d: its making was interrupted"
                                  : "lineage.db has schema version %d, of an older program",
                      version);
}

/* A new file has version 0. The transaction is IMMEDIATE and the version is read again inside it, because two commands may
 * start on a new store at the same moment. */
static enum lineage_status make_or_check(struct mirror *mirror, struct lineage_error *err)
{
    int version = 0;
    TRY(read_version(mirror, &version, err));
    TRY(check_version(mirror, version, err));
    if (version == MIRROR_VERSION)
        return LINEAGE_OK;
    if (mirror->frozen)
        return store_fail(err, LINEAGE_EDB, "lineage.db has schema version %d, and may not be written", version);
    enum lineage_status status = mirror_exec(mirror, "BEGIN IMMEDIATE", err);
    if (status == LINEAGE_OK)
        status = read_version(mirror, &version, err); /* another process may have been first */
    if (status == LINEAGE_OK)
        status = check_version(mirror, version, err);
    if (status == LINEAGE_OK && version == 0)
        status = make_tables(mirror, err);
    if (status == LINEAGE_OK)
        return mirror_exec(mirror, "COMMIT", err);
    sqlite3_exec(mirror->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* Waiting is turned off for a writer, whose row must not wait for lineage.db. */
void mirror_hurry(struct mirror *mirror, bool hurry)
{
    unsigned ms = mirror->store->options.busy_ms;
    mirror->in_a_hurry = hurry;
    if (mirror->db)
        sqlite3_busy_timeout(mirror->db, hurry ? 0 : ms ? (int)ms : DEFAULT_BUSY_MS);
}

/* Extended result codes are turned off, because mirror_fail needs only the primary codes. */
static enum lineage_status open_connection(struct mirror *mirror, const char *path, int flags, const char *vfs,
                                           struct lineage_error *err)
{
    if (sqlite3_open_v2(path, &mirror->db, flags | SQLITE_OPEN_NOMUTEX, vfs) != SQLITE_OK)
        return mirror_fail(mirror, "cannot open", err);
    sqlite3_extended_result_codes(mirror->db, 0);
    mirror_hurry(mirror, mirror->in_a_hurry);
    return LINEAGE_OK;
}

/* Waits for a file that was written a moment ago, at most about as long as a file system's coarsest clock needs. */
static bool becomes_settled(struct mirror *mirror)
{
    bool soon = true, settled = false;
    for (int i = 0; i < 250 && soon && !settled; i++) {
        if (i)
            poll(NULL, 0, 10);
        mirror->file = mirror_file_state(mirror);
        settled = mirror_file_is_settled(mirror, &soon);
    }
    return settled;
}

/* A process that may not write the file can only read it without locks, because locks would need a writable directory. It is
 * refused while another process writes it, or if a killed one left a write-ahead log: the newest pages are in that log, and
 * reading it needs a shared-memory file, which cannot be created here. */
static enum lineage_status check_frozen(struct mirror *mirror, enum mirror_file file, struct lineage_error *err)
{
    if (file != MIRROR_FILE_OURS)
        return store_fail(err, LINEAGE_EDB, "%s/lineage.db %s, and cannot be made here", mirror->place.path.data,
                          file == MIRROR_FILE_NEW ? "is not there" : "is of no use");
    if (!becomes_settled(mirror))
        return store_fail(err, LINEAGE_EDB, "%s/lineage.db is being written, and cannot be shared here", mirror->place.path.data);
    mirror->frozen = true;
    SCOPED_BUF first = {0}; /* users without the right to read the log must not learn its contents from the mirror */
    return log_read(mirror->store->log, 0, 1, &first, err);
}

/* Most commands find a mirror that is up to date, or whose last rows they read from the log (mirror_meet), and only read. They read it without locks, so that they leave no files of
 * SQLite beside it, also when they are killed. A command that has to write opens the file again (MIRROR_WRITE). */
static bool can_freeze(const struct mirror *mirror, enum mirror_file file)
{
    bool soon;
    return !mirror->thawed && file == MIRROR_FILE_OURS && mirror_file_is_settled(mirror, &soon);
}

/* The file is checked before SQLite opens it, because SQLite creates, recovers and locks any file. It is opened without
 * SQLITE_OPEN_CREATE, because mirror_file_make, which does not follow links, has created it already. */
static enum lineage_status open_on_disk(struct mirror *mirror, enum mirror_file *file, struct lineage_error *err)
{
    mirror->writable = true;
    enum lineage_status status = mirror_place_hold(mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_place_find(mirror, file, &mirror->writable, err);
    mirror->file = mirror_file_state(mirror);
    if (status == LINEAGE_OK && !mirror->writable) {
        status = check_frozen(mirror, *file, err);
    } else if (status == LINEAGE_OK && *file == MIRROR_FILE_NEW) {
        status = mirror_file_make(mirror, err);
        mirror->file = mirror_file_state(mirror);
    } else if (status == LINEAGE_OK) {
        mirror->frozen = can_freeze(mirror, *file);
    }
    if (mirror->frozen)
        mirror_place_let_go(mirror);
    const char *vfs = checked_pages_vfs();
    char *path = status == LINEAGE_OK ? mirror_file_path(mirror, mirror->frozen) : NULL;
    if (status == LINEAGE_OK && (!path || !vfs))
        status = store_no_memory(err);
    if (status == LINEAGE_OK)
        status = open_connection(mirror, path, mirror->frozen ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE,
                                 vfs, err);
    sqlite3_free(path);
    if (status == LINEAGE_OK && mirror->frozen && !mirror_file_is_same(mirror)) /* checked_pages.c took its state at the open */
        status = store_fail(err, LINEAGE_EDB, "%s/lineage.db is being written", mirror->place.path.data);
    if (status == LINEAGE_OK && !mirror->frozen)
        checked_pages_reserve(mirror->db);
    return status;
}

/* If the server cannot be reached, the mirror is still opened, to answer with the rows that were read before. */
static enum lineage_status look_from_here(struct mirror *mirror, struct log_state *log, struct lineage_error *err)
{
    struct lineage_error why = {0};
    enum lineage_status status = log_look(mirror->store->log, log, &why);
    return status == LINEAGE_OK || status == LINEAGE_EAWAY ? LINEAGE_OK : store_give(err, &why);
}

/* Logs of this size (bytes) or more get larger pages. For smaller logs a load is short with any page size, and the many
 * small syncs of a night cost most. */
#define LARGE_FILE ((uint64_t)16 << 20)

/* SQLite makes a temporary file for a name without characters, and removes it. */
static enum lineage_status open_file(struct mirror *mirror, bool on_disk, enum mirror_file *file, struct lineage_error *err)
{
    struct log_state log;
    *file = MIRROR_FILE_NEW;
    if (on_disk)
        return open_on_disk(mirror, file, err);
    const bool in_file = mirror->in_file && look_from_here(mirror, &log, NULL) == LINEAGE_OK && log.size >= LARGE_FILE;
    return open_connection(mirror, in_file ? "" : ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                           in_file ? NULL : checked_pages_vfs(), err);
}

/* If the log is smaller than this (bytes), sorting uses memory files: a memory file is a single allocation, and SQLite
 * allocates at most this much at once. The data that are sorted for an index are smaller than the log. */
#define LARGEST_SORTED ((uint64_t)2 << 30)

/*
 * Larger pages make a load of a large log faster, but each sync of a small log writes more. The page size is set when
 * lineage.db is created and never changes, because SQLite accepts it only before the first page is written.
 *
 * Sorting must not need a writable /tmp, so it uses files in memory (checked_pages.c) or, if these would be too small,
 * lists in memory, which are slower for a million rows.
 */
static enum lineage_status choose_by_size(struct mirror *mirror, struct lineage_error *err)
{
    struct log_state log;
    TRY(look_from_here(mirror, &log, err));
    if (log.size >= LARGE_FILE && !mirror->frozen)
        TRY(mirror_exec(mirror, "PRAGMA page_size = 16384", err));
    bool files = log.size < LARGEST_SORTED && checked_pages_scratch_in_memory();
    return mirror_exec(mirror, files ? "PRAGMA temp_store = FILE" : "PRAGMA temp_store = MEMORY", err);
}

/* Nothing in the file may run by itself or call functions, and no statement may write the schema directly. */
static void be_defensive(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
}

/* cache_size is four times SQLite's default, because a load uses several trees in turn. A negative value is in KiB. */
static enum lineage_status set_up(struct mirror *mirror, struct lineage_error *err)
{
    char boot[FS_BOOT];
    be_defensive(mirror->db);
    TRY(param_function_register(mirror, err));
    TRY(choose_by_size(mirror, err));
    TRY(mirror_exec(mirror, "PRAGMA cache_size = -8192", err));
    if (!mirror->frozen) /* in write-ahead mode NORMAL loses commits in a crash, but mixes none */
        TRY(mirror_exec(mirror, fs_boot(boot) ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = NORMAL", err));
    return make_or_check(mirror, err);
}

/* SQLite opens the files beside lineage.db by their names at the first read. If lineage.db was replaced before that, they
 * belong to another database. */
static enum lineage_status set_up_in_place(struct mirror *mirror, struct lineage_error *err)
{
    TRY(set_up(mirror, err));
    if (!mirror_file_is_gone(mirror))
        return LINEAGE_OK;
    mirror->damaged = true;
    return store_fail(err, LINEAGE_EDB, "lineage.db was replaced while it was opened");
}

/* A file that is being created looks useless until its first page is written, and its creator holds the lock until
 * then. So the lock is taken first: a file that is still useless then is not being created by anybody. */
static bool is_useless(struct mirror *mirror, enum mirror_file file)
{
    bool writable;
    if (file != MIRROR_FILE_USELESS || sqlite3_exec(mirror->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return file == MIRROR_FILE_USELESS;
    enum lineage_status status = mirror_file_look(mirror, &file, &writable, NULL);
    sqlite3_exec(mirror->db, "ROLLBACK", NULL, NULL, NULL);
    return status == LINEAGE_OK && file == MIRROR_FILE_USELESS;
}

bool mirror_can_thaw(const struct mirror *mirror)
{
    return mirror->frozen && mirror->writable;
}

/* A file that is of no use is replaced, not emptied: other processes that have it open go on with the old file, and never see
 * one without tables. */
static enum lineage_status connect_now(struct mirror *mirror, enum mirror_way way, struct lineage_error *err)
{
    enum mirror_file file;
    if (way == MIRROR_ANEW) {
        TRY(mirror_place_hold(mirror, err));
        TRY(mirror_place_renew(mirror, err));
    }
    TRY(open_file(mirror, mirror->on_disk, &file, err));
    if (!is_useless(mirror, file))
        return set_up_in_place(mirror, err);
    mirror->damaged = true;
    return store_fail(err, LINEAGE_EDB, "lineage.db is damaged, or of another version");
}

enum lineage_status mirror_connect(struct mirror *mirror, enum mirror_way way, struct lineage_error *err)
{
    mirror_disconnect(mirror);
    mirror->damaged = mirror->unusable = mirror->frozen = false;
    mirror->on_disk = way != MIRROR_MEMORY;
    mirror->thawed = mirror->thawed || (way != MIRROR_MEMORY && way != MIRROR_READ);
    enum lineage_status status = connect_now(mirror, way, err);
    if (status != LINEAGE_OK)
        mirror_disconnect(mirror); /* a half-opened connection has no tables */
    return status;
}

enum lineage_status mirror_use_file(struct mirror *mirror, struct lineage_error *err)
{
    mirror->in_file = true;
    return mirror_connect(mirror, MIRROR_MEMORY, err);
}

enum lineage_status mirror_recover(struct mirror *mirror, struct lineage_error *err)
{
    if (!mirror->db)
        return mirror_connect(mirror, mirror->on_disk ? MIRROR_READ : MIRROR_MEMORY, err);
    return sqlite3_get_autocommit(mirror->db) ? LINEAGE_OK : mirror_exec(mirror, "ROLLBACK", err);
}

/* Many readers beside one writer need write-ahead mode, but the first load is faster without it. A failure only means
 * that another process has the file open, and the next sync tries again. The mode is stored in the file, so only one
 * handle ever changes it. This runs after the commit, because SQLite cannot change the mode inside a transaction. */
void mirror_share(struct mirror *mirror)
{
    sqlite3_stmt *stmt = NULL;
    assert(!mirror->frozen); /* nothing is committed to such a file */
    if (mirror->shared || !mirror->on_disk)
        return;
    if (sqlite3_prepare_v2(mirror->db, "PRAGMA journal_mode = WAL", -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        mirror->shared = strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") == 0;
    sqlite3_finalize(stmt);
}

enum lineage_status mirror_make_indexes(struct mirror *mirror, struct lineage_error *err)
{
    return mirror_exec(mirror, schema_indexes, err);
}

/* Runs the statements that `generator` makes from the names in sqlite_schema. The names are read from the file instead
 * of a list, so this also works for a mirror of an earlier or later version. */
static enum lineage_status exec_generated(struct mirror *mirror, const char *generator, struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum lineage_status status = LINEAGE_OK;
    SCOPED_BUF sql = {0};
    if (sqlite3_prepare_v2(mirror->db, generator, -1, &stmt, NULL) != SQLITE_OK || sqlite3_step(stmt) != SQLITE_ROW)
        status = mirror_fail(mirror, "cannot list what is there", err);
    else if (sqlite3_column_text(stmt, 0))
        buf_puts(&sql, (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    if (status == LINEAGE_OK && sql.length)
        status = mirror_exec(mirror, sql.data, err);
    return status;
}

/* Indexes without SQL belong to primary keys and cannot be dropped. */
enum lineage_status mirror_drop_indexes(struct mirror *mirror, struct lineage_error *err)
{
    return exec_generated(mirror,
                          "SELECT group_concat('DROP INDEX ' || name, ';') FROM sqlite_schema"
                          " WHERE type = 'index' AND sql IS NOT NULL",
                          err);
}

/* Tables are dropped inside the transaction instead of making a new file. So readers see the old tables until the
 * commit, and a kill in between leaves the old mirror. */
enum lineage_status mirror_start_anew(struct mirror *mirror, struct lineage_error *err)
{
    enum lineage_status status =
        exec_generated(mirror,
                       "SELECT group_concat('DROP ' || type || ' \"' || name || '\"', ';') FROM sqlite_schema"
                       " WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%'",
                       err);
    return status == LINEAGE_OK ? make_tables(mirror, err) : status;
}
