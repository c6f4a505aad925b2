/* Tests which files may have the name lineage.db, and which users may read and write them. */
#include "support/last_words.h"
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault/sqlite_faults.h"
#include "files/fs.h"
#include "internal.h"
#include "mirror/checked_pages.h"
#include "mirror/statement.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

static const struct row rows[] = {
    {.id = "000", .status = "keep", .metric = "2.0"}, {.id = "001", .status = "keep", .metric = "1.0"}, {.id = NULL}};

static enum lineage_status append_one(struct lineage_store *store)
{
    const struct lineage_trial trial = {.status = LINEAGE_CRASH, .hypothesis = "h"};
    return lineage_store_append(store, &trial, NULL, NULL, &err);
}

/* Makes a store with a mirror of its rows. */
static char *mirrored(void)
{
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(all_ids(store), "000 001 ");
    lineage_store_close(store);
    return dir;
}

static void exec_plain(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* The answers must be right, and the last notice must contain `said`; with NULL there must be no notice. */
static void must_answer(const char *dir, const char *said)
{
    struct heard heard = {0};
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "000 001 ");
    lineage_store_close(store);
    assert_int_equal(heard.n != 0, said != NULL);
    if (said && !strstr(heard.text, said))
        fail_msg("'%s' is not in '%s'", said, heard.text);
}

static void a_link_is_not_followed(void **state)
{
    (void)state;
    size_t after;
    char *dir = mirrored(), *elsewhere = make_dir(), *theirs = join(elsewhere, "theirs");
    write_file(theirs, "dear diary\n", 11);
    assert_int_equal(unlink(in_dir(dir, "lineage.db")), 0);
    assert_int_equal(symlink(theirs, in_dir(dir, "lineage.db")), 0);
    must_answer(dir, "not a regular file");
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_rebuild(store, &err), LINEAGE_EDB);
    assert_string_equal(all_ids(store), "000 001 "); /* the handle still answers */
    lineage_store_close(store);
    char *text = read_file(theirs, &after);
    assert_string_equal(text, "dear diary\n");
    free(text);
    /* A link to a missing file does not create the file. A link to a mirror is refused too. */
    assert_int_equal(unlink(theirs), 0);
    must_answer(dir, "not a regular file");
    assert_false(file_exists(theirs));
    free(theirs);
    remove_dir(elsewhere);
    remove_dir(dir);
}

static void neither_a_pipe_nor_a_directory(void **state)
{
    (void)state;
    char *dir = mirrored();
    assert_int_equal(unlink(in_dir(dir, "lineage.db")), 0);
    assert_int_equal(mkfifo(in_dir(dir, "lineage.db"), 0666), 0);
    must_answer(dir, "not a regular file");
    assert_int_equal(unlink(in_dir(dir, "lineage.db")), 0);
    assert_int_equal(mkdir(in_dir(dir, "lineage.db"), 0777), 0);
    must_answer(dir, "not a regular file");
    remove_dir(dir);
}

static void another_applications_database_is_left_alone(void **state)
{
    (void)state;
    static const char *const theirs[] = {
        "CREATE TABLE letters (text); INSERT INTO letters VALUES ('dear')",
        "PRAGMA application_id = 7; CREATE TABLE letters (text); INSERT INTO letters VALUES ('dear')",
        "PRAGMA user_version = 1; CREATE TABLE letters (text); INSERT INTO letters VALUES ('dear')",
        "PRAGMA user_version = -3; CREATE TABLE letters (text); INSERT INTO letters VALUES ('dear')"};
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
        size_t before, after;
        char *dir = mirrored();
        assert_int_equal(unlink(in_dir(dir, "lineage.db")), 0);
        exec_plain(in_dir(dir, "lineage.db"), theirs[i]);
        char *bytes = read_file(in_dir(dir, "lineage.db"), &before);
        must_answer(dir, "another application");
        struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
        assert_int_equal(lineage_rebuild(store, &err), LINEAGE_EDB);
        assert_non_null(strstr(err.text, "another application"));
        lineage_store_close(store);
        char *now = read_file(in_dir(dir, "lineage.db"), &after);
        assert_int_equal(before, after);
        assert_memory_equal(bytes, now, before);
        free(bytes);
        free(now);
        remove_dir(dir);
    }
}

