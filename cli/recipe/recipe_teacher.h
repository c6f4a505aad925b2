/*
 * recipe_teacher.h: log-probs from teachers behind endpoints (algorithm.endpoint), as a callback of the trainer.
 *
 * A request has the tokens of several rollouts as prompts and asks for their log-probs ("echo", as vLLM and other servers
 * with OpenAI's completions offer it). Retries, the key and what it means for the promises in schema/PROMISES.md are those of
 * the judge.
 */
#pragma once

#include <trainer/train.h>

/* The name of the file with earlier answers in a store, and the most bytes that it and its predecessor may have. */
#define TEACHER_CACHE "teacher-cache.jsonl"
enum { TEACHER_CACHE_BYTES = 64 << 20 };

struct recipe_teacher;

/*
 * Opens the endpoints of a recipe; *teacher is NULL if it has none. cache: path of the file with earlier answers, or NULL: a
 * request whose answer is there is not made. Returns TRAINER_EINVAL with the reason if libcurl is missing, a key is not set, or
 * the file cannot be opened. The caller closes it in any case.
 */
enum trainer_status recipe_teacher_open(struct recipe_teacher **teacher, const struct trainer_recipe *recipe, const char *cache,
                                        struct trainer_error *err);
void recipe_teacher_close(struct recipe_teacher *teacher);

/* A trainer_teacher_fn; context is the teacher. */
enum trainer_status recipe_teacher_ask(void *context, struct trainer_teacher_batch *batch, struct trainer_error *err);
