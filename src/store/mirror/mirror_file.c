/*
 * mirror_file.c: examines the file called lineage.db before SQLite opens it. Even a reading command creates and repairs
 * that file, so it must be certain that the file is a mirror and not the target of a link or the database of another
 * application.
 */
#include "mirror_file.h"

#include <fcntl.h>
#include <time.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "checked_pages.h"

#define WAL PLACE_MIRROR "-wal"
#define HEADER 100

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
static enum lineage_status judge_file(struct mirror *mirror, uint64_t size, enum mirror_file *file, struct lineage_error *err)
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
    return judge_file(mirror, (uint64_t)st.st_size, file, err);
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

static bool is_empty(const struct mirror *mirror, const char *name)
{
    struct stat st;
    return fs_stat(mirror->place.fd, name, AT_SYMLINK_NOFOLLOW, &st) == 0 ? S_ISREG(st.st_mode) && st.st_size == 0
                                                                          : errno == ENOENT;
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
    if (!file->inode || !is_empty(mirror, PLACE_MIRROR "-journal") || !is_empty(mirror, WAL) ||
        clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0)
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
