/*
 * blobs.h: what other rooms need of blobs. An append sends the pieces of a snapshot before the claim, so that naming
 * it under the claim is quick.
 */
#ifndef BLOBS_BLOBS_H
#define BLOBS_BLOBS_H

#include <stdbool.h>

#include "../internal.h"

/* path is relative to the store's directory. Does nothing if the log is a file. */
enum lineage_status blobs_offer(struct lineage_store *store, const char *path, struct lineage_error *err);

/* Whether it is on the server, as far as the server can be asked. */
bool blobs_has(struct lineage_store *store, const char *name);

#endif
