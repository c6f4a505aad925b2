/* search_tool.h: the search tool, which answers a search with the fact that was asked for and distractors. */
#pragma once

#include "env/env_kind.h"

/* Which facts may be distractors in an answer that contains the fact that was asked for. */
enum search_distractors {
    DISTRACTORS_ANY_OTHER,    /* any other fact about the entity */
    DISTRACTORS_NONE_OF_ASKED /* no fact of a relation that the question names */
};

/*
 * Answers a search for a relation of an entity: OBS relation entity .. /OBS with env->facts facts, or with
 * probability p_fail OBS NONE /OBS. Returns the number of tokens.
 */
size_t search_tool_answer_for(const struct trainer_env *env, const struct trainer_episode *episode, int32_t entity,
                              int32_t relation, enum search_distractors distractors, struct trainer_rng *rng, int32_t *text);

/* Answers the search that the episode has just parsed, with the random stream of the current turn. */
size_t search_tool_answer(const struct trainer_env *env, const struct trainer_episode *episode,
                          enum search_distractors distractors, int32_t *text);

/* Checks the ranges of environments with a search tool. n_answer: tokens of the longest answer. */
enum trainer_status search_tool_check(const struct trainer_env *env, enum search_distractors distractors, int32_t n_answer,
                                      struct trainer_error *err);
