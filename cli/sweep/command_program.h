/*
 * command_program.h: what a trial of a sweep runs, without its parameters: a digest of the command and the other settings
 * that decide the result, and of the bytes of the sweep's files.
 *
 * The row of each such trial names it in a piece of its notes, `program KEY`. A failure says nothing about a setting once
 * the command, a flag or a file was changed, and a score of another program cannot be compared.
 */
#pragma once

#include "sweep/night_sweep.h"

enum { COMMAND_PROGRAM_MAX = 17 }; /* 16 hexadecimal digits and NUL */

/* The digest of the bytes of all files that the sweep names; a missing file counts as empty. */
uint64_t command_files_digest(const struct night_sweep *sweep);

/* Writes the key for the settings of a trial (NULL: for the sweep's own), and returns out. */
const char *command_program(char out[COMMAND_PROGRAM_MAX], const struct night_sweep *sweep, const json_t *spec);
