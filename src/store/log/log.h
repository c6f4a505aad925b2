/*
 * log.h: the interface to the rows of a store as an append-only log of bytes. log_file.c stores the log in results.tsv
 * and hides everything about files (descriptor, inode, time of change, flock). ../postgres/log_postgres.c stores it on
 * a server, where every call may fail with LINEAGE_EAWAY.
 *
 * The bytes are those of results.tsv (schema/FORMAT.md), wherever they are stored: reading the log from position 0
 * gives that file, including damaged records. A position is the number of bytes before it.
 *
 * What every kind of log guarantees
 *   1. It never changes bytes before the end of the last terminated record (except by log_blank, for a record that never
 *      ends). If somebody else changes them, `revision` or `identity` changes.
 *   2. Only the holder of the claim adds bytes, and one writer holds the claim at a time, whatever machine the others are
 *      on. Readers never wait for it.
 *   3. log_append is all or nothing: if it fails the log is unchanged. If it succeeds with sync, the bytes are durable
 *      before the claim is released.
 *   4. Digests (below) are stored only for durable records.
 *   5. The same bytes are never added twice: if a broken connection hides whether an append took place, log_append finds
 *      out before it returns.
 */
#pragma once

#include "../fail.h"

#include "../format/arena.h"

/* ---- the digests that make later changes of a log's bytes visible, for every kind of log.
 *
 * Each record has a digest that covers it and all records before it:
 *
 *     d_0 = 32 zero bytes
 *     d_n = SHA-256(d_{n-1}, bytes of record n with its line end)          (SHA-256: FIPS 180-4)
 *
 * Records are those that tsv_scan finds, including empty ones; the header is record 1. A digest depends on the log's
 * bytes only, so a store that moves to another kind of log keeps its digests.
 *
 * The chain reaches to the last record that ends in LF. A writer may still remove the bytes after it (a record without
 * a line end, a lone CR that may be half of CR LF), so no digest covers them. Stored digests may lag behind the log,
 * but they never cover bytes that are not in the log.
 */

#define DIGEST_BYTES 32

/* The chain up to some record. A zeroed chain is d_0. */
struct digest_chain {
    uint64_t records;
    uint64_t position; /* position after the last of these records */
    unsigned char digest[DIGEST_BYTES];
};

/* The log at some moment. */
struct log_state {
    bool exists; /* false before the first append; then all other members are 0 */
    uint64_t size;
    /* Tokens that are only compared for equality; all zero means none. identity stays the same while the log grows, and
     * differs for a file that was moved into its place. revision stays the same only if nothing at all happened to the
     * log. */
    uint64_t identity[2];
    int64_t revision;
    uint64_t records; /* number of records, for a log that counts them */
    unsigned session; /* connection to a server; records seen through an earlier one may be gone */
    bool taken_back; /* rows that readers may have seen were removed since the last log_settle, under any claim */
    bool cut_off;    /* this claim removed the bytes of an unfinished append_many */
    char aside[64];  /* file that keeps those bytes, if another program had written after them */
};

static inline bool log_is_same(const struct log_state *a, const struct log_state *b)
{
    return a->identity[0] == b->identity[0] && a->identity[1] == b->identity[1];
}

/* A check of the digests of a log, and its result. */
struct log_digests {
    /* Called with the digest of each record in turn, beginning with d_0. NULL: not called. */
    void (*passed)(void *context, const struct digest_chain *chain);
    /* Called for each stretch of records that does not match its digest; `line` is that of lineage_finding. */
    void (*broken)(void *context, uint64_t line, const char *text);
    void *context;
    size_t redacted; /* number of records that were accepted as redacted (redactions.h) */
    bool is_broken;
    bool are_kept;            /* whether there are stored digests */
    bool cannot_note;         /* the file system has no attribute that would show that rows were cut with their digests */
    uint64_t kept;            /* number of records that were compared */
    struct digest_chain head; /* digest of all records, even if not stored; undefined if is_broken */
};

/* Describes the log after an append: the next id (0: not known), the number of its digits, and whether the append kept
 * a trial. */
struct log_after {
    uint64_t next_id;
    size_t id_width;
    bool kept;
};

enum { LOG_ID_MAX = 24 }; /* bytes of an id that a log gives */

enum { LOG_DIGEST_TEXT = 65 }; /* a SHA-256 in hexadecimal digits, with its NUL */

