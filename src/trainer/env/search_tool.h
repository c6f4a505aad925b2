/* graph.h: the graph of a question, and a tool that tells facts of it. */
#ifndef TRAINER_SEARCH_TOOL_H
#define TRAINER_SEARCH_TOOL_H

#include "env/env_kind.h"

/* The entity that a relation leads to; every question has a graph of its own. */
int32_t graph_follow(const struct trainer_env *env, uint64_t question, int32_t entity,
                     int32_t relation);

/* episode->relations [k]: distinct ones. */
void graph_draw_relations(const struct trainer_env *env, struct trainer_rng *rng,
                          struct trainer_episode *episode);

/*
 * Start a question about an entity and k relations of it: draws both, writes the prompt
 * Q entity relation_1 .. relation_k /Q and returns its length.
 */
size_t graph_ask(const struct trainer_env *env, struct trainer_episode *episode, int32_t *prompt);

/* What may stand beside a fact that was asked for. */
enum graph_distractors {
    GRAPH_ANY_OTHER,    /* any other fact about the entity */
    GRAPH_NONE_OF_ASKED /* none of a relation that the question names */
};

/*
 * What a search is answered by: OBS relation entity .. /OBS with env->facts facts, or with
 * probability p_fail OBS NONE /OBS. Returns the number of tokens.
 */
size_t graph_observe(const struct trainer_env *env, const struct trainer_episode *episode,
                     int32_t entity, int32_t relation, enum graph_distractors distractors,
                     struct trainer_rng *rng, int32_t *text);

/* The same for the search that stands in the episode, with the chances of its turn. */
size_t graph_search(const struct trainer_env *env, const struct trainer_episode *episode,
                    enum graph_distractors distractors, int32_t *text);

/* Ranges of environments that ask a graph; n_answer: tokens of the longest answer. */
enum trainer_status graph_check(const struct trainer_env *env, enum graph_distractors distractors,
                                int32_t n_answer, struct trainer_error *err);

#endif
