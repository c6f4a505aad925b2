/* import.c: another tool's results.tsv as canonical rows: one write, so all of it or nothing. */
#include <lineage/verify.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../format/row.h"
#include "../mirror/mirror.h"
#include "append.h"
#include "fs.h"
#include "log.h"

struct importing {
    struct lineage_store *store;
    struct row_layout layout;
    bool has_layout;
    struct arena arena;  /* of one row */
    struct arena ids;    /* of all */
    const char **taken;  /* hash table of the ids imported so far */
    size_t n_taken, capacity;
    struct buf out;
    struct lineage_import_stats *stats;
    lineage_finding_fn *report;
    void *context;
};

static void tell(struct importing *in, const char *kind, const struct tsv_record *record, const char *id,
                 const char *text)
{
    struct lineage_finding finding = {kind, record->line, id, text};
    if (in->report)
        in->report(in->context, &finding);
}

/* Slot of the id in an open-addressing table. */
static size_t slot_of(const struct importing *in, const char *id)
{
    size_t slot = (size_t)mirror_digest(id, strlen(id)) & (in->capacity - 1);
    while (in->taken[slot] && strcmp(in->taken[slot], id) != 0)
        slot = (slot + 1) & (in->capacity - 1);
    return slot;
}

static bool grow(struct importing *in)
{
    struct importing larger = *in;
    larger.capacity = in->capacity ? in->capacity * 2 : 256;
    larger.taken = calloc(larger.capacity, sizeof *larger.taken);
    if (!larger.taken)
        return false;
    for (size_t i = 0; i < in->capacity; i++)
        if (in->taken[i])
            larger.taken[slot_of(&larger, in->taken[i])] = in->taken[i];
    free(in->taken);
    in->taken = larger.taken;
    in->capacity = larger.capacity;
    return true;
}

static bool is_taken(struct importing *in, const char *id, enum lineage_status *status, struct lineage_error *err)
{
    bool found = false;
    if (in->capacity && in->taken[slot_of(in, id)])
        return true;
    *status = append_has_id(in->store, id, &found, err);
    return found;
}

static enum lineage_status take(struct importing *in, const char *id, struct lineage_error *err)
{
    if (in->n_taken * 2 >= in->capacity && !grow(in))
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    char *copy = arena_text(&in->ids, id, strlen(id));
    if (!copy)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    in->taken[slot_of(in, copy)] = copy;
    in->n_taken++;
    return LINEAGE_OK;
}

/* The five-column log may hold a commit twice; its later trials become COMMIT-2, COMMIT-3 ... */
static enum lineage_status make_unique(struct importing *in, struct lineage_trial *trial,
                                       const struct tsv_record *record, struct lineage_error *err)
{
    const char *id = trial->exp_id;
    enum lineage_status status = LINEAGE_OK;
    for (unsigned n = 2; is_taken(in, trial->exp_id, &status, err) && status == LINEAGE_OK; n++) {
        struct buf text = {0};
        if (in->layout.shape != ROW_AUTORESEARCH)
            return store_fail(err, LINEAGE_EEXIST, "line %llu: exp_id '%.80s' is already in the store",
                              (unsigned long long)record->line, id);
        buf_printf(&text, "%s-%u", id, n);
        trial->exp_id = text.failed ? NULL : arena_text(&in->arena, text.data, text.length);
        buf_release(&text);
        if (!trial->exp_id)
            return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    }
    if (status == LINEAGE_OK && trial->exp_id != id)
        tell(in, "id", record, trial->exp_id, "imported under this id, because its own was used before");
    return status == LINEAGE_OK ? take(in, trial->exp_id, err) : status;
}

static enum lineage_status import_row(struct importing *in, struct lineage_trial *trial,
                                      const struct tsv_record *record, struct lineage_error *err)
{
    struct lineage_error why = {0};
    trial->core_metric = trial->score;
    enum lineage_status status = row_check(trial, &why);
    if (status != LINEAGE_OK) {
        tell(in, "row", record, trial->exp_id, why.text);
        in->stats->n_left_out++;
        return LINEAGE_OK;
    }
    status = make_unique(in, trial, record, err);
    if (status != LINEAGE_OK)
        return status;
    row_write(&in->out, trial, NULL);
    in->stats->n_rows++;
    return in->out.failed ? store_fail(err, LINEAGE_ENOMEM, "out of memory") : LINEAGE_OK;
}

