/* planner_facts.h: the facts of the block about ideas, as JSON for a planner. */
#pragma once

#include <jansson.h>

#include <lineage/store.h>

/*
 * Returns the member `ideas` of a planner's request (schema/planner.schema.json): settings with the values tried and
 * their outcomes, the state of the search, walls, repetitions, insights. Every list has a bound, and texts are shortened.
 * The same store gives the same object. Returns a new reference, or NULL after printing the error.
 */
json_t *planner_facts(struct lineage_store *store);
