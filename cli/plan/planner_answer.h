/* planner_answer.h: reads what a planner prints. */
#pragma once

#include <jansson.h>

/*
 * Returns the list of proposals. An answer is either one JSON document (an object or a list), or lines of text, of which
 * only those that begin with a brace are read. Adds a text to `problems` for each proposal that names a key twice, because
 * a planner that gets no reason would send the proposal again. Changes `answer`.
 */
json_t *planner_answer_read(char *answer, json_t *problems);
