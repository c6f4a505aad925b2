/*
 * restore.c: puts a torn record that a writer moved aside back into the log.
 *
 * Only a person can say whether a record without a line end was complete, so it is moved aside automatically but put
 * back only by a person's command. The command claims the log and adds the records like an import, all of them or none.
 */
#include <lineage/store.h>
#include <lineage/verify.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../mirror/mirror.h"
#include "acknowledged.h"
#include "append_state.h"
#include "catch_up.h"
#include "../fail.h"

/* ---- a store whose rows are gone, and comes back from what this user acknowledged (acknowledged.h) ---- */

enum lineage_status lineage_store_restore(const char *dir, struct lineage_error *err)
{
    RELEASED_BY(acknowledged_lost_release) struct acknowledged_lost lost;
    SCOPED_FD dir_fd = -1;
    acknowledged_find(&lost, dir);
    if (!lost.rows)
        return store_fail(err, LINEAGE_ENOTFOUND,
                          "no store in %s, and no acknowledged rows of one that was there are known to this user", dir);
    TRY(store_dir_make(dir, err));
    TRY(store_dir_open(&dir_fd, dir, err));
    TRY(store_dir_ignore(dir_fd, store_dir_in_repository(dir_fd), err));
    if (lost.settings.length)
        TRY(fs_replace(dir_fd, PLACE_CONFIG, lost.settings.data, lost.settings.length, true, err));
    return fs_create(dir_fd, PLACE_RESULTS, lost.results.data, lost.results.length, NULL, err);
}

void lineage_store_forget(const char *dir)
{
    acknowledged_set_aside(dir);
}

size_t lineage_store_lost(const char *dir)
{
    struct acknowledged_lost lost;
    acknowledged_find(&lost, dir);
    acknowledged_lost_release(&lost);
    return lost.rows;
}

/* A record is put back unchanged, because the person vouches for it. Its id must be unused, because the trial may have
 * been run again with the same id since the crash. */
static enum lineage_status check_record(struct lineage_store *store, struct tsv_reader *reader, const struct tsv_record *record,
                                        struct arena *arena, struct lineage_error *err)
{
    struct lineage_trial trial;
    const struct tsv_cell *cells;
    enum row_fault fault;
    char reason[160];
    bool used = false;
    size_t n;
    enum lineage_status status;
    TRY(tsv_parse(reader, record, &cells, &n, err));
    bool is_row = row_read(&trial, mirror_layout(store->mirror), cells, n, arena, &fault, reason, &status);
    if (status != LINEAGE_OK)
        return store_no_memory(err);
    if (!is_row || fault != ROW_SOUND || record->in_quotes)
        return store_fail(err, LINEAGE_EINVAL, "line %llu is not a sound row: %s", (unsigned long long)record->line,
                          record->in_quotes ? "a quote is never closed" : reason);
    TRY(append_has_id(store, trial.exp_id, &used, err));
    return used ? store_fail(err, LINEAGE_EEXIST, "exp_id '%.80s' is already in %s", trial.exp_id, store->log->place)
                : LINEAGE_OK;
}

/* Collects the records to append, each with a line end. */
static enum lineage_status collect(struct lineage_store *store, const struct buf *bytes, struct buf *out, size_t *n_rows,
                                   struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    SCOPED_ARENA arena = {0};
    SCOPED_READER reader = tsv_reader_new();
    enum lineage_status status = reader ? LINEAGE_OK : store_no_memory(err);
    if (status == LINEAGE_OK && !mirror_layout(store->mirror))
        status = store_fail(err, LINEAGE_EINVAL, "%s has no header yet", store->log->place);
    tsv_scanner_init(&scanner, bytes->data, bytes->length, 0, 1);
    while (status == LINEAGE_OK && tsv_scan(&scanner, &record)) {
        if (!record.content)
            continue;
        status = check_record(store, reader, &record, &arena, err);
        buf_add(out, record.bytes, record.content);
        buf_puts(out, "\n");
        ++*n_rows;
    }
    if (status == LINEAGE_OK && out->failed)
        status = store_no_memory(err);
    return status;
}

/* Call it under the claim. */
static enum lineage_status put_back(struct lineage_store *store, const struct buf *bytes, struct log_state *end, size_t *n_rows,
                                    struct lineage_error *err)
{
    SCOPED_BUF out = {0};
    enum lineage_status status = append_catch_up_and(store, end, NULL, NULL, err);
    if (status == LINEAGE_OK && store->append->finish_line)
        buf_puts(&out, "\n");
    if (status == LINEAGE_OK)
        status = collect(store, bytes, &out, n_rows, err);
    if (status == LINEAGE_OK && *n_rows)
        status = log_append_many(store->log, end, out.data, out.length, true, err);
    append_forget(store->append);
    if (store->append)
        store->append->follow_at_close = true;
    return status;
}

/* Puts the acknowledged rows back that are gone. The copy of them is read under the claim, because other writers add to it. A log
 * without a header is made again as a whole. */
static enum lineage_status restore_gone(struct lineage_store *store, size_t *n_rows, struct lineage_error *err)
{
    struct log_state end;
    SCOPED_BUF rows = {0};
    TRY(log_look(store->log, &end, err));
    if (!end.size && lineage_store_lost(store->dir)) {
        *n_rows = lineage_store_lost(store->dir);
        return lineage_store_restore(store->dir, err);
    }
    TRY(append_get_ready(store, false, err));
    TRY(log_claim(store->log, &end, err));
    enum lineage_status status = LINEAGE_OK;
    if (acknowledged_missing(store, &rows, NULL))
        status = rows.failed ? store_no_memory(err) : put_back(store, &rows, &end, n_rows, err);
    log_release(store->log);
    return status == LINEAGE_OK && *n_rows ? mirror_replace(store->mirror, err) : status;
}

enum lineage_status lineage_restore(struct lineage_store *store, const char *name, size_t *n_rows, struct lineage_error *err)
{
    SCOPED_BUF bytes = {0};
    struct log_state end;
    *n_rows = 0;
    TRY(store_check_owner(store, err));
    if (!name)
        return restore_gone(store, n_rows, err);
    if (!place_is_torn(name))
        return store_fail(err, LINEAGE_EINVAL,
                          "'%.80s' is not the name of a file that a record was moved to (" PLACE_RESULTS ".torn-N)", name);
    TRY(fs_read_file(store->dir_fd, name, &bytes, err));
    TRY(append_get_ready(store, false, err));
    TRY(log_claim(store->log, &end, err));
    enum lineage_status status = put_back(store, &bytes, &end, n_rows, err);
    log_release(store->log);
    /* The file is removed last. If the process is killed before this, the rows are in the log and the file still
     * exists; a second restore is then refused, because the ids are used. */
    if (status == LINEAGE_OK && fs_unlink(store->dir_fd, name) != 0)
        status = store_fail_errno(err, LINEAGE_EIO, "the rows are back, but %s cannot be removed", name);
    if (status != LINEAGE_OK)
        *n_rows = 0;
    return status;
}
