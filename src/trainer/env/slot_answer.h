/*
 * slot_answer.h: what environments share in which a question names k relations of one entity and the answer is a
 * value for each, found slot by slot.
 */
#ifndef TRAINER_ENV_SLOT_ANSWER_H
#define TRAINER_ENV_SLOT_ANSWER_H

#include "env/env_kind.h"

enum trainer_status slot_answer_check(const struct trainer_env *env, struct trainer_error *err);

/* Tokens of the question, the calls, ANS and a value for every slot. */
size_t slot_answer_max_tokens(const struct trainer_env *env);

/* Writes each slot's relation and its value path[i + 1]; returns the number of tokens. */
size_t slot_answer_tokens(const struct trainer_env *env, const struct trainer_episode *episode,
                          int32_t *tokens);

/*
 * Answers the search that the episode has just parsed: text, and its length. A search for an empty slot is GOOD
 * even if the tool fails, because the judge rates the step and not the tool's luck. Searching again, for another
 * entity, or for a relation that was not asked for costs one of max_turns and brings nothing. `found` has a bit for
 * each slot that was shown.
 */
size_t slot_answer_search(const struct trainer_env *env, struct trainer_episode *episode,
                          int32_t *text);

#endif
