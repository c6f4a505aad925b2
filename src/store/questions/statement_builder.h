/* statement_builder.h: builds a statement from parts and runs it. */
#pragma once

#include "../mirror/statement.h"
#include "questions.h"

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
