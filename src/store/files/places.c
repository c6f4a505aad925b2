/*
 * places.c: names of the files of a store.
 *
 * They are defined in one file because three others rely on them: FORMAT.md promises that the store does not touch
 * other files; a snapshot of a directory that contains the store must not copy the store into itself; and `verify`
 * finds the row of a file by the file's name.
 */
#include "places.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "../fail.h"
#include "../format/arena.h"
#include "fs.h"

/* Makes the name of a new directory durable; otherwise a power failure could remove the directory with all rows that were
 * acknowledged meanwhile. A parent that this user must not read cannot be synced. */
static enum lineage_status sync_parent(const char *dir, struct lineage_error *err)
{
    SCOPED_BUF parent = {0};
    buf_printf(&parent, "%s/..", dir);
    if (parent.failed)
        return store_no_memory(err);
    SCOPED_FD fd = fs_open(AT_FDCWD, parent.data, O_RDONLY | O_DIRECTORY, 0);
    const bool ok = fd >= 0 ? fs_sync_dir(fd) == 0 : errno == EACCES;
    return ok ? LINEAGE_OK : store_fail_errno(err, LINEAGE_EIO, "cannot sync the parent of %s", dir);
}

/* Creates the directory but not its parents, like mkdir. */
enum lineage_status store_dir_make(const char *dir, struct lineage_error *err)
{
    const bool there = fs_is_dir(AT_FDCWD, dir);
    if (fs_mkdir(AT_FDCWD, dir) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot make the directory %s", dir);
    return there ? LINEAGE_OK : sync_parent(dir, err);
}

enum lineage_status store_dir_open(int *fd, const char *dir, struct lineage_error *err)
{
    *fd = fs_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
    if (*fd >= 0)
        return LINEAGE_OK;
    return store_fail_errno(err, errno == ENOENT || errno == ENOTDIR ? LINEAGE_ENOTFOUND : LINEAGE_EIO,
                            "cannot open the store %s", dir);
}

/* Jujutsu (.jj) reads .gitignore, too. Mercurial does not, but its purge takes a store away as git's clean does. */
bool store_dir_in_repository(int dir_fd)
{
    static const char *const marks[] = {".git", ".jj", ".hg"};
    struct stat at, above;
    SCOPED_BUF path = {0};
    bool found = false, more = fs_stat(dir_fd, ".", 0, &at) == 0;
    buf_puts(&path, "./");
    while (more && !found && !path.failed) {
        for (size_t i = 0; !found && i < sizeof marks / sizeof *marks; i++) {
            const size_t length = path.length;
            buf_puts(&path, marks[i]);
            found = !path.failed && fs_stat(dir_fd, path.data, 0, &above) == 0;
            buf_truncate(&path, length);
        }
        buf_puts(&path, "../");
        more = fs_stat(dir_fd, path.data, 0, &above) == 0 && (above.st_ino != at.st_ino || above.st_dev != at.st_dev);
        at = above;
    }
    return found;
}

static bool is_empty_dir(int dir_fd)
{
    SCOPED_LIST list = fs_list_at(dir_fd, ".", 0);
    bool empty = list && !fs_next(list);
    return empty;
}

enum lineage_status store_dir_ignore(int dir_fd, bool in_repository, struct lineage_error *err)
{
    static const char text[] = "# made by lineage: git must not take back the rows of a store (see lineage help nights)\n*\n";
    return in_repository && is_empty_dir(dir_fd) ? fs_replace(dir_fd, ".gitignore", text, sizeof text - 1, false, err)
                                                 : LINEAGE_OK;
}

/* With `.json` and the suffix of a temporary file, a longer name would exceed NAME_MAX. */
#define LONGEST_ID 200
#define JSON ".json"

/* An id is untrusted text: it may be `../results` or begin with a dot. An id that is not a plain file name cannot have
 * telemetry, and is refused before anything is written. */
bool place_telemetry(char path[PLACE_MAX], const char *exp_id)
{
    size_t length = strlen(exp_id);
    if (!length || length > LONGEST_ID || exp_id[0] == '.' || strchr(exp_id, '/'))
        return false;
    snprintf(path, PLACE_MAX, PLACE_TELEMETRY "/%s" JSON, exp_id);
    return true;
}

/* A name with a leading dot is a temporary file of fs_replace and belongs to no row. */
bool place_telemetry_id(char id[PLACE_MAX], const char *name)
{
    size_t length = strlen(name), extension = sizeof JSON - 1;
    if (length <= extension || length >= PLACE_MAX || name[0] == '.' || strcmp(name + length - extension, JSON) != 0)
        return false;
    snprintf(id, PLACE_MAX, "%.*s", (int)(length - extension), name);
    return true;
}

/* Adds text to a file name, replacing slashes and control characters by `_`. Specialists are free text
 * (`reward/shaping`), so two of them may give the same name; the later row's snapshot then gets a number (name_snapshot
 * in appending.c). */
static void add_name(char *out, const char *text, size_t max)
{
    size_t n = strlen(out);
    for (size_t i = 0; text[i] && i < max; i++)
        out[n++] = text[i] == '/' || (unsigned char)text[i] < 0x20 ? '_' : text[i];
    out[n] = '\0';
}

/* 120 bytes, 100 bytes, a separator and a number together stay below NAME_MAX (255). */
bool place_snapshot(char path[PLACE_MAX], const char *exp_id, const char *specialist)
{
    strcpy(path, PLACE_SNAPSHOTS "/");
    add_name(path, exp_id, 120);
    add_name(path, "_", 1);
    add_name(path, specialist, 100);
    return exp_id[0] != '.';
}

void place_snapshot_again(char path[PLACE_MAX], const char *exp_id, const char *specialist, unsigned n)
{
    place_snapshot(path, exp_id, specialist);
    snprintf(path + strlen(path), 16, "-%u", n);
}

#define COPY ".copy-"

/* The name contains the process id and an address, because two handles of one process may copy at once. The name only
 * has to be unused. A lock shows whether the copy is abandoned, because the id of a dead process may be reused. */
void place_snapshot_copy(char path[PLACE_MAX], const void *owner, unsigned n)
{
    snprintf(path, PLACE_MAX, PLACE_SNAPSHOTS "/" COPY "%ld-%lx-%u", (long)getpid(), (unsigned long)(uintptr_t)owner, n);
}

bool place_is_snapshot_copy(const char *name)
{
    return strncmp(name, COPY, sizeof COPY - 1) == 0;
}

bool place_is_own(const char *name)
{
    static const char *const names[] = {PLACE_CONFIG,    PLACE_MIRROR "-wal", PLACE_MIRROR "-shm", PLACE_MIRROR "-journal",
                                        PLACE_MIRROR,    PLACE_TELEMETRY,     PLACE_SNAPSHOTS,     PLACE_CHECKPOINTS,
                                        PLACE_KNOWLEDGE, PLACE_RENDERED,      PLACE_REMARKS,       PLACE_INSIGHTS,
                                        PLACE_LOGS,      PLACE_PROVENANCE,    PLACE_SERVER,        PLACE_OUTBOX,
                                        PLACE_CODE,      PLACE_HELD_OUT,      PLACE_EXAMPLES};
    /* The parentheses around a joined literal show that it is one string, and that no comma was forgotten. */
    static const char *const beginnings[] = {PLACE_RESULTS, PLACE_TRIAL, ("." PLACE_RESULTS), ("." PLACE_DIGESTS)};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

static void place_torn(char name[64], unsigned n)
{
    snprintf(name, 64, PLACE_RESULTS ".torn-%u", n);
}

/* The check is strict, because a user gives this name, and `restore` reads the file and then removes it: no path and no
 * other file of the store may pass. */
bool place_is_torn(const char *name)
{
    static const char beginning[] = PLACE_RESULTS ".torn-";
    size_t n = sizeof beginning - 1;
    return strncmp(name, beginning, n) == 0 && name[n] && strspn(name + n, "0123456789") == strlen(name + n);
}

/* Uses O_EXCL and a new number, because a file from an earlier crash also contains a record that must be kept. An
 * incomplete copy is removed again; otherwise `restore` would mistake it for the record. */
static enum lineage_status save(int dir_fd, const char *place, const char *bytes, size_t length, char name[64],
                                struct lineage_error *err)
{
    for (unsigned n = 1;; n++) {
        place_torn(name, n);
        int fd = fs_open(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd < 0 && errno == EEXIST)
            continue;
        bool saved = fd >= 0 && fs_write_all(fd, bytes, length) == 0 && fs_sync(fd) == 0;
        if (!saved)
            store_fail_errno(err, LINEAGE_EIO, "cannot save the torn record of %s to %s", place, name);
        if (fd >= 0)
            close(fd);
        if (!saved && fd >= 0)
            fs_unlink(dir_fd, name);
        return saved ? LINEAGE_OK : LINEAGE_EIO;
    }
}

enum lineage_status torn_save(int dir_fd, const char *place, const char *bytes, size_t length, char name[64],
                              struct lineage_error *err)
{
    TRY(save(dir_fd, place, bytes, length, name, err));
    if (fs_sync_dir(dir_fd) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot sync the directory of %s", place);
    return LINEAGE_OK;
}
