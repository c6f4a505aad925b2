/*
 * specialist_sums.c: keeps sums for each specialist.
 *
 * Sums are read from their tables when first needed, trials are added in the order of the log, and the sums are written
 * back at the end. So they equal, to the last digit, the sums of one pass over the whole log, however the log was
 * divided among syncs.
 */
#include "mirror_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "../format/number.h"
#include "statement.h"

/* The sums of one specialist. */
struct entry {
    struct entry *next; /* next entry in the same bucket */
    const char *name;
    int64_t labels[LINEAGE_N_LABELS];
    int64_t n, same_sign; /* counts for the calibration */
    double expected_sum, actual_sum, error_sum;
};

/* A hash table with 64 buckets for a sync of a row or two and 65536 for a load. The size is limited, because a log may
 * name a different specialist in each trial. */
struct specialist_sums {
    struct mirror *mirror;
    bool fresh;
    struct arena arena;
    struct entry **buckets;
    size_t n, capacity; /* number of buckets; with more entries, all are written back early */
};

/* A power of two, because the bucket is the low bits of the hash. */
struct specialist_sums *specialist_sums_new(struct mirror *mirror, bool fresh, bool large)
{
    struct specialist_sums *sums = calloc(1, sizeof *sums);
    if (!sums)
        return NULL;
    sums->mirror = mirror;
    sums->fresh = fresh;
    sums->capacity = large ? (size_t)1 << 16 : 64;
    sums->buckets = calloc(sums->capacity, sizeof(struct entry *));
    if (sums->buckets)
        return sums;
    specialist_sums_free(sums);
    return NULL;
}

void specialist_sums_free(struct specialist_sums *sums)
{
    if (!sums)
        return;
    arena_release(&sums->arena);
    free(sums->buckets);
    free(sums);
}

/* Reads rows of `SELECT status, n` into the sums. */
static enum lineage_status load_labels(struct specialist_sums *sums, sqlite3_stmt *stmt, struct entry *entry,
                                       struct lineage_error *err)
{
    enum lineage_label label;
    enum lineage_status status;
    while ((status = mirror_step(sums->mirror, stmt, err)) == LINEAGE_OK &&
           (status = mirror_label(sums->mirror, stmt, 0, &label, err)) == LINEAGE_OK)
        entry->labels[label] = sqlite3_column_int64(stmt, 1);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status load_calibration(struct specialist_sums *sums, struct entry *entry, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_row(sums->mirror, &stmt, err,
                                            "SELECT n, same_sign, expected_sum, actual_sum, "
                                            "error_sum FROM calibration WHERE specialist = ?",
                                            "s", entry->name);
    if (status == LINEAGE_OK) {
        entry->n = sqlite3_column_int64(stmt, 0);
        entry->same_sign = sqlite3_column_int64(stmt, 1);
        entry->expected_sum = sqlite3_column_double(stmt, 2);
        entry->actual_sum = sqlite3_column_double(stmt, 3);
        entry->error_sum = sqlite3_column_double(stmt, 4);
    }
    return mirror_end_rows(stmt, status);
}

static enum lineage_status load_entry(struct specialist_sums *sums, struct entry *entry, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status =
        mirror_rows(sums->mirror, &stmt, err, "SELECT status, n FROM label_counts WHERE specialist = ?", "s", entry->name);
    if (status != LINEAGE_OK)
        return status;
    status = load_labels(sums, stmt, entry, err);
    return status == LINEAGE_OK ? load_calibration(sums, entry, err) : status;
}

static struct entry *new_entry(struct specialist_sums *sums, uint64_t hash, const char *name)
{
    struct entry *entry = arena_alloc(&sums->arena, 1, sizeof *entry);
    struct entry **bucket = &sums->buckets[hash & (sums->capacity - 1)];
    if (!entry)
        return NULL;
    *entry = (struct entry){.next = *bucket};
    entry->name = arena_text(&sums->arena, name, strlen(name));
    if (!entry->name)
        return NULL;
    *bucket = entry;
    sums->n++;
    return entry;
}

/* In a fresh mirror the tables are empty, so a new entry is not looked up in them. */
static enum lineage_status find_entry(struct specialist_sums *sums, const char *name, struct entry **out,
                                      struct lineage_error *err)
{
    uint64_t hash = XXH3_64bits(name, strlen(name));
    struct entry *entry = sums->buckets[hash & (sums->capacity - 1)];
    while (entry && strcmp(entry->name, name) != 0)
        entry = entry->next;
    *out = entry;
    if (entry)
        return LINEAGE_OK;
    *out = new_entry(sums, hash, name);
    if (!*out)
        return store_no_memory(err);
    return sums->fresh ? LINEAGE_OK : load_entry(sums, *out, err);
}

/* Only trials labelled keep or discard count, because predictions are about trials that ran to the end and were
 * compared. */
static void calibrate(struct entry *entry, const struct lineage_trial *trial)
{
    double expected, actual = trial->delta_vs_best.value;
    if ((trial->status != LINEAGE_KEEP && trial->status != LINEAGE_DISCARD) || !trial->delta_vs_best.present ||
        !isfinite(actual) || !expected_number(&expected, trial->expected_delta) || !isfinite(expected))
        return;
    entry->n++;
    entry->same_sign += (expected > 0 && actual > 0) || (expected < 0 && actual < 0);
    entry->expected_sum += expected;
    entry->actual_sum += actual;
    entry->error_sum += fabs(expected - actual);
}

/* Flushed when there are as many entries as buckets, which bounds the memory and keeps the chains short. */
enum lineage_status specialist_sums_add(struct specialist_sums *sums, const struct lineage_trial *trial,
                                        struct lineage_error *err)
{
    struct entry *entry;
    enum lineage_status status = sums->n >= sums->capacity ? specialist_sums_flush(sums, err) : LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = find_entry(sums, trial->specialist, &entry, err);
    if (status != LINEAGE_OK)
        return status;
    entry->labels[trial->status]++;
    calibrate(entry, trial);
    return LINEAGE_OK;
}

static enum lineage_status write_label(struct specialist_sums *sums, const struct entry *entry, enum lineage_label label,
                                       struct lineage_error *err)
{
    return mirror_do(sums->mirror, err, "REPLACE INTO label_counts VALUES (?, ?, ?)", "ssi", entry->name,
                     lineage_label_name(label), entry->labels[label]);
}

static enum lineage_status write_calibration(struct specialist_sums *sums, const struct entry *entry, struct lineage_error *err)
{
    return mirror_do(sums->mirror, err, "REPLACE INTO calibration VALUES (?,?,?,?,?,?)", "siiddd", entry->name, entry->n,
                     entry->same_sign, entry->expected_sum, entry->actual_sum, entry->error_sum);
}

/* Labels without trials get no row. */
static enum lineage_status write_entry(struct specialist_sums *sums, const struct entry *entry, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (int i = 0; status == LINEAGE_OK && i < LINEAGE_N_LABELS; i++)
        if (entry->labels[i])
            status = write_label(sums, entry, (enum lineage_label)i, err);
    if (status == LINEAGE_OK && entry->n)
        status = write_calibration(sums, entry, err);
    return status;
}

/* The entries are written in hash order. Their order does not matter, because each entry is written completely. */
enum lineage_status specialist_sums_flush(struct specialist_sums *sums, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < sums->capacity; i++) {
        for (const struct entry *e = sums->buckets[i]; status == LINEAGE_OK && e; e = e->next)
            status = write_entry(sums, e, err);
        sums->buckets[i] = NULL;
    }
    arena_reset(&sums->arena);
    sums->n = 0;
    sums->fresh = false;
    return status;
}
