/* calculator.h: the tool that adds two numbers, for environments whose entities are numbers. */
#ifndef TRAINER_ENV_CALCULATOR_H
#define TRAINER_ENV_CALCULATOR_H

#include "env/env_kind.h"

/* Sums go round at the last entity: there is a token for every one of them. */
int32_t calculator_sum(const struct trainer_env *env, int32_t a, int32_t b);

/* The two numbers of the call S number number /S that stands in the episode. */
int32_t calculator_first(const struct trainer_episode *episode);
int32_t calculator_second(const struct trainer_env *env, const struct trainer_episode *episode);

/* The tokens that calculator_answer writes at most. */
#define CALCULATOR_ANSWER_MAX 4

/*
 * What that call is answered by: OBS second sum /OBS, the form in which facts are told, or with
 * probability p_fail OBS NONE /OBS, with the chances of its turn. Returns the number of tokens.
 */
size_t calculator_answer(const struct trainer_env *env, const struct trainer_episode *episode,
                         int32_t *text);

#endif
