/*
 * log_postgres.c: the log as rows on a server, one for each record of results.tsv: opens the store.
 *
 * The claim is the head row of the store, locked in a transaction, so that the order of the records is the order of the
 * commits (log_postgres_append.c). If the server ends the session (a client that stopped, a backend that was killed),
 * the claim ends with it: the next append is refused, and nothing was added.
 */
#include "log_postgres.h"
#include "log_postgres_parts.h"

#include <inttypes.h>

#include "../files/places.h"

static void postgres_close(struct log *log)
{
    struct log_postgres *p = postgres_of(log);
    pg_close(p->pg);
    server_name_release(&p->name);
    buf_release(&p->open_end);
    buf_release(&p->newer);
    free(p);
}

static const struct log_kind kind = {.look = postgres_look,
                                     .was = postgres_was,
                                     .read = postgres_read,
                                     .claim = postgres_claim,
                                     .claim_unchanged = postgres_claim_unchanged,
                                     .append = postgres_append,
                                     .append_next = postgres_append_next,
                                     .append_many = postgres_append, /* a transaction is added as a whole or not */
                                     .set_aside = postgres_set_aside,
                                     .blank = postgres_blank,
                                     .settle = postgres_settle,
                                     .find = postgres_find,
                                     .confirm = postgres_confirm,
                                     .locate = postgres_locate,
                                     .skip_ids = postgres_skip_ids,
                                     .check_digests = postgres_check_digests,
                                     .rebuild_digests = postgres_rebuild_digests,
                                     .wait = postgres_wait,
                                     .release = postgres_release,
                                     .close = postgres_close};

#define STANDBY_WAIT "LINEAGE_STANDBY_WAIT"
enum { WAIT_DEFAULT = 10, WAIT_MIN = 3, WAIT_MAX = 3600 };

static enum lineage_status read_standby_wait(double *seconds, struct lineage_error *err)
{
    const char *text = getenv(STANDBY_WAIT);
    char *end = NULL;
    *seconds = WAIT_DEFAULT;
    if (!text || !*text)
        return LINEAGE_OK;
    *seconds = strtod(text, &end);
    if (!*end && *seconds >= WAIT_MIN && *seconds <= WAIT_MAX)
        return LINEAGE_OK;
    return store_fail(err, LINEAGE_EINVAL,
                      STANDBY_WAIT "=%.40s: the seconds that an append waits for a standby are a number from %d"
                                   " to %d",
                      text, WAIT_MIN, WAIT_MAX);
}

enum lineage_status log_postgres_open(struct log **log, int dir_fd, const char *name, struct lineage_error *err)
{
    struct log_postgres *p = calloc(1, sizeof *p);
    *log = NULL;
    if (!p)
        return store_no_memory(err);
    p->log.kind = &kind;
    p->dir_fd = dir_fd;
    double wait;
    enum lineage_status status = read_standby_wait(&wait, err);
    if (status == LINEAGE_OK)
        status = server_name_parse(&p->name, name, err);
    if (status == LINEAGE_OK)
        status = pg_open(&p->pg, p->name.uri, p->name.shown, err);
    if (status == LINEAGE_OK)
        pg_set_standby_wait(p->pg, wait);
    p->log.name = PLACE_RESULTS;
    p->log.place = p->name.shown;
    if (status == LINEAGE_OK)
        *log = &p->log;
    else
        postgres_close(&p->log);
    return status;
}

struct pg *log_postgres_pg(struct log *log)
{
    return log->kind == &kind ? postgres_of(log)->pg : NULL;
}

enum lineage_status log_postgres_store(struct log *log, char number[LOG_POSTGRES_STORE], struct lineage_error *err)
{
    struct log_state state;
    enum lineage_status status = postgres_of(log)->store ? LINEAGE_OK : log_look(log, &state, err);
    snprintf(number, LOG_POSTGRES_STORE, "%" PRId64, postgres_of(log)->store);
    return status;
}