static enum lineage_status import_record(struct importing *in, struct tsv_reader *reader,
                                         const struct tsv_record *record, const char *metric,
                                         struct lineage_error *err)
{
    struct lineage_trial trial;
    const struct tsv_cell *cells;
    enum row_fault fault;
    char reason[160];
    size_t n;
    enum lineage_status status = tsv_parse(reader, record, &cells, &n, err);
    if (status != LINEAGE_OK)
        return status;
    if (!in->has_layout) {
        status = row_layout_read(&in->layout, cells, n, metric, err);
        in->has_layout = status == LINEAGE_OK;
        return status;
    }
    arena_reset(&in->arena);
    bool is_row = row_read(&trial, &in->layout, cells, n, &in->arena, &fault, reason, &status);
    if (status != LINEAGE_OK)
        return store_fail(err, status, "out of memory");
    if (fault != ROW_SOUND)
        tell(in, "row", record, fault != ROW_NOT_UTF8 && n ? cells[0].text : "", reason);
    in->stats->n_left_out += !is_row;
    return is_row ? import_row(in, &trial, record, err) : LINEAGE_OK;
}

static enum lineage_status import_records(struct importing *in, const struct buf *bytes, const char *metric,
                                          struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    struct tsv_reader *reader = tsv_reader_new();
    enum lineage_status status = reader ? LINEAGE_OK : store_fail(err, LINEAGE_ENOMEM, "out of memory");
    tsv_scanner_init(&scanner, bytes->data, bytes->length, 0, 1);
    while (status == LINEAGE_OK && tsv_scan(&scanner, &record))
        if (record.content)
            status = import_record(in, reader, &record, metric, err);
    tsv_reader_free(reader);
    return status;
}

/* With the lock held. */
static enum lineage_status import_locked(struct importing *in, const struct buf *bytes, const char *metric,
                                         const struct log_stat *end, struct lineage_error *err)
{
    enum lineage_status status = append_catch_up(in->store, end, err);
    const struct row_layout *layout = mirror_layout(in->store->mirror);
    if (status == LINEAGE_OK && log_size(in->store->log) && layout && !layout->identical)
        return store_fail(err, LINEAGE_EINVAL, "%s/results.tsv is not in the canonical form; import into a new store",
                          in->store->dir);
    if (status == LINEAGE_OK && in->store->append->finish_line)
        buf_puts(&in->out, "\n");
    if (status == LINEAGE_OK && log_size(in->store->log) == 0)
        row_write_header(&in->out);
    if (status == LINEAGE_OK)
        status = import_records(in, bytes, metric, err);
    if (status == LINEAGE_OK && in->stats->n_rows)
        status = log_append(in->store->log, in->out.data, in->out.length, true, err);
    append_forget(in->store->append);
    in->store->append->follow_at_close = true;
    return status;
}

enum lineage_status lineage_import(struct lineage_store *store, const char *path, const char *metric,
                                   struct lineage_import_stats *stats, lineage_finding_fn *report, void *context,
                                   struct lineage_error *err)
{
    struct importing in = {.store = store, .stats = stats, .report = report, .context = context};
    struct buf bytes = {0};
    struct log_stat end;
    *stats = (struct lineage_import_stats){0};
    enum lineage_status status = fs_read_file(AT_FDCWD, path, &bytes, err);
    if (status == LINEAGE_OK)
        status = log_lock(store->log, &end, err);
    if (status == LINEAGE_OK) {
        status = import_locked(&in, &bytes, metric, &end, err);
        log_unlock(store->log);
    }
    if (status != LINEAGE_OK)
        *stats = (struct lineage_import_stats){0};
    row_layout_release(&in.layout);
    arena_release(&in.arena);
    arena_release(&in.ids);
    free(in.taken);
    buf_release(&in.out);
    buf_release(&bytes);
    return status;
}
