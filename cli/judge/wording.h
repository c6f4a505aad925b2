/*
 * wording.h: the prompt of the judge: rules, which depend on the outcome, and the trajectory. A wording is a JSON
 * object of texts (schema/wording.schema.json): version, success, failure, answer, repair. `lineage judge
 * --print-prompt` prints the built-in wording; members of a wording file replace the built-in members.
 */
#pragma once

#include <stdbool.h>

#include <jansson.h>

enum { WORDING_WHY_MAX = 256, WORDING_CUT = 2000 };

/* Returns a new reference. If file is NULL or "", returns the built-in wording. Returns NULL with the reason in why. */
json_t *wording_open(const char *file, char why[WORDING_WHY_MAX]);

/*
 * Returns the messages of a chat about a trajectory: rules, then the trajectory as JSON, with texts cut at WORDING_CUT
 * characters. A new reference; NULL when out of memory.
 */
json_t *wording_messages(const json_t *wording, const json_t *trajectory);

/* Appends the unusable answer, if there was one, and a message that says what was wrong with it. */
json_t *wording_repair(const json_t *wording, const json_t *messages, const char *answer, const char *wrong);

/* Returns the JSON Schema of an answer. */
json_t *wording_answer_schema(void);
