/* read_command.h: what a short command prints. */
#ifndef CLI_READ_COMMAND_H
#define CLI_READ_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Standard output of argv (looked for in PATH), with environment NAME=VALUE besides (NULL: none), as text (free). Its
 * standard error goes nowhere. NULL if it cannot be run, fails, takes longer than seconds or prints more than max bytes.
 */
char *read_command(const char *const *argv, const char *const *environment, double seconds, size_t max, size_t *length);

#endif
