/* code_factor.h: a change of code as a factor: which trials ran code that contains it. */
#pragma once

#include <lineage/code.h>
#include <lineage/compare.h>

#include "../format/arena.h"

struct code_factor {
    struct lineage_store *store;
    struct arena *arena;
    const char *text;         /* a text in the files; NULL: the factor is a change */
    struct code_run *changes; /* the change: what its diff adds and removes; NULL: a text */
    struct code_known *known; /* codes that were asked about */
    struct code_diff *diffs;  /* diffs that were read */
    char about[LINEAGE_DIFFSTAT_MAX + LINEAGE_NAME_MAX + 32]; /* what the factor is, for people */
};

/* What is known of a trial's code. */
struct code_answer {
    bool known; /* the trial has stored code, and all of it could be read */
    bool has;   /* it contains the factor */
    uint64_t rest; /* digest of the other changes that led to it: trials with equal digests differ in the factor alone */
};

/*
 * Reads what the option `code` names (lineage/compare.h). Everything is in the arena. Returns LINEAGE_EINVAL if it is the
 * id of a trial that did not change its code, or the beginning of several digests.
 */
enum lineage_status code_factor_open(struct code_factor *factor, struct lineage_store *store, struct arena *arena,
                                     const char *text, struct lineage_error *err);

enum lineage_status code_factor_ask(struct code_answer *answer, struct code_factor *factor, const struct lineage_trial *trial,
                                    struct lineage_error *err);

/* Frees what is not in the arena. */
void code_factor_close(struct code_factor *factor);
