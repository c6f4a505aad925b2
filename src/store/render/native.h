/* native.h: what the sections of the native style share. */
#ifndef RENDER_NATIVE_H
#define RENDER_NATIVE_H

#include "render.h"

struct native {
    struct lineage_store *store;
    const struct lineage_render_options *options;
    const char *metric;        /* name of the score column */
    struct lineage_trial best; /* seq 0 if none */
    struct lineage_chain chain;
    uint64_t rows, findings;
};

/* Add one section, or nothing if it has nothing to say. */
typedef enum lineage_status section_fn(struct buf *out, struct native *n, struct lineage_error *err);

section_fn section_best, section_leaderboard, section_knowledge, section_recent, section_full; /* trials */
section_fn section_sweep, section_failures, section_calibration, section_info_gain;            /* coverage */
section_fn section_insights;

/* exp_ID, without a second exp_ if the id has one. */
void add_id(struct buf *out, const char *id);

/* The number that a statement of one row and column gives. */
enum lineage_status native_count(struct native *n, const char *sql, int64_t *count, struct lineage_error *err);

#endif
