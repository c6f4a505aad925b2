/*
 * checked_pages.c: an SQLite VFS between SQLite and the file of a mirror. The last eight bytes of each page are a
 * digest of the other bytes and of the page's number. The digest is written with the page and checked when the page is
 * read.
 *
 * SQLite notices some damage to the structure of a page, but none to its contents. A flipped bit in an index then names
 * the wrong trial as the best, and the next row is compared with it. With the digest, reading a damaged page fails with
 * SQLITE_CORRUPT before anything of it is used.
 *
 * Pages are checked in the file itself only. Pages in the write-ahead log are checked by SQLite itself, when the first process
 * opens the file again, and they get their digest when they are copied into the file. Any SQLite client can read the
 * file. A client that writes to it leaves pages without a digest, and then the mirror is rebuilt.
 */
#include "checked_pages.h"

#include <assert.h>
#include <fcntl.h>
#include <xxhash.h>

#include "../files/fs.h"

#define SMALLEST_PAGE 512
#define LARGEST_PAGE 65536
#define HEADER 100
#define MEMORY_VFS "memdb" /* built into SQLite since 3.36, unless compiled out */

/* What is known about a file, behind the file of the underlying VFS. */
struct checked_file {
    sqlite3_io_methods methods; /* those of the underlying VFS, but for the functions of this file */
    const sqlite3_io_methods *real;
    XXH64_hash_t boot;   /* of the id of this boot; 0 if it is unknown */
    sqlite3_int64 page;  /* bytes of a page, 0 while unknown */
    const char *settled; /* path of a file that is read without locks; otherwise NULL */
    struct stat state;   /* of that file when it was opened */
};

/* A file that was opened here has its methods at the beginning of its struct checked_file. */
static struct checked_file *checked(sqlite3_file *file)
{
    return (struct checked_file *)(uintptr_t)file->pMethods;
}

/* Where a struct checked_file begins in the memory of a file. */
static size_t behind(const sqlite3_vfs *real)
{
    const size_t align = _Alignof(struct checked_file);
    return ((size_t)real->szOsFile + align - 1) / align * align;
}

/* SQLite writes the file only in whole pages, even when it copies pages from the write-ahead log. */
static bool is_page(int n, sqlite3_int64 at)
{
    return n >= SMALLEST_PAGE && n <= LARGEST_PAGE && (n & (n - 1)) == 0 && at % n == 0;
}

/* The digest is seeded with the page's number, so that an intact page in the wrong place is noticed too, and with the id of the
 * boot: lineage.db is not synced, so after a crash of the machine its pages may be those of different transactions. Then no page
 * that was written before is sound. Recovering a journal writes pages, but only those of one transaction. XXH3 runs at
 * memory speed. It guards against accidents. Against files that somebody forged, only those are opened that this user's
 * commands made (mirror_place.h). */
static XXH64_hash_t digest_of(const struct checked_file *file, const void *page, int n, sqlite3_int64 at)
{
    return XXH3_64bits_withSeed(page, (size_t)n - CHECKED_BYTES, file->boot + (XXH64_hash_t)(at / n + 1));
}

static bool is_sound(const struct checked_file *file, const void *page, int n, sqlite3_int64 at)
{
    XXH64_hash_t digest = digest_of(file, page, n, at);
    return memcmp((const char *)page + n - CHECKED_BYTES, &digest, CHECKED_BYTES) == 0;
}

/* The first page states the page size; 1 means 65536. The size is read here because SQLite does not pass it to a
 * VFS. */
