/*
 * lineage/verify.h: what is wrong with a store, rebuilding the mirror, bringing in other formats.
 */
#ifndef LINEAGE_VERIFY_H
#define LINEAGE_VERIFY_H

#include <lineage/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thing wrong. kind is a short constant: row, status, id, parent, cycle, torn, mirror, snapshot, ... */
struct lineage_finding {
    const char *kind;
    uint64_t line; /* first physical line of the record, 0 if it concerns no row */
    const char *exp_id; /* "" if unknown */
    const char *text;   /* "7 cells, header has 17"; valid during the call */
};
typedef void lineage_finding_fn(void *context, const struct lineage_finding *finding);

/* Rows that could not be read or are of the wrong length, in file order (cheap: kept in the mirror). */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_findings(struct lineage_store *store, lineage_finding_fn *report, void *context,
                 struct lineage_error *err);

/*
 * Check everything: format, ids, parents, cycles, statuses, numbers, mirror against results.tsv byte by
 * byte, snapshots and telemetry present. *n_findings counts what was reported; 0 means the store is sound.
 * Never writes.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_verify(struct lineage_store *store, size_t *n_findings, lineage_finding_fn *report, void *context,
               struct lineage_error *err);

/*
 * The digest of each record covers it and all before it: d_n = SHA-256(d_{n-1}, bytes of record n with its line end), d_0 = 32
 * zero bytes; the header is record 1, empty records count. Digests are kept as rows are appended durably, so that a row which is
 * changed afterwards is found, by whatever it was changed.
 */
#define LINEAGE_DIGEST_TEXT 65 /* hexadecimal digits in lower case, and NUL */
struct lineage_digests {
    uint64_t records;               /* that end in LF, with all before them */
    char head[LINEAGE_DIGEST_TEXT]; /* digest of the last of them; "" if some are not what their digest was made of */
    uint64_t kept; /* of the first so many a digest was there to compare with; the rest awaits the next durable append */
};

/*
 * lineage_verify, and more of the digests. known, or NULL: a digest of this store that was noted elsewhere; a finding if no
 * record ends in it, LINEAGE_EINVAL if it is no digest. Who can write both results.tsv and the digests beside it can forge
 * them; a digest noted elsewhere cannot be met by other rows. digests may be NULL.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_verify_digests(struct lineage_store *store, const char *known, struct lineage_digests *digests, size_t *n_findings,
                       lineage_finding_fn *report, void *context, struct lineage_error *err);

/* Throw the mirror away and build it again from results.tsv, telemetry and snapshots. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_rebuild(struct lineage_store *store,
                                                                  struct lineage_error *err);

/*
 * Make the digests anew where rows are not what they were made of, for whoever has changed those rows and means it. What did
 * not hold is reported, as by lineage_verify. Digests of rows before the first change stay.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_rebuild_digests(struct lineage_store *store, struct lineage_digests *digests, size_t *n_findings,
                        lineage_finding_fn *report, void *context, struct lineage_error *err);

/*
 * Put back what a writer moved aside because nothing proved it whole: name is that of the file, results.tsv.torn-N, as the
 * notice said. Its records must be sound rows of full length (LINEAGE_EINVAL) with ids that no row has (LINEAGE_EEXIST);
 * whether the last of them is whole only a person can say. They are appended as they are, and the file is removed.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_restore(struct lineage_store *store, const char *name, size_t *n_rows, struct lineage_error *err);

struct lineage_import_stats {
    size_t n_rows;     /* rows appended */
    size_t n_left_out; /* rows reported and left out */
};

/*
 * Append every sound row of a fieldkit, blackboard or autoresearch results.tsv to the store as canonical
 * 17-column rows, in file order: core_metric is the score (column metric, NULL = guessed as at open), text
 * is unchanged, columns outside the 17 are dropped, placeholders of crashed autoresearch rows are left
 * absent. Where the source has no column delta_vs_best it is computed as append does. Rows left out are reported. All rows
 * are written, or none is. path may name a pipe.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_import(struct lineage_store *store, const char *path, const char *metric,
               struct lineage_import_stats *stats, lineage_finding_fn *report, void *context,
               struct lineage_error *err);

#ifdef __cplusplus
}
#endif

#endif
