/*
 * tool_turn.h: the grammar of turns that environments with a tool share: S word word /S calls the
 * tool, ANS begins the answer.
 */
#ifndef TRAINER_ENV_TOOL_TURN_H
#define TRAINER_ENV_TOOL_TURN_H

#include "env/env_kind.h"

/* What the parser of the policy's tokens expects next; within an answer AT_ANSWER + tokens so far. */
enum tool_state { AT_TURN, AT_FIRST, AT_SECOND, AT_END, AT_ANSWER };

struct tool_turn {
    bool second_is_any; /* the second word may be an entity as well as a relation */
    /* Answer the call that stands in the episode (entity, relation): text, and how many tokens. */
    size_t (*call)(const struct trainer_env *env, struct trainer_episode *episode, int32_t *text);
    /* Whether all is known that the answer needs; NULL: the outcome alone judges answers. */
    bool (*knows_all)(const struct trainer_episode *episode);
};

/* Tokens of a call and of the longest answer to it. */
size_t tool_turn_tokens(const struct trainer_env *env);

/* Take a token of the policy, which answers with the tokens of trainer_env_answer. */
enum trainer_turn tool_turn_step(const struct tool_turn *tool, const struct trainer_env *env,
                                 struct trainer_episode *episode, int32_t token, int32_t *text,
                                 size_t *n);

#endif
