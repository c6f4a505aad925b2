/* blobs.c: decides which stores have blobs and which files can be blobs. */
#include <fcntl.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../questions/questions.h"
#include "../log/log.h"
#include "blobs.h"
#include "blobs_backend.h"

static bool is_below(const char *name, const char *place)
{
    size_t n = strlen(place);
    const char *base = name + n + 1;
    return strncmp(name, place, n) == 0 && name[n] == '/' && *base && *base != '.' && !strchr(base, '/') &&
           strlen(name) < PLACE_MAX;
}

static enum lineage_status check_name(const struct lineage_store *store, const char *name, struct lineage_error *err)
{
    if (is_below(name, PLACE_SNAPSHOTS) || is_below(name, PLACE_CHECKPOINTS) || is_below(name, PLACE_CODE))
        return store_check_owner(store, err);
    return store_fail(err, LINEAGE_EINVAL,
                      "'%.80s' is not " PLACE_SNAPSHOTS "/NAME, " PLACE_CHECKPOINTS "/NAME or " PLACE_CODE "/NAME", name);
}

static bool is_there(const struct lineage_store *store, const char *name)
{
    struct stat st;
    return fs_stat(store->dir_fd, name, AT_SYMLINK_NOFOLLOW, &st) == 0;
}

enum lineage_status blobs_offer(struct lineage_store *store, const char *path, struct lineage_error *err)
{
    return log_has_requests(store->log) ? blobs_send(store, path, NULL, err) : LINEAGE_OK;
}

bool blobs_has(struct lineage_store *store, const char *name)
{
    return log_has_requests(store->log) && check_name(store, name, NULL) == LINEAGE_OK &&
           blobs_find(store, name, NULL) == LINEAGE_OK;
}

enum lineage_status lineage_blob_put(struct lineage_store *store, const char *name, struct lineage_error *err)
{
    TRY(check_name(store, name, err));
    if (!log_has_requests(store->log))
        return LINEAGE_OK;
    if (!is_there(store, name))
        return errno == ENOENT ? store_fail(err, LINEAGE_ENOTFOUND, "%s/%s is not there", store->dir, name)
                               : store_fail_errno(err, LINEAGE_EIO, "cannot look at %s/%s", store->dir, name);
    return blobs_send(store, name, name, err);
}

/* Fetching has a lock of its own, so that one worker fetches the blob and the others wait for it. */
enum lineage_status lineage_blob_get(struct lineage_store *store, const char *name, struct lineage_error *err)
{
    enum lineage_status status = check_name(store, name, err);
    if (status != LINEAGE_OK || is_there(store, name))
        return status;
    if (!log_has_requests(store->log))
        return LINEAGE_ENOTFOUND;
    SCOPED_FD lock = fs_open(store->dir_fd, PLACE_FETCH_LOCK, O_RDWR | O_CREAT, 0666);
    if (lock < 0 || fs_lock(lock, true) != 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot lock %s/" PLACE_FETCH_LOCK, store->dir);
    else if (!is_there(store, name))
        status = blobs_bring(store, name, err);
    return status;
}

static void add_name(void *context, const struct lineage_trial *trial)
{
    struct buf *names = context;
    buf_puts(names, names->length > 1 ? ",\"" : "\"");
    for (const char *c = trial->snapshot_path; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_put(names, '\\');
        buf_put(names, *c);
    }
    buf_put(names, '"');
}

enum lineage_status lineage_blobs_clean(struct lineage_store *store, double days, struct lineage_blob_stats *stats,
                                        struct lineage_error *err)
{
    SCOPED_BUF names = {0};
    *stats = (struct lineage_blob_stats){0};
    TRY(store_check_owner(store, err));
    if (!log_has_requests(store->log))
        return LINEAGE_OK;
    buf_puts(&names, "{");
    enum lineage_status status = mirror_sync(store->mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_each_snapshot(store->mirror, add_name, &names, err);
    buf_puts(&names, "}");
    if (status == LINEAGE_OK && names.failed)
        status = store_no_memory(err);
    if (status == LINEAGE_OK)
        status = blobs_clean_server(store, names.data, days, stats, err);
    return status;
}
