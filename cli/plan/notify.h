/*
 * notify.h: runs a command of the user's when something matters (`--notify`): a new best trial, a failure, a proposal that waits
 * for a person, the end. The command has the facts in its environment and as one line of JSON on its standard input. It has
 * NOTIFY_SECONDS; what it prints to standard output is dropped, and that it fails or is slow is reported once and harms nothing.
 */
#pragma once

#include <lineage/store.h>

/* After NOTIFY_LATE calls in a row that were late, only the end is sent. */
enum { NOTIFY_SECONDS = 10, NOTIFY_LATE = 1 };

struct notify {
    const char *command; /* for the shell; NULL: nothing is sent */
    bool told;           /* its failure was reported */
    unsigned late;
};

/* event: best, failure, proposal or stop; exp_id: the trial, or NULL; text: for a person. Returns after the command has ended. */
void notify_send(struct notify *notify, struct lineage_store *store, const char *event, const char *exp_id, const char *text);

/* Sends best or failure if the row that was just written is one of them. Returns whether it is. */
bool notify_trial(struct notify *notify, struct lineage_store *store, const char *exp_id, enum lineage_label label);
