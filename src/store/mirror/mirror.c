/* mirror.c: keeping the mirror in step with the log, and falling back to memory when the disk
 * cannot serve. */
#include "mirror.h"

#include <stdlib.h>
#include <string.h>

#include "internal.h"

bool mirror_on_disk(const struct mirror *mirror)
{
    return mirror->on_disk;
}

sqlite3 *mirror_db(struct mirror *mirror)
{
    return mirror->db;
}

const struct mirror_position *mirror_position(const struct mirror *mirror)
{
    return &mirror->meta.at;
}

const struct row_layout *mirror_layout(const struct mirror *mirror)
{
    return mirror->has_layout ? &mirror->layout : NULL;
}

void mirror_close(struct mirror *mirror)
{
    if (!mirror)
        return;
    mirror_disconnect(mirror);
    tsv_reader_free(mirror->reader);
    buf_release(&mirror->header);
    arena_release(&mirror->notes_arena);
    free(mirror);
}

const struct lineage_error *mirror_fallback(const struct mirror *mirror)
{
    return mirror->fallback.status == LINEAGE_OK ? NULL : &mirror->fallback;
}

static enum lineage_status use_memory(struct mirror *mirror, const struct lineage_error *why,
                                      struct lineage_error *err)
{
    mirror->fallback = *why;
    store_notice(mirror->store, why->line, "%s; answering from results.tsv itself", why->text);
    return mirror_connect(mirror, false, err);
}

/* Nothing to do: every byte of the file as it is now has been read, and nothing else happened to
 * it. */
static bool is_current(const struct mirror *mirror, const struct log_stat *stat)
{
    const struct mirror_meta *meta = &mirror->meta;
    return stat->size == meta->at.size && stat->inode == meta->at.inode &&
           stat->device == meta->at.device && stat->mtime_ns == meta->mtime_ns;
}

static enum lineage_status load_meta(struct mirror *mirror, struct lineage_error *err)
{
    char metric[LINEAGE_NAME_MAX];
    enum lineage_status status = mirror_load_meta(mirror, metric, err);
    mirror->other_metric =
        status == LINEAGE_OK && strcmp(metric, mirror->store->config.metric) != 0;
    if (mirror->other_metric)
        status = store_fail(err, LINEAGE_ECORRUPT, "lineage.db was made for the score column '%s'",
                            metric[0] ? metric : "core_metric or val_bpb");
    return status;
}

static enum lineage_status report_change(struct mirror *mirror, struct lineage_error *err)
{
    uint64_t line = 0;
    enum lineage_status status = mirror_first_change(mirror, &line, err);
    if (status != LINEAGE_OK)
        return status;
    store_fail(err, LINEAGE_ECORRUPT,
               "results.tsv:%llu: changed since lineage.db was made; run 'lineage rebuild'",
               (unsigned long long)line);
    if (err)
        err->line = line;
    return LINEAGE_ECORRUPT;
}

/* Inside the transaction: another process may have read on meanwhile. */
static enum lineage_status check_and_ingest(struct mirror *mirror, struct lineage_error *err)
{
    struct log_stat stat;
    bool same = true;
    enum lineage_status status = load_meta(mirror, err);
    if (status == LINEAGE_OK)
        status = log_stat(mirror->store->log, &stat, err);
    if (status != LINEAGE_OK || is_current(mirror, &stat))
        return status;
    status = mirror_check_ends(mirror, &stat, &same, err);
    if (status != LINEAGE_OK)
        return status;
    return same ? mirror_ingest(mirror, &stat, err) : report_change(mirror, err);
}

static enum lineage_status catch_up(struct mirror *mirror, bool anew, struct lineage_error *err)
{
    enum lineage_status status = mirror_exec(mirror, "BEGIN IMMEDIATE", err);
    if (status != LINEAGE_OK)
        return status;
    if (anew)
        status = mirror_start_anew(mirror, err);
    if (status == LINEAGE_OK)
        status = check_and_ingest(mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_exec(mirror, "COMMIT", err);
    mirror->loaded = status == LINEAGE_OK;
    if (status == LINEAGE_OK) {
        mirror_share(mirror);
        return LINEAGE_OK;
    }
    sqlite3_exec(mirror->db, "ROLLBACK", NULL, NULL, NULL);
    mirror->meta = mirror_meta_start();
    return status;
}

/* Where nothing is new, not even the mirror's own lock is taken. */
static enum lineage_status sync_connection(struct mirror *mirror, struct lineage_error *err)
{
    struct log_stat stat;
    enum lineage_status status = log_stat(mirror->store->log, &stat, err);
    if (status == LINEAGE_OK && !mirror->loaded) {
        status = load_meta(mirror, err);
        mirror->loaded = status == LINEAGE_OK;
    }
    if (status != LINEAGE_OK || is_current(mirror, &stat))
        return status;
    return catch_up(mirror, false, err);
}

/* A header that cannot be used is the file's fault, not the mirror's: memory would not help. */
static bool memory_would_help(const struct mirror *mirror, const struct lineage_error *why)
{
    return mirror->on_disk &&
           (why->status == LINEAGE_EDB || why->status == LINEAGE_ELOCKED ||
            (why->status == LINEAGE_ECORRUPT && strncmp(why->text, "results.tsv:1: no", 17) != 0));
}

enum lineage_status mirror_open(struct mirror **out, struct lineage_store *store,
                                struct lineage_error *err)
{
    struct mirror *mirror = calloc(1, sizeof *mirror);
    struct lineage_error why = {0};
    enum lineage_status status;
    *out = NULL;
    if (!mirror || !(mirror->reader = tsv_reader_new())) {
        mirror_close(mirror);
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    }
    mirror->store = store;
    status = mirror_connect(mirror, !store->options.no_mirror, &why);
    if (status != LINEAGE_OK && mirror->on_disk)
        status = use_memory(mirror, &why, err);
    if (status != LINEAGE_OK)
        mirror_close(mirror);
    else
        *out = mirror;
    return status;
}

enum lineage_status mirror_sync(struct mirror *mirror, struct lineage_error *err)
{
    struct lineage_error why = {0};
    enum lineage_status status = sync_connection(mirror, &why);
    if (status != LINEAGE_OK && mirror->other_metric) {
        store_notice(mirror->store, 0, "%s; making it anew", why.text);
        status = mirror_rebuild(mirror, &why);
    }
    if (status == LINEAGE_OK)
        return status;
    if (!memory_would_help(mirror, &why)) {
        if (err)
            *err = why;
        return status;
    }
    status = use_memory(mirror, &why, err);
    return status == LINEAGE_OK ? sync_connection(mirror, err) : status;
}

void mirror_follow(struct mirror *mirror)
{
    struct lineage_error why = {0};
    if (sync_connection(mirror, &why) != LINEAGE_OK)
        store_notice(mirror->store, why.line,
                     "the row is safe in results.tsv, but not yet in the mirror: %s", why.text);
}

/* In one transaction, so that others read the old mirror until the new one is whole. One that
 * cannot be used at all (damaged, made by a newer program) is emptied first. */
enum lineage_status mirror_rebuild(struct mirror *mirror, struct lineage_error *err)
{
    mirror->fallback = (struct lineage_error){0};
    enum lineage_status status = mirror_connect(mirror, true, NULL);
    if (status == LINEAGE_OK)
        status = catch_up(mirror, true, NULL);
    if (status == LINEAGE_OK)
        return status;
    status = mirror_connect_anew(mirror, err);
    return status == LINEAGE_OK ? sync_connection(mirror, err) : status;
}
