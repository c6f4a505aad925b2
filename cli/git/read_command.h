/* read_command.h: runs a short command and reads its output. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Runs argv (searched in PATH) with additional variables NAME=VALUE (NULL: none), and returns its standard output as a
 * string, which the caller frees. Its standard error is discarded. Returns NULL if the command cannot be run, fails,
 * takes longer than `seconds` or prints more than `max` bytes.
 */
char *read_command(const char *const *argv, const char *const *environment, double seconds, size_t max, size_t *length);

/* Writes the first line of an output to out and frees the output. Returns false if there is no output, if its first line is
 * empty, or if the line does not fit. */
bool read_first_line(char *out, size_t size, char *output);
