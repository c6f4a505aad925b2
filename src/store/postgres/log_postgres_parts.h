/* log_postgres_parts.h: declarations that the files of a log on a server share; each file is named after its task. */
#pragma once

#include "../log/log.h"
#include "pg.h"
#include "server_name.h"

enum claim { NO_CLAIM, ASSUMED, CLAIMED };

struct log_postgres {
    struct log log;
    int dir_fd; /* directory for torn records */
    struct pg *pg;
    struct server_name name;
    int64_t store;   /* the store's number on the server; 0: not asked yet */
    int64_t seq;     /* seq of the last record seen */
    unsigned session; /* number of the connection through which that record was seen */
    uint64_t size;   /* bytes of the records, without the open end */
    struct buf open_end;
    struct buf newer; /* under a claim: the bytes from newer_from on, which others added since the last look */
    uint64_t newer_from;
    bool has_newer;
    enum claim claim;
    bool mended;     /* an open end was moved aside under this claim, not committed yet */
    unsigned listening; /* number of the connection that listens for rows; 0: none */
    struct log_state seen; /* state at the last wait */
    bool crowded;    /* others appended since this handle did, so that assuming a claim would cost more than asking for it */
};

static inline struct log_postgres *postgres_of(struct log *log)
{
    return (struct log_postgres *)log; /* its first member */
}

/* ---- log_postgres.c: the store, its state, statements about it ---- */

/* Appends the bytes of a bytea, which the server printed as \x and hexadecimal digits. */
void postgres_add_bytes(struct buf *out, const char *text, size_t length);

/* Appends the number of the next request, as SQL. */
void postgres_add_request(struct buf *out, const struct log *log);

/* Rewords failures that mean that the store or the schema is missing, which `lineage init` repairs. */
enum lineage_status postgres_explain(struct log_postgres *p, enum lineage_status status, struct lineage_error *err);

/* Looks up the number of the store, once per handle, and checks the version of the schema. */
enum lineage_status postgres_find_store(struct log_postgres *p, struct lineage_error *err);

/* Runs the statement built from `format`. Without a claim, a connection that broke since the last statement is
 * re-established once, because the server may have restarted. Under a claim nothing can be repeated. */
enum lineage_status postgres_ask(struct log_postgres *p, struct pg_result *result, struct lineage_error *err, const char *format,
                                 ...) __attribute__((format(printf, 4, 5)));

/* Does the same for a statement that calls lineage.flush(), within the time that a flush may take. */
enum lineage_status postgres_ask_flushed(struct log_postgres *p, struct pg_result *result, struct lineage_error *err,
                                         const char *format, ...) __attribute__((format(printf, 4, 5)));
double postgres_flush_seconds(struct log_postgres *p);

/* The columns of every statement that returns a state, in this order. */
#define POSTGRES_HEAD "s.seq, s.size, s.digest, s.open_end, s.open_ends"
enum { HEAD_SEQ, HEAD_SIZE, HEAD_DIGEST, HEAD_OPEN_END, HEAD_OPEN_ENDS, HEAD_UUID, HEAD_NEXT_ID, HEAD_ID_WIDTH };

/* Takes state, seq, size and open end from the first row. The identity is unchanged; postgres_take_identity reads it
 * from a UUID. An answer without numbers is LINEAGE_EAWAY and changes nothing, as if no answer had come. */
enum lineage_status postgres_take_state(struct log_postgres *p, struct log_state *state, const struct pg_result *result,
                                        struct lineage_error *err);

/* Takes the next id and its digits from two columns. An answer without them is LINEAGE_EAWAY. */
enum lineage_status postgres_take_ids(struct log_postgres *p, const struct pg_result *result, size_t column,
                                      struct lineage_error *err);
void postgres_take_identity(struct log_state *state, const char *uuid);

/* Bytes of the log in one answer. They are in memory twice, once as hexadecimal digits. */
enum { POSTGRES_READ_AT_ONCE = 8 << 20 };

/* ---- log_postgres_append.c ---- */

/* ---- log_postgres_init.c ---- */

/* LINEAGE_EDB, with the remedy, if the schema has another version than this program knows. */
enum lineage_status postgres_check_version(struct log_postgres *p, int64_t version, struct lineage_error *err);

/* ---- the functions of log.h, each in the file that is named after it ---- */

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
enum lineage_status postgres_confirm(struct log *log, int64_t seq, const char *digest, bool *there, bool *witnessed,
                                     struct lineage_error *err);
enum lineage_status postgres_locate(struct log *log, const unsigned char request[16], size_t n, int64_t *seq,
                                    char digest[LOG_DIGEST_TEXT], struct lineage_error *err);
/* Call it after a claim that set found. Reports the request to log->acknowledged, with its bytes and its place in the log. */
enum lineage_status postgres_acknowledge_found(struct log *log, const struct log_state *state, struct lineage_error *err);
enum lineage_status postgres_skip_ids(struct log *log, uint64_t given, struct lineage_error *err);
enum lineage_status postgres_check_digests(struct log *log, struct log_digests *digests, struct lineage_error *err);
enum lineage_status postgres_rebuild_digests(struct log *log, struct log_digests *digests, struct lineage_error *err);
