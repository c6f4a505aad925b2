/*
 * lineage/insights.h: claims about what the trials of a store show, with the trials that support them.
 *
 * An insight is what a person or an agent learned from several trials ("more than 4 epochs exceed the evaluation
 * budget"), and the next agent should not have to learn again. insights.jsonl beside the log has one JSON object per
 * line: {n, time, author, text, evidence, supersedes, rows}, append-only. An insight is in force until another one
 * supersedes it.
 */
#ifndef LINEAGE_INSIGHTS_H
#define LINEAGE_INSIGHTS_H

#include <lineage/store.h>

#define LINEAGE_INSIGHT_MAX 2000    /* bytes of the text */
#define LINEAGE_EVIDENCE_MAX 64     /* trials */

struct lineage_insight {
    uint64_t number;       /* counted from 1; set by the append */
    const char *timestamp; /* YYYY-MM-DDTHH:MM:SSZ; in an append, empty means now */
    const char *author;    /* may be empty */
    const char *text;
    const char *const *evidence; /* [n_evidence] exp_ids */
    size_t n_evidence;
    uint64_t supersedes;    /* number of an earlier insight; 0 for none */
    uint64_t rows;          /* number of rows in the log when the insight was recorded; set by the append */
    uint64_t superseded_by; /* number of the insight that supersedes this one, 0: in force; set only on reading */
};

/*
 * Appends an insight and sets *number. Takes an exclusive flock on insights.jsonl, writes the line with one write and
 * syncs it. LINEAGE_ENOTFOUND if a trial of the evidence, or the insight to supersede, does not exist; LINEAGE_EINVAL
 * for an empty text, no evidence, invalid UTF-8, or an insight that is superseded already; LINEAGE_ELIMIT for a text or
 * a list that is too long.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_insight_append(struct lineage_store *store,
                                                                         const struct lineage_insight *insight, uint64_t *number,
                                                                         struct lineage_error *err);

/* Calls visit for each insight, oldest first, including superseded insights; visit returns false to stop. The strings
 * are valid during the call. Lines that are not insights are skipped. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_insights_read(struct lineage_store *store,
                                                                        bool (*visit)(void *context,
                                                                                      const struct lineage_insight *insight),
                                                                        void *context, struct lineage_error *err);

#endif
