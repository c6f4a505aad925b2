/*
 * trainer/sweep.h: a list of trials, expanded from one JSON file.
 *
 *     {
 *       "name": "ladder",
 *       "recipe": "warm.json",                   the recipe that all trials share
 *       "base": {"training": {"iterations": 120}},
 *       "parent": "base",
 *       "trials": [
 *         {"name": "grpo", "hypothesis": "..."},
 *         {"name": "v1d", "parent": "grpo",
 *          "environments": [{"algorithm": {"name": "turn-group-v1d", "alpha": 0.3}}]}
 *       ],
 *       "grid": {"lr": [1e-4, 3e-4], "seed": [1, 2, 3]},
 *       "order": "trials"
 *     }
 *
 * A trial's recipe is the file `recipe` (relative to the sweep's directory), merged with `base`, then with the
 * trial, then with one point of the grid; later values replace earlier ones. Objects are merged key by key and
 * lists element by element, so {"environments": [{"algorithm": {"alpha": 0.9}}]} changes one number.
 *
 * There are as many trials as entries of `trials` times points of the grid, whose last key varies fastest; without
 * `trials` there is one entry, the base. With the order "trials", all of them run at one grid point before the next
 * point begins, so that an interrupted night has whole comparisons; with "grid", each runs at all points before the
 * next one begins.
 *
 * A trial is named after its entry and its grid point: "v1d lr=0.0003 seed=2"; the recipe's own name stays "v1d".
 * Two trials with the same name, or with the same recipe and parent, are refused.
 *
 * The published form is schema/sweep.schema.json.
 */
#ifndef TRAINER_SWEEP_H
#define TRAINER_SWEEP_H

#include <trainer/recipe.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRAINER_TRIAL_NAME_MAX 256
#define TRAINER_SWEEP_TRIALS_MAX 4096

/* Which policy a trial starts from. */
enum trainer_parent {
    TRAINER_PARENT_BASE,  /* "base" (default): that of its recipe's checkpoint or warm start */
    TRAINER_PARENT_TRIAL, /* the name of an earlier trial of the sweep: its policy at the same grid point */
    TRAINER_PARENT_OTHER  /* any other name, which means something to the caller only */
};

struct trainer_trial {
    char name[TRAINER_TRIAL_NAME_MAX]; /* unique within the sweep */
    enum trainer_parent parent;
    size_t parent_trial;                /* TRAINER_PARENT_TRIAL: index of the parent, less than this trial's */
    char parent_name[TRAINER_NAME_MAX]; /* TRAINER_PARENT_OTHER */
    /*
     * An XXH64 digest of trainer_recipe_text and of the parent (the key of an earlier trial, or another's name):
     * equal for equal recipe and parent, in this sweep or another. Hypothesis, expected_delta and threads are left
     * out, because they change no result.
     */
    uint64_t key;
    struct trainer_recipe recipe; /* already checked */
};

struct trainer_sweep;

/*
 * Reads and expands a sweep, and checks every recipe, so that no trial can be refused in the middle of a night.
 * text [length] is JSON; name is used in messages; a relative `recipe` is looked for in directory (NULL: the
 * working directory). TRAINER_EINVAL for a sweep that is not allowed; the message names the trial and its key.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_sweep_parse(struct trainer_sweep **sweep, const char *name, const char *text, size_t length,
                    const char *directory, struct trainer_error *err);
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_sweep_load(struct trainer_sweep **sweep, const char *path, struct trainer_error *err);
TRAINER_API void trainer_sweep_free(struct trainer_sweep *sweep);

/* The name in the file, or "sweep". */
TRAINER_API const char *trainer_sweep_name(const struct trainer_sweep *sweep);

/* The trials in the order in which they run. NULL for an index out of range; valid until trainer_sweep_free. */
TRAINER_API size_t trainer_sweep_count(const struct trainer_sweep *sweep);
TRAINER_API const struct trainer_trial *trainer_sweep_trial(const struct trainer_sweep *sweep,
                                                            size_t i);

#ifdef __cplusplus
}
#endif

#endif
