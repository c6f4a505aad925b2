/*
 * places.h: the names of a store's files inside its directory; no other source file contains these names. Files beside
 * results.tsv are named after the row that they belong to, so that a row and its files find each other without a list.
 */
#pragma once

#include <stddef.h>

#include <lineage/store.h>

#include "../fail.h"

#define PLACE_RESULTS "results.tsv"
#define PLACE_IMPORT "results.tsv.import" /* exists while a large batch of rows is being written */
#define PLACE_UNDONE "results.tsv.undone" /* exists after rows were removed again that mirrors may have read */
#define PLACE_DIGESTS ".results.tsv.digests" /* digests of the log's records */
#define PLACE_REDACTED ".results.tsv.redacted" /* secrets that were taken out of rows and files */
#define PLACE_SIGNED ".results.tsv.signed" /* signatures of earlier versions, which nothing checks */
#define PLACE_CONFIG "lineage.json"
#define PLACE_SERVER "server.json"       /* for a log on a server: its settings when last seen */
#define PLACE_OUTBOX "outbox"            /* for a log on a server: trials that the server does not have yet */
#define PLACE_RECEIPTS "outbox/receipts" /* for a log on a server: appends that it acknowledged */
#define PLACE_MIRROR "lineage.db"        /* SQLite adds -wal and -shm files beside it */
#define PLACE_TELEMETRY "telemetry"      /* EXP_ID.json each */
#define PLACE_SNAPSHOTS "snapshots"      /* EXP_ID_SPECIALIST/ each; .copy-* while one is copied */
#define PLACE_CHECKPOINTS "checkpoints"  /* policies of a night that later trials start from */
#define PLACE_CLAIM_END ".claim"         /* KEY.claim each: which worker runs which trial (queue/) */
#define PLACE_CLAIM_NEW ".claim-new"     /* a claim that is being made */
#define PLACE_CLAIMS_LOCK ".claims"      /* lock of the claims */
#define PLACE_FETCH_LOCK ".fetch"        /* lock of a file that is fetched from a server (blobs/) */
#define PLACE_FETCHED ".fetched"         /* name of a fetched file until it is complete */
#define PLACE_RENDERED "lineage_snapshots" /* blocks that were shown */
#define PLACE_LOGS "logs"                  /* EXP_ID.log each: output of a command */
#define PLACE_REPEATED_RUNS "runs.jsonl"   /* beside the repeated rows: run.json of each trial */
#define PLACE_PROVENANCE "provenance"      /* EXP_ID/ each: the code and settings a command was run from */
#define PLACE_CODE "lineage_code"          /* files and diffs that trials ran, named by their digests */
#define PLACE_TRIAL ".trial-"              /* .trial-XXXXXX/ each: a running trial, locked by its process */
#define PLACE_TRIAL_PLAN "trial.json"      /* in it: what its row would contain */
#define PLACE_KNOWLEDGE "KNOWLEDGE.md"
#define PLACE_REMARKS "remarks.jsonl"      /* remarks on trials, added later */
#define PLACE_INSIGHTS "insights.jsonl"    /* claims with their evidence */
#define PLACE_HELD_OUT "held-out.jsonl"    /* scores that no planner sees; written and read by the command only */
#define PLACE_EXAMPLES "examples"          /* EXP_ID.jsonl each: scores of single examples */
#define PLACE_BEST_JSON "best.json"      /* the blackboard's note of its best trial, read only */

#define PLACE_MAX 400 /* longest path that the functions below return, with its NUL */

/* telemetry/EXP_ID.json; false if the id cannot be a file name (empty, too long, contains `/`, begins with a dot). */
bool place_telemetry(char path[PLACE_MAX], const char *exp_id);

/* The id of the row that a file inside telemetry/ belongs to; false for a file of another program. */
bool place_telemetry_id(char id[PLACE_MAX], const char *name);

/* snapshots/EXP_ID_SPECIALIST, with `/` and control characters as `_`; false if the id cannot begin a file name (a
 * leading dot is used by copies in progress). */
bool place_snapshot(char path[PLACE_MAX], const char *exp_id, const char *specialist);

/* The n-th alternative if another row's snapshot already has that name: snapshots/EXP_ID_SPECIALIST-N. */
void place_snapshot_again(char path[PLACE_MAX], const char *exp_id, const char *specialist, unsigned n);

/* A copy in progress: snapshots/.copy-PID-ADDRESS-N, so that no two writers use the same name. */
void place_snapshot_copy(char path[PLACE_MAX], const void *owner, unsigned n);
bool place_is_snapshot_copy(const char *name); /* name inside snapshots/ */

/* Whether a name in the store's directory is one of the store's own files. */
bool place_is_own(const char *name);

bool place_is_torn(const char *name);

/* ---- the directory of a store: made, opened, and hidden from the repository around it ---- */

enum lineage_status store_dir_make(const char *dir, struct lineage_error *err);
enum lineage_status store_dir_open(int *fd, const char *dir, struct lineage_error *err);

/* Whether a directory above it, or it itself, is the top of a repository of git, Jujutsu or Mercurial. */
bool store_dir_in_repository(int dir_fd);

/* A reset, a stash or a checkout must not take rows back, so the repository around a new store ignores it. A directory that holds
 * other files is not ignored as a whole. */
enum lineage_status store_dir_ignore(int dir_fd, bool in_repository, struct lineage_error *err);

/* ---- the file results.tsv.torn-N, which keeps a record that may be incomplete ---- */

/* Saves the bytes durably under the next free number; name receives the file's name. place is the name of the log for
 * error messages. */
enum lineage_status torn_save(int dir_fd, const char *place, const char *bytes, size_t length, char name[64],
                              struct lineage_error *err);
