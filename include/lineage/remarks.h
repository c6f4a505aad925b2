/*
 * lineage/remarks.h: remarks on trials, added after the fact.
 *
 * A row of results.tsv is never rewritten, so what somebody learns about a trial later (why it crashed, what its
 * curve shows) goes into remarks.jsonl beside it: one JSON object per line, {time, exp_id, author, text},
 * append-only. No other part of the store depends on the remarks: deleting the file loses only them.
 */
#ifndef LINEAGE_REMARKS_H
#define LINEAGE_REMARKS_H

#include <lineage/store.h>

#define LINEAGE_REMARK_MAX 4096 /* bytes of a remark's text */
#define LINEAGE_NIGHT_AUTHOR "lineage night" /* author of the remark on its last row by which a night says why it stopped */

struct lineage_remark {
    const char *timestamp; /* YYYY-MM-DDTHH:MM:SSZ */
    const char *exp_id;
    const char *author; /* may be empty */
    const char *text;
};

/* Appends a remark; an empty timestamp means now (UTC). Takes an exclusive flock on remarks.jsonl, writes the line with
 * one write and syncs it. The id is written as the trial's row spells it. Returns LINEAGE_ENOTFOUND for an unknown
 * trial, LINEAGE_EINVAL for an empty text or invalid UTF-8, LINEAGE_ELIMIT for a text that is too long. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_remark_append(struct lineage_store *store,
                                                                        const struct lineage_remark *remark,
                                                                        struct lineage_error *err);

/* Calls visit for each remark on the trial (NULL: on any trial), oldest first; visit returns false to stop. The
 * strings are valid during the call. Lines that are not remarks are skipped. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_remarks_read(struct lineage_store *store, const char *exp_id,
                                                                       bool (*visit)(void *context,
                                                                                     const struct lineage_remark *remark),
                                                                       void *context, struct lineage_error *err);

#endif
