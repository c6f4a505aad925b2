/* receipts_rows.h: the rows of a receipt (receipts.h), and sending them again. */
#pragma once

#include <jansson.h>

#include "../format/arena.h"
#include "../internal.h"

/* Trials that got another id on the way: pairs of old and new ids, one after another, each with its NUL. Zeroed: none. */
struct receipts_renamed {
    struct buf ids;
};
void receipts_forget(struct receipts_renamed *renamed);

/* Reads 2 n hexadecimal digits; false if there are others. */
bool receipts_read_hex(unsigned char *out, const char *text, size_t n);

/* Number of the records in the receipt. */
size_t receipts_count(const struct lineage_store *store, const json_t *about);

/* Raises *next_id above each numeric id of the receipt's rows. */
void receipts_note_ids(const struct lineage_store *store, const json_t *about, uint64_t *next_id);

/* Sends the rows again under their request, in one append. Does nothing if the request has reached the log meanwhile. The receipt gets
 * the rows as they were sent, which differ if their ids were taken. */
enum lineage_status receipts_send(struct lineage_store *store, json_t *about, const unsigned char request[16],
                                  struct receipts_renamed *renamed, struct lineage_error *err);
