/*
 * log.h: the rows of a store as an append-only log of bytes. This is the interface; log_file.c
 * keeps the log in results.tsv, and what is particular to a file (its descriptor, inode, time of
 * change, flock) stays there; ../postgres/log_postgres.c keeps it on a server, where every call may
 * fail with LINEAGE_EAWAY.
 *
 * The bytes are those of results.tsv (schema/FORMAT.md), wherever they are kept: whoever reads
 * the log from position 0 gets that file, damaged records included. A position is the number of
 * bytes before it.
 *
 * What every kind of log must keep
 *   1. Bytes before the end of the last terminated record never change by its own doing (but for log_blank,
 *      of a record that never ends). If somebody else changes them, `revision` or `identity` changes.
 *   2. Only the holder of the claim adds bytes, and a claim is held by one writer at a time,
 *      whatever machine the others are on. Readers never wait for it.
 *   3. log_append is all or nothing: when it fails the log is as it was. When it succeeds with
 *      sync the bytes survive a crash of the machine, before the claim is released.
 *   4. Digests of records (digest.h) are kept for those that are durable, and only for them.
 *   5. The same bytes are never added twice: if it cannot be known whether an append took place
 *      (a broken connection), log_append finds out before it returns.
 */
#ifndef LOG_LOG_H
#define LOG_LOG_H

#include "../fail.h"
#include "../format/arena.h"
#include "digest.h"

/* What a log is at some moment. */
struct log_state {
    bool exists; /* false, and all else 0, while nothing was ever appended */
    uint64_t size;
    /* Tokens, meaningful only as equal or not; all zero is none. identity: the same while it is the
     * same log, grown or not; a file moved in its place is another. revision: the same only if
     * nothing at all happened to it in between. */
    uint64_t identity[2];
    int64_t revision;
    uint64_t records; /* in it, where the log counts them */
    unsigned session; /* of a log on a server: what this handle saw through one connection may be gone behind the next */
    bool taken_back; /* rows that readers may have seen were taken out since the last log_settle, by whatever claim */
    bool cut_off;    /* this claim took out what there was of an append_many that did not end */
    char aside[64];  /* the file beside the store where its bytes are, if others had written behind them */
};

static inline bool log_is_same(const struct log_state *a, const struct log_state *b)
{
    return a->identity[0] == b->identity[0] && a->identity[1] == b->identity[1];
}

/* What is asked of the digests of a log, and what comes out. */
struct log_digests {
    const unsigned char *known; /* a digest that some record should end in; NULL: none is looked for */
    bool known_found;
    /* Told of each stretch of records whose digest is not that of their bytes; line as in lineage_finding. */
    void (*broken)(void *context, uint64_t line, const char *text);
    void *context;
    bool is_broken;
    bool are_kept;            /* whether there are any to compare with */
    uint64_t kept;            /* so many records have been compared */
    struct digest_chain head; /* of all records, kept or not; means nothing if is_broken */
};

/* What the log will be behind an append: the next id (0: not told), its digits, and whether a row of it was kept. */
struct log_after {
    uint64_t next_id;
    size_t id_width;
    bool kept;
};

enum { LOG_ID_MAX = 24 }; /* of an id that a log gives */

