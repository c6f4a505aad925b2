/*
 * propose_past.h: reads the trials of a store as the past for a proposer.
 *
 * A trial is part of the past if it has a value in every range. `lineage suggest` also takes values that trials state in
 * words: of ranges that no trial declares or, in a log that is described in words, of every range (lineage/settings.h).
 * It counts as measured if its label is keep, discard or baseline and its score is finite. With every other label it
 * counts as failed, by a weight for each label. A row with harness_abort says nothing, and its setting may be proposed again.
 * A trial that was disqualified, or that blames the machine (support/environment.h), is not repeated, and its failure says
 * nothing about the setting. Running trials are read from their work directories (support/running_files.h).
 *
 * Trials of other sweeps count too. How much they tell depends on their other settings: the number of parameters, beside
 * the ranges, the seed and the proposer, in which they differ from the newest row of the sweep or, without one, from the
 * newest row that is part of the past.
 */
#pragma once

#include <lineage/settings.h>

#include "propose/propose_ranges.h"

/* ---- propose rows ---- */

/* What a row of a store says to a proposer. propose_past.h has the rules. */

/* What rows are compared with, and what they show about the log. Everything is borrowed. */
struct propose_rows {
    const struct propose_space *space;
    const struct lineage_number *fallback; /* [ranges], for rows of the sweep; or NULL */
    const char *sweep;                     /* or NULL */
    const char *program;                   /* or NULL */
    const struct lineage_settings *words;  /* or NULL */
    size_t n, declared[PROPOSE_RANGES_MAX]; /* number of rows, and how many of them declare each range */
};

enum propose_row {
    PROPOSE_ROW_SILENT,    /* says nothing about its setting */
    PROPOSE_ROW_OTHER,     /* another program's */
    PROPOSE_ROW_ELSEWHERE, /* lacks a value in at least one range */
    PROPOSE_ROW_PAST       /* *trial is a trial of the past */
};

/* Writes the key of the program that the row names, at most `size` bytes with its NUL; "" if it names none. */
void propose_row_program(char *out, size_t size, const char *notes);

/*
 * A proposer reads every row of a store with up to PROPOSE_NEWEST + PROPOSE_BEST rows. In a larger store it reads the newest
 * PROPOSE_NEWEST rows that declare the ranges and the PROPOSE_BEST best ones, so that a proposal costs the same for any size of
 * the store. TPE calls at most 25 settings good, and they are among the best rows. Every other row is a bad one for it, so more
 * of the best rows would keep proposals away from them. The newest rows have the largest weight by age. In logs of 4,000 random
 * trials of a function of two ranges, whose values differed by up to 3 and had noise of 0.005, the mean proposal was 0.014 above
 * the minimum; with all rows it was 0.008 above, and with the 250 best 0.021. A setting of a row that was left out is still never
 * proposed: each proposal is looked up in the store.
 * All rows are read if many proposals turn out to be old, or if trials state values of the ranges in words.
 */
enum { PROPOSE_NEWEST = 950, PROPOSE_BEST = 50 };

/* Where a past comes from. Everything but the arrays is borrowed, until the past is released. */
struct propose_from {
    struct lineage_store *store;
    const struct propose_space *space;
    const char *sweep;                                  /* NULL for `lineage suggest` */
    bool has_fallback;
    struct lineage_number fallback[PROPOSE_RANGES_MAX]; /* the value of each range for rows of the sweep that do not name it */
    char program[20];                                   /* key of what the proposals run (propose_row_program), or "" */
};

/* The parameters of a trial outside of the ranges, as hashes. */
struct propose_others {
    struct propose_other {
        uint64_t name, value;
    } *at; /* [n] */
    size_t n;
    uint64_t seq; /* of the row; 0 for a trial without a row */
};

struct propose_past {
    struct propose_from from;
    struct propose_trial *trials; /* [n], oldest first, running trials last */
    char (*ids)[64];              /* [n] exp_id, truncated if longer; "" for a running trial */
    struct propose_others *settings; /* [n] of rows; none of a running trial */
    size_t n, room[3]; /* of the three arrays */
    size_t measured, failed, running; /* how many of them; `failed` has all failures */
    char (*others)[64];               /* [n_others] exp_ids of rows that another program wrote */
    size_t n_others, others_room;
    size_t elsewhere;                 /* number of trials that lack a value in at least one range, among those that were read */
    size_t unread;                    /* number of rows that were left out */
    json_t *source; /* {NAME: {SOURCE: TRIALS}} of the ranges whose values were found in words; NULL: none were */
};

/*
 * Reads the rows and the running trials; call propose_past_release in any case. whole: rows are not left out, however many there
 * are. A row of another program is not part of the past, and neither is a failure of a trial that changed the code by a diff of
 * its own. Rows without a key of a program count. A trial without a value in a range and without a fallback for it is not part
 * of the past.
 */
enum lineage_status propose_past_read(struct propose_past *past, const struct propose_from *from, bool whole,
                                      struct lineage_error *err);
void propose_past_release(struct propose_past *past);

/*
 * Writes the next setting to x [ranges]; *exhausted: every setting was tried. May read the rows that were left out, which
 * changes the past.
 */
enum lineage_status propose_past_next(double *x, bool *exhausted, struct propose_past *past, enum propose_method method,
                                      uint64_t seed, struct lineage_error *err);

/* Adds a setting to the past. Returns false when out of memory. */
bool propose_past_add(struct propose_past *past, const double *x, size_t n, enum propose_end end);

/*
 * Adds a running trial by its parameters, a JSON object; ignores a trial that lacks a value in one of the ranges.
 * Returns false when out of memory.
 */
bool propose_past_add_params(struct propose_past *past, const struct propose_space *space, const json_t *params);

/* Makes a problem of these ranges, this past, and the direction of the store. */
struct propose_problem propose_problem_of(const struct propose_past *past, const struct propose_space *space,
                                          const struct lineage_store *store, uint64_t seed);
