/*
 * power_promises.h: what must be true of a store after a power failure.
 *
 * - Every row whose command printed its result is in the log once, with its bytes. The rows of the command that was at
 *   work are all there or not at all, and nothing else is.
 * - lineage.json, KNOWLEDGE.md, telemetry and snapshots are those of the last finished command or of the command that was
 *   at work, and never a mixture.
 * - A request in the outbox is there until it is delivered; claims can be taken; insights can be added.
 * - The store can be read, verified, rendered and appended to, and then verifies without a finding.
 */
#pragma once

#include "power_disk.h"

enum { PROMISE_TEXT = 512 };

struct promises;

/* Begins with the present store, which is durable. */
struct promises *promises_new(const char *store, const char *series);
void promises_free(struct promises *promises);

/* A command ended. Its changes begin at `first`. */
void promises_add(struct promises *promises, const struct disk *disk, size_t first);

/* How many results were printed before change `end`. */
size_t promises_answered(const struct promises *promises, size_t end);

/* Checks a state of a power failure before change `end`. With the path of `lineage`, commands are run too. Writes the
 * reason for a false result. */
bool promises_hold(const struct promises *promises, const struct disk_state *state, size_t end, const char *lineage,
                   char why[PROMISE_TEXT]);
