/*
 * recipe_advantages.h: advantages from a command (`algorithm.custom.command`). In every iteration the command gets the rollouts
 * of its environment on standard input, one per line (schema/rollout.schema.json, without advantages and weights), and prints
 * one line for each, in the same order: {"advantage": X}, where X is a number, or a list with a number for each token.
 */
#pragma once

#include <trainer/train.h>

/* A trainer_credit_fn; context is not used. */
enum trainer_status recipe_advantages_ask(void *context, struct trainer_credit_batch *batch, struct trainer_error *err);
