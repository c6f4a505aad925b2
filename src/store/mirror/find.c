/* find.c: one trial by id, and the best one. */
#include <lineage/query.h>

#include "internal.h"

enum lineage_status mirror_borrow(struct mirror *mirror, int64_t seq, struct lineage_trial *trial,
                                  struct arena *arena, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(
        mirror, &stmt, "SELECT " TRIAL_COLUMNS " FROM trials t WHERE t.seq = ?", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_int64(stmt, 1, seq);
    status = mirror_step(mirror, stmt, err);
    if (status == LINEAGE_OK)
        status = mirror_trial(mirror, stmt, trial, arena, err);
    sqlite3_reset(stmt);
    return status;
}

enum lineage_status mirror_load(struct mirror *mirror, int64_t seq, struct lineage_trial *trial,
                                struct lineage_error *err)
{
    *trial = (struct lineage_trial){0};
    struct arena *arena = trial_memory(trial);
    enum lineage_status status = arena ? mirror_borrow(mirror, seq, trial, arena, err)
                                       : store_fail(err, LINEAGE_ENOMEM, "out of memory");
    if (status != LINEAGE_OK)
        lineage_trial_release(trial);
    return status;
}

enum lineage_status mirror_resolve(struct mirror *mirror, const char *id, int64_t *seq,
                                   struct lineage_error *err)
{
    enum lineage_status status = mirror_sync(mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_find(mirror, id, seq, err);
    if (status == LINEAGE_ENOTFOUND)
        return store_fail(err, LINEAGE_ENOTFOUND, "no trial '%.80s' in %s", id, mirror->store->dir);
    return status;
}

enum lineage_status lineage_find(struct lineage_store *store, const char *id,
                                 struct lineage_trial *trial, struct lineage_error *err)
{
    int64_t seq = 0;
    *trial = (struct lineage_trial){0};
    enum lineage_status status = mirror_resolve(store->mirror, id, &seq, err);
    return status == LINEAGE_OK ? mirror_load(store->mirror, seq, trial, err) : status;
}

enum lineage_status lineage_best(struct lineage_store *store, struct lineage_trial *trial,
                                 struct lineage_error *err)
{
    int64_t seq = 0;
    double score;
    *trial = (struct lineage_trial){0};
    enum lineage_status status = mirror_sync(store->mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_best(store->mirror, &seq, &score, err);
    if (status == LINEAGE_ENOTFOUND)
        return store_fail(err, LINEAGE_ENOTFOUND,
                          "%s has no kept or baseline trial with a finite %s", store->dir,
                          lineage_store_metric(store));
    return status == LINEAGE_OK ? mirror_load(store->mirror, seq, trial, err) : status;
}
