/* append_state.c: what a writing handle knows of the end of the file, and mending a torn one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "../mirror/mirror.h"
#include "append.h"

/* The id of a row that the mirror has not seen. */
struct tail_id {
    UT_hash_handle hh;
    const char *id;
};

void append_forget(struct append_state *state)
{
    HASH_CLEAR(hh, state->ids);
    arena_release(&state->arena);
    state->n_ids = 0;
    state->valid = false;
    state->finish_line = false;
}

void append_close(struct lineage_store *store)
{
    struct append_state *state = store->append;
    if (!state)
        return;
    if (state->follow_at_close)
        mirror_follow(store->mirror);
    append_forget(state);
    free(state->best_id);
    free(state);
    store->append = NULL;
}

static bool same_file(const struct log_stat *a, const struct log_stat *b)
{
    return a->inode == b->inode && a->device == b->device && a->size == b->size;
}

/* An unterminated header is whole only if it is the canonical one. */
static enum lineage_status is_whole_header(struct tsv_reader *reader, const struct tsv_record *record, bool *whole,
                                           struct lineage_error *err)
{
    struct row_layout layout;
    const struct tsv_cell *cells;
    size_t n;
    enum lineage_status status = tsv_parse(reader, record, &cells, &n, err);
    if (status != LINEAGE_OK)
        return status;
    *whole = row_layout_read(&layout, cells, n, NULL, NULL) == LINEAGE_OK && layout.identical;
    row_layout_release(&layout);
    return LINEAGE_OK;
}

/* An unterminated record is whole if it reads as a sound row: right number of cells, label, numbers, text. */
static enum lineage_status is_whole_row(struct tsv_reader *reader, const struct tsv_record *record,
                                        const struct row_layout *layout, bool *whole, struct lineage_error *err)
{
    struct lineage_trial trial;
    struct arena arena = {0};
    const struct tsv_cell *cells;
    enum row_fault fault;
    char reason[160];
    size_t n;
    enum lineage_status status = tsv_parse(reader, record, &cells, &n, err);
    if (status == LINEAGE_OK)
        *whole = row_read(&trial, layout, cells, n, &arena, &fault, reason, &status) && fault == ROW_SOUND;
    arena_release(&arena);
    return status == LINEAGE_ENOMEM ? store_fail(err, status, "out of memory") : status;
}

static enum lineage_status examine_tail(struct lineage_store *store, uint64_t start, uint64_t end, bool *whole,
                                        struct lineage_error *err)
{
    struct buf bytes = {0};
    struct tsv_scanner scanner;
    struct tsv_record record = {0};
    struct tsv_reader *reader = tsv_reader_new();
    enum lineage_status status = log_read(store->log, start, (size_t)(end - start), &bytes, err);
    *whole = false;
    if (!reader)
        status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    tsv_scanner_init(&scanner, bytes.data, bytes.length, start, 1);
    if (status == LINEAGE_OK && tsv_scan(&scanner, &record) && !record.in_quotes)
        status = start == 0 ? is_whole_header(reader, &record, whole, err)
                            : is_whole_row(reader, &record, mirror_layout(store->mirror), whole, err);
    tsv_reader_free(reader);
    buf_release(&bytes);
    return status;
}

/* The bytes behind the last line end: a sound row is given its line end, anything else is moved aside. */
static enum lineage_status mend_tail(struct lineage_store *store, uint64_t start, uint64_t end,
                                     struct lineage_error *err)
{
    char name[64];
    bool whole;
    enum lineage_status status = examine_tail(store, start, end, &whole, err);
    if (status != LINEAGE_OK)
        return status;
    if (whole) {
        store->append->finish_line = true;
        store_notice(store, mirror_position(store->mirror)->line,
                     "results.tsv: the last record had no line end; it is sound and gets one");
        return LINEAGE_OK;
    }
    status = log_move_torn(store->log, start, name, err);
    if (status != LINEAGE_OK)
        return status;
    store_notice(store, mirror_position(store->mirror)->line,
                 "results.tsv:%llu: torn last record of %llu bytes moved to %s/%s",
                 (unsigned long long)mirror_position(store->mirror)->line, (unsigned long long)(end - start),
                 store->dir, name);
    return mirror_sync(store->mirror, err);
}

