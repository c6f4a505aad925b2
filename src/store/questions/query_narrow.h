/* query_narrow.h: the rows of a query by an index of trials. */
#pragma once

#include <lineage/query.h>

#include "query_conditions.h"

/* A few trials, among them all that a query's labels, specialist and times allow. */
struct narrow {
    const char
        *source; /* beginning of a statement, up to its first condition, that reads them from an index; NULL: they are many */
    size_t n;           /* their number */
};

/* since and until are texts between which the timestamps are (NULL: no bound). The statement must have these conditions too. */
enum lineage_status query_find_narrow(struct narrow *narrow, struct mirror *mirror, const struct lineage_query *query,
                                      const char *since, const char *until, struct lineage_error *err);
