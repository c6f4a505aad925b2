/* worker_command.h: what is common to the texts for all schedulers: a name, and the command line of a worker. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "submit/submission.h"

/* A name is lineage-SWEEP-DIGEST in the characters that all schedulers allow. With the digest, an edited sweep is another job. */
enum { WORKER_NAME_MAX = 52 };
const char *worker_name(char out[WORKER_NAME_MAX], const struct night_sweep *sweep);

/* Writes `lineage night SWEEP -C STORE --worker ..` for a shell. hours: the value of --hours as the shell shall read it, or NULL. */
void worker_command_write(FILE *out, const struct submission *submission, const char *hours);

/* The same as a JSON list of words, with another path of the sweep. NULL when out of memory. */
json_t *worker_command_json(const struct submission *submission, const char *sweep_path, const char *hours);
