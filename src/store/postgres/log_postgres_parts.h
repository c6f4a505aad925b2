/* log_postgres_parts.h: what the parts of a log on a server share; each part does what its name says. */
#ifndef POSTGRES_LOG_POSTGRES_PARTS_H
#define POSTGRES_LOG_POSTGRES_PARTS_H

#include "../log/log.h"
#include "pg.h"
#include "server_name.h"

enum claim { NO_CLAIM, ASSUMED, CLAIMED };

struct log_postgres {
    struct log log;
    int dir_fd; /* for what is moved aside */
    struct pg *pg;
    struct server_name name;
    int64_t store;   /* its number on the server; 0: not asked yet */
    int64_t seq;     /* of the last record that was looked at */
    unsigned session; /* number of the connection that it was looked at through */
    uint64_t size;   /* bytes of the records, without the open end */
    struct buf open_end;
    struct buf newer; /* under a claim: the bytes from newer_from on that others added since the last look */
    uint64_t newer_from;
    bool has_newer;
    enum claim claim;
    bool mended;     /* under this claim, and not committed yet */
    unsigned listening; /* number of the connection that listens for rows; 0: none */
    struct log_state seen; /* by the last wait */
    bool crowded;    /* others appended since this handle did: assuming would cost more than asking */
};

static inline struct log_postgres *postgres_of(struct log *log)
{
    return (struct log_postgres *)log; /* its first member */
}

/* ---- log_postgres.c: the store, its state, statements about it ---- */

/* Add a bytea as the server prints it, \x and digits. */
void postgres_add_bytes(struct buf *out, const char *text, size_t length);

/* Add the number of the append to come, as SQL. */
void postgres_add_request(struct buf *out, const struct log *log);

/* What can be wrong before there is a store has its own words, for `lineage init` mends all of it. */
enum lineage_status postgres_explain(struct log_postgres *p, enum lineage_status status, struct lineage_error *err);

/* Once for a handle: the number of the store, and that the schema is the one that is known here. */
enum lineage_status postgres_find_store(struct log_postgres *p, struct lineage_error *err);

/*
 * The statement that `format` makes. Outside a claim a connection that broke since the last statement is made anew, once: a
 * server that was started again is there. Under one nothing can be asked again.
 */
enum lineage_status postgres_ask(struct log_postgres *p, struct pg_result *result, struct lineage_error *err,
                                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The columns of every statement that tells a state, in this order. */
#define POSTGRES_HEAD "s.seq, s.size, s.digest, s.open_end, s.open_ends"
enum { HEAD_SEQ, HEAD_SIZE, HEAD_DIGEST, HEAD_OPEN_END, HEAD_OPEN_ENDS, HEAD_UUID };

/*
 * Of the first row: state, seq, size and open end. The identity stays as it is, which the other one takes from a UUID.
 * LINEAGE_EAWAY, and nothing taken, of an answer without numbers: as if none had come.
 */
enum lineage_status postgres_take_state(struct log_postgres *p, struct log_state *state, const struct pg_result *result,
                                        struct lineage_error *err);
void postgres_take_identity(struct log_state *state, const char *uuid);

/* Bytes of one answer, which is in memory twice, once of it as hexadecimal digits. */
enum { POSTGRES_READ_AT_ONCE = 8 << 20 };

/* ---- log_postgres_claim.c ---- */

/* "COMMIT" or "ROLLBACK", where there is still a connection; no claim afterwards. */
void postgres_end(struct log_postgres *p, const char *how);

/* To the user: for pg_tell_waiting, context is the log. */
void postgres_tell_waiting(void *context);

/* ---- log_postgres_init.c ---- */

/* LINEAGE_EDB, with what is to be done, for a schema of another version than the one that is known here. */
enum lineage_status postgres_check_version(struct log_postgres *p, int64_t version, struct lineage_error *err);

/* ---- what log.h asks of a log, in the parts that are called so ---- */

enum lineage_status postgres_look(struct log *log, struct log_state *state, struct lineage_error *err);
enum lineage_status postgres_was(struct log *log, const struct log_state *before, bool *was, struct lineage_error *err);
enum lineage_status postgres_read(struct log *log, uint64_t from, size_t length, struct buf *out, struct lineage_error *err);
enum lineage_status postgres_find(struct log *log, struct buf *bytes, struct lineage_error *err);
enum lineage_status postgres_claim(struct log *log, struct log_state *state, struct lineage_error *err);
bool postgres_claim_unchanged(struct log *log, struct log_state *state);
void postgres_release(struct log *log);
enum lineage_status postgres_append(struct log *log, struct log_state *state, const char *bytes, size_t length, bool sync,
                                    struct lineage_error *err);
enum lineage_status postgres_append_next(struct log *log, struct log_state *state, const char *rest, size_t length, bool kept,
                                         char id[LOG_ID_MAX], struct lineage_error *err);
enum lineage_status postgres_blank(struct log *log, struct log_state *state, uint64_t from, uint64_t to, char name[64],
                                   struct lineage_error *err);
enum lineage_status postgres_set_aside(struct log *log, struct log_state *state, uint64_t from, char name[64],
                                       struct lineage_error *err);
enum lineage_status postgres_settle(struct log *log, struct lineage_error *err);
enum lineage_status postgres_wait(struct log *log, int milliseconds, bool *news, struct lineage_error *err);
enum lineage_status postgres_check_digests(struct log *log, struct log_digests *digests, struct lineage_error *err);
enum lineage_status postgres_rebuild_digests(struct log *log, struct log_digests *digests, struct lineage_error *err);

#endif
