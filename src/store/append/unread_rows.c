/* unread_rows.c: reads the rows at the end of the log that the mirror has not read, and notes them in the append
 * state. */
#include "unread_rows.h"

#include <stdio.h>
#include <string.h>

#include "../format/id.h"
#include "../mirror/mirror.h"
#include "append_state.h"
#include "tail_reader.h"

/* Whether the parent of a row is not in the log yet, so that a later row may close a cycle. */
static enum lineage_status awaits_parent(struct tail *tail, const char *parent, bool *awaits, struct lineage_error *err)
{
    bool found = false;
    char prefixed[256];
    const char *bare = id_bare(parent);
    enum lineage_status status = append_has_id(tail->store, bare, &found, err);
    if (status == LINEAGE_OK && !found && (size_t)snprintf(prefixed, sizeof prefixed, "exp_%s", bare) < sizeof prefixed)
        status = append_has_id(tail->store, prefixed, &found, err);
    *awaits = !found;
    return status;
}

/* A record that this library cannot read is not noted as a row. Its id is not given again, because fieldkit may read
 * the record. */
static enum lineage_status take_record(struct tail *tail, const struct tsv_record *record, struct lineage_error *err)
{
    struct tail_row read;
    struct append_state *state = tail->store->append;
    bool awaits = false;
    enum lineage_status status = tail_read(tail, record, &read, err);
    if (status != LINEAGE_OK)
        return status;
    if (!read.is_row) {
        if (read.id) /* other tools may read the row, so its id counts as used */
            row_note_id(read.id, &state->next_id, &state->id_width);
        return LINEAGE_OK;
    }
    if (read.trial.parent_exp && read.trial.parent_exp[0])
        status = awaits_parent(tail, read.trial.parent_exp, &awaits, err);
    state->parents_behind = state->parents_behind || awaits;
    if (status == LINEAGE_OK && !append_note_row(tail->store, &read.trial))
        status = store_no_memory(err);
    return status;
}

/* Called under the claim, so that nothing is appended meanwhile. Unterminated records were moved aside before, except
 * for a canonical header. */
static enum lineage_status read_from(struct lineage_store *store, uint64_t from, uint64_t line, const struct log_state *end,
                                     struct lineage_error *err)
{
    struct log_state now = *end;
    struct tail tail = {.store = store, .end = &now};
    struct tsv_scanner scanner;
    struct tsv_record record;
    enum lineage_status status = tail_open(&tail, from, err);
    tsv_scanner_init(&scanner, tail.bytes.data, tail.bytes.length, tail.from, line);
    while (status == LINEAGE_OK && tail_next(&scanner, &record) && record.terminated)
        if (record.content)
            status = take_record(&tail, &record, err);
    tail_close(&tail);
    return status;
}

enum lineage_status unread_rows_note(struct lineage_store *store, const struct log_state *end, struct lineage_error *err)
{
    const struct mirror_position *at = mirror_position(store->mirror);
    if (!mirror_layout(store->mirror) || at->watermark >= end->size)
        return LINEAGE_OK;
    return read_from(store, at->watermark, at->line, end, err);
}

enum lineage_status unread_rows_note_from(struct lineage_store *store, uint64_t from, const struct log_state *end,
                                          struct lineage_error *err)
{
    return read_from(store, from, 1, end, err);
}
