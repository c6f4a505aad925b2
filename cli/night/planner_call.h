/* planner_call.h: a shell command that gets one text and answers with another. */
#ifndef CLI_PLANNER_CALL_H
#define CLI_PLANNER_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "trial/interrupts.h"

enum { PLANNER_ANSWER_MAX = 1 << 20, PLANNER_TROUBLE_MAX = 160 };

/*
 * Run `sh -c command` with text [length] on its standard input, and read its standard output to the end; its standard
 * error is this process's. It has so many seconds, then it and its process group are killed. Returns what it said
 * (free), cut at PLANNER_ANSWER_MAX bytes; trouble says what went wrong ("" if nothing did: exit status 0 in time). NULL
 * with trouble if there is no answer at all.
 */
char *planner_call(const char *command, const char *text, size_t length, double seconds,
                   const struct interrupts *interrupts, char trouble[PLANNER_TROUBLE_MAX]);

#endif