/* An append that was acknowledged. Of a log that is a file only `end` is known. */
struct log_ack {
    uint64_t end; /* of the file */
    unsigned char request[16];
    uint64_t identity[2]; /* of the log, as in log_state */
    int64_t seq; /* number of its last record; 0: not known */
    char digest[LOG_DIGEST_TEXT]; /* of all records up to that one; "": not known */
    const char *bytes; /* its records */
    size_t length;
};

/* The functions of one kind of log. The comments of the functions log_NAME further down say what each member does. */
struct log;
struct tsv_record;

struct log_kind {
    enum lineage_status (*look)(struct log *, struct log_state *, struct lineage_error *);
    enum lineage_status (*was)(struct log *, const struct log_state *, bool *, struct lineage_error *); /* NULL: always true */
    enum lineage_status (*read)(struct log *, uint64_t from, size_t length, struct buf *, struct lineage_error *);
    enum lineage_status (*claim)(struct log *, struct log_state *, struct lineage_error *);
    bool (*claim_unchanged)(struct log *, struct log_state *);
    enum lineage_status (*append)(struct log *, struct log_state *, const char *bytes, size_t length, bool sync,
                                  struct lineage_error *);
    enum lineage_status (*append_next)(struct log *, struct log_state *, const char *rest, size_t length, bool kept,
                                       char id[LOG_ID_MAX], struct lineage_error *); /* NULL: a log that needs a claim */
    enum lineage_status (*append_many)(struct log *, struct log_state *, const char *bytes, size_t length, bool sync,
                                       struct lineage_error *);
    enum lineage_status (*set_aside)(struct log *, struct log_state *, uint64_t from, char name[64], struct lineage_error *);
    enum lineage_status (*blank)(struct log *, struct log_state *, uint64_t from, uint64_t to, char name[64],
                                 struct lineage_error *);
    enum lineage_status (*overwrite)(struct log *, uint64_t from, const char *bytes, size_t length,
                                     struct lineage_error *); /* NULL: a log whose rows nobody may change */
    enum lineage_status (*settle)(struct log *, struct lineage_error *);
    enum lineage_status (*find)(struct log *, struct buf *, struct lineage_error *); /* NULL: a log without requests */
    enum lineage_status (*confirm)(struct log *, int64_t seq, const char *digest, bool *there, bool *witnessed,
                                   struct lineage_error *); /* NULL: a log without requests */
    enum lineage_status (*locate)(struct log *, const unsigned char request[16], size_t n, int64_t *seq,
                                  char digest[LOG_DIGEST_TEXT], struct lineage_error *);
    enum lineage_status (*skip_ids)(struct log *, uint64_t given, struct lineage_error *); /* NULL: a log without requests */
    bool (*is_whole)(struct log *, const struct tsv_record *); /* NULL: never known */
    uint64_t (*rows_beyond)(struct log *, uint64_t rows); /* NULL: never known */
    bool (*knows)(struct log *, const char *bytes, size_t length); /* likewise */
    enum lineage_status (*check_digests)(struct log *, struct log_digests *, struct lineage_error *);
    enum lineage_status (*rebuild_digests)(struct log *, struct log_digests *, struct lineage_error *);
    enum lineage_status (*wait)(struct log *, int milliseconds, bool *news, struct lineage_error *);
    void (*release)(struct log *);
    void (*close)(struct log *);
};

/* An implementation's own struct begins with this one. */
struct log {
    const struct log_kind *kind;
    const char *name;  /* name in messages about a line: "results.tsv" */
    const char *place; /* name in messages about the whole log: "DIR/results.tsv" */
    /* Number of the next append to a log on a server. The caller made the number and wrote it to disk before anything
     * was sent. If it is zero, the next claim makes a number. log_release clears it. */
    unsigned char request[16];
    struct log_after after; /* for log_append_next; log_release clears it */
    /* A look and a claim of a log on a server set it: smaller ids were given, perhaps to rows that it has lost; 0: none known. */
    uint64_t next_id;
    size_t id_width; /* digits of that id */
    bool found; /* set by a claim or an append: the request is in the log already, and other rows may follow */
    bool lost; /* set by a failed append: the claim had been lost, so claim and append again */
    bool only_grew; /* set by a claim: since the last look, records were added and nothing else changed */
    bool read_only; /* at open the user was not allowed to append; that may have changed */
    bool appending; /* set by a caller that is about to append: it waits longer for standbys than one that reads */
    bool may_assume; /* log_claim_unchanged may leave it to the append to detect other writers */
    /* Called with notices for the user, for example that a claim has waited for a second and for which process, or that
     * digests cannot be stored. May be NULL. */
    void (*tell)(void *context, const char *text);
    /* Called after an append is in the log. May be NULL. */
    void (*acknowledged)(void *context, const struct log_ack *ack);
    void *context;
};

