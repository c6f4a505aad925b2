/*
 * wording.h: what the judge is told: rules, which differ by the outcome, and the trajectory.
 *
 * A wording is a JSON object of texts (schema/wording.schema.json): version, success, failure, answer, repair. The
 * built-in one is printed by `lineage judge --print-prompt`; a file takes the place of those members that it has.
 */
#ifndef JUDGE_WORDING_H
#define JUDGE_WORDING_H

#include <stdbool.h>

#include <jansson.h>

enum { WORDING_WHY_MAX = 256, WORDING_CUT = 2000 };

/* A new reference; file NULL or "" is the built-in one. NULL with the reason in why. */
json_t *wording_open(const char *file, char why[WORDING_WHY_MAX]);

/*
 * Messages of a chat about a trajectory: rules, then the trajectory as JSON, its texts cut at WORDING_CUT characters.
 * A new reference; NULL when out of memory.
 */
json_t *wording_messages(const json_t *wording, const json_t *trajectory);

/* The same with an answer that could not be used, if there was one, and what was wrong with it. */
json_t *wording_repair(const json_t *wording, const json_t *messages, const char *answer, const char *wrong);

/* JSON Schema of an answer about n steps. */
json_t *wording_answer_schema(void);

#endif
