/* log_postgres_mend.c: moves an open end aside under the claim. Open ends come from importing a torn file. */
#include "log_postgres_parts.h"

#include "../files/torn_file.h"

/* Only an open end is ever moved aside, because every record on the server is complete. The server keeps the bytes
 * too. */
static enum lineage_status mend(struct log_postgres *p, struct log_state *state, uint64_t from, uint64_t to,
                                struct lineage_error *err)
{
    struct pg_result result;
    enum lineage_status status =
        postgres_ask(p, &result, err, "SELECT seq, size, digest, open_end, open_ends FROM lineage.mend(%lld, %lld, %llu)",
                     (long long)p->store, (long long)p->seq, (unsigned long long)(to - from));
    if (status == LINEAGE_OK)
        status = postgres_take_state(p, state, &result, err);
    p->mended = p->mended || status == LINEAGE_OK;
    pg_clear(&result);
    return status;
}

enum lineage_status postgres_blank(struct log *log, struct log_state *state, uint64_t from, uint64_t to, char name[64],
                                   struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    if (p->claim != CLAIMED || from != p->size || to > state->size)
        return store_fail(err, LINEAGE_EIO, "%s: a record that does not end is not the last one", p->name.shown);
    enum lineage_status status = torn_save(p->dir_fd, log->place, p->open_end.data, (size_t)(to - from), name, err);
    return status == LINEAGE_OK ? mend(p, state, from, to, err) : status;
}

enum lineage_status postgres_set_aside(struct log *log, struct log_state *state, uint64_t from, char name[64],
                                       struct lineage_error *err)
{
    return postgres_blank(log, state, from, state->size, name, err);
}

/* Nothing has to be undone here, because nobody sees a transaction that did not commit. */
enum lineage_status postgres_settle(struct log *log, struct lineage_error *err)
{
    (void)log;
    (void)err;
    return LINEAGE_OK;
}
