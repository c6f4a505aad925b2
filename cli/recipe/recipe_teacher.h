/*
 * recipe_teacher.h: log-probs from teachers behind endpoints (algorithm.endpoint), as a callback of the trainer.
 *
 * A request has the tokens of several rollouts as prompts and asks for their log-probs ("echo", as vLLM and other servers
 * with OpenAI's completions offer it). Retries, the key and what it means for the promises in schema/PROMISES.md are those of
 * the judge.
 */
#ifndef CLI_RECIPE_TEACHER_H
#define CLI_RECIPE_TEACHER_H

#include <trainer/train.h>

struct recipe_teacher;

/*
 * Opens the endpoints of a recipe; *teacher is NULL if it has none. Returns TRAINER_EINVAL with the reason if libcurl is
 * missing or a key is not set. The caller closes it in any case.
 */
enum trainer_status recipe_teacher_open(struct recipe_teacher **teacher, const struct trainer_recipe *recipe,
                                        struct trainer_error *err);
void recipe_teacher_close(struct recipe_teacher *teacher);

/* A trainer_teacher_fn; context is the teacher. */
enum trainer_status recipe_teacher_ask(void *context, struct trainer_teacher_batch *batch, struct trainer_error *err);

#endif
