/*
 * slot_answer.h: questions about k relations of one entity whose answer is a value for each: what
 * environments share in which an answer is found slot by slot.
 */
#ifndef TRAINER_ENV_SLOT_ANSWER_H
#define TRAINER_ENV_SLOT_ANSWER_H

#include "env/env_kind.h"

enum trainer_status slot_answer_check(const struct trainer_env *env, struct trainer_error *err);

/* Question, calls of the tool, ANS and a value for every slot. */
size_t slot_answer_max_tokens(const struct trainer_env *env);

/* A relation and its value path[i + 1] for each slot i; returns the number of tokens. */
size_t slot_answer_tokens(const struct trainer_env *env, const struct trainer_episode *episode,
                          int32_t *tokens);

/*
 * The search that stands in the episode: text, and its length. Good is what asks for a slot that is
 * still empty, also when the tool fails: the judge rates the step, not the tool's luck. Asking
 * again, of another entity, or for what nobody asked for costs a turn of the budget and brings
 * nothing. `found` has a bit for each slot that was told.
 */
size_t slot_answer_search(const struct trainer_env *env, struct trainer_episode *episode,
                          int32_t *text);

#endif