static enum lineage_status load_best(struct lineage_store *store, struct lineage_error *err)
{
    struct append_state *state = store->append;
    struct lineage_trial best = {0};
    int64_t seq;
    enum lineage_status status = mirror_best(store->mirror, &seq, &state->best, err);
    state->has_best = status == LINEAGE_OK;
    if (status == LINEAGE_ENOTFOUND)
        return LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = mirror_load(store->mirror, seq, &best, err);
    if (status == LINEAGE_OK) {
        free(state->best_id);
        state->best_id = strdup(best.exp_id);
        if (!state->best_id)
            status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    }
    lineage_trial_release(&best);
    return status;
}

enum lineage_status append_catch_up(struct lineage_store *store, const struct log_stat *end,
                                    struct lineage_error *err)
{
    if (!store->append && !(store->append = calloc(1, sizeof *store->append)))
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    struct append_state *state = store->append;
    if (state->valid && same_file(&state->end, end))
        return LINEAGE_OK;
    append_forget(state);
    enum lineage_status status = mirror_sync(store->mirror, err);
    const struct mirror_position *at = mirror_position(store->mirror);
    if (status == LINEAGE_OK && at->watermark < end->size)
        status = mend_tail(store, at->watermark, end->size, err);
    if (status == LINEAGE_OK)
        status = load_best(store, err);
    at = mirror_position(store->mirror);
    state->next_id = at->next_id;
    state->id_width = at->id_width < 3 ? 3 : at->id_width;
    state->end = *end;
    state->valid = status == LINEAGE_OK;
    return status;
}

enum lineage_status append_has_id(struct lineage_store *store, const char *id, bool *found,
                                  struct lineage_error *err)
{
    const struct append_state *state = store->append;
    int64_t seq;
    struct tail_id *in_tail = NULL;
    if (state->ids)
        HASH_FIND(hh, state->ids, id, strlen(id), in_tail);
    *found = in_tail != NULL;
    if (*found)
        return LINEAGE_OK;
    enum lineage_status status = mirror_find_exact(store->mirror, id, &seq, err);
    *found = status == LINEAGE_OK;
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static void note_best(struct lineage_store *store, const struct lineage_trial *trial, struct lineage_number score)
{
    struct append_state *state = store->append;
    bool higher = store->config.direction == LINEAGE_HIGHER;
    if (!lineage_label_is_kept(trial->status) || !score.present || !isfinite(score.value) ||
        (state->has_best && !(higher ? score.value > state->best : score.value < state->best)))
        return;
    char *id = strdup(trial->exp_id);
    state->valid = state->valid && id; /* without the name the next append looks again */
    free(state->best_id);
    state->best_id = id;
    state->best = score.value;
    state->has_best = id != NULL;
}

/* Without the memory for it nothing is lost: the next append reads the end of the file again. */
static bool note_id(struct append_state *state, const char *id)
{
    struct tail_id *entry = arena_alloc(&state->arena, 1, sizeof *entry);
    if (!entry || !(entry->id = arena_text(&state->arena, id, strlen(id))))
        return false;
    HASH_ADD_KEYPTR(hh, state->ids, entry->id, strlen(entry->id), entry);
    state->n_ids++;
    return entry->hh.tbl != NULL;
}

void append_note(struct lineage_store *store, const struct lineage_trial *trial, struct lineage_number score,
                 uint64_t size)
{
    struct append_state *state = store->append;
    state->end.size = size;
    state->finish_line = false;
    state->follow_at_close = true;
    row_note_id(trial->exp_id, &state->next_id, &state->id_width);
    note_best(store, trial, score);
    if (!note_id(state, trial->exp_id))
        state->valid = false;
}
