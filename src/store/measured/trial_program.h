/* trial_program.h: what a trial was run from: its snapshot, the code that its sweep kept, and its provenance. */
#pragma once

#include <jansson.h>

#include <lineage/code.h>

#include "collecting.h"

struct program {
    const char *exp_id; /* the trial's; it must live as long as the struct */
    int snapshot_fd;   /* -1 for none */
    int provenance_fd; /* -1 for none */
    json_t *run;       /* run.json; NULL for none */
    struct file_text diff; /* of the commits of this trial and the other, if the caller knows it; text NULL: unknown */
    struct lineage_code code;
    bool has_code;
    bool failed;       /* out of memory */
    bool gone;         /* the row names a snapshot or code that is not here now */
};

/* Opens what is there. Nothing of it is required, and links are not followed. */
void program_open(struct program *program, struct lineage_store *store, const struct lineage_trial *trial);
void program_close(struct program *program);

/* Whether there is code, and a command, to compare with another trial's. */
bool program_has_code(const struct program *program);
bool program_has_command(const struct program *program);

/* The trial with whose code `lineage run` compared this one before it started; "" if it is not known. */
const char *program_against(const struct program *program);

/* Compares the code of two trials: their snapshots, else the files that their sweep kept; and, without such files, the diff that was
 * recorded between their commits, else the diffs that were recorded against the same commit. A snapshot alone does not tell what two
 * commits differ in, and sets c->incomplete. *done is false if they have none of these in common. Fails only if a kept file cannot be
 * read. */
enum lineage_status program_compare_code(bool *done, struct collecting *c, struct lineage_store *store,
                                         const struct program *from, const struct program *to, struct lineage_error *err);

/* Compares commands and the variables set by --env. Returns false if one of them has no command. */
bool program_compare_commands(struct collecting *c, const struct program *from, const struct program *to);
