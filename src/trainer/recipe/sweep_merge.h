/* sweep_merge.h: merges recipes while they are still JSON. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * Merges `over` into `onto`: objects key by key, lists element by element (further elements are added); all other
 * values are replaced by a copy. Returns false when out of memory.
 */
bool sweep_lay_over(json_t *onto, json_t *over);
