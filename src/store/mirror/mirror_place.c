/*
 * mirror_place.c: examines the file called lineage.db before SQLite opens it, and decides which one is used. Even a reading command
 * creates and repairs that file, so it must be certain that the file is a mirror and not the target of a link or the database of another
 * application.
 */
#include "mirror_place.h"

#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "../files/places.h"
#include "../files/state_dir.h"
#include "checked_pages.h"

#define PRIVATE ".private" /* behind the name of the record: the directory of the mirror in the state directory */
#define HEADER 100

/* ---- the file ---- */

/* SQLite's files beside lineage.db, and the endings of their records. */
static const char *const beside[] = {"-journal", "-wal", "-shm"};

/* Whether a file of SQLite beside lineage.db exists and holds something. */
static bool holds_something(int dir_fd, const char *name)
{
    struct stat st;
    return fs_stat(dir_fd, name, AT_SYMLINK_NOFOLLOW, &st) == 0 ? !S_ISREG(st.st_mode) || st.st_size > 0 : errno != ENOENT;
}

static bool side_name(char name[sizeof PLACE_MIRROR + 16], size_t i)
{
    return snprintf(name, sizeof PLACE_MIRROR + 16, PLACE_MIRROR "%s", beside[i]) > 0;
}

/* A journal or write-ahead log would put its pages into lineage.db. */
static bool has_sides(const struct mirror *mirror)
{
    char name[sizeof PLACE_MIRROR + 16];
    bool found = false;
    for (size_t i = 0; i < 2 && side_name(name, i); i++)
        found = found || holds_something(mirror->place.fd, name);
    return found;
}

/* Reads a number of SQLite's header, which is big-endian. application_id is at offset 68, and the number of reserved
 * bytes per page is at offset 20 (sqlite.org/fileformat). */
static uint32_t number_at(const unsigned char *header, size_t at)
{
    return (uint32_t)header[at] << 24 | (uint32_t)header[at + 1] << 16 | (uint32_t)header[at + 2] << 8 | header[at + 3];
}

/* An early version wrote neither an application_id nor digests, so its mirror is recognised by its tables. The file is
 * opened without checked pages, because it has no digests. An empty schema counts as a mirror, because it contains
 * nothing that could be lost. */
static bool has_our_tables(const struct mirror *mirror)
{
    static const char sql[] = "SELECT count(*) = 0 OR sum(name IN ('trials', 'param_rows', 'meta')) = 3 FROM sqlite_schema";
    char *path = mirror_file_path(mirror, false);
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    bool ours = path && sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
                sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW &&
                sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    sqlite3_free(path);
    return ours;
}

/* A mirror is recognised by either of two signs. Otherwise damage to one sign would make a mirror look like the file of
 * another application, which would never be repaired. */
static enum lineage_status judge_header(const struct mirror *mirror, const unsigned char *header, enum mirror_file *file,
                                        struct lineage_error *err)
{
    bool ours = number_at(header, 68) == MIRROR_APPLICATION_ID, digests = header[20] == CHECKED_BYTES;
    *file = MIRROR_FILE_USELESS;
    if (memcmp(header, "SQLite format 3", 16) != 0)
        return LINEAGE_OK;
    if (ours && digests)
        *file = MIRROR_FILE_OURS;
    if (ours || digests || (number_at(header, 68) == 0 && has_our_tables(mirror)))
        return LINEAGE_OK; /* one missing sign is damage, not another application */
    return store_fail(err, LINEAGE_EDB, "%s/" PLACE_MIRROR " is another application's database; it is left alone",
                      mirror->place.path.data);
}

/* An empty file is being created by another process. The file is opened with O_NONBLOCK, because a pipe with that name
 * would otherwise block every command. */
