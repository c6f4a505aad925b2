/*
 * trainer/sweep.h: a list of trials, expanded from one JSON file (schema/sweep.schema.json).
 *
 * A trial's recipe is the file `recipe` (relative to the sweep's directory), merged with `base`, then with the trial, then with one
 * point of the grid, whose last key varies fastest. Objects are merged key by key and lists element by element, so
 * {"environments": [{"algorithm": {"alpha": 0.9}}]} changes one number. Without `trials` there is one entry, the base.
 * With the `order` "trials", all entries run at one grid point before the next point begins, so that an interrupted night has complete
 * comparisons; with "grid", each entry runs at all points before the next entry begins.
 *
 * A trial is named after its entry and its grid point: "v1d lr=0.0003 seed=2"; the recipe's own name stays "v1d".
 * Two trials with the same name, or with the same recipe and parent, are refused.
 */
#ifndef TRAINER_SWEEP_H
#define TRAINER_SWEEP_H

#include <trainer/recipe.h>

#define TRAINER_TRIAL_NAME_MAX 256
#define TRAINER_SWEEP_TRIALS_MAX 10000

/* Which policy a trial starts from. */
enum trainer_parent {
    TRAINER_PARENT_BASE,  /* "base" (default): the policy of its recipe's checkpoint or warm start */
    TRAINER_PARENT_TRIAL, /* the name of an earlier trial of the sweep, whose policy at the same grid point is used */
    TRAINER_PARENT_OTHER  /* any other name, which only the caller interprets */
};

struct trainer_trial {
    char name[TRAINER_TRIAL_NAME_MAX]; /* unique within the sweep */
    enum trainer_parent parent;
    size_t parent_trial;                /* TRAINER_PARENT_TRIAL: index of the parent, less than this trial's */
    char parent_name[TRAINER_NAME_MAX]; /* TRAINER_PARENT_OTHER */
    /*
     * An XXH64 digest of trainer_recipe_text and of the parent (the key of an earlier trial, or the name of another
     * parent). Trials with the same recipe and parent have the same key, also in different sweeps. Hypothesis,
     * expected_delta and threads are left out, because they change no result.
     */
    uint64_t key;
    struct trainer_recipe recipe; /* already checked */
};

struct trainer_sweep;

/*
 * Reads and expands a sweep, and checks every recipe, so that no trial can be refused in the middle of a night.
 * text [length] is JSON; name is used in messages; a relative `recipe` is looked for in directory (NULL: the working
 * directory). Returns TRAINER_EINVAL for a sweep that is not allowed; the message names the trial and the JSON key.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_sweep_parse(struct trainer_sweep **sweep, const char *name,
                                                                      const char *text, size_t length, const char *directory,
                                                                      struct trainer_error *err);
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_sweep_load(struct trainer_sweep **sweep, const char *path,
                                                                     struct trainer_error *err);
TRAINER_API void trainer_sweep_free(struct trainer_sweep *sweep);

/* The name given in the file, or "sweep" if the file has none. */
TRAINER_API const char *trainer_sweep_name(const struct trainer_sweep *sweep);

/*
 * The trials, in the order in which they run. Returns NULL for an index out of range. Pointers are valid until
 * trainer_sweep_free.
 */
TRAINER_API size_t trainer_sweep_count(const struct trainer_sweep *sweep);
TRAINER_API const struct trainer_trial *trainer_sweep_trial(const struct trainer_sweep *sweep, size_t i);

#endif
