/* blobs.h: what the other rooms ask of blobs. For an append: send what a snapshot is made of before the claim, so that naming it under the claim is quick. */
#ifndef BLOBS_BLOBS_H
#define BLOBS_BLOBS_H

#include <stdbool.h>

#include "../internal.h"

/* path is relative to the store's directory. Of a log that is a file there is nothing to do. */
enum lineage_status blobs_offer(struct lineage_store *store, const char *path, struct lineage_error *err);

/* Whether it is on the server, as far as that can be asked. */
bool blobs_has(struct lineage_store *store, const char *name);

#endif