/* One kind of log: log_NAME below says what each function does. */
struct log;
struct log_kind {
    enum lineage_status (*look)(struct log *, struct log_state *, struct lineage_error *);
    enum lineage_status (*was)(struct log *, const struct log_state *, bool *, struct lineage_error *); /* NULL: always */
    enum lineage_status (*read)(struct log *, uint64_t from, size_t length, struct buf *,
                                struct lineage_error *);
    enum lineage_status (*claim)(struct log *, struct log_state *, struct lineage_error *);
    bool (*claim_unchanged)(struct log *, struct log_state *);
    enum lineage_status (*append)(struct log *, struct log_state *, const char *bytes, size_t length,
                                  bool sync, struct lineage_error *);
    enum lineage_status (*append_next)(struct log *, struct log_state *, const char *rest, size_t length, bool kept,
                                       char id[LOG_ID_MAX], struct lineage_error *); /* NULL: a log that wants a claim */
    enum lineage_status (*append_many)(struct log *, struct log_state *, const char *bytes, size_t length, bool sync,
                                       struct lineage_error *);
    enum lineage_status (*set_aside)(struct log *, struct log_state *, uint64_t from, char name[64],
                                     struct lineage_error *);
    enum lineage_status (*blank)(struct log *, struct log_state *, uint64_t from, uint64_t to, char name[64],
                                 struct lineage_error *);
    enum lineage_status (*settle)(struct log *, struct lineage_error *);
    enum lineage_status (*find)(struct log *, struct buf *, struct lineage_error *); /* NULL: a log without requests */
    enum lineage_status (*check_digests)(struct log *, struct log_digests *, struct lineage_error *);
    enum lineage_status (*rebuild_digests)(struct log *, struct log_digests *, struct lineage_error *);
    enum lineage_status (*wait)(struct log *, int milliseconds, bool *news, struct lineage_error *);
    void (*release)(struct log *);
    void (*close)(struct log *);
};

/* An implementation's own struct begins with this one. */
struct log {
    const struct log_kind *kind;
    const char *name;  /* in messages about a line of it: "results.tsv" */
    const char *place; /* in messages about all of it: "DIR/results.tsv" */
    /*
     * The append to come, on a server: a number that the caller made, and wrote down, before anything was sent; zero: the
     * next claim makes one. log_release forgets it.
     */
    unsigned char request[16];
    struct log_after after; /* the append to come, for log_append_next; log_release forgets it */
    bool found;      /* by a claim or an append: the request is in the log already, or came into it, and perhaps others since */
    bool lost;       /* by a failed append: the claim was lost before it, so claim and append once more */
    bool only_grew;  /* by a claim: since the last look whole records were added, if anything */
    bool read_only;  /* when a server was asked first, whoever opened this might not append; it may have been granted since */
    bool may_assume; /* log_claim_unchanged may leave it to the append to find out that others were faster */
    /* Told what a person should know: that a claim has been waiting for a second and for whom, that digests cannot be
     * kept. NULL: nobody is. */
    void (*tell)(void *context, const char *text);
    void *context;
};

/* State now. On a server all of it is on the disk, but for what a claim of this handle shows. */
static inline enum lineage_status log_look(struct log *log, struct log_state *state,
                                           struct lineage_error *err)
{
    return log->kind->look(log, state, err);
}

/*
 * Whether what the log was in `before` is still its beginning. A server that was set back (a crash, a restored copy, a standby
 * that took over) may have lost rows, and others may stand in their place. A file always says yes: it has no number for what
 * it was.
 */
static inline enum lineage_status log_was(struct log *log, const struct log_state *before, bool *was, struct lineage_error *err)
{
    *was = true;
    return log->kind->was ? log->kind->was(log, before, was, err) : LINEAGE_OK;
}

/* Add bytes [from, from + length) to out; fewer if the log ends. */
static inline enum lineage_status log_read(struct log *log, uint64_t from, size_t length,
                                           struct buf *out, struct lineage_error *err)
{
    return log->kind->read(log, from, length, out, err);
}

/*
 * Become the one writer, waiting for another; *state is what the log is then, and stays right
 * through the calls that take it. LINEAGE_ELOCKED if it cannot be had. A claim ends with
 * log_release, and allows one append.
 */
static inline enum lineage_status log_claim(struct log *log, struct log_state *state,
                                            struct lineage_error *err)
{
    return log->kind->claim(log, state, err);
}

/*
 * The same if it can be had at once and the log has neither changed nor grown since *state was what it is; else false,
 * with nothing done. For whoever appends row after row: it costs two looks less than log_look and log_claim.
 */
static inline bool log_claim_unchanged(struct log *log, struct log_state *state)
{
    return log->kind->claim_unchanged(log, state);
}

/* Under the claim: add whole records, the header first if the log is empty. */
static inline enum lineage_status log_append(struct log *log, struct log_state *state,
                                             const char *bytes, size_t length, bool sync,
                                             struct lineage_error *err)
{
    return log->kind->append(log, state, bytes, length, sync, err);
}