static void learn_page_size(struct checked_file *file, const unsigned char *header)
{
    file->page = (sqlite3_int64)header[16] << 8 | header[17];
    if (file->page == 1)
        file->page = LARGEST_PAGE;
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Whether nothing has written to a file that is read without locks, as mirror_file_is_settled (mirror_place.h) says. The time of
 * change is set before a write changes the contents, so what was read before this call belongs to the file's first state. */
static bool is_unchanged(const struct checked_file *file)
{
    struct stat now;
    return !file->settled ||
           (fs_stat(AT_FDCWD, file->settled, AT_SYMLINK_NOFOLLOW, &now) == 0 && now.st_dev == file->state.st_dev &&
            now.st_ino == file->state.st_ino && now.st_size == file->state.st_size &&
            is_same_time(now.st_mtim, file->state.st_mtim) && is_same_time(now.st_ctim, file->state.st_ctim));
}

static int read_below(sqlite3_file *file, void *data, int n, sqlite3_int64 at)
{
    int code = checked(file)->real->xRead(file, data, n, at);
    return is_unchanged(checked(file)) ? code : SQLITE_IOERR;
}

/* Reads part of a page, after checking the digest of the whole page. SQLite reads overflow pages in this way. */
static int read_part(sqlite3_file *file, void *data, int n, sqlite3_int64 at)
{
    struct checked_file *self = checked(file);
    sqlite3_int64 start = self->page ? at / self->page * self->page : 0;
    if (!self->page || at + n > start + self->page)
        return read_below(file, data, n, at);
    char *page = sqlite3_malloc((int)self->page);
    if (!page)
        return SQLITE_NOMEM;
    int code = read_below(file, page, (int)self->page, start);
    if (code == SQLITE_OK)
        memcpy(data, page + (at - start), (size_t)n);
    if (code == SQLITE_OK && !is_sound(self, page, (int)self->page, start))
        code = SQLITE_CORRUPT;
    sqlite3_free(page);
    return code;
}

/* SQLite reads the first 100 bytes before it knows the page size. They are checked later, together with the rest of the
 * page. */
static int read_file(sqlite3_file *file, void *data, int n, sqlite3_int64 at)
{
    if (!is_page(n, at) && !(at == 0 && n == HEADER))
        return read_part(file, data, n, at);
    int code = read_below(file, data, n, at);
    if (code != SQLITE_OK)
        return code;
    if (at == 0)
        learn_page_size(checked(file), data);
    return n == HEADER || is_sound(checked(file), data, n, at) ? SQLITE_OK : SQLITE_CORRUPT;
}

/* The digest is written into the last bytes of SQLite's buffer, which SQLite does not use. */
static int write_file(sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
    if (is_page(n, at)) {
        XXH64_hash_t digest = digest_of(checked(file), data, n, at);
        memcpy((char *)(uintptr_t)data + n - CHECKED_BYTES, &digest, CHECKED_BYTES);
        if (at == 0)
            learn_page_size(checked(file), data);
    }
    return checked(file)->real->xWrite(file, data, n, at);
}

/* Opens a file of the underlying VFS and replaces some of its methods. pMethods stays NULL after a failure, which tells SQLite
 * that there is nothing to close. */
static int open_real(sqlite3_vfs *real, const char *name, sqlite3_file *out, int flags, int *out_flags,
                     const struct checked_file *known)
{
    struct checked_file *file = (struct checked_file *)(void *)((char *)out + behind(real));
    int code = real->xOpen(real, name, out, flags, out_flags);
    if (code != SQLITE_OK)
        return code;
    *file = *known;
    file->real = out->pMethods;
    file->methods = *out->pMethods;
    /* Version 2 has no memory maps. Version 3 would add xFetch, which reads pages from a mapped file without checking them. */
    file->methods.iVersion = file->methods.iVersion < 2 ? file->methods.iVersion : 2;
    file->methods.xWrite = write_file;
    file->methods.xRead = read_file;
    out->pMethods = &file->methods;
    return SQLITE_OK;
}

/*
 * Files without a name are SQLite's temporary files, mostly for sorting. They are kept in memory, because sorting must
 * not need a writable /tmp. Memory files are used instead of SQLite's in-memory lists (temp_store), because SQLite
 * sorts a file in parts that fit into a core's cache, which is twice as fast for a million rows. The default limit of 1
 * GiB for SQLite's memory files is raised.
 */
static int open_in_memory(sqlite3_vfs *memory, sqlite3_file *out, int flags, int *out_flags)
{
    sqlite3_int64 limit = INT64_MAX;
    int code = memory->xOpen(memory, NULL, out, flags, out_flags);
    if (code == SQLITE_OK)
        out->pMethods->xFileControl(out, SQLITE_FCNTL_SIZE_LIMIT, &limit);
    return code;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *out, int flags, int *out_flags)
{
    sqlite3_vfs *real = vfs->pAppData;
    struct checked_file file = {0};
    out->pMethods = NULL;
    /* The pages of journals and the write-ahead log are not checked, because they do not consist of pages alone. */
    sqlite3_vfs *memory = name ? NULL : sqlite3_vfs_find(MEMORY_VFS);
    if (memory)
        return open_in_memory(memory, out, flags, out_flags);
    if (!(flags & SQLITE_OPEN_MAIN_DB))
        return real->xOpen(real, name, out, flags, out_flags);
    char boot[FS_BOOT];
    if (fs_boot(boot))
        file.boot = XXH3_64bits(boot, strlen(boot));
    file.settled = sqlite3_uri_boolean(name, "immutable", 0) ? name : NULL;
    if (file.settled && fs_stat(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW, &file.state) != 0)
        return SQLITE_CANTOPEN;
    return open_real(real, name, out, flags, out_flags, &file);
}

/* SQLite identifies a VFS by its name in the whole process. The VFS is registered once, under SQLite's own lock, and
 * never removed, because another connection may walk through the list of VFSs at any time. The name contains an
 * address, so that two copies of this library in one process (a program and a plug-in, each linked with it) get
 * different names. */
const char *checked_pages_vfs(void)
{
    static sqlite3_vfs vfs;
    static char name[48];
    static bool ready;
    sqlite3_initialize();
    sqlite3_mutex *lock = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_VFS1);
    sqlite3_mutex_enter(lock);
    if (!ready) {
        sqlite3_vfs *real = sqlite3_vfs_find(NULL), *memory = sqlite3_vfs_find(MEMORY_VFS);
        assert(real); /* a default VFS always exists */
        vfs = *real;
        sqlite3_snprintf(sizeof name, name, "lineage-checked-%p", (void *)&vfs);
        vfs.zName = name;
        vfs.pNext = NULL;
        vfs.pAppData = real;
        vfs.szOsFile = (int)(behind(real) + sizeof(struct checked_file)); /* enough for wrapped and other files */
        vfs.szOsFile += memory ? memory->szOsFile : 0;
        vfs.xOpen = open_file;
        ready = sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
    }
    sqlite3_mutex_leave(lock);
    return ready ? name : NULL;
}

bool checked_pages_scratch_in_memory(void)
{
    return checked_pages_vfs() && sqlite3_vfs_find(MEMORY_VFS);
}

/* The setting takes effect for a file without pages. Other files keep their setting. */
void checked_pages_reserve(sqlite3 *db)
{
    int bytes = CHECKED_BYTES;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}
