/* outbox_sync.c: delivers the requests of the outbox. */

#include "../files/fs.h"
#include "../log/log.h"
#include "outbox.h"
#include "receipts.h"

struct syncing {
    struct lineage_store *store;
    struct lineage_sync_stats stats;
    bool foreign_too; /* deliver requests that this user did not bind, too */
    struct lineage_error err; /* the failure that ended the delivery */
};

/* Removes the snapshot of a trial that was not kept on delivery. */
static void drop_snapshot(struct syncing *s, const struct snapshot *snapshot)
{
    if (snapshot->copied && !snapshot->path[0])
        fs_remove_tree(s->store->dir_fd, snapshot->temporary);
}

/* Finds the snapshot that waits under this name. One that cannot be looked at now must not be lost, so the request stays. */
static enum lineage_status find_snapshot(struct syncing *s, struct snapshot *snapshot, const char *waiting,
                                         struct lineage_error *err)
{
    if (!waiting || strlen(waiting) >= sizeof snapshot->temporary)
        return LINEAGE_OK;
    snapshot->copied = fs_is_dir_below(s->store->dir_fd, waiting);
    if (!snapshot->copied && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
        return store_fail_errno(err, LINEAGE_EIO, "cannot look at %s/%s", s->store->dir, waiting);
    strcpy(snapshot->temporary, waiting);
    return LINEAGE_OK;
}

static enum lineage_status deliver(struct syncing *s, struct outbox_request *request, char id[OUTBOX_ID_MAX],
                                   struct lineage_error *err)
{
    SCOPED_ARENA arena = {0};
    struct lineage_append_options options;
    struct lineage_trial *trials;
    struct snapshot snapshot = {0};
    size_t n;
    const char *waiting = json_string_value(json_object_get(request->about, "snapshot"));
    outbox_read_options(&options, request->about);
    TRY(outbox_rows_read(request->about, &arena, &trials, &n, err));
    TRY(find_snapshot(s, &snapshot, waiting, err));
    if (json_is_true(json_object_get(request->about, "many")))
        TRY(outbox_deliver_many(s->store, request, trials, n, &options, err));
    else
        TRY(outbox_deliver(s->store, request, trials, &options, &snapshot, id, err));
    drop_snapshot(s, &snapshot);
    return LINEAGE_OK;
}

/* Whether the request is not needed any more, because another worker has recorded that trial of the night. */
static bool is_over(const struct outbox_request *request, enum lineage_status status)
{
    return status == LINEAGE_EEXIST &&
           json_is_true(json_object_get(json_object_get(request->about, "options"), "once_per_night"));
}

/* Whether the failure is a refusal by the rules, which trying again later would not change. */
static bool is_refusal(enum lineage_status status)
{
    return status == LINEAGE_EINVAL || status == LINEAGE_EEXIST || status == LINEAGE_ENOTFOUND || status == LINEAGE_ELIMIT ||
           status == LINEAGE_ECORRUPT;
}

/* Acts on the result of one delivery. Returns false and sets s->err if the server or this machine is at fault, because
 * then the other requests would fail too. */
static bool judge(struct syncing *s, struct outbox_file *file, const struct outbox_request *request, enum lineage_status status,
                  const char *id, const struct lineage_error *why)
{
    char name[OUTBOX_NAME_MAX];
    if (status == LINEAGE_OK) {
        s->stats.n_delivered++;
        store_notice(s->store, 0, "%s is delivered%s%s", request->id, id[0] ? " as " : "", id);
        outbox_remove(file, s->store->dir_fd);
    } else if (is_over(request, status)) {
        store_notice(s->store, 0, "%s is not needed any more: %s", request->id, why->text);
        outbox_remove(file, s->store->dir_fd);
    } else if (is_refusal(status)) {
        s->stats.n_refused++;
        outbox_refuse(file, s->store->dir_fd, name);
        store_notice(s->store, 0, "%s is refused: %s; it is kept in %s/%s", request->id, why->text, s->store->dir, name);
    } else {
        s->stats.n_waiting++;
        s->err = *why;
        s->err.status = status;
    }
    return s->err.status == LINEAGE_OK;
}

/* Only a person can decide what to do about a damaged file, so each command that delivers reports it again. */
static bool visit_damaged(struct syncing *s, const char *name)
{
    s->stats.n_damaged++;
    store_notice(s->store, 0,
                 "%s/%s is damaged: it holds a trial that was acknowledged and cannot be read; "
                 "take what can be "
                 "read of it, append that, and remove the file",
                 s->store->dir, name);
    return true;
}

/* Only the user knows whether such a trial is their own. */
static bool visit_foreign(struct syncing *s, const char *name)
{
    s->stats.n_foreign++;
    store_notice(s->store, 0,
                 "%s/%s is not delivered, because this user did not write it on this machine for %s; if it is yours (an earlier "
                 "version, another machine, a renamed server): `lineage sync --foreign`",
                 s->store->dir, name, s->store->log->place);
    return true;
}

/* After the first failure the remaining requests are only counted. */
static bool visit(void *context, struct outbox_file *file, json_t *about)
{
    struct syncing *s = context;
    struct outbox_request request = {.about = about, .file = file, .delivered = true};
    struct lineage_error why = {0};
    char id[OUTBOX_ID_MAX] = "";
    if (!about)
        return visit_damaged(s, file->name);
    if (!s->foreign_too && !outbox_is_bound(about, s->store))
        return visit_foreign(s, file->name);
    if (s->err.status != LINEAGE_OK) {
        s->stats.n_waiting++;
        return true;
    }
    if (!outbox_read_id(&request, json_string_value(json_object_get(about, "request"))))
        snprintf(request.id, sizeof request.id, "%.40s", file->name);
    enum lineage_status status = deliver(s, &request, id, &why);
    judge(s, file, &request, status, id, &why);
    return true;
}

static enum lineage_status sync_outbox(struct lineage_store *store, bool foreign_too, struct lineage_sync_stats *stats,
                                       struct lineage_error *err)
{
    struct syncing s = {.store = store, .foreign_too = foreign_too};
    size_t n_held = 0, n_again = 0;
    enum lineage_status status = store_check_owner(store, err);
    store->log->appending = true;
    if (status == LINEAGE_OK &&
        log_has_requests(store->log)) /* before the others, so that ids and parents are the earlier ones */
        s.err.status = receipts_deliver(store, &n_again, &s.err);
    s.stats.n_delivered += n_again;
    if (status == LINEAGE_OK && log_has_requests(store->log))
        status = outbox_each(store->dir_fd, visit, &s, &n_held, err);
    s.stats.n_waiting += n_held;
    if (stats)
        *stats = s.stats;
    if (status == LINEAGE_OK && s.err.status != LINEAGE_OK) {
        status = s.err.status;
        if (err)
            *err = s.err;
    }
    if (status == LINEAGE_OK && s.stats.n_damaged)
        status =
            store_fail(err, LINEAGE_ECORRUPT, "%s/outbox: %zu damaged files that may hold trials", store->dir, s.stats.n_damaged);
    return status;
}

enum lineage_status lineage_sync(struct lineage_store *store, struct lineage_sync_stats *stats, struct lineage_error *err)
{
    return sync_outbox(store, false, stats, err);
}

enum lineage_status lineage_sync_all(struct lineage_store *store, struct lineage_sync_stats *stats, struct lineage_error *err)
{
    return sync_outbox(store, true, stats, err);
}

/* Called for a handle that left a request in the outbox, because the handle may live long and perhaps no other process
 * will deliver the request. */
void outbox_deliver_waiting(struct lineage_store *store)
{
    struct lineage_sync_stats stats;
    store->append->outbox_waits = lineage_sync(store, &stats, NULL) != LINEAGE_OK;
}