static void a_mirror_without_digests_is_made_anew(void **state)
{
    (void)state;
    char *dir = mirrored();
    write_file(in_dir(dir, "lineage.db"), "", 0); /* in place: the file is still the one that this user made */
    exec_plain(in_dir(dir, "lineage.db"),
               "PRAGMA user_version = 1; CREATE TABLE trials (a); CREATE TABLE param_rows (a); CREATE TABLE meta (a)");
    must_answer(dir, "making it anew");
    must_answer(dir, NULL);
    remove_dir(dir);
}

static void what_another_client_writes_is_damage(void **state)
{
    (void)state;
    char *dir = mirrored();
    exec_plain(in_dir(dir, "lineage.db"), "UPDATE trials SET score = 3 WHERE seq = 2");
    must_answer(dir, "making it anew");
    must_answer(dir, NULL);
    remove_dir(dir);
}

static void a_mirror_whose_making_was_interrupted_is_made_anew(void **state)
{
    (void)state;
    static const char *const versions[] = {"PRAGMA user_version = -1", "PRAGMA user_version = -2147483648",
                                           "DROP TABLE trials; CREATE TABLE trials (seq)"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        sqlite3 *db;
        char *dir = mirrored();
        assert_int_equal(sqlite3_open_v2(in_dir(dir, "lineage.db"), &db, SQLITE_OPEN_READWRITE, checked_pages_vfs()), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, versions[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        must_answer(dir, "making it anew");
        must_answer(dir, NULL);
        remove_dir(dir);
    }
}

static void exec_checked(const char *dir, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(in_dir(dir, "lineage.db"), &db, SQLITE_OPEN_READWRITE, checked_pages_vfs()), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static struct lineage_store *open_and_ask(const char *dir, bool append)
{
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_non_null(strstr(all_ids(store), "000 001 "));
    if (append) {
        assert_int_equal(append_one(store), LINEAGE_OK);
        assert_string_equal(all_ids(store), "000 001 002 "); /* its connection can write, and is up to date */
    }
    return store;
}

/* Tables may be missing under the right version. Neither a command that meets such a file fails, nor one that has it open. */
static void a_mirror_without_its_tables_fails_nobody(void **state)
{
    (void)state;
    static const char *const states[] = {"DROP TABLE trials", "DROP TABLE meta", "DROP VIEW params", "DROP TABLE ancestors"};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        for (int writes = 0; writes < 2; writes++) {
            char *dir = mirrored();
            struct lineage_store *asks = open_and_ask(dir, false), *appends = open_and_ask(dir, true);
            exec_checked(dir, states[i]);
            if (writes)
                assert_int_equal(append_one(appends), LINEAGE_OK);
            const char *wanted = writes ? "000 001 002 003 " : "000 001 002 ";
            assert_string_equal(all_ids(asks), wanted);
            assert_string_equal(all_ids(appends), wanted);
            lineage_store_close(asks);
            lineage_store_close(appends);
            struct lineage_store *later = open_store(dir, LINEAGE_LOWER, NULL);
            assert_string_equal(all_ids(later), wanted);
            assert_true(mirror_on_disk(later->mirror));
            lineage_store_close(later);
            remove_dir(dir);
        }
}

static const char *boot = "first"; /* what the library takes for the id of this boot */

bool __wrap_fs_boot(char id[FS_BOOT]);
bool __wrap_fs_boot(char id[FS_BOOT])
{
    strcpy(id, boot);
    return id[0];
}

static void set_changed(const char *dir, time_t when)
{
    const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    assert_int_equal(utimensat(AT_FDCWD, in_dir(dir, "lineage.db"), times, 0), 0);
}

/* lineage.db is not synced, so a crash of the machine may leave old pages among its new ones. No
 * such file is used after the next start, whatever it looks like. */
static void a_mirror_of_an_earlier_boot_is_not_used(void **state)
{
    (void)state;
    enum { PAGE = 4096 };
    size_t before, after;
    char *dir = mirrored(), *older = read_file(in_dir(dir, "lineage.db"), &before);
    struct lineage_store *store = open_and_ask(dir, true);
    lineage_store_close(store);
    char *newer = read_file(in_dir(dir, "lineage.db"), &after);
    assert_true(before <= after);
    for (size_t at = 0; at < before; at += 2 * PAGE)
        memcpy(newer + at, older + at, PAGE);
    for (int i = 0; i < 3; i++) { /* a mix of pages; without the first; without the last */
        if (i)
            memset(newer + (i == 1 ? 0 : after - PAGE), 0, PAGE);
        write_file(in_dir(dir, "lineage.db"), newer, after);
        set_changed(dir, 1);
        boot = "second";
        struct heard heard = {0};
        store = open_store(dir, LINEAGE_LOWER, &heard);
        assert_string_equal(all_ids(store), "000 001 002 ");
        lineage_store_close(store);
        assert_true(i || heard.n == 0); /* a start of the machine needs no notice */
        boot = "first";
    }
    free(older);
    free(newer);
    remove_dir(dir);
}

/* Without an id of the boot lineage.db is synced, and used after the next start. */
static void without_an_id_every_boot_is_the_same(void **state)
{
    (void)state;
    boot = "";
    char *dir = mirrored();
    set_changed(dir, 1);
    must_answer(dir, NULL);
    boot = "first";
    must_answer(dir, NULL);
    remove_dir(dir);
}

static int kill_at(void *context, const char *call)
{
    unsigned *countdown = context;
    (void)call;
    if (*countdown && !--*countdown)
        kill_myself();
    return 0;
}

/* Whether a process that opens and asks the store is killed at the n-th call of the file system, or of SQLite's. */
static bool is_killed(const char *dir, unsigned n, bool of_sqlite)
{
    int state;
    pid_t child = fork();
    if (child == 0) {
        if (of_sqlite)
            sqlite_faults_arm(n, false, true);
        else
            fs_set_fault(kill_at, &n);
        struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
        all_ids(store);
        lineage_store_close(store);
        leave(0);
    }
    assert_int_equal(waitpid(child, &state, 0), child);
    return !WIFEXITED(state) || WEXITSTATUS(state);
}

/* A process is killed at each step of making a mirror again. One that had the old file open, and one that comes later, answer
 * and append as ever. */
static void a_killed_making_harms_nobody(void **state)
{
    (void)state;
    for (int of_sqlite = 0; of_sqlite < 2; of_sqlite++)
        for (unsigned n = 1, killed = 1; killed; n += n < 24 ? 1 : n / 8) {
            char *dir = mirrored();
            struct lineage_store *store = open_and_ask(dir, true);
            exec_checked(dir, "DROP TABLE trials");
            killed = is_killed(dir, n, of_sqlite);
            if (n % 2)
                assert_string_equal(all_ids(store), "000 001 002 ");
            assert_int_equal(append_one(store), LINEAGE_OK);
            struct lineage_store *later = open_store(dir, LINEAGE_LOWER, NULL);
            assert_int_equal(append_one(later), LINEAGE_OK);
            assert_string_equal(all_ids(later), "000 001 002 003 004 ");
            lineage_store_close(later);
            assert_string_equal(all_ids(store), "000 001 002 003 004 ");
            lineage_store_close(store);
            remove_dir(dir);
        }
}

static void a_directory_may_be_called_like_a_uri(void **state)
{
    (void)state;
    struct lineage_store *store;
    char *dir = make_dir(), here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(mkdir("file:y?mode=memory#%41", 0777), 0);
    add_rows("file:y?mode=memory#%41", rows);
    assert_int_equal(lineage_store_open(&store, "file:y?mode=memory#%41", NULL, &err), LINEAGE_OK);
    assert_string_equal(all_ids(store), "000 001 ");
    lineage_store_close(store);
    assert_true(file_exists("file:y?mode=memory#%41/lineage.db"));
    assert_false(file_exists("y"));
    assert_int_equal(chdir(here), 0);
    remove_dir(dir);
}

static void who_may_write_the_rows_may_write_the_mirror(void **state)
{
    (void)state;
    struct stat st;
    mode_t before = umask(002);
    char *dir = mirrored();
    umask(before);
    assert_int_equal(stat(in_dir(dir, "lineage.db"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0664);
    remove_dir(dir);
}

/* Runs in a process without the superuser's rights. Returns 0 for the right answer without a notice. */
static int answers_another_user(const char *dir, const char *state_dir)
{
    struct heard heard = {0};
    setenv("XDG_STATE_HOME", state_dir, 1);
    if (setegid(65534) != 0 || seteuid(65534) != 0)
        return 2;
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    bool right = strcmp(best_of(store), "001") == 0;
    lineage_store_close(store);
    if (seteuid(0) != 0) /* else a coverage build could not write its counts */
        return 2;
    return right && heard.n == 0 ? 0 : 1;
}

static void forge(const char *path)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, checked_pages_vfs()), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE trials SET score = 0 WHERE seq = 1", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* The mirror of another user may state anything, so it is not used, and it stays as that user made it. */
static void each_user_has_a_mirror(void **state)
{
    (void)state;
    int status;
    size_t before, after;
    char *dir = mirrored(), *other = make_dir();
    if (geteuid() != 0) {
        remove_dir(dir);
        remove_dir(other);
        skip();
    }
    assert_int_equal(chmod(dir, 0777), 0);
    assert_int_equal(chmod(other, 0777), 0);
    forge(in_dir(dir, "lineage.db"));
    char *bytes = read_file(in_dir(dir, "lineage.db"), &before);
    for (int again = 0; again < 2; again++) {
        pid_t child = fork();
        if (child == 0)
            leave(answers_another_user(dir, other));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    char *now = read_file(in_dir(dir, "lineage.db"), &after);
    assert_int_equal(before, after);
    assert_memory_equal(bytes, now, before);
    char *records = join(other, "lineage/mirrors"), **names = list_dir(records, "");
    size_t private = 0;
    for (size_t i = 0; names[i]; i++)
    private += strstr(names[i], ".private") != NULL;
    assert_int_equal(private, 1);
    free_list(names);
    free(records);
    free(bytes);
    free(now);
    remove_dir(other);
    remove_dir(dir);
}

static void a_handle_that_lives_long_gets_over_edits(void **state)
{
    (void)state;
    struct heard heard = {0};
    char *dir = mirrored();
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard), *other;
    assert_string_equal(sql_value(store, "SELECT exp_id FROM trials ORDER BY score LIMIT 1"), "001");
    edit_bytes(dir, "2.0", "0.5");
    assert_string_equal(sql_value(store, "SELECT exp_id FROM trials ORDER BY score LIMIT 1"), "000");
    edit_bytes(dir, "1.0", "0.1");
    assert_string_equal(sql_value(store, "SELECT exp_id FROM trials ORDER BY score LIMIT 1"), "001");
    edit_bytes(dir, "0.1", "3.1");
    assert_string_equal(sql_value(store, "SELECT exp_id FROM trials ORDER BY score LIMIT 1"), "000");
    assert_true(heard.n >= 3);
    struct lineage_trial trial = {.hypothesis = "h", .status = LINEAGE_KEEP, .core_metric = {true, 0.25}};
    assert_int_equal(lineage_store_append(store, &trial, NULL, NULL, &err), LINEAGE_OK);
    other = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_rebuild(other, &err), LINEAGE_OK);
    lineage_store_close(other);
    heard.n = 0;
    assert_string_equal(sql_value(store, "SELECT exp_id FROM trials ORDER BY score LIMIT 1"), "002");
    /* The handle reads the rebuilt mirror and notices the next edit. */
    edit_bytes(dir, "0.25", "9.25");
    assert_string_equal(sql_value(store, "SELECT exp_id FROM trials ORDER BY score LIMIT 1"), "000");
    assert_non_null(strstr(heard.text, "lineage rebuild"));
    lineage_store_close(store);
    remove_dir(dir);
}

/* Simulates a user without write permission, because the superuser always has write permission. */
static int not_writable(void *context, const char *call)
{
    (void)context;
    return strcmp(call, "access") == 0 ? EACCES : 0;
}

static void a_mirror_that_may_not_be_written_is_read_without_locks(void **state)
{
    (void)state;
    struct heard heard = {0};
    char *base = make_dir(), *dir = join(base, "a?b#c%d");
    assert_int_equal(mkdir(dir, 0755), 0);
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL), *writer;
    assert_string_equal(all_ids(store), "000 001 ");
    lineage_store_close(store);
    fs_set_fault(not_writable, NULL);
    store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "000 001 ");
    assert_int_equal(heard.n, 0);
    assert_int_equal(lineage_rebuild(store, &err), LINEAGE_EDB); /* not rebuilt either */
    assert_string_equal(all_ids(store), "000 001 ");
    fs_set_fault(NULL, NULL);
    writer = open_store(dir, LINEAGE_LOWER, NULL);
    struct lineage_trial trial = {.exp_id = "002", .status = LINEAGE_CRASH};
    assert_int_equal(lineage_store_append(writer, &trial, NULL, NULL, &err), LINEAGE_OK);
    assert_string_equal(all_ids(writer), "000 001 002 ");
    fs_set_fault(not_writable, NULL);
    /* Read from the log, because the mirror on disk is out of date or being written. */
    assert_string_equal(all_ids(store), "000 001 002 ");
    lineage_store_close(store);
    heard.n = 0;
    store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "000 001 002 ");
    assert_int_equal(heard.n, 1);
    lineage_store_close(store);
    fs_set_fault(NULL, NULL);
    lineage_store_close(writer);
    assert_int_equal(remove(in_dir(dir, "lineage.db")), 0);
    fs_set_fault(not_writable, NULL);
    store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "000 001 002 ");
    assert_non_null(strstr(heard.text, "is not there"));
    lineage_store_close(store);
    fs_set_fault(NULL, NULL);
    lineage_store_close(open_store(dir, LINEAGE_LOWER, NULL));
    fs_set_fault(not_writable, NULL);
    write_file(in_dir(dir, "lineage.db"),
               "no database, but of some length: it is longer than the head of one, which has a hundred"
               " bytes and begins otherwise",
               110);
    store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "000 001 002 ");
    assert_non_null(strstr(heard.text, "is of no use"));
    lineage_store_close(store);
    fs_set_fault(NULL, NULL);
    free(dir);
    remove_dir(base);
}

