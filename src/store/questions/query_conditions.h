/*
 * query_conditions.h: turns the conditions of a query into SQL, and chooses the condition whose index leads to the
 * rows. Every value, and every name that a user gave, is bound.
 */
#pragma once

#include <lineage/query.h>

#include "query_names.h"
#include "../mirror/statement.h"
#include "questions.h"

/* ---- builds a statement from parts and runs it ---- */

#define MAX_BOUND 250

/* A statement and the values to bind, in the order of the question marks. */
struct builder {
    struct mirror *mirror;
    struct buf sql;
    struct bound {
        const char *text; /* NULL: number */
        double number;
    } bound[MAX_BOUND];
    int n;
    struct buf met; /* query_find_meet */
};

void builder_release(struct builder *b);

/* Adds the value of the next question mark. A text is not copied, so it must outlive the statement. More than MAX_BOUND
 * values make the build fail (sql.failed), so that a statement never runs with a missing condition. */
void builder_bind_text(struct builder *b, const char *text);
void builder_bind_number(struct builder *b, double number);

/* Runs a statement that returns one number. */
enum lineage_status builder_count(size_t *n, const struct builder *b, struct lineage_error *err);

/* Runs a statement that selects seq. The caller frees the seqs that were found, also after a failure. */
enum lineage_status builder_collect(struct mirror_seqs *found, const struct builder *b, struct lineage_error *err);

/* ---- conditions ---- */

/* Up to FEW rows are so cheap to read that no other plan is worth trying. Ranges of more than LIMIT_OF_COUNT rows are
 * not counted further, because it does not matter how much wider one is than another. */
enum { FEW = 1000, LIMIT_OF_COUNT = 10000 };

/* Finds the column or parameter that a condition tests. A condition that no row could meet is refused (LINEAGE_EINVAL),
 * because an agent would take an empty answer for "never tried". */
enum lineage_status query_resolve_condition(struct mirror *mirror, const struct lineage_condition *condition, struct named *named,
                                            struct lineage_error *err);

/* query_add_condition adds " AND .." with a condition that is tested on each row of trials t. query_add_range does so
 * with a range of the SQL expression `value`. */
void query_add_condition(struct builder *b, const struct named *named, const struct lineage_condition *condition);
void query_add_range(struct builder *b, const char *value, const struct lineage_range *range);

/* If trials declare a parameter with the name of the column, and the condition fits only the parameter, it is meant. */
void query_as_declared(struct named *named, const struct lineage_condition *condition);

/* Counts the rows that a condition on a parameter or extra column leads to, up to a limit (per text, if it has
 * texts), so that counting a wide range stays cheap. */
enum lineage_status query_count_rows(struct mirror *mirror, const struct named *named, const struct lineage_condition *condition,
                                     int64_t limit, int64_t *n, struct lineage_error *err);

/* The leading condition: the one that leads to the fewest rows, among the conditions that have an index. */
struct lead {
    struct named named;
    struct lineage_condition condition;
    int64_t n, limit; /* number of rows, counted up to a limit */
    size_t at;        /* index of the condition, which need not be tested again */
    bool found;
};

/* Makes condition number `at` of the query the lead if it leads to fewer rows than the current one. */
enum lineage_status lead_consider(struct builder *b, struct lead *lead, const struct named *named,
                                  const struct lineage_condition *condition, size_t at, struct lineage_error *err);

/* Adds "SELECT l.seq FROM .. WHERE ..", which selects the trials t that the lead l finds. Without a lead it adds
 * "SELECT t.seq" of all trials. `alone`: nothing else in the statement names t, so it is left out. */
void lead_add_source(struct builder *b, const struct lead *lead, bool alone);

/* ---- the rows of a query by an index of trials ---- */

/* A few trials, among them all that a query's labels, specialist and times allow. */
struct narrow {
    const char
        *source; /* beginning of a statement, up to its first condition, that reads them from an index; NULL: they are many */
    size_t n;           /* their number */
};

/* since and until are texts between which the timestamps are (NULL: no bound). The statement must have these conditions too. */
enum lineage_status query_find_narrow(struct narrow *narrow, struct mirror *mirror, const struct lineage_query *query,
                                      const char *since, const char *until, struct lineage_error *err);
