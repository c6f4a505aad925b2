/* command_trial.c: see command_trial.h. */
#include "run/command_trial.h"

#include <stdlib.h>

void *command_trial_own(struct command_trial *trial, void *memory)
{
    void **grown = memory ? realloc(trial->owned, (trial->n_owned + 1) * sizeof *grown) : NULL;
    if (!grown) {
        free(memory);
        return NULL;
    }
    trial->owned = grown;
    return trial->owned[trial->n_owned++] = memory;
}

void command_trial_release(struct command_trial *trial)
{
    for (size_t i = 0; i < trial->n_owned; i++)
        free(trial->owned[i]);
    free(trial->owned);
    *trial = (struct command_trial){0};
}
