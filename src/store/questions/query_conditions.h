/*
 * query_conditions.h: the conditions of a query as SQL, and the one of them that leads to the rows. A value, and a name that a
 * user gave, is bound.
 */
#ifndef QUESTIONS_QUERY_CONDITIONS_H
#define QUESTIONS_QUERY_CONDITIONS_H

#include <lineage/query.h>

#include "statement_builder.h"
#include "query_names.h"

/* Below FEW rows reading them all is so cheap that nothing else is worth trying; beyond
 * LIMIT_OF_COUNT it does not matter how much wider one range is than another. */
enum { FEW = 1000, LIMIT_OF_COUNT = 10000 };

/*
 * What a condition is on. A question that no row could answer is refused instead of answered with nothing, which an
 * agent would take for "never tried". LINEAGE_EINVAL.
 */
enum lineage_status query_resolve_condition(struct mirror *mirror, const struct lineage_condition *condition,
                                            struct named *named, struct lineage_error *err);

/* " AND ..": the condition, tested row by row of trials t; a range of the SQL expression `value`. */
void query_add_condition(struct builder *b, const struct named *named, const struct lineage_condition *condition);
void query_add_range(struct builder *b, const char *value, const struct lineage_range *range);

/* How many rows a condition on a parameter or extra column leads to, counted up to a limit (that of each text, if it has
 * texts): to know that a range is wide costs as much as reading so many entries and no more. */
enum lineage_status query_count_rows(struct mirror *mirror, const struct named *named, const struct lineage_condition *condition,
                                     int64_t limit, int64_t *n, struct lineage_error *err);

/* The conditions on names that have an index of their own, and the one that leads to the fewest
 * rows. */
struct lead {
    struct named named;
    struct lineage_condition condition;
    int64_t n, limit; /* rows it leads to, counted up to a limit */
    size_t at;        /* index of the condition, which need not be tested again */
    bool found;
};

/* Take the condition, number `at` of the query, as the lead if it leads to fewer rows than the one so far. */
enum lineage_status lead_consider(struct builder *b, struct lead *lead, const struct named *named,
                                  const struct lineage_condition *condition, size_t at, struct lineage_error *err);

/* "SELECT l.seq FROM .. WHERE ..": the trials t that the lead l finds; without one "SELECT t.seq" of all trials. */
void lead_add_source(struct builder *b, const struct lead *lead);

#endif
