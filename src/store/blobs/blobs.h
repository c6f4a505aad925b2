/*
 * blobs.h: the blob functions that other modules use. An append sends the chunks of a snapshot before the claim, so
 * that naming the snapshot under the claim is quick.
 */
#pragma once

#include "../internal.h"

/* Sends the chunks of the tree at path, which is relative to the store's directory. Does nothing if the log is a
 * file. */
enum lineage_status blobs_offer(struct lineage_store *store, const char *path, struct lineage_error *err);

/* Whether the blob is on the server. Returns false if the server cannot be asked. */
bool blobs_has(struct lineage_store *store, const char *name);
