/*
 * trainer/sweep.h: a list of trials, expanded from one JSON file.
 *
 *     {
 *       "name": "ladder",
 *       "recipe": "warm.json",                   the recipe all trials share, or "base": {..}
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
 * A trial's recipe is that of the file `recipe` (relative to the sweep's directory), with `base`
 * laid over it, then the trial, then one point of the grid. Objects are laid over objects key by
 * key and lists over lists element by element, so {"environments": [{"algorithm": {"alpha": 0.9}}]}
 * changes one number. There are trials x grid points of them; the last key of the grid varies
 * fastest. With the order "trials" all trials run at one grid point before the next one is begun
 * (an interrupted night has whole comparisons), with "grid" each trial runs at all points before
 * the next trial. Without trials there is one, the base.
 *
 * A trial is called by its name and its grid point: "v1d lr=0.0003 seed=2"; the recipe's
 * own name stays "v1d". Two trials of one name, or with the same recipe and parent, are refused.
 *
 * schema/sweep.schema.json is the published form.
 */
#ifndef TRAINER_SWEEP_H
#define TRAINER_SWEEP_H

#include <trainer/recipe.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRAINER_TRIAL_NAME_MAX 256
#define TRAINER_SWEEP_TRIALS_MAX 4096

/* Whose policy a trial starts from. */
enum trainer_parent {
    TRAINER_PARENT_BASE,  /* "base", the default: its recipe's checkpoint or warm start */
    TRAINER_PARENT_TRIAL, /* the name of an earlier trial of the sweep, at the same grid point */
    TRAINER_PARENT_OTHER  /* any other name: whoever runs the sweep knows what it means */
};

struct trainer_trial {
    char name[TRAINER_TRIAL_NAME_MAX]; /* unique within the sweep */
    enum trainer_parent parent;
    size_t parent_trial;                /* TRAINER_PARENT_TRIAL: its index, below this one's */
    char parent_name[TRAINER_NAME_MAX]; /* TRAINER_PARENT_OTHER */
    /*
     * The same for the same recipe and parent, in this sweep or another: an XXH64 digest of
     * trainer_recipe_text and of the parent (the key of an earlier trial, or the name of another).
     * What changes no result is left out of it: hypothesis, expected_delta and threads.
     */
    uint64_t key;
    struct trainer_recipe recipe; /* checked */
};

struct trainer_sweep;

/*
 * Read and expand a sweep; every recipe is checked, so nothing is left to go wrong in the middle of
 * a night. text [length] is JSON, name stands in messages, directory (NULL: the working directory)
 * is where a relative `recipe` is looked for. TRAINER_EINVAL for a sweep that is not allowed; the
 * message names the trial and its key.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_sweep_parse(struct trainer_sweep **sweep, const char *name, const char *text, size_t length,
                    const char *directory, struct trainer_error *err);
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_sweep_load(struct trainer_sweep **sweep, const char *path, struct trainer_error *err);
TRAINER_API void trainer_sweep_free(struct trainer_sweep *sweep);

/* "sweep" unless the file says otherwise. */
TRAINER_API const char *trainer_sweep_name(const struct trainer_sweep *sweep);

/* Trials in the order in which they run, NULL out of range; valid until trainer_sweep_free. */
TRAINER_API size_t trainer_sweep_count(const struct trainer_sweep *sweep);
TRAINER_API const struct trainer_trial *trainer_sweep_trial(const struct trainer_sweep *sweep,
                                                            size_t i);

#ifdef __cplusplus
}
#endif

#endif
