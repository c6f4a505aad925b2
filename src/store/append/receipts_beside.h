/* receipts_beside.h: records of a receipt (receipts.h) that are too long for its line, in a file outbox/receipt-REQUEST. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../format/arena.h"

/* Records up to this length are in the line itself. */
enum { RECEIPT_LINE_MAX = 64 << 10 };

/* Appends the SHA-256 of the bytes in hexadecimal digits. */
void receipts_digest(struct buf *out, const char *bytes, size_t length);

/* Writes the file; request is its number in hexadecimal digits. If all such files would have more than max_bytes, the oldest are
 * removed. Returns false if the file cannot be written, or is too long itself. */
bool receipts_put_beside(int dir_fd, const char *request, const char *bytes, size_t length, uint64_t max_bytes);

/* Reads the file; false if it is missing or has another digest. request may be NULL. */
bool receipts_read_beside(struct buf *out, int dir_fd, const char *request, const char *digest);

void receipts_drop_beside(int dir_fd, const char *request);