/* Returns the current state of the log. On a server all of it is durable, except for records that a claim of this
 * handle has just shown. */
static inline enum lineage_status log_look(struct log *log, struct log_state *state, struct lineage_error *err)
{
    return log->kind->look(log, state, err);
}

/* Whether the log still begins with the records that it had in `before`. A server that was set back (a crash, a
 * restored copy, a standby that took over) may have lost rows, and other rows may be in their place. For a file the
 * answer is always yes, because a file cannot detect this. */
static inline enum lineage_status log_was(struct log *log, const struct log_state *before, bool *was, struct lineage_error *err)
{
    *was = true;
    return log->kind->was ? log->kind->was(log, before, was, err) : LINEAGE_OK;
}

/* Appends bytes [from, from + length) to out; fewer if the log ends. */
static inline enum lineage_status log_read(struct log *log, uint64_t from, size_t length, struct buf *out,
                                           struct lineage_error *err)
{
    return log->kind->read(log, from, length, out, err);
}

/* Makes the caller the only writer; waits while another writer holds the claim. *state describes the log at that
 * moment, and the calls under the claim keep it current. Returns LINEAGE_ELOCKED if the claim is not granted. A claim
 * allows one append and ends with log_release. */
static inline enum lineage_status log_claim(struct log *log, struct log_state *state, struct lineage_error *err)
{
    return log->kind->claim(log, state, err);
}

/* Like log_claim, but only if the claim is free and the log has not changed since *state; otherwise returns false and
 * does nothing. This saves two system calls for a process that appends row after row. */
static inline bool log_claim_unchanged(struct log *log, struct log_state *state)
{
    return log->kind->claim_unchanged(log, state);
}

/* Call it under the claim. Adds complete records; if the log is empty, the first of them is the header. */
static inline enum lineage_status log_append(struct log *log, struct log_state *state, const char *bytes, size_t length,
                                             bool sync, struct lineage_error *err)
{
    return log->kind->append(log, state, bytes, length, sync, err);
}

/* Whether log_append_next may be tried. */
static inline bool log_gives_ids(const struct log *log)
{
    return log->kind->append_next != NULL;
}

/*
 * Adds a record without a claim. The record begins with the next id, which is written to id, and continues with `rest`.
 * `kept` says whether its label keeps the trial. *state is the log on which the caller's decisions are based. If a
 * trial was kept since, or the next id is not known, the function adds nothing, sets lost and returns LINEAGE_EAWAY.
 * Afterwards *state includes the record if no other writer came in between; otherwise *state is unchanged. If `found`
 * is set, the row is in the log already, and its id is not returned.
 */
static inline enum lineage_status log_append_next(struct log *log, struct log_state *state, const char *rest, size_t length,
                                                  bool kept, char id[LOG_ID_MAX], struct lineage_error *err)
{
    return log->kind->append_next(log, state, rest, length, kept, id, err);
}

/* Like log_append, for any number of records, or for a record that could be cut at a line end inside a cell. Even after
 * a kill, the next claim finds either all of the records in the log or none. Until that claim, readers may see some
 * records of an unfinished append. */
static inline enum lineage_status log_append_many(struct log *log, struct log_state *state, const char *bytes, size_t length,
                                                  bool sync, struct lineage_error *err)
{
    return log->kind->append_many(log, state, bytes, length, sync, err);
}

/* Call it under the claim for torn bytes: those from `from`, where the last terminated record ends, to the end of the
 * log. Saves them durably to a file in the store's directory and then removes them from the log. name receives the
 * file's name. */
static inline enum lineage_status log_set_aside(struct log *log, struct log_state *state, uint64_t from, char name[64],
                                                struct lineage_error *err)
{
    return log->kind->set_aside(log, state, from, name, err);
}

/* Like log_set_aside, for bytes [from, to) that are followed by records. The bytes are overwritten with line ends,
 * which every reader skips, so the records after them stay in place. */
