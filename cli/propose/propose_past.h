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
#ifndef CLI_PROPOSE_PAST_H
#define CLI_PROPOSE_PAST_H

#include <jansson.h>

#include <lineage/query.h>
#include <lineage/settings.h>

#include "propose/propose_ranges.h"

/* The parameters of a trial outside of the ranges, as hashes. */
struct propose_others {
    struct propose_other {
        uint64_t name, value;
    } *at; /* [n] */
    size_t n;
};

struct propose_past {
    struct propose_trial *trials; /* [n], oldest first, running trials last */
    char (*ids)[64];              /* [n] exp_id, truncated if longer; "" for a running trial */
    struct propose_others *settings; /* [n] of rows; none of a running trial */
    size_t n, room;
    size_t measured, failed, running; /* how many of them; `failed` has all failures */
    char (*others)[64];               /* [n_others] exp_ids of rows that another program wrote */
    size_t n_others, others_room;
    size_t elsewhere;                 /* number of trials that lack a value in at least one range */
    json_t *source; /* {NAME: {SOURCE: TRIALS}} of the ranges whose values were found in words; NULL: none were */
};

/*
 * program, or NULL, is the key of what the proposals run (the piece `program KEY` of notes, sweep/command_program.h). A
 * row of another program is not part of the past, and neither is a failure of a trial that changed the code by a diff of
 * its own. Rows without a key count.
 *
 * Reads the rows and the running trials; call propose_past_release in any case. fallback [space->n], or NULL, holds the
 * value of each range for rows of that sweep that do not name the parameter. A trial without a value in a range and
 * without a fallback for it is not part of the past. sweep is NULL for `lineage suggest`.
 */
enum lineage_status propose_past_read(struct propose_past *past, struct lineage_store *store,
                                      const struct propose_space *space, const struct lineage_number *fallback,
                                      const char *sweep, const char *program, struct lineage_error *err);
void propose_past_release(struct propose_past *past);

/* Writes the key of the program that the row names, at most `size` bytes with its NUL; "" if it names none. */
void propose_row_program(char *out, size_t size, const char *notes);

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

#endif
