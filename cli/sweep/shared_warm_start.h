/* shared_warm_start.h: the warm start that several recipes of a night have in common, which is trained only once. */
#pragma once

#include "sweep/trial_list.h"

/* Writes the path of the checkpoint that the shared warm start of this trial leaves. */
void warm_start_checkpoint(char out[NIGHT_PATH_MAX], const struct trial_list *list, const struct night_trial *trial);

/* Whether trial i begins with the same warm start as another trial of the list. */
bool warm_start_is_shared(const struct trial_list *list, size_t i);

/* Whether that shared warm start has been trained. */
bool warm_start_exists(const struct trial_list *list, size_t i);
