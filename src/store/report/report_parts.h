/* report_parts.h: the parts of a report; each reads its own data from the mirror. */
#pragma once

#include <lineage/report.h>

#include "../format/arena.h"
#include "../questions/questions.h"

/* A report that is being loaded; const afterwards. */
struct report_load {
    struct lineage_report report; /* first member: the caller gets its address */
    struct lineage_store *store;
    const struct lineage_report_options *options;
    struct mirror_label_count *counts; /* [n_counts] */
    size_t n_counts;
    bool has_parents; /* trials name their parents; set for grids */
    struct arena arena;
};

/* coverage.c: params, grids. */
enum lineage_status report_coverage(struct report_load *load, struct lineage_error *err);

/* failures.c: classes of failure and their reasons. Needs counts. */
enum lineage_status report_failures(struct report_load *load, struct lineage_error *err);

/* differences.c: the score of each recent trial minus the score of its parent. Needs recent. */
enum lineage_status report_against_parents(struct report_load *load, struct lineage_error *err);

/* differences.c: gives trials without a hypothesis, such as those of a night, the parameters that they changed for one. */
enum lineage_status report_describe(struct report_load *load, struct lineage_trial *trials, size_t n, struct lineage_error *err);

/* differences.c: adds to a borrowed trial the parameters that it inherits from its parents. */
enum lineage_status report_add_inherited(struct report_load *load, struct lineage_trial *trial, struct lineage_error *err);

/* differences.c: the newest trials and what each changed. Needs params, which say what is constant. */
enum lineage_status report_full(struct report_load *load, struct lineage_error *err);

/* board.c: every row as text, and best.json. */
enum lineage_status report_board(struct report_load *load, struct lineage_error *err);