static enum lineage_status judge_contents(struct mirror *mirror, uint64_t size, enum mirror_file *file, struct lineage_error *err)
{
    unsigned char header[HEADER] = {0};
    *file = MIRROR_FILE_NEW;
    if (!size)
        return LINEAGE_OK;
    int fd = fs_open(mirror->place.fd, PLACE_MIRROR, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    ssize_t n = fd < 0 ? -1 : fs_read_at(fd, header, sizeof header, 0);
    fs_close(fd);
    if (n < 0)
        return store_fail_errno(err, LINEAGE_EDB, "cannot read %s/" PLACE_MIRROR, mirror->place.path.data);
    return judge_header(mirror, header, file, err);
}

/* The directory must be writable too, because SQLite creates its journal beside the file. */
enum lineage_status mirror_file_look(struct mirror *mirror, enum mirror_file *file, bool *writable, struct lineage_error *err)
{
    struct stat st;
    int dir_fd = mirror->place.fd;
    *file = MIRROR_FILE_NEW;
    *writable = fs_can_write(dir_fd, ".");
    if (fs_stat(dir_fd, PLACE_MIRROR, AT_SYMLINK_NOFOLLOW, &st) != 0)
        return errno == ENOENT ? LINEAGE_OK
                               : store_fail_errno(err, LINEAGE_EDB, "cannot look at %s/" PLACE_MIRROR, mirror->place.path.data);
    if (!S_ISREG(st.st_mode))
        return store_fail(err, LINEAGE_EDB, "%s/" PLACE_MIRROR " is not a regular file; it is left alone",
                          mirror->place.path.data);
    *writable = *writable && fs_can_write(dir_fd, PLACE_MIRROR);
    return judge_contents(mirror, (uint64_t)st.st_size, file, err);
}

/* O_EXCL is not used, because two commands may create the file at once, and both then open the same file. */
enum lineage_status mirror_file_make(struct mirror *mirror, struct lineage_error *err)
{
    int fd = fs_open(mirror->place.fd, PLACE_MIRROR, O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
    if (fd < 0)
        return store_fail_errno(err, LINEAGE_EDB, "cannot make %s/" PLACE_MIRROR, mirror->place.path.data);
    fs_close(fd);
    return LINEAGE_OK;
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Returns zeroes for a file that cannot be examined, so that its state differs from that of every file that can. */
struct mirror_file_state mirror_file_state(const struct mirror *mirror)
{
    struct stat st;
    if (fs_stat(mirror->place.fd, PLACE_MIRROR, AT_SYMLINK_NOFOLLOW, &st) != 0)
        return (struct mirror_file_state){0};
    return (struct mirror_file_state){(uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size, nanoseconds(st.st_mtim),
                                      nanoseconds(st.st_ctim)};
}

bool mirror_file_is_same(const struct mirror *mirror)
{
    struct mirror_file_state now = mirror_file_state(mirror);
    return now.device == mirror->file.device && now.inode == mirror->file.inode && now.size == mirror->file.size &&
           now.changed_ns == mirror->file.changed_ns && now.touched_ns == mirror->file.touched_ns;
}

bool mirror_file_is_gone(const struct mirror *mirror)
{
    struct mirror_file_state now = mirror_file_state(mirror);
    return mirror->on_disk && !mirror->frozen && (now.device != mirror->file.device || now.inode != mirror->file.inode);
}

bool mirror_file_is_of_earlier_boot(const struct mirror *mirror)
{
    struct timespec now, up;
    return clock_gettime(CLOCK_REALTIME, &now) == 0 && clock_gettime(CLOCK_BOOTTIME, &up) == 0 &&
           mirror->file.changed_ns < nanoseconds(now) - nanoseconds(up);
}

/* How long ago the last change must be: several ticks of the kernel's clock, or more than the two seconds of the coarsest file
 * systems if the time looks like one of theirs. */
#define TICKS_NS ((int64_t)50000000)
#define COARSE_NS ((int64_t)2100000000)

bool mirror_file_is_settled(const struct mirror *mirror, bool *soon)
{
    const struct mirror_file_state *file = &mirror->file;
    struct timespec now;
    int64_t last = file->changed_ns > file->touched_ns ? file->changed_ns : file->touched_ns;
    bool coarse = file->changed_ns % 10000000 == 0 || file->touched_ns % 10000000 == 0;
    *soon = false;
    if (!file->inode || has_sides(mirror) || clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0)
        return false;
    int64_t age = nanoseconds(now) - last;
    bool settled = age > (coarse ? COARSE_NS : TICKS_NS);
    *soon = !settled && age > -TICKS_NS;
    return settled;
}

/* Debian's SQLite treats any name that begins with `file:` as a URI, even if that is the name of a directory. With
 * immutable=1 SQLite neither locks the file nor looks for a journal nor creates files beside it. `?`, `#` and
 * `%` have a meaning in a URI. */
char *mirror_file_path(const struct mirror *mirror, bool frozen)
{
    const char *dir = mirror->place.path.data, *here = dir[0] == '/' ? "" : "./";
    if (!frozen)
        return sqlite3_mprintf("%s%s/" PLACE_MIRROR, here, dir);
    sqlite3_str *uri = sqlite3_str_new(NULL);
    sqlite3_str_appendf(uri, "file:%s", here);
    for (; *dir; dir++)
        if (strchr("?#%", *dir))
            sqlite3_str_appendf(uri, "%%%02x", (unsigned)*dir);
        else
            sqlite3_str_appendchar(uri, 1, *dir);
    sqlite3_str_appendall(uri, "/" PLACE_MIRROR "?immutable=1");
    return sqlite3_str_finish(uri);
}

/* ---- the place ---- */

void mirror_place_release(struct mirror *mirror)
{
    if (mirror->place.fd >= 0 && mirror->place.is_private)
        fs_close(mirror->place.fd);
    buf_release(&mirror->place.records);
    buf_release(&mirror->place.path);
    mirror->place = (struct mirror_place){.fd = -1};
}

static enum lineage_status set_place(struct mirror *mirror, int fd, const char *path, bool is_private, struct lineage_error *err)
{
    struct mirror_place *place = &mirror->place;
    place->fd = fd;
    place->is_private = is_private;
    buf_reset(&place->path);
    buf_puts(&place->path, path);
    return place->path.failed ? store_no_memory(err) : LINEAGE_OK;
}

/* Any file of SQLite beside a mirror at rest was left by a killed process, or belongs to a running one. */
static bool is_at_rest(const struct mirror *mirror)
{
    char name[sizeof PLACE_MIRROR + 16];
    struct stat st;
    for (size_t i = 0; i < sizeof beside / sizeof *beside && side_name(name, i); i++)
        if (fs_stat(mirror->store->dir_fd, name, AT_SYMLINK_NOFOLLOW, &st) == 0 || errno != ENOENT)
            return false;
    return true;
}

/* If the records cannot be read or written, the log can still be read, so the caller answers from memory. */
static enum lineage_status as_db_failure(enum lineage_status status, struct lineage_error *err)
{
    if (status != LINEAGE_EIO)
        return status;
    if (err)
        err->status = LINEAGE_EDB;
    return LINEAGE_EDB;
}

/* lineage.db goes first, because it is wrong without the files beside it. The new file is recorded before SQLite opens it. After
 * a kill in between it is replaced once more. */
static enum lineage_status replace_locked(struct mirror *mirror, struct lineage_error *err)
{
    char name[sizeof PLACE_MIRROR + 16];
    struct fs_identity id;
    int dir_fd = mirror->place.fd;
    if (fs_unlink(dir_fd, PLACE_MIRROR) != 0 && errno != ENOENT)
        return store_fail_errno(err, LINEAGE_EDB, "cannot replace %s/" PLACE_MIRROR, mirror->place.path.data);
    for (size_t i = 0; i < sizeof beside / sizeof *beside && side_name(name, i); i++)
        fs_unlink(dir_fd, name);
    enum lineage_status status = mirror_file_make(mirror, err);
    if (mirror->place.is_private)
        return status;
    if (status == LINEAGE_OK && fs_identify(dir_fd, PLACE_MIRROR, &id) != 0)
        status = store_fail_errno(err, LINEAGE_EDB, "cannot look at %s/" PLACE_MIRROR, mirror->store->dir);
    return status == LINEAGE_OK ? own_record_write(mirror->place.records.data, &id, err) : status;
}

/* Whether lineage.db is the one that this user's commands made and recorded. */
static bool is_recorded(const struct mirror *mirror, enum own *own)
{
    struct fs_identity id;
    *own = OWN_UNKNOWN;
    if (fs_identify(mirror->store->dir_fd, PLACE_MIRROR, &id) != 0)
        return false;
    *own = own_record_check(mirror->place.records.data, &id);
    return *own == OWN_YES;
}

static bool is_absent(const struct mirror *mirror)
{
    struct stat st;
    return fs_stat(mirror->place.fd, PLACE_MIRROR, AT_SYMLINK_NOFOLLOW, &st) != 0 && errno == ENOENT;
}

static bool is_foreign(const struct mirror *mirror)
{
    enum own own;
    return !is_recorded(mirror, &own);
}

static bool is_still_there(const struct mirror *mirror)
{
    return !mirror_file_is_gone(mirror);
}

enum lineage_status mirror_place_hold(struct mirror *mirror, struct lineage_error *err)
{
    int tries = 0;
    if (mirror->hold < 0)
        mirror->hold = fs_open(mirror->store->dir_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    while (mirror->hold >= 0 && fs_try_share(mirror->hold) != 0 && errno == EWOULDBLOCK)
        if (tries++ == 500)
            return store_fail(err, LINEAGE_EDB, "another process has been replacing %s/" PLACE_MIRROR " for five seconds",
                              mirror->store->dir);
        else
            poll(NULL, 0, 10);
    return LINEAGE_OK;
}

void mirror_place_let_go(struct mirror *mirror)
{
    fs_close(mirror->hold);
    mirror->hold = -1;
}

/* Another process of this user may have been first. `in_use`: although others may have the file open. Nobody has an absent file
 * open, but several first commands of a new store hold the place at once. */
static enum lineage_status replace_if(bool (*must)(const struct mirror *), bool in_use, struct mirror *mirror,
                                      struct lineage_error *err)
{
    int lock = own_record_lock(mirror->place.records.data);
    if (lock < 0)
        return store_fail_errno(err, LINEAGE_EDB, "cannot lock the records beside %s", mirror->place.records.data);
    enum lineage_status status = LINEAGE_OK;
    /* Asked again under the lock, because another machine may have been first, too. */
    if (must(mirror) && !in_use && !is_absent(mirror) && mirror->hold >= 0 && fs_try_lock(mirror->hold) != 0 &&
        errno == EWOULDBLOCK)
        status = store_fail(err, LINEAGE_ELOCKED, "%s/" PLACE_MIRROR " is used by another process", mirror->place.path.data);
    else if (must(mirror))
        status = replace_locked(mirror, err);
    if (mirror->hold >= 0) {
        enum lineage_status held = mirror_place_hold(mirror, err);
        status = status == LINEAGE_OK ? held : status;
    }
    fs_close(lock);
    return as_db_failure(status, err);
}

static enum lineage_status replace(struct mirror *mirror, struct lineage_error *err)
{
    return replace_if(is_foreign, false, mirror, err);
}

static enum lineage_status use_private(struct mirror *mirror, bool tell, struct lineage_error *err)
{
    SCOPED_BUF path = {0};
    buf_printf(&path, "%s" PRIVATE, mirror->place.records.data);
    enum lineage_status status = path.failed ? store_no_memory(err) : state_dir_make_parents(path.data, err);
    bool made = status == LINEAGE_OK && fs_mkdir_new(AT_FDCWD, path.data, 0700) == 0;
    int fd = status == LINEAGE_OK ? fs_open(AT_FDCWD, path.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) : -1;
    if (status == LINEAGE_OK && fd < 0)
        status = store_fail_errno(err, LINEAGE_EDB, "cannot open %s", path.data);
    if (made && tell)
        store_notice(mirror->store, 0,
                     "%s/" PLACE_MIRROR
                     " or a journal beside it was not made by this user's commands, so it is not used; the mirror "
                     "is in %s. `lineage rebuild` replaces the file beside the log",
                     mirror->store->dir, path.data);
    if (status == LINEAGE_OK)
        status = set_place(mirror, fd, path.data, true, err);
    return as_db_failure(status, err);
}

/* A file that another process has just made is recorded a moment later, and the lock is kept until then. */
static bool is_recorded_by_now(const struct mirror *mirror, enum own *own)
{
    SCOPED_FD lock = own_record_lock(mirror->place.records.data);
    return is_recorded(mirror, own);
}

/* A journal or write-ahead log that no running process uses was left by a killed one, or put there by somebody. The mirror is made
 * again instead of finding out. Without locks nobody knows, and it is used. */
static enum lineage_status drop_strays(struct mirror *mirror, bool *same, struct lineage_error *err)
{
    if (mirror->hold < 0 || !has_sides(mirror))
        return LINEAGE_OK;
    int lock = own_record_lock(mirror->place.records.data);
    enum lineage_status status = LINEAGE_OK;
    if (lock >= 0 && has_sides(mirror) && fs_try_lock(mirror->hold) == 0) {
        *same = false;
        status = replace_locked(mirror, err);
    }
    enum lineage_status held = mirror_place_hold(mirror, err);
    fs_close(lock);
    return as_db_failure(status == LINEAGE_OK ? held : status, err);
}

/* The lineage.db of another user is never replaced, because that user's commands would then replace it in turn. *same is true if
 * the file beside the log is used as the caller found it. */
static enum lineage_status judge_file(struct mirror *mirror, bool writable, bool *same, struct lineage_error *err)
{
    struct stat st;
    enum own own;
    int dir_fd = mirror->store->dir_fd;
    *same = false;
    if (fs_stat(dir_fd, PLACE_MIRROR, AT_SYMLINK_NOFOLLOW, &st) != 0)
        return writable ? replace(mirror, err) : LINEAGE_OK; /* the caller reports that there is none */
    const bool mine = st.st_uid == geteuid();
    *same = is_recorded(mirror, &own) || (mine && writable && is_recorded_by_now(mirror, &own));
    if (*same)
        return writable ? drop_strays(mirror, same, err) : LINEAGE_OK;
    if (own == OWN_UNKNOWN)
        return store_fail(err, LINEAGE_EDB, "cannot read the record that says whether this user made %s/" PLACE_MIRROR,
                          mirror->store->dir);
    enum lineage_status status = LINEAGE_ELOCKED;
    if (own == OWN_NO && mine && writable && is_at_rest(mirror))
        status = replace(mirror, err);
    if (status != LINEAGE_ELOCKED)
        return status;
    return use_private(mirror, mine && writable, err); /* in a closed directory the remedy would fail */
}

enum lineage_status mirror_place_find(struct mirror *mirror, enum mirror_file *file, bool *writable, struct lineage_error *err)
{
    struct lineage_store *store = mirror->store;
    struct lineage_error why = {0};
    bool same = true;
    mirror_place_release(mirror);
    TRY(set_place(mirror, store->dir_fd, store->dir, false, err));
    TRY(mirror_file_look(mirror, file, writable, err));
    enum lineage_status status = own_record_base(&mirror->place.records, store->dir_fd, &why);
    if (status == LINEAGE_OK) {
        status = judge_file(mirror, *writable, &same, err);
        return status == LINEAGE_OK && !same ? mirror_file_look(mirror, file, writable, err) : status;
    }
    if (status == LINEAGE_ENOMEM)
        return store_give(err, &why);
    return store_fail(err, LINEAGE_EDB, "%s/" PLACE_MIRROR " cannot be used: %s", store->dir, why.text);
}

enum lineage_status mirror_place_renew(struct mirror *mirror, struct lineage_error *err)
{
    enum mirror_file file;
    bool writable;
    enum lineage_status status = mirror_place_find(mirror, &file, &writable, err);
    if (status == LINEAGE_OK && !writable)
        status = store_fail(err, LINEAGE_EDB, "%s/" PLACE_MIRROR " may not be written", mirror->place.path.data);
    if (status == LINEAGE_OK)
        status = replace_if(is_still_there, false, mirror, err);
    if (status != LINEAGE_ELOCKED)
        return status;
    if (err)
        err->status = LINEAGE_EDB; /* nobody waits for it: the caller answers from memory */
    return LINEAGE_EDB;
}

static void remove_private(const struct mirror *mirror)
{
    SCOPED_BUF path = {0};
    buf_printf(&path, "%s" PRIVATE, mirror->place.records.data);
    if (!path.failed)
        fs_remove_tree(AT_FDCWD, path.data);
}

enum lineage_status mirror_place_take_over(struct mirror *mirror, struct lineage_error *err)
{
    enum mirror_file file;
    struct stat st;
    bool writable;
    struct lineage_store *store = mirror->store;
    mirror_place_release(mirror);
    TRY(set_place(mirror, store->dir_fd, store->dir, false, err));
    TRY(mirror_file_look(mirror, &file, &writable, err));
    if (!writable)
        return LINEAGE_OK;
    if (fs_stat(store->dir_fd, PLACE_MIRROR, AT_SYMLINK_NOFOLLOW, &st) == 0 && st.st_uid != geteuid())
        return LINEAGE_OK; /* another user's */
    TRY(own_record_base(&mirror->place.records, store->dir_fd, err));
    TRY(replace_if(is_foreign, true, mirror, err));
    remove_private(mirror);
    return LINEAGE_OK;
}
