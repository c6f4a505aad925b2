/*
 * param_walks.h: walks along the trials that meet a condition on a parameter, from the newest to the oldest, by param_rows alone,
 * which has the trials of one value in the order of the log. A walk skips stretches of the log by a look-up, so what several
 * walks have in common is found without looking at all trials of any.
 */
#pragma once

#include <lineage/query.h>

#include "../mirror/statement.h"

/* The trials with one value of a parameter, or with one label, from the newest on. */
struct walk {
    sqlite3_stmt *stmt;
    int64_t at; /* INT64_MAX before the first one; 0 at the end */
};

/* With more values than MAX_WALKS, the trials are marked in a set of bits instead. Such a range is of a setting with as many
 * values as trials, and reading its rows costs a tenth of a microsecond for each. */
enum { MAX_WALKS = 32 };

/* The trials that meet a condition, or other trials with a walk. Zeroed, with `at` INT64_MAX: none so far. */
struct source {
    struct walk walks[MAX_WALKS];
    size_t n;
    uint64_t *bits; /* [newest / 64 + 1], or NULL */
    int64_t at;     /* the newest trial that is not newer than where the search is; 0: none */
    bool may_fail;  /* some of them may have failed */
};

enum source_trials { SOURCE_ALL, SOURCE_INFORMATIVE /* values that only harness_abort trials have are left out */ };

/* Adds the trials that meet a condition on the parameter with exactly its name. If they have more than MAX_WALKS values, *many
 * becomes true, and the source stays empty. */
enum lineage_status source_add_values(struct source *source, struct mirror *mirror, const struct lineage_condition *condition,
                                      enum source_trials trials, bool *many, struct lineage_error *err);

/* Goes back to the newest trial that is not newer than seq, which must not be larger than before. */
enum lineage_status source_to(struct source *source, struct mirror *mirror, int64_t seq, struct lineage_error *err);

void source_close(struct source *source);
