/*
 * sweep_version.h: tells workers that run another version of the sweep.
 *
 * Workers share a night by the sweep's name. If one of them has an edited sweep, the trials of both versions are run as one
 * night, and nobody notices. So each claim carries the digest of its worker's sweep (night_sweep.digest), and a worker stops if
 * a claim of the same night has another one.
 */
#pragma once

#include "share/claims.h"

enum { SWEEP_VERSION_NOTES_MAX = 160 };

/*
 * Returns the text about a running trial, a JSON object ("" before it runs), with the sweep's digest; the caller frees it. NULL
 * when out of memory or if about is not a JSON object.
 */
char *sweep_version_mark(const struct night_sweep *sweep, const char *about);

/*
 * Refuses the night, with a message and CLI_USAGE, if another worker runs another version of the sweep. Returns CLI_GO_ON, also if
 * the queue does not answer, or an exit status.
 */
int sweep_version_check(const struct claims *claims);

/*
 * Marks the claim of trial i, which was just made, and looks for other versions again, because two workers may have begun in the
 * same moment. Then only the one with the larger digest is refused, and its claim is given up. Returns the same values.
 */
int sweep_version_claimed(struct claims *claims, size_t i);

/* Writes the piece of notes by which a row of a shared night names its worker's program and sweep; "" for a night that runs
 * alone. Returns out. */
const char *sweep_version_notes(char out[SWEEP_VERSION_NOTES_MAX], const struct claims *claims);
