/* sweep_merge.h: recipes laid over each other while they are still JSON. */
#ifndef TRAINER_SWEEP_MERGE_H
#define TRAINER_SWEEP_MERGE_H

#include <jansson.h>
#include <stdbool.h>

/*
 * Lay `over` onto an object: objects key by key, lists element by element (further elements are
 * added), all else replaced by a copy. False when out of memory.
 */
bool sweep_lay_over(json_t *onto, json_t *over);

#endif