/* Whether log_append_next may be tried. */
static inline bool log_gives_ids(const struct log *log)
{
    return log->kind->append_next != NULL;
}

/*
 * Without a claim: add the record that begins with the id that is next, written to id, and goes on with `rest`, where `kept`
 * says whether its label keeps the trial. *state is the log as the caller knew it when he decided what the row says. If
 * somebody has kept a trial since, or did not say what the next id is, nothing is added: LINEAGE_EAWAY, and lost. Afterwards
 * *state is the log as it is, if nobody came in between, or what it was. An append that is `found` has the id of its row,
 * which is not told.
 */
static inline enum lineage_status log_append_next(struct log *log, struct log_state *state, const char *rest, size_t length,
                                                  bool kept, char id[LOG_ID_MAX], struct lineage_error *err)
{
    return log->kind->append_next(log, state, rest, length, kept, id, err);
}

/* log_append for any number of records, or for one that a cut could end in a line end: all of them are in the log afterwards or none, whoever is killed. Until the
 * next claim readers may see some of an append that did not end. */
static inline enum lineage_status log_append_many(struct log *log, struct log_state *state, const char *bytes,
                                                  size_t length, bool sync, struct lineage_error *err)
{
    return log->kind->append_many(log, state, bytes, length, sync, err);
}

/*
 * Under the claim: the bytes from `from`, the end of the last terminated record, to the end are
 * torn. Keep them elsewhere, durably, then take them out of the log. name receives where they are,
 * beside the store's other files.
 */
static inline enum lineage_status log_set_aside(struct log *log, struct log_state *state,
                                                uint64_t from, char name[64],
                                                struct lineage_error *err)
{
    return log->kind->set_aside(log, state, from, name, err);
}

/*
 * Under the claim: the same for bytes [from, to) that others follow, which stay where they are: line ends take their place,
 * which every reader skips.
 */
static inline enum lineage_status log_blank(struct log *log, struct log_state *state, uint64_t from, uint64_t to,
                                            char name[64], struct lineage_error *err)
{
    return log->kind->blank(log, state, from, to, name, err);
}

/* Under a claim whose state says taken_back: no mirror has those rows any more. Each claim says so until then. */
static inline enum lineage_status log_settle(struct log *log, struct lineage_error *err)
{
    return log->kind->settle(log, err);
}

/* Under a claim that says found: the bytes that came with the request (add to out). */
static inline enum lineage_status log_find(struct log *log, struct buf *out, struct lineage_error *err)
{
    return log->kind->find(log, out, err);
}

/* Whether the log is on a server, and so keeps requests. */
static inline bool log_has_requests(const struct log *log)
{
    return log->kind->find != NULL;
}

/* Whether the records are still those that their digests were made of (digest.h). Writes nothing and waits for
 * nobody. */
static inline enum lineage_status log_check_digests(struct log *log, struct log_digests *digests,
                                                    struct lineage_error *err)
{
    return log->kind->check_digests(log, digests, err);
}

/* Under the claim: the same, and then make those anew that do not hold. For a person who knows why. */
static inline enum lineage_status log_rebuild_digests(struct log *log, struct log_digests *digests,
                                                      struct lineage_error *err)
{
    return log->kind->rebuild_digests(log, digests, err);
}

/*
 * Wait until the log is not as it was at the last call, for at most so many milliseconds (0: only look, negative: without end).
 * The first call begins to listen and answers at once, with news. Not under a claim. LINEAGE_EAWAY where it is on a server that
 * is away; the next call listens again, and has news if there are any.
 */
static inline enum lineage_status log_wait(struct log *log, int milliseconds, bool *news, struct lineage_error *err)
{
    return log->kind->wait(log, milliseconds, news, err);
}

static inline void log_release(struct log *log)
{
    log->kind->release(log);
}

/* log may be NULL. */
static inline void log_close(struct log *log)
{
    if (log)
        log->kind->close(log);
}

#endif
