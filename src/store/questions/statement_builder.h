/* statement_builder.h: a statement put together piece by piece, and what it finds. */
#ifndef QUESTIONS_STATEMENT_BUILDER_H
#define QUESTIONS_STATEMENT_BUILDER_H

#include "../mirror/statement.h"
#include "questions.h"

#define MAX_BOUND 250

/* A statement with its values, in the order of the question marks. */
struct builder {
    struct mirror *mirror;
    struct buf sql;
    struct bound {
        const char *text; /* NULL: number */
        double number;
    } bound[MAX_BOUND];
    int n;
};

/* The value of the next question mark. A text is borrowed. A query beyond MAX_BOUND is refused when it is put together
 * (sql.failed), and never run with a condition less. */
void builder_bind_text(struct builder *b, const char *text);
void builder_bind_number(struct builder *b, double number);

/* The one number that the statement gives. */
enum lineage_status builder_count(size_t *n, const struct builder *b, struct lineage_error *err);

/* Run a statement that selects seq. Seqs that were found are the caller's to free also after a failure. */
enum lineage_status builder_collect(struct mirror_seqs *found, const struct builder *b, struct lineage_error *err);

#endif
