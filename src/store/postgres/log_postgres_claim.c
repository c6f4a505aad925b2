/*
 * log_postgres_claim.c: the head row of a store, locked in a transaction. The claim also returns the records that other
 * writers added since the last look.
 *
 * A writer that appends row after row need not claim: each append names the record that it follows, and the server
 * refuses it if other writers appended first (claim_unchanged).
 */
#include "log_postgres_parts.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

void postgres_tell_waiting(void *context)
{
    struct log_postgres *p = context;
    char text[600];
    snprintf(text, sizeof text, "waiting for the claim of %s", p->name.shown);
    if (p->log.tell)
        p->log.tell(p->log.context, text);
}

void postgres_end(struct log_postgres *p, const char *how)
{
    if (pg_is_connected(p->pg))
        pg_query(p->pg, NULL, PG_PATIENCE, how, NULL);
    p->claim = NO_CLAIM;
    p->mended = false;
}

static void make_request(struct log *log)
{
    static const unsigned char none[sizeof log->request];
    if (memcmp(log->request, none, sizeof none) == 0 && getrandom(log->request, sizeof log->request, 0) < 0)
        memset(log->request, 0, sizeof log->request); /* zeros make the server choose a number; getrandom cannot fail on Linux */
}

/* Waiting for the lock may take so long that the connection breaks meanwhile, so a broken connection is retried here
 * too. */
static enum lineage_status take_claim(struct log_postgres *p, struct pg_result *result, struct lineage_error *err)
{
    struct buf sql = {0};
    bool was_connected = pg_is_connected(p->pg);
    buf_printf(&sql,
               "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT " POSTGRES_HEAD
               ", t.uuid, s.next_id, s.id_width, s.there, s.newer FROM lineage.store t, "
               "lineage.claim(%lld, ",
               (long long)p->store);
    postgres_add_request(&sql, &p->log);
    buf_printf(&sql, ", %lld) s WHERE t.id = %lld", p->session == pg_connections(p->pg) ? (long long)p->seq : -1LL,
               (long long)p->store);
    pg_tell_waiting(p->pg, postgres_tell_waiting, p);
    enum lineage_status status = sql.failed ? store_no_memory(err) : pg_query(p->pg, result, PG_PATIENCE, sql.data, err);
    if (status == LINEAGE_EAWAY && was_connected && !pg_is_connected(p->pg))
        status = pg_query(p->pg, result, PG_PATIENCE, sql.data, err);
    pg_tell_waiting(p->pg, NULL, NULL);
    buf_release(&sql);
    if (status != LINEAGE_OK)
        postgres_end(p, "ROLLBACK");
    return postgres_explain(p, status, err);
}

enum { FOUND = HEAD_ID_WIDTH + 1, NEWER };

/* Called before the state is updated, because the old state gives the position from which records are new. State that
 * was read through an earlier connection may be out of date. */
static void take_newer(struct log_postgres *p, const struct pg_result *result)
{
    size_t length;
    const char *text = pg_text(result, 0, NEWER, &length);
    buf_reset(&p->newer);
    p->newer_from = p->size;
    p->has_newer = !pg_is_null(result, 0, NEWER) && p->session == pg_connections(p->pg);
    postgres_add_bytes(&p->newer, text, length);
}

/* A request that is already in the log adds nothing, but this may be reported only when its row is on disk. Whoever sent it was
 * killed, or lost the connection, before the answer came, so nothing may have noted yet that the server has acknowledged it. */
static enum lineage_status give_up_found(struct log_postgres *p, const struct log_state *state, struct lineage_error *err)
{
    enum lineage_status status = pg_query(p->pg, NULL, postgres_flush_seconds(p), "ROLLBACK; SELECT lineage.flush()", err);
    p->claim = NO_CLAIM;
    if (status == LINEAGE_OK)
        status = postgres_acknowledge_found(&p->log, state, err);
    return status == LINEAGE_OK ? status : LINEAGE_EAWAY;
}

enum lineage_status postgres_claim(struct log *log, struct log_state *state, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct pg_result result = {0};
    make_request(log);
    log->found = log->lost = false;
    log->appending = true;
    (void)postgres_flush_seconds(p);
    enum lineage_status status = postgres_find_store(p, err);
    if (status == LINEAGE_OK)
        status = take_claim(p, &result, err);
    if (status == LINEAGE_OK) {
        p->crowded = p->crowded && p->seq != pg_int(&result, 0, HEAD_SEQ);
        postgres_take_identity(state, pg_text(&result, 0, HEAD_UUID, NULL));
        take_newer(p, &result);
        status = postgres_take_ids(p, &result, HEAD_NEXT_ID, err);
    }
    if (status == LINEAGE_OK)
        status = postgres_take_state(p, state, &result, err);
    if (status == LINEAGE_OK) {
        p->has_newer = p->has_newer && !p->newer.failed && p->newer_from + p->newer.length == p->size;
        log->only_grew = p->has_newer && !p->open_end.length;
        log->found = pg_int(&result, 0, FOUND) > 0;
        p->claim = CLAIMED;
    } else if (pg_rows(&result)) {
        postgres_end(p, "ROLLBACK");
    }
    pg_clear(&result);
    return log->found ? give_up_found(p, state, err) : status;
}

enum lineage_status postgres_skip_ids(struct log *log, uint64_t given, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct pg_result result = {0};
    enum lineage_status status = postgres_find_store(p, err);
    if (status == LINEAGE_OK && !log->read_only && given <= INT64_MAX)
        status = postgres_ask(p, &result, err, "SELECT next_id, id_width FROM lineage.skip_ids(%lld, %llu)", (long long)p->store,
                              (unsigned long long)given);
    if (status == LINEAGE_OK && pg_rows(&result))
        status = postgres_take_ids(p, &result, 0, err);
    pg_clear(&result);
    return status;
}

/* Does not ask the server: the append names the record that it follows, and is refused if other writers were faster. */
bool postgres_claim_unchanged(struct log *log, struct log_state *state)
{
    struct log_postgres *p = postgres_of(log);
    if (p->crowded || !log->may_assume || !state->size || p->open_end.length || state->size != p->size ||
        !pg_is_connected(p->pg) || state->session != pg_connections(p->pg))
        return false;
    make_request(log);
    log->found = log->lost = false;
    p->claim = ASSUMED;
    return true;
}

/* An open end that was moved aside stays aside, whatever happened to the append. */
void postgres_release(struct log *log)
{
    struct log_postgres *p = postgres_of(log);
    if (p->claim == CLAIMED)
        postgres_end(p, p->mended ? "COMMIT" : "ROLLBACK");
    p->claim = NO_CLAIM;
    memset(log->request, 0, sizeof log->request);
    log->after = (struct log_after){0};
}
