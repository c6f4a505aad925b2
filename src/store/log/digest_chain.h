/* digest_chain.h: computing the digests of a log's records (digest.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../format/tsv.h"
#include "log.h"

/* Computes d_n from d_{n-1}. */
void digest_chain_add(struct digest_chain *chain, const struct tsv_record *record);

/* Extends the chain over the following records of the log, up to `end`. */
enum lineage_status digest_chain_follow(struct digest_chain *chain, struct log *log, uint64_t end, struct lineage_error *err);

/* digest_write writes a digest as 64 hexadecimal digits in lower case. digest_read parses such a text and returns false
 * for any other text. */
#define DIGEST_TEXT (2 * DIGEST_BYTES + 1)
void digest_write(char text[DIGEST_TEXT], const unsigned char digest[DIGEST_BYTES]);
bool digest_read(unsigned char digest[DIGEST_BYTES], const char *text);
