/*
 * slot_answer.h: code shared by the environments whose questions name k relations of one entity, and whose answers are
 * a value for each relation, found slot by slot.
 */
#pragma once

#include "env/env_kind.h"

enum trainer_status slot_answer_check(const struct trainer_env *env, struct trainer_error *err);

/* Returns the number of tokens of the question, the calls, ANS and a value for every slot. */
size_t slot_answer_max_tokens(const struct trainer_env *env);

/* Writes each slot's relation and its value path[i + 1]; returns the number of tokens. */
size_t slot_answer_tokens(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *tokens);

/*
 * Answers the search that the episode has just parsed: writes text and returns its length. A search for an empty slot
 * is GOOD even if the tool fails, because the judge rates the step and not the tool's luck. Searching again, for
 * another entity, or for a relation that was not asked for uses one of max_turns without any benefit. `found` has a bit
 * for each slot that the tool has shown.
 */
size_t slot_answer_search(const struct trainer_env *env, struct trainer_episode *episode, int32_t *text);
