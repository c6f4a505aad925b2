/*
 * lineage/search.h: full-text search over the trials of a store.
 *
 * A search looks at the exp_id, specialist, hypothesis and notes of each trial, and at the remarks on it. Words are
 * compared without regard to case and accents. An identifier is found whole and by its parts: muon_wd_mlp and gradClip
 * by `wd` and `clip`. In scripts without blanks between words (Chinese, Japanese, Thai, ..) each character is a word.
 *
 *     grad clip              trials with both words
 *     "grad clip"            the words next to each other; also what grad-clip, grad.clip and 0.125 mean
 *     anneal*                words that begin with "anneal"
 *     clip OR (norm NOT layer)
 *     hypothesis:clip        searches one field only: exp_id, specialist, hypothesis, notes or remarks
 *
 * The index is a part of the mirror. It is brought up to date by the first search after new rows, never by an append;
 * where the mirror cannot be written, it is made in memory for this search.
 */
#ifndef LINEAGE_SEARCH_H
#define LINEAGE_SEARCH_H

#include <lineage/query.h>

/*
 * Finds the trials that match `words`, best match first (BM25; a match in the hypothesis counts four times as much as
 * one in the notes), or in the order of filter->sort if it is set. filter (NULL: all trials) selects the trials and
 * limits their number. With a limit, only the newest 4,000 matches are ranked (more if the limit is larger), so that a
 * word of every second trial costs no more than a rare one. Close the cursor before the store. LINEAGE_EINVAL with the
 * position, counted in characters from 1, if `words` is not a valid search.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_search(struct lineage_cursor **cursor, struct lineage_store *store,
                                                                 const char *words, const struct lineage_query *filter,
                                                                 struct lineage_error *err);

/*
 * Adds to a set of ideas the trials of the store that are to be compared with a text, or with the trial whose exp_id the text is.
 * In a store of less than LINEAGE_IDEAS_NEAR_WHOLE trials these are all; in a larger one those that share its rarest words, found
 * by this index (BM25), and others as lineage_ideas_add_near says. So a question about one idea takes the same time in a store of
 * any size. Call it before lineage_ideas_settle.
 */
struct lineage_ideas;
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_search_ideas(struct lineage_ideas *ideas, struct lineage_store *store,
                                                                       const char *what, struct lineage_error *err);

/* Bytes of a text that a search found: text[start..end). */
struct lineage_span {
    size_t start, end;
};

/*
 * Where the words of a search occur in a text, for highlighting: fills spans[capacity] from left to right, without
 * overlaps, and returns how many it filled. Words after NOT are not marked. Returns 0 if `words` is not a valid search.
 */
LINEAGE_API size_t lineage_search_spans(struct lineage_span *spans, size_t capacity, const char *words, const char *text);

#endif