/* Two signs identify a mirror. A database without either sign is still a mirror, of an older version, if it has the
 * mirror's tables. */
static void whose_a_database_is_is_told_by_more_than_one_sign(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        const char *notice; /* NULL: the mirror is used unchanged */
    } cases[] = {{"PRAGMA application_id = 0", "making it anew"},
                 {"PRAGMA application_id = 77", "making it anew"},
                 {"PRAGMA user_version = 0", NULL}};
    for (size_t i = 0; i < 2; i++) {
        sqlite3 *db;
        char *dir = mirrored();
        assert_int_equal(sqlite3_open_v2(in_dir(dir, "lineage.db"), &db, SQLITE_OPEN_READWRITE, checked_pages_vfs()), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, cases[i].sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        must_answer(dir, cases[i].notice);
        must_answer(dir, NULL);
        remove_dir(dir);
    }
    static const struct {
        const char *sql;
        bool ours;
    } databases[] = {
        {"CREATE TABLE notes (x)", false},
        {"CREATE TABLE trials (x); CREATE TABLE param_rows (x)", false},
        {"CREATE TABLE trials (x); CREATE TABLE param_rows (x); CREATE TABLE meta (x)", true},
        {"CREATE TABLE x (x); DROP TABLE x", true},
        {"PRAGMA application_id = 5; CREATE TABLE trials (x); CREATE TABLE param_rows (x); CREATE TABLE meta (x)", false}};
    for (size_t i = 0; i < sizeof databases / sizeof *databases; i++) {
        sqlite3 *db;
        char *dir = mirrored();
        write_file(in_dir(dir, "lineage.db"), "", 0);
        assert_int_equal(sqlite3_open(in_dir(dir, "lineage.db"), &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, databases[i].sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        must_answer(dir, databases[i].ours ? "making it anew" : "left alone");
        must_answer(dir, databases[i].ours ? NULL : "left alone");
        remove_dir(dir);
    }
}

/* If opening a telemetry file always fails, the row only loses its metrics. A temporary failure fails the sync. */
static int fail_open(void *context, const char *call)
{
    unsigned *times = context;
    return strcmp(call, "open") == 0 && times[0] && !--times[0] ? (int)times[1] : 0;
}

static void telemetry_that_cannot_be_read_hides_no_row(void **state)
{
    (void)state;
    static const unsigned errors[] = {EACCES, EPERM, EISDIR, ENOTDIR, ELOOP, EMFILE, EIO};
    char *dir = make_dir();
    add_rows(dir, rows);
    assert_int_equal(mkdir(in_dir(dir, "telemetry"), 0755), 0);
    write_file(in_dir(dir, "telemetry/000.json"), "{\"steps\": [{\"step\": 1, \"loss\": 2}]}", 36);
    assert_int_equal(symlink("001.json", in_dir(dir, "telemetry/001.json")), 0);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        for (unsigned n = 1; n < 12; n++) {
            unsigned times[2] = {n, errors[i]};
            struct heard heard = {0};
            remove(in_dir(dir, "lineage.db"));
            struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
            struct lineage_cursor *cursor;
            fs_set_fault(fail_open, times);
            enum lineage_status status = lineage_query_open(&cursor, store, &(struct lineage_query){0}, &err);
            fs_set_fault(NULL, NULL);
            if (status == LINEAGE_OK)
                assert_string_equal(ids_of_cursor(cursor), "000 001 ");
            else
                assert_true(err.text[0]);
            lineage_store_close(store);
        }
    remove_dir(dir);
}

/* A page may be read in parts. Each such read compares the whole page with its digest and fails if they differ. Reads
 * that do not lie in a page are not checked. */
static void parts_of_pages_are_compared_whole(void **state)
{
    (void)state;
    enum { PAGE = 65536 };
    static const struct {
        int n, at;
        bool is_in_a_page;
    } reads[] = {{100, 0, true},           {700, 0, true},       {512, 256, true},         {4096, 2048, true},
                 {3000, PAGE + 100, true}, {2 * PAGE, 0, false}, {1000, PAGE - 500, false}};
    char *dir = make_dir(), *path = join(dir, "pages"), *bytes, got[2 * PAGE];
    size_t length;
    sqlite3 *db;
    sqlite3_file *file = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, checked_pages_vfs()), SQLITE_OK);
    checked_pages_reserve(db);
    assert_int_equal(sqlite3_exec(db, "PRAGMA page_size = 65536; CREATE TABLE a (b); INSERT INTO a VALUES (zeroblob(90000))",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    bytes = read_file(path, &length);
    assert_true(length >= 3 * PAGE);
    for (int damaged = 0; damaged < 2; damaged++) {
        assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, checked_pages_vfs()), SQLITE_OK);
        assert_int_equal(sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file), SQLITE_OK);
        const sqlite3_io_methods *io = file->pMethods;
        assert_int_equal(io->xRead(file, got, 100, 0), SQLITE_OK); /* this read tells the size of a page */
        if (damaged) {
            bytes[30000] ^= 1; /* outside all parts that are read below */
            bytes[PAGE + 30000] ^= 1;
            write_file(path, bytes, length);
        }
        for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
            /* SQLite reads the 100 bytes of the header alone; they are compared later, with the rest of their page. */
            bool refused = damaged && reads[i].is_in_a_page && reads[i].n != 100;
            assert_int_equal(io->xRead(file, got, reads[i].n, reads[i].at), refused ? SQLITE_CORRUPT : SQLITE_OK);
            assert_memory_equal(got, bytes + reads[i].at, (size_t)reads[i].n);
        }
        sqlite3_hard_heap_limit64(1);
        assert_int_equal(io->xRead(file, got, 512, 256), SQLITE_NOMEM);
        sqlite3_hard_heap_limit64(0);
        assert_true(io->xSectorSize(file) >= 512);
        /* Only writes of a whole page get a digest. */
        assert_int_equal(io->xWrite(file, "some", 4, (sqlite3_int64)length), SQLITE_OK);
        size_t longer;
        char *all = read_file(path, &longer);
        assert_int_equal(longer, length + 4);
        assert_memory_equal(all + length, "some", 4);
        free(all);
        assert_int_equal(io->xTruncate(file, (sqlite3_int64)length), SQLITE_OK);
        sqlite3_close(db);
    }
    free(bytes);
    free(path);
    remove_dir(dir);
}

