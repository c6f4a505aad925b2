/* lineage/redact.h: takes a secret out of a store. */
#ifndef LINEAGE_REDACT_H
#define LINEAGE_REDACT_H

#include <lineage/store.h>

enum { LINEAGE_SECRET_MIN = 6, LINEAGE_SECRET_MAX = 4096 }; /* bytes of a secret */

struct lineage_redaction {
    size_t rows;   /* rows in which the secret was overwritten, or an interrupted redaction was completed */
    size_t files;  /* likewise files */
    size_t places; /* places in them */
    size_t left;   /* places where it is still found; report has named them */
};

/* Called for each file with its path in the store, and for each place that is left, with the reason; NULL: it was redacted. */
typedef void lineage_redact_fn(void *context, const char *path, size_t places, const char *why);

/*
 * Overwrites every occurrence of a secret with letters X: in rows, in all regular files of the store's directory, and by
 * removing the mirror, which the next command builds again. The secret is found unchanged, and in the spellings in which the
 * store writes texts: in JSON, in cells, in quoted settings, in URLs and in HTML. Rows keep their places and later digests: the
 * redaction is recorded in .results.tsv.redacted, so that lineage_verify accepts these rows with exactly these bytes. A call
 * that was interrupted is completed by the next one; with secret NULL nothing else is done.
 *
 * LINEAGE_EINVAL if the secret is too short or too long, is not printable UTF-8, or is part of an id, a number or a path in a
 * row; LINEAGE_EREFUSED for a log on a server, whose rows nobody can change; LINEAGE_ECORRUPT if rows do not match their
 * digests. In these cases nothing was changed. *done is set in every case. Names of files are not changed; they count as left.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_redact(struct lineage_store *store, const char *secret, size_t length,
                                                                 struct lineage_redaction *done, lineage_redact_fn *report,
                                                                 void *context, struct lineage_error *err);

#endif
