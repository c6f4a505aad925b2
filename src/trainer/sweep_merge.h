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

/*
 * Set what stands at a path like "environments[0].algorithm.alpha"; objects on the way are made,
 * elements of lists must be there. A recipe without environments has one. False if there is no such
 * place.
 */
bool sweep_put(json_t *recipe, const char *path, json_t *value);

#endif
