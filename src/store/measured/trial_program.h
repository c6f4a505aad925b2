/* trial_program.h: what a trial was run from: its snapshot and its provenance. */
#ifndef MEASURED_TRIAL_PROGRAM_H
#define MEASURED_TRIAL_PROGRAM_H

#include <jansson.h>

#include "collecting.h"

struct program {
    int snapshot_fd;   /* -1 for none */
    int provenance_fd; /* -1 for none */
    json_t *run;       /* run.json; NULL for none */
};

/* Opens what is there. Nothing of it is required, and links are not followed. */
void program_open(struct program *program, int store_fd, const struct lineage_trial *trial);
void program_close(struct program *program);

/* Whether there is anything to compare with another trial. */
bool program_is_known(const struct program *program);

/* Compares the code of two trials: their snapshots, else the diffs that were recorded against the same commit. Returns
 * false if they have neither in common. */
bool program_compare_code(struct collecting *c, const struct program *from, const struct program *to);

/* Compares commands and the variables set by --env. Returns false if one of them has no command. */
bool program_compare_commands(struct collecting *c, const struct program *from, const struct program *to);

#endif
