/* digest_chain.c: computes the digests of a log's records. */
#include "digest_chain.h"

#include <sha2.h>

#include "record_walk.h"

void digest_chain_add(struct digest_chain *chain, const struct tsv_record *record)
{
    SHA2_CTX hash;
    SHA256Init(&hash);
    SHA256Update(&hash, chain->digest, sizeof chain->digest);
    SHA256Update(&hash, (const uint8_t *)record->bytes, record->length);
    SHA256Final(chain->digest, &hash);
    chain->records++;
    chain->position += record->length;
}

/* Records that end in a lone CR are covered as soon as a later record ends in LF. */
enum lineage_status digest_chain_follow(struct digest_chain *chain, struct log *log, uint64_t end, struct lineage_error *err)
{
    struct record_walk walk = {0};
    struct tsv_record record;
    struct digest_chain ahead = *chain;
    bool there;
    enum lineage_status status;
    record_walk_start(&walk, log, chain->position, 1, end);
    while ((status = record_walk_next(&walk, &record, &there, err)) == LINEAGE_OK && there) {
        digest_chain_add(&ahead, &record);
        if (record.bytes[record.length - 1] == '\n')
            *chain = ahead;
    }
    record_walk_release(&walk);
    return status;
}

void digest_write(char text[DIGEST_TEXT], const unsigned char digest[DIGEST_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < DIGEST_BYTES; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[DIGEST_TEXT - 1] = '\0';
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool digest_read(unsigned char digest[DIGEST_BYTES], const char *text)
{
    for (size_t i = 0; i < DIGEST_BYTES; i++) {
        int high = digit(text[2 * i]);
        int low = high < 0 ? -1 : digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        digest[i] = (unsigned char)(high << 4 | low);
    }
    return text[DIGEST_TEXT - 1] == '\0';
}
