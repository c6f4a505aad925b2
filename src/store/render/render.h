/* render.h: what the styles share: lists of trials from the mirror, and cells as text. */
#ifndef RENDER_RENDER_H
#define RENDER_RENDER_H

#include <lineage/query.h>
#include <lineage/render.h>

#include "../format/arena.h"
#include "../mirror/mirror.h"

struct trial_list {
    struct lineage_trial *items;
    size_t n;
};

/*
 * Append the trials of a statement that selects TRIAL_COLUMNS, at most `limit` (0 = all) of them. The
 * statement's ?1 is bound to the limit (-1 for all).
 */
enum lineage_status trial_list_add(struct trial_list *list, struct mirror *mirror, const char *sql, size_t limit,
                                   struct lineage_error *err);
void trial_list_release(struct trial_list *list);

/* A metric as `%.6f`, a delta as `%+.6f`, absent as —; nan and infinities as nan, inf, -inf. */
#define NUMBER_TEXT_MAX 352
const char *metric_text(char out[NUMBER_TEXT_MAX], struct lineage_number number);
const char *delta_text(char out[NUMBER_TEXT_MAX], struct lineage_number number);

/* Text as it is, C0 80 turned back into NUL. */
void add_raw(struct buf *out, const char *text);

/* The first n - 1 code points and … if there are more than n, as it is otherwise. */
void add_cut(struct buf *out, const char *text, size_t n);

/* Harmless on one line (lineage_text_safe), cut to n code points, 0 = whole. */
void add_safe(struct buf *out, const char *text, size_t n);

/* One style each: the whole block. */
enum lineage_status render_fieldkit(struct buf *out, struct lineage_store *store,
                                    const struct lineage_render_options *options, struct lineage_error *err);
enum lineage_status render_native(struct buf *out, struct lineage_store *store,
                                  const struct lineage_render_options *options, struct lineage_error *err);

/* `## Key Insights` from an existing file: *start is its offset, false if a person wrote none. */
bool find_insights(const char *text, size_t length, size_t *start);

#endif
