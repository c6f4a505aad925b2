/* planner_call.h: runs a shell command that reads one text and prints another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "trial/interrupts.h"

enum { PLANNER_ANSWER_MAX = 1 << 20, PLANNER_TROUBLE_MAX = 160 };

/*
 * Runs `sh -c command` with text [length] on its standard input, and reads its standard output to the end; it shares
 * the standard error of this process. After the given seconds the command is killed with its process group.
 *
 * Returns the output (free), cut at PLANNER_ANSWER_MAX bytes. trouble is "" if the command exited with status 0 in
 * time, else it says what went wrong. Returns NULL, with trouble set, if the command could not be started.
 */
char *planner_call(const char *command, const char *text, size_t length, double seconds, const struct interrupts *interrupts,
                   char trouble[PLANNER_TROUBLE_MAX]);
