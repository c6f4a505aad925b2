/*
 * recipe_judge.h: runs the judge that a recipe names as a callback of the trainer, which gets rollouts and sets flags.
 */
#pragma once

#include <trainer/judge.h>

struct recipe_judge;

/* Opens the judge. cache is the file of earlier answers, used unless the recipe names another; NULL means no file. */
enum trainer_status recipe_judge_open(struct recipe_judge **judge, const struct trainer_recipe *recipe, const char *cache,
                                      struct trainer_error *err);
void recipe_judge_close(struct recipe_judge *judge);

/* Implements trainer_judge_fn; context is the judge. */
enum trainer_status recipe_judge_ask(void *context, struct trainer_judge_batch *batch, struct trainer_error *err);
