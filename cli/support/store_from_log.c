/*
 * store_from_log.c: see store_from_log.h.
 *
 * An agent may append a row to its log while the log is converted. So the log is compared with the state in which it was
 * read immediately before it is replaced.
 */
#include "support/store_from_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LOG "results.tsv"
#define ORIGINAL "results.tsv.original"
#define DIGESTS_NOTE "user.lineage.digests" /* schema/FORMAT.md */

/* The new store while it is being made. The files of the store are renamed in this order: a log without digests gets new
 * ones, but digests without their log look like rows that were removed. */
static const char *const parts[] = {"lineage.json", LOG, ".results.tsv.digests"};
enum { PARTS = sizeof parts / sizeof *parts };

static bool join(char out[PATH_MAX], const char *dir, const char *name)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);
    return n > 0 && n < PATH_MAX;
}

static int failed(const char *what, const char *path)
{
    return cli_error(CLI_SYSTEM, "cannot %s %s: %s", what, path, strerror(errno));
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A store that has rows of its own is refused, because its log would be lost. */
static int check_place(const struct store_from_log *from, const struct stat *log, bool *replaced)
{
    char path[PATH_MAX];
    struct stat st;
    *replaced = false;
    if (!join(path, from->dir, LOG))
        return cli_error(CLI_USAGE, "the path of the store is too long");
    if (stat(path, &st) != 0)
        return CLI_GO_ON;
    *replaced = is_same_file(&st, log);
    return *replaced || st.st_size == 0
               ? CLI_GO_ON
               : cli_error(CLI_USAGE, "%s is there already; `lineage import` adds the rows of %s to a store", path, from->file);
}

static int import(const struct store_from_log *from, const char *made, struct lineage_import_stats *stats)
{
    const struct lineage_open_options options = {.no_mirror = true};
    struct lineage_store *store;
    struct lineage_error err;
    enum lineage_status status = lineage_store_create(made, &from->config, &err);
    if (status == LINEAGE_OK)
        status = lineage_store_open(&store, made, &options, &err);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    status = lineage_import_log(store, from->file, &from->convert, stats, from->report, (void *)(uintptr_t)from->file, &err);
    lineage_store_close(store);
    return status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

/* A link instead of a rename, because results.tsv must not be missing at any moment. An original that an earlier attempt
 * left is the same file. */
static int keep_original(const struct store_from_log *from, const struct stat *log)
{
    char old[PATH_MAX], kept[PATH_MAX];
    struct stat st;
    if (!join(old, from->dir, LOG) || !join(kept, from->dir, ORIGINAL))
        return cli_error(CLI_USAGE, "the path of the store is too long");
    if (stat(old, &st) != 0 || st.st_size != log->st_size || st.st_mtim.tv_sec != log->st_mtim.tv_sec ||
        st.st_mtim.tv_nsec != log->st_mtim.tv_nsec)
        return cli_error(CLI_USAGE, "%s was changed while it was read; try again", old);
    if (link(old, kept) == 0 || (errno == EEXIST && lstat(kept, &st) == 0 && is_same_file(&st, log)))
        return CLI_GO_ON;
    return errno == EEXIST ? cli_error(CLI_USAGE, "%s is there already, and is another file; move it away", kept)
                           : failed("keep the original as", kept);
}

static const char *const mirror[] = {"lineage.db", "lineage.db-wal", "lineage.db-shm"};
enum { MIRROR = sizeof mirror / sizeof *mirror };

static bool sync_path(const char *path, int flags)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    bool synced = fd >= 0 ? fsync(fd) == 0 : errno == ENOENT;
    if (fd >= 0)
        close(fd);
    return synced;
}

/*
 * Makes the earlier renames durable before the next one. The attribute by which a log remembers that it has digests is
 * removed, because a kill or a power failure may leave the log without them; the next append sets it again.
 */
static bool settle(const char *dir, const char *path)
{
    (void)removexattr(path, DIGESTS_NOTE);
    return sync_path(dir, O_DIRECTORY) && sync_path(path, 0);
}

/* The mirror of the old log is removed; the next command makes that of the new one. */
static int put_in_place(const struct store_from_log *from, const char *made)
{
    char path[PATH_MAX], to[PATH_MAX];
    for (size_t i = 0; i < MIRROR; i++)
        if (join(to, from->dir, mirror[i]))
            unlink(to);
    for (size_t i = 0; i < PARTS; i++) {
        if (!join(path, made, parts[i]) || !join(to, from->dir, parts[i]))
            return cli_error(CLI_USAGE, "the path of the store is too long");
        if (!settle(from->dir, path))
            return failed("sync", from->dir);
        if (rename(path, to) == 0)
            continue;
        /* A log without rows becomes a store without results.tsv, which the first append creates. */
        if (errno != ENOENT || (unlink(to) != 0 && errno != ENOENT))
            return failed("make", to);
    }
    return sync_path(from->dir, O_DIRECTORY) ? CLI_GO_ON : failed("sync", from->dir);
}

/* The directory is empty after a success; after a failure it holds files of the new store only. */
static void remove_made(const char *made)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < PARTS + MIRROR; i++)
        if (join(path, made, i < PARTS ? parts[i] : mirror[i - PARTS]))
            unlink(path);
    rmdir(made);
}

int store_from_log(const struct store_from_log *from, struct lineage_import_stats *stats, bool *replaced)
{
    char made[PATH_MAX];
    struct stat log;
    struct lineage_config config = from->config;
    *stats = (struct lineage_import_stats){0};
    if (lineage_is_server(from->dir))
        return cli_error(CLI_USAGE, "--from makes a store in a directory; import the log into a store on a server");
    if (stat(from->file, &log) != 0)
        return cli_error(CLI_USAGE, "--from %s: %s", from->file, strerror(errno));
    int status = check_place(from, &log, replaced);
    if (status != CLI_GO_ON)
        return status;
    if (!join(made, from->dir, ".init-XXXXXX"))
        return cli_error(CLI_USAGE, "the path of the store is too long");
    bool had_dir = access(from->dir, F_OK) == 0;
    if (!had_dir && cli_store_create(from->dir, &config) != CLI_OK) /* makes its parents, too */
        return CLI_SYSTEM;
    if (!mkdtemp(made)) {
        status = failed("make a directory in", from->dir);
    } else {
        status = import(from, made, stats);
        if (status == CLI_GO_ON && *replaced)
            status = keep_original(from, &log);
        if (status == CLI_GO_ON)
            status = put_in_place(from, made);
        remove_made(made);
    }
    if (status != CLI_GO_ON && !had_dir && join(made, from->dir, "lineage.json")) {
        unlink(made);
        rmdir(from->dir);
    }
    return status;
}
