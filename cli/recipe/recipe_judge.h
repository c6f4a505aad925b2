/* recipe_judge.h: the judge that a recipe names, as a callback of the trainer: it gets rollouts and sets flags. */
#ifndef CLI_RECIPE_JUDGE_H
#define CLI_RECIPE_JUDGE_H

#include <trainer/judge.h>

struct recipe_judge;

/* cache: file of earlier answers, unless the recipe names one; NULL: none. */
enum trainer_status recipe_judge_open(struct recipe_judge **judge, const struct trainer_recipe *recipe, const char *cache,
                                      struct trainer_error *err);
void recipe_judge_close(struct recipe_judge *judge);

/* A trainer_judge_fn; context is the judge. */
enum trainer_status recipe_judge_ask(void *context, struct trainer_judge_batch *batch, struct trainer_error *err);

#endif
