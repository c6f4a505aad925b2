/* log_postgres_digests.c: compares the records with the digests that the server computed when they were added. */
#include "log_postgres_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../log/digest_chain.h"
#include "../log/record_walk.h"

/* State of the comparison, from the end of the verified chain on. */
struct comparing {
    struct log_digests *digests;
    struct digest_chain chain;
    uint64_t line;
    struct buf record;
};

static void say_broken(struct comparing *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say_broken(struct comparing *c, const char *format, ...)
{
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->digests->is_broken = true;
    if (c->digests->broken)
        c->digests->broken(c->digests->context, c->line, text);
}

/* After a changed record, digests continue from the stored one, so that each change is found separately. */
static void compare_record(struct comparing *c, const struct pg_result *result, size_t row)
{
    size_t length;
    const char *text = pg_text(result, row, 1, &length);
    const uint64_t position = (uint64_t)pg_int(result, row, 0);
    unsigned char kept[DIGEST_BYTES] = {0};
    buf_reset(&c->record);
    postgres_add_bytes(&c->record, text, length);
    const struct tsv_record record = {.bytes = c->record.data, .length = c->record.length};
    const bool follows = position == c->chain.position;
    digest_chain_add(&c->chain, &record);
    c->chain.position = position + record.length;
    if (!digest_read(kept, pg_digits(result, row, 2)) || !follows || memcmp(kept, c->chain.digest, DIGEST_BYTES) != 0) {
        say_broken(c,
                   "record %llu (bytes %llu to %llu): not the bytes that its digest on the server "
                   "was made of",
                   (unsigned long long)c->chain.records, (unsigned long long)position, (unsigned long long)c->chain.position);
        memcpy(c->chain.digest, kept, DIGEST_BYTES);
    }
    if (c->digests->passed)
        c->digests->passed(c->digests->context, &c->chain);
    for (size_t i = 0; i < record.length; i++)
        c->line += record.bytes[i] == '\n';
}

enum lineage_status postgres_check_digests(struct log *log, struct log_digests *digests, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct comparing c = {.digests = digests, .line = 1};
    struct log_state state;
    struct pg_result result = {0};
    enum lineage_status status = postgres_look(log, &state, err);
    const uint64_t records = (uint64_t)p->seq, size = p->size;
    if (digests->passed)
        digests->passed(digests->context, &c.chain);
    bool more = true;
    while (status == LINEAGE_OK && c.chain.position < size && more) {
        status = postgres_ask(p, &result, err,
                              "SELECT position, bytes, digest FROM lineage.record WHERE store = "
                              "%lld AND position >= %llu"
                              " AND position < %llu ORDER BY seq",
                              (long long)p->store, (unsigned long long)c.chain.position,
                              (unsigned long long)c.chain.position + POSTGRES_READ_AT_ONCE);
        more = status == LINEAGE_OK && pg_rows(&result);
        for (size_t i = 0; more && i < pg_rows(&result); i++)
            compare_record(&c, &result, i);
        pg_clear(&result);
        if (c.record.failed)
            status = store_no_memory(err);
    }
    if (status == LINEAGE_OK && c.chain.position < size)
        say_broken(&c, "the store has %llu records in %llu bytes, of which those behind byte %llu are gone",
                   (unsigned long long)records, (unsigned long long)size, (unsigned long long)c.chain.position);
    buf_release(&c.record);
    digests->are_kept = true;
    digests->kept = c.chain.records;
    digests->head = c.chain;
    return status;
}

/* Always fails, because the server writes a digest only once, together with its record. */
enum lineage_status postgres_rebuild_digests(struct log *log, struct log_digests *digests, struct lineage_error *err)
{
    (void)digests;
    return store_fail(err, LINEAGE_EINVAL, "%s: digests on a server are made with their records, and never again", log->place);
}
