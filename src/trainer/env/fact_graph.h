/*
 * fact_graph.h: the graph of facts that a question is about. It defines which entity each relation of an entity leads
 * to.
 *
 * Every question has its own graph, so that facts can only be found, never remembered: what a policy learns is how to
 * search. Half of the relations stay inside a region, so that a guess within it is better than none.
 */
#pragma once

#include "env/env_kind.h"

/* Returns the entity that a relation of an entity leads to, in the graph of a question. */
int32_t graph_follow(const struct trainer_env *env, uint64_t question, int32_t entity, int32_t relation);

/*
 * Starts a question about an entity and k relations of it: draws both, writes the prompt
 * Q entity relation_1 .. relation_k /Q and returns its length.
 */
size_t graph_ask(const struct trainer_env *env, struct trainer_episode *episode, int32_t *prompt);
