/*
 * command_sandbox.h: the sandbox of a command's trial (--sandbox): which paths it may write, and which layers the kernel grants.
 *
 * Its commands may write their work directory, a directory for temporary files (TMPDIR), the pipe for events, /dev/shm, and the
 * paths of --sandbox-write. The store, the evaluator and everything else are read-only. The places where this user keeps keys
 * are empty for them, except for the paths of --sandbox-read.
 */
#pragma once

#include "run/command_trial.h"

/* ---- private places ---- */

/*
 * Where this user keeps keys and passwords, which a sandbox hides from a trial. The places are those of ssh, gpg, the
 * clients of clouds and code hosts, package registries and PostgreSQL, the key of `lineage` itself, and what containers
 * mount for secrets. Root's list has the password hashes of the machine, too.
 */

struct private_places {
    char **paths; /* absolute and resolved, ended by NULL; freed by private_places_release */
    size_t n;
};

struct command_sandbox {
    struct sandbox sandbox;
    const char **writable;    /* of the sandbox */
    struct private_places hidden;
    const char **environment; /* of the commands: that of --env with TMPDIR, ended by NULL */
    char **owned;             /* [n_owned] */
    size_t n_owned;
};

/* Where the commands of the trial work, all absolute. */
struct command_places {
    const char *trial; /* its directory in the store, in which the one for temporary files is made */
    int dir;    /* the same, open */
    const char *workdir, *events;
};

/* The name of the directory for temporary files in the directory of the trial. */
#define COMMAND_SANDBOX_TEMPORARY "tmp"

/*
 * Makes the sandbox of a trial that asks for one, and finds out which layers there are; prints them on standard error, unless
 * the trial is quiet and none is missing. Returns false after printing why it cannot be made, or which layers are missing if the
 * trial requires all of them. Call command_sandbox_release in either case.
 */
bool command_sandbox_make(struct command_sandbox *made, const struct command_trial *trial, const struct command_places *places);

/* A zeroed struct is allowed. */
void command_sandbox_release(struct command_sandbox *made);