static inline enum lineage_status log_blank(struct log *log, struct log_state *state, uint64_t from, uint64_t to, char name[64],
                                            struct lineage_error *err)
{
    return log->kind->blank(log, state, from, to, name, err);
}

/* Whether log_overwrite may be called. */
static inline bool log_can_overwrite(const struct log *log)
{
    return log->kind->overwrite != NULL;
}

/* Call it under the claim. Replaces bytes of a record by as many others, durably, for a redaction that was recorded before
 * (redactions.h). */
static inline enum lineage_status log_overwrite(struct log *log, uint64_t from, const char *bytes, size_t length,
                                                struct lineage_error *err)
{
    return log->kind->overwrite(log, from, bytes, length, err);
}

/* Call it under a claim whose state has taken_back set, when no mirror has the removed rows any more. Until this call
 * each claim reports taken_back. */
static inline enum lineage_status log_settle(struct log *log, struct lineage_error *err)
{
    return log->kind->settle(log, err);
}

/* Call it under a claim that set found. Appends the bytes of the request to out. */
static inline enum lineage_status log_find(struct log *log, struct buf *out, struct lineage_error *err)
{
    return log->kind->find(log, out, err);
}

/* Whether the log is on a server and therefore numbers its requests. */
static inline bool log_has_requests(const struct log *log)
{
    return log->kind->find != NULL;
}

/* Whether the log on a server still has record `seq` with that digest, and therefore the same records before it. *witnessed tells
 * that a synchronous standby has them too. */
static inline enum lineage_status log_confirm(struct log *log, int64_t seq, const char *digest, bool *there, bool *witnessed,
                                              struct lineage_error *err)
{
    return log->kind->confirm(log, seq, digest, there, witnessed, err);
}

/* Finds the last of the n records of a request, and the digest there. *seq becomes 0 if the log on the server does not have the
 * request. */
static inline enum lineage_status log_locate(struct log *log, const unsigned char request[16], size_t n, int64_t *seq,
                                             char digest[LOG_DIGEST_TEXT], struct lineage_error *err)
{
    return log->kind->locate(log, request, n, seq, digest, err);
}

/* Tells a log on a server that the ids below `given` were given, because this machine has receipts or a mirror of rows that
 * the log no longer has. The log then never gives them again. */
static inline enum lineage_status log_skip_ids(struct log *log, uint64_t given, struct lineage_error *err)
{
    return log->kind->skip_ids ? log->kind->skip_ids(log, given, err) : LINEAGE_OK;
}

/* Whether the digests show that the last record of the log, which has no line end, lacks nothing else: an editor took it away. */
static inline bool log_is_whole(struct log *log, const struct tsv_record *record)
{
    return log->kind->is_whole && log->kind->is_whole(log, record);
}

/* How many rows the log had when its last digest was written, if these are more than `rows`; else 0. */
static inline uint64_t log_rows_beyond(struct log *log, uint64_t rows)
{
    return log->kind->rows_beyond ? log->kind->rows_beyond(log, rows) : 0;
}

/* Whether the last digest is that of these bytes, or of the first records of them. */
static inline bool log_knows(struct log *log, const char *bytes, size_t length)
{
    return log->kind->knows && log->kind->knows(log, bytes, length);
}

/* Compares the records with their digests. Writes nothing and does not wait for writers. */
static inline enum lineage_status log_check_digests(struct log *log, struct log_digests *digests, struct lineage_error *err)
{
    return log->kind->check_digests(log, digests, err);
}

/* Call it under the claim. Compares like log_check_digests and replaces the digests that do not match. It is for an
 * owner who knows why they differ. */
static inline enum lineage_status log_rebuild_digests(struct log *log, struct log_digests *digests, struct lineage_error *err)
{
    return log->kind->rebuild_digests(log, digests, err);
}

/* Waits until the log has changed since the last call, for at most `milliseconds` (0: only look, negative: no limit).
 * The first call starts to listen and returns at once with *news set. Do not call it under a claim. Returns
 * LINEAGE_EAWAY if the server cannot be reached; the next call listens again and reports changes from the meantime. */
static inline enum lineage_status log_wait(struct log *log, int milliseconds, bool *news, struct lineage_error *err)
{
    return log->kind->wait(log, milliseconds, news, err);
}

static inline void log_release(struct log *log)
{
    log->kind->release(log);
}

/* NULL is allowed. */
static inline void log_close(struct log *log)
{
    if (log)
        log->kind->close(log);
}
