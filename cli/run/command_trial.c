/* command_trial.c: see command_trial.h. */
#include "run/command_trial.h"

#include <stdio.h>
#include <stdlib.h>

bool command_trial_check(const struct command_trial *trial, bool sweep, char *why, size_t size)
{
    const char *sealed = sweep ? "sealed_eval" : "--sealed-eval";
    if (trial->sealed_eval && trial->eval)
        snprintf(why, size, "%s and %s exclude each other", sweep ? "eval" : "--eval", sealed);
    else if (trial->sealed_eval && !(trial->protect && trial->protect[0]))
        snprintf(why, size, "%s needs %s: the files of the evaluator, which is all that it finds", sealed,
                 sweep ? "protect" : "--protect");
    else if (!sweep && trial->sandbox_write && trial->sandbox_write[0] && !trial->sandbox) /* a night may add it to a sweep */
        snprintf(why, size, "--sandbox-write needs --sandbox");
    else if (!sweep && trial->sandbox_read && trial->sandbox_read[0] && !trial->sandbox)
        snprintf(why, size, "--sandbox-read needs --sandbox");
    else
        return true;
    return false;
}

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
