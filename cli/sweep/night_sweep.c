#include "sweep/night_sweep.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void night_sweep_release(struct night_sweep *sweep)
{
    if (sweep->recipes)
        sweep->release_recipes(sweep->recipes);
    free(sweep->list);
    json_decref(sweep->root);
    free(sweep->directory);
    free(sweep->require);
    *sweep = (struct night_sweep){.file = sweep->file, .trainer = sweep->trainer};
}

void night_trial_release(struct night_trial *trial)
{
    if (trial->own)
        trial->release_own(trial->own);
    json_decref(trial->command);
    json_decref(trial->cost);
    free(trial->own_name);
    free(trial->proposer);
    free(trial->again);
    free(trial->replicates);
    free(trial->own_parent);
    free(trial->x);
    free(trial->exp_id);
    free(trial->claim);
    *trial = (struct night_trial){0};
}

void night_trial_rekey(struct night_trial *trial)
{
    const char *again = trial->again ? trial->again : "";
    trial->key = XXH64(again, strlen(again), trial->key);
}
