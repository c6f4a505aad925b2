/*
 * receipts.h: receipts of appends that a server has acknowledged. A server that fails over to an asynchronous standby, or is set
 * back to a backup, no longer has the last rows that it acknowledged. The machine that sent them keeps them in outbox/receipts
 * until a standby has them too, within the limits of receipts.c, and delivers them again.
 */
#pragma once

#include <stddef.h>

#include "../format/arena.h"
#include "../internal.h"
#include "../log/log.h"

/* The callback `acknowledged` of a log; context is the store. A receipt that cannot be written is a notice, because the row is in
 * the log. */
void receipts_note(void *context, const struct log_ack *ack);

/* Counts the receipts of this user whose rows the server no longer has, and reserves their ids there. Removes the receipts of rows
 * that a standby has. */
enum lineage_status receipts_check(struct lineage_store *store, size_t *n_missing, struct lineage_error *err);

/* Delivers those rows again, with the number of their request, so that none is added twice. A row whose id is taken gets the
 * next id, and its notes say which one it had; the parents of later rows follow. *n is the number of requests delivered. */
enum lineage_status receipts_deliver(struct lineage_store *store, size_t *n, struct lineage_error *err);

/* Records up to this length are in the line itself. */
enum { RECEIPT_LINE_MAX = 64 << 10 };