/* The cache of statements is filled. One more statement is refused, and the cached ones still work. */
static bool side_file(const char *dir)
{
    return access(in_dir(dir, "lineage.db-wal"), F_OK) == 0 || access(in_dir(dir, "lineage.db-shm"), F_OK) == 0 ||
           access(in_dir(dir, "lineage.db-journal"), F_OK) == 0;
}

/* Until a later change of the file gets another time, whatever the clock of its file system. */
static void settle(void)
{
    usleep(2200000);
}

enum { MANY = 3000, MORE = 1500 };

static void append_rows(struct lineage_store *store, int from, int to)
{
    static char ids[MANY + MORE][24];
    static struct lineage_trial trials[MANY + MORE];
    for (int i = from; i < to; i++) {
        snprintf(ids[i], sizeof ids[i], "%05d", i);
        trials[i] = (struct lineage_trial){.exp_id = ids[i], .status = LINEAGE_CRASH, .hypothesis = "to fill a page a little"};
    }
    assert_int_equal(lineage_store_append_many(store, trials + from, (size_t)(to - from), NULL, NULL, NULL, &err), LINEAGE_OK);
}

/* The child ends without closing its store, as if it had been killed. */
static void a_reader_leaves_no_files(void **state)
{
    (void)state;
    char *dir = mirrored();
    int status = -1;
    settle();
    pid_t child = fork();
    if (child == 0) {
        struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
        bool right = strcmp(all_ids(store), "000 001 ") == 0;
        _exit(right && !side_file(dir) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_false(side_file(dir));
    must_answer(dir, NULL);
    remove_dir(dir);
}

/* The rows that a cursor has not loaded yet are read from a file that a writer has changed meanwhile. */
static void a_writer_does_not_disturb_readers(void **state)
{
    (void)state;
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    struct heard heard = {0};
    char *dir = mirrored();
    size_t n = 0;
    struct lineage_store *writer = open_store(dir, LINEAGE_LOWER, NULL);
    append_rows(writer, 2, MANY);
    assert_true(lineage_query_count(&n, writer, &all, &err) == LINEAGE_OK && n == MANY);
    lineage_store_close(writer);
    settle();
    struct lineage_store *reader = open_store(dir, LINEAGE_LOWER, &heard);
    assert_int_equal(lineage_query_open(&cursor, reader, &all, &err), LINEAGE_OK);
    assert_int_equal(lineage_cursor_next(cursor, &trial, &err), LINEAGE_OK);
    assert_false(side_file(dir));
    writer = open_store(dir, LINEAGE_LOWER, NULL);
    append_rows(writer, MANY, MANY + MORE);
    assert_true(lineage_query_count(&n, writer, &all, &err) == LINEAGE_OK && n == MANY + MORE);
    lineage_store_close(writer);
    for (n = 1; lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK; n++)
        assert_true(n < 2 || strtol(trial.exp_id, NULL, 10) == (long)n);
    lineage_cursor_close(cursor);
    assert_int_equal(n, MANY); /* the list is that of the opening */
    assert_int_equal(heard.n, 0); /* read from the mirror, not from results.tsv */
    assert_true(lineage_find(reader, "04499", &trial, &err) == LINEAGE_OK);
    lineage_trial_release(&trial);
    lineage_store_close(reader);
    assert_false(side_file(dir));
    remove_dir(dir);
}

static void more_statements_than_there_is_room_for(void **state)
{
    (void)state;
    static char texts[200][24];
    char *dir = mirrored();
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    sqlite3_stmt *stmt;
    int n = -1;
    assert_string_equal(all_ids(store), "000 001 ");
    do {
        assert_int_not_equal(++n, 200);
        snprintf(texts[n], sizeof texts[n], "SELECT %d", n);
    } while (mirror_prepare(store->mirror, &stmt, texts[n], &err) == LINEAGE_OK);
    assert_non_null(strstr(err.text, "too many cached statements"));
    assert_int_equal(mirror_prepare(store->mirror, &stmt, texts[0], &err), LINEAGE_OK);
    assert_string_equal(all_ids(store), "000 001 ");
    lineage_store_close(store);
    remove_dir(dir);
}

int main(void)
{
    sqlite_faults_install();
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_link_is_not_followed),
                                       cmocka_unit_test(neither_a_pipe_nor_a_directory),
                                       cmocka_unit_test(another_applications_database_is_left_alone),
                                       cmocka_unit_test(a_mirror_without_digests_is_made_anew),
                                       cmocka_unit_test(what_another_client_writes_is_damage),
                                       cmocka_unit_test(a_mirror_whose_making_was_interrupted_is_made_anew),
                                       cmocka_unit_test(a_mirror_without_its_tables_fails_nobody),
                                       cmocka_unit_test(a_mirror_of_an_earlier_boot_is_not_used),
                                       cmocka_unit_test(without_an_id_every_boot_is_the_same),
                                       cmocka_unit_test(a_killed_making_harms_nobody),
                                       cmocka_unit_test(a_directory_may_be_called_like_a_uri),
                                       cmocka_unit_test(who_may_write_the_rows_may_write_the_mirror),
                                       cmocka_unit_test(each_user_has_a_mirror),
                                       cmocka_unit_test(a_handle_that_lives_long_gets_over_edits),
                                       cmocka_unit_test(a_mirror_that_may_not_be_written_is_read_without_locks),
                                       cmocka_unit_test(whose_a_database_is_is_told_by_more_than_one_sign),
                                       cmocka_unit_test(telemetry_that_cannot_be_read_hides_no_row),
                                       cmocka_unit_test(parts_of_pages_are_compared_whole),
                                       cmocka_unit_test(a_reader_leaves_no_files),
                                       cmocka_unit_test(a_writer_does_not_disturb_readers),
                                       cmocka_unit_test(more_statements_than_there_is_room_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
