/*
 * places.h: where the files of a store are, by name inside its directory; nothing else in the store
 * spells one out. Files beside results.tsv are named after the row they belong to, so that a row
 * and its files find each other without a list of them.
 */
#ifndef FILES_PLACES_H
#define FILES_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#define PLACE_RESULTS "results.tsv"
#define PLACE_IMPORT "results.tsv.import" /* while many rows are written at once */
#define PLACE_UNDONE "results.tsv.undone" /* rows were taken back that mirrors may have */
#define PLACE_DIGESTS ".results.tsv.digests" /* of its rows: that the old ones are unchanged */
#define PLACE_CONFIG "lineage.json"
#define PLACE_SERVER "server.json"       /* of a log on a server: its settings as they were last seen */
#define PLACE_OUTBOX "outbox"            /* of a log on a server: trials that it does not have yet */
#define PLACE_MIRROR "lineage.db"        /* and -wal, -shm beside it */
#define PLACE_TELEMETRY "telemetry"      /* EXP_ID.json each */
#define PLACE_SNAPSHOTS "snapshots"      /* EXP_ID_SPECIALIST/ each, .copy-* while one is made */
#define PLACE_CHECKPOINTS "checkpoints"  /* of a night: policies that later trials start from */
#define PLACE_CLAIM_END ".claim"         /* in it KEY.claim each: who runs which trial (queue/) .. */
#define PLACE_CLAIM_NEW ".claim-new"     /* .. while one is made .. */
#define PLACE_CLAIMS_LOCK ".claims"      /* .. and the lock of them */
#define PLACE_FETCH_LOCK ".fetch"        /* of what is brought from a server (blobs/) .. */
#define PLACE_FETCHED ".fetched"         /* .. and what it is until it is whole */
#define PLACE_RENDERED "lineage_snapshots" /* blocks as they were shown */
#define PLACE_LOGS "logs"                  /* EXP_ID.log each: what a command printed */
#define PLACE_PROVENANCE "provenance"      /* EXP_ID/ each: what a command was run from */
#define PLACE_KNOWLEDGE "KNOWLEDGE.md"
#define PLACE_REMARKS "remarks.jsonl"      /* said about trials afterwards */
#define PLACE_BEST_JSON "best.json"      /* the blackboard's note of its best trial, read only */

#define PLACE_MAX 400 /* of any path below, with its NUL */

/* telemetry/EXP_ID.json; false if the id cannot be a file name (empty, too long, `/`, leading dot). */
bool place_telemetry(char path[PLACE_MAX], const char *exp_id);

/* The id that a file name inside telemetry/ belongs to; false for a stranger's file. */
bool place_telemetry_id(char id[PLACE_MAX], const char *name);

/* snapshots/EXP_ID_SPECIALIST, `/` and control characters as `_`; false if the id cannot begin a file
 * name (leading dot: such names are those of copies under way). */
bool place_snapshot(char path[PLACE_MAX], const char *exp_id, const char *specialist);

/* The n-th other name for the same, where another row's snapshot has the first: snapshots/EXP_ID_SPECIALIST-N. */
void place_snapshot_again(char path[PLACE_MAX], const char *exp_id, const char *specialist, unsigned n);

/* A copy under way: snapshots/.copy-PID-ADDRESS-N, so that no two writers use one. */
void place_snapshot_copy(char path[PLACE_MAX], const void *owner, unsigned n);
bool place_is_snapshot_copy(const char *name); /* inside snapshots/ */

/* Whether a name in the store's directory is one of the store's own files. */
bool place_is_own(const char *name);

/* results.tsv.torn-N. */
void place_torn(char name[64], unsigned n);
bool place_is_torn(const char *name);

#endif
