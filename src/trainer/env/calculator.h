/* calculator.h: the tool that adds two numbers, for environments whose entities are numbers. */
#pragma once

#include "env/env_kind.h"

/* Returns the sum modulo the number of entities, so that every sum has a token. */
int32_t calculator_sum(const struct trainer_env *env, int32_t a, int32_t b);

/* Return the two numbers of the call S number number /S that the episode has just parsed. */
int32_t calculator_first(const struct trainer_episode *episode);
int32_t calculator_second(const struct trainer_env *env, const struct trainer_episode *episode);

/* The largest number of tokens that calculator_answer writes. */
#define CALCULATOR_ANSWER_MAX 4

/*
 * Answers the call that the episode has just parsed: OBS second sum /OBS, which has the form of a fact, or with
 * probability p_fail OBS NONE /OBS. Uses the random stream of the current turn. Returns the number of tokens.
 */
size_t calculator_answer(const struct trainer_env *env, const struct trainer_episode *episode, int32_t *text);
