/* night_turn.h: one trial of a night, from what it starts from to its row. */
#ifndef CLI_NIGHT_TURN_H
#define CLI_NIGHT_TURN_H

#include "night/night_claims.h"
#include "recipe/origin.h"
#include "recipe/recipe_trial.h"

struct night_turn {
    struct night *night;
    size_t i;
    const struct night_trial *trial;
    const char *const *environment; /* NAME=VALUE of its slot, ended by NULL; NULL: none */
    struct trainer_recipe recipe;   /* with the checkpoint it starts from */
    struct origin origin;
    char *snapshot; /* of the parent of a command; NULL: it has none */
    struct night_keeper keeper; /* of its claim */
    struct recipe_trial run;
    char refused[TRAINER_ERROR_TEXT_MAX + 32];
    char notes[256]; /* how the parent was chosen, and what it lacks */
    char link[LINEAGE_NIGHT_LINK_MAX], name[TRAINER_TRIAL_NAME_MAX + 64], keep[TRAINER_PATH_MAX];
};

/* Find what it starts from (night_start.c). CLI_GO_ON or an exit status. */
int night_find_start(struct night_turn *turn);

/*
 * A trial to go on from, drawn by score and by how often it was gone on from (night_parent.c): *exp_id is the caller's
 * to free, "" if none was kept yet. The same store and seed give the same trial.
 */
int night_draw_parent(char **exp_id, const struct night *night, uint64_t seed);

/* Whether the store has no trial yet that the others could be compared with. */
bool night_needs_baseline(const struct night *night);

/* Whether other trials may run on this machine meanwhile. */
bool night_is_crowded(const struct night *night);

/*
 * Run trial i to its row, with the environment (ended by NULL; NULL: none) of its slot. CLI_GO_ON with how it ended,
 * CLI_INTERRUPTED, or an exit status.
 */
int night_take_turn(struct night *night, size_t i, const char *const *environment, struct night_ending *ending);

#endif
