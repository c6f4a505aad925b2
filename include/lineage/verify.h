/* lineage/verify.h: checking a store, rebuilding the mirror, restoring torn records, importing other formats. */
#ifndef LINEAGE_VERIFY_H
#define LINEAGE_VERIFY_H

#include <lineage/store.h>

/* The kind of what an ordinary day leaves, such as a kill; it is reported and not counted as a fault. */
#define LINEAGE_NOTE "note"

/* One problem that a check found. kind is a short constant: row, status, id, parent, cycle, torn, mirror, snapshot,
 * ... */
struct lineage_finding {
    const char *kind;
    uint64_t line; /* first physical line of the record, 0 if it does not concern a row */
    const char *exp_id; /* "" if unknown */
    const char *text;   /* "7 cells, header has 17"; valid during the call */
};
typedef void lineage_finding_fn(void *context, const struct lineage_finding *finding);

/* Reports rows that could not be read or have the wrong length, in the order of the log. This is cheap, because the
 * mirror stores these findings. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_findings(struct lineage_store *store, lineage_finding_fn *report,
                                                                   void *context, struct lineage_error *err);

/* Checks everything: format, ids, parents, cycles, labels, numbers, the mirror against results.tsv byte by byte, and
 * whether snapshots and telemetry exist. *n_findings counts what was reported, but for notes; 0 means that the store is sound.
 * Writes nothing. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_verify(struct lineage_store *store, size_t *n_findings,
                                                                 lineage_finding_fn *report, void *context,
                                                                 struct lineage_error *err);

/* Each record's digest covers it and all records before it: d_n = SHA-256(d_{n-1}, bytes of record n with its line
 * end), d_0 = 32 zero bytes. The header is record 1, and empty records count. Digests are stored when rows are appended
 * durably, so verification finds any later change of a row, whatever program made it. */
#define LINEAGE_DIGEST_TEXT 65 /* hexadecimal digits in lower case, and NUL */
struct lineage_digests {
    uint64_t records;               /* number of records that end in LF and have only such records before them */
    char head[LINEAGE_DIGEST_TEXT]; /* digest of the last of these records; "" if some record does not match */
    uint64_t kept; /* number of leading records whose stored digest was compared (the others have none yet) */
};

/* A digest of this store that was noted elsewhere. */
struct lineage_known_digest {
    const char *digest; /* LINEAGE_EINVAL if it is not a digest */
    const char *text;   /* of the finding if no record has it; NULL: a text about a digest */
    bool found;         /* result: a record has it .. */
    uint64_t record;    /* .. and this is its number */
};

/* How much of a store a verification has looked at. */
struct lineage_checked {
    size_t rows, snapshots, telemetry;
    size_t waiting, damaged; /* trials in the outbox */
    size_t redacted;         /* rows from which a secret was taken (lineage/redact.h) */
    size_t claims;           /* of trials, by workers of this machine */
    bool mirror;             /* there is a mirror on disk */
};

struct lineage_verification {
    struct lineage_known_digest *known; /* [n_known] */
    size_t n_known;
    struct lineage_digests digests; /* results: */
    struct lineage_checked checked;
    size_t n_findings;
};

/* Does what lineage_verify does, with digests of this store that were noted elsewhere, and reports how much was checked. A program
 * that can write both results.tsv and the digests beside it can forge them, but other rows cannot match such a digest: it is a
 * finding if no record has it. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_verify_all(struct lineage_store *store, struct lineage_verification *v,
                                                                     lineage_finding_fn *report, void *context,
                                                                     struct lineage_error *err);

/* Computes the digest of all rows, and compares the stored digests with them; nothing else is checked. head is "" if some
 * record does not match. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_digests(struct lineage_store *store,
                                                                        struct lineage_digests *digests,
                                                                        struct lineage_error *err);

/* Throws the mirror away and builds it again from results.tsv, telemetry and snapshots. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_rebuild(struct lineage_store *store, struct lineage_error *err);

/* Recomputes the digests, beginning with the first row that does not match, for an owner who changed rows on purpose.
 * Mismatches are reported as lineage_verify reports them. Digests of rows before the first change stay. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_rebuild_digests(struct lineage_store *store,
                                                                          struct lineage_digests *digests, size_t *n_findings,
                                                                          lineage_finding_fn *report, void *context,
                                                                          struct lineage_error *err);

/*
 * Puts a record back into the log that a writer moved aside because it may be incomplete. name is the file named by the
 * notice, results.tsv.torn-N. Its records must be sound rows of full length (LINEAGE_EINVAL) with unused ids
 * (LINEAGE_EEXIST); only a person can tell whether the last record is complete. They are appended unchanged, and the
 * file is removed. name NULL: puts back the rows that were acknowledged to this user and are gone from the log (a reset or a
 * checkout of git), from the copy in the state directory; 0 rows if none are gone.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_restore(struct lineage_store *store, const char *name, size_t *n_rows,
                                                                  struct lineage_error *err);

struct lineage_import_stats {
    size_t n_rows; /* rows appended */
    size_t n_left_out; /* rows reported and left out */
};

/*
 * Appends every sound row of a fieldkit, blackboard or autoresearch results.tsv to the store as canonical 17-column
 * rows, in the order of the file. The score (column `metric`; NULL = guessed as by open) becomes core_metric, text is
 * unchanged, and placeholders of crashed autoresearch rows are left absent. In an empty log, the other columns outside
 * the 17 become extra columns. A log with rows keeps its header: columns that the header has are filled, and the
 * numbers of the others become metrics. If the source has no column delta_vs_best, it is computed as append does. Rows
 * and columns left out are reported. Either all rows are written or none. path may name a pipe.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_import(struct lineage_store *store, const char *path,
                                                                 const char *metric, struct lineage_import_stats *stats,
                                                                 lineage_finding_fn *report, void *context,
                                                                 struct lineage_error *err);

/* The name of a column in a log, and the one of the 17 columns that it corresponds to. */
struct lineage_column_name {
    const char *theirs, *ours;
};

struct lineage_convert_options {
    const char *metric; /* the score column of the log; NULL: core_metric or val_bpb */
    const struct lineage_column_name *columns; /* [n_columns] */
    size_t n_columns;
};

/*
 * Imports a log that a person or an agent keeps by hand into a store, as lineage_import does, and fills in what such a log
 * leaves out. Cells are separated by tabs, or, if the header has no tab, by commas or semicolons.
 *
 *     commit, description  become exp_id and hypothesis (karpathy/autoresearch); a commit that consists of digits gets the
 *                          prefix g, as in git describe, because a number is an id that append counts on from
 *     exp_id               rows without one are numbered; an id that occurs again becomes ID-2, ID-3 ..
 *     status               also as `kept`, `reverted`, `failed` and similar words, in any case; a log without the column
 *                          keeps each row that beats the rows before it
 *     parent_exp           in a log without the column, the last kept row before: such a loop continues from what it kept
 *     score                the 0 of a failed trial stands for a missing score
 *
 * options may be NULL. LINEAGE_EINVAL if the log has no score column; the message lists its columns.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_import_log(struct lineage_store *store, const char *path,
                                                                     const struct lineage_convert_options *options,
                                                                     struct lineage_import_stats *stats,
                                                                     lineage_finding_fn *report, void *context,
                                                                     struct lineage_error *err);

#endif
