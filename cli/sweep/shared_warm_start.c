#include "sweep/trial_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

void warm_start_checkpoint(char out[NIGHT_PATH_MAX], const struct trial_list *list, const struct night_trial *trial)
{
    snprintf(out, NIGHT_PATH_MAX, "%s/warm-%016" PRIx64 ".ckpt", list->checkpoints, trial->warm_start);
}

/* A trial that starts from a checkpoint or a parent runs no warm start. */
static bool has_warm_start(const struct night_trial *trial)
{
    return trial->parent == NIGHT_PARENT_BASE && trial->recipe && !*trial->checkpoint && trial->warm_start;
}

/*
 * Compares with every other trial, which is fast enough: a sweep has at most a few thousand trials, and this is called
 * once for each.
 */
bool warm_start_is_shared(const struct trial_list *list, size_t i)
{
    const struct night_trial *trial = &list->trials[i];
    if (!has_warm_start(trial))
        return false;
    for (size_t j = 0; j < list->n; j++) {
        const struct night_trial *other = &list->trials[j];
        if (j != i && has_warm_start(other) && other->warm_start == trial->warm_start)
            return true;
    }
    return false;
}

bool warm_start_exists(const struct trial_list *list, size_t i)
{
    char checkpoint[NIGHT_PATH_MAX];
    if (!warm_start_is_shared(list, i))
        return false;
    warm_start_checkpoint(checkpoint, list, &list->trials[i]);
    return access(checkpoint, R_OK) == 0;
}
