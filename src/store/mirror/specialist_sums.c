/*
 * specialist_sums.c: sums per specialist.
 *
 * Sums are read from their tables when first needed, added to in the order of the log, and written back at the end.
 * So they equal, to the last digit, those of one pass over the whole log, wherever syncs fell.
 */
#include "specialist_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "../format/expected.h"
#include "statement.h"

/* The sums of one specialist. */
struct entry {
    struct entry *next; /* in the bucket */
    const char *name;
    int64_t labels[LINEAGE_N_LABELS];
    int64_t n, same_sign; /* calibration */
    double expected_sum, actual_sum, error_sum;
};

/* 64 for a sync of a row or two; 65536 for a load, because a log may name a different specialist in each trial and
 * the table must not grow without limit. */
struct tally {
    struct mirror *mirror;
    bool fresh;
    struct arena arena;
    struct entry **buckets;
    size_t n, capacity; /* as many buckets as entries; beyond that, entries are written back early */
};

/* A power of two, because the bucket is the low bits of the hash. */
struct tally *tally_new(struct mirror *mirror, bool fresh, bool large)
{
    struct tally *tally = calloc(1, sizeof *tally);
    if (!tally)
        return NULL;
    tally->mirror = mirror;
    tally->fresh = fresh;
    tally->capacity = large ? (size_t)1 << 16 : 64;
    tally->buckets = calloc(tally->capacity, sizeof(struct entry *));
    if (tally->buckets)
        return tally;
    tally_free(tally);
    return NULL;
}

void tally_free(struct tally *tally)
{
    if (!tally)
        return;
    arena_release(&tally->arena);
    free(tally->buckets);
    free(tally);
}

/* Rows of `SELECT status, n`. */
static enum lineage_status load_labels(struct tally *tally, sqlite3_stmt *stmt, struct entry *entry,
                                       struct lineage_error *err)
{
    enum lineage_label label;
    enum lineage_status status;
    while ((status = mirror_step(tally->mirror, stmt, err)) == LINEAGE_OK &&
           (status = mirror_label(tally->mirror, stmt, 0, &label, err)) == LINEAGE_OK)
        entry->labels[label] = sqlite3_column_int64(stmt, 1);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status load_calibration(struct tally *tally, struct entry *entry,
                                            struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(tally->mirror, &stmt,
                                                "SELECT n, same_sign, expected_sum, actual_sum, "
                                                "error_sum FROM calibration WHERE specialist = ?",
                                                err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, entry->name, -1, SQLITE_STATIC);
    status = mirror_step(tally->mirror, stmt, err);
    if (status == LINEAGE_OK) {
        entry->n = sqlite3_column_int64(stmt, 0);
        entry->same_sign = sqlite3_column_int64(stmt, 1);
        entry->expected_sum = sqlite3_column_double(stmt, 2);
        entry->actual_sum = sqlite3_column_double(stmt, 3);
        entry->error_sum = sqlite3_column_double(stmt, 4);
    }
    return mirror_end_rows(stmt, status);
}

static enum lineage_status load_entry(struct tally *tally, struct entry *entry,
                                      struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(
        tally->mirror, &stmt, "SELECT status, n FROM label_counts WHERE specialist = ?", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, entry->name, -1, SQLITE_STATIC);
    status = load_labels(tally, stmt, entry, err);
    return status == LINEAGE_OK ? load_calibration(tally, entry, err) : status;
}

static struct entry *new_entry(struct tally *tally, uint64_t hash, const char *name)
{
    struct entry *entry = arena_alloc(&tally->arena, 1, sizeof *entry);
    struct entry **bucket = &tally->buckets[hash & (tally->capacity - 1)];
    if (!entry)
        return NULL;
    *entry = (struct entry){.next = *bucket};
    entry->name = arena_text(&tally->arena, name, strlen(name));
    if (!entry->name)
        return NULL;
    *bucket = entry;
    tally->n++;
    return entry;
}

/* In a fresh mirror the tables are empty, so looking an entry up is skipped. */
static enum lineage_status find_entry(struct tally *tally, const char *name, struct entry **out,
                                      struct lineage_error *err)
{
    uint64_t hash = XXH3_64bits(name, strlen(name));
    struct entry *entry = tally->buckets[hash & (tally->capacity - 1)];
    while (entry && strcmp(entry->name, name) != 0)
        entry = entry->next;
    *out = entry;
    if (entry)
        return LINEAGE_OK;
    *out = new_entry(tally, hash, name);
    if (!*out)
        return store_no_memory(err);
    return tally->fresh ? LINEAGE_OK : load_entry(tally, *out, err);
}

/* Only keep and discard, because those trials ran to the end and were compared, which is what was predicted. */
static void calibrate(struct entry *entry, const struct lineage_trial *trial)
{
    double expected, actual = trial->delta_vs_best.value;
    if ((trial->status != LINEAGE_KEEP && trial->status != LINEAGE_DISCARD) ||
        !trial->delta_vs_best.present || !isfinite(actual) ||
        !expected_number(&expected, trial->expected_delta) || !isfinite(expected))
        return;
    entry->n++;
    entry->same_sign += (expected > 0 && actual > 0) || (expected < 0 && actual < 0);
    entry->expected_sum += expected;
    entry->actual_sum += actual;
    entry->error_sum += fabs(expected - actual);
}

/* Flushed when there are as many entries as buckets, which bounds the memory and keeps the chains short. */
enum lineage_status tally_add(struct tally *tally, const struct lineage_trial *trial,
                              struct lineage_error *err)
{
    struct entry *entry;
    enum lineage_status status = tally->n >= tally->capacity ? tally_flush(tally, err) : LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = find_entry(tally, trial->specialist, &entry, err);
    if (status != LINEAGE_OK)
        return status;
    entry->labels[trial->status]++;
    calibrate(entry, trial);
    return LINEAGE_OK;
}

static enum lineage_status write_label(struct tally *tally, const struct entry *entry,
                                       enum lineage_label label, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status =
        mirror_prepare(tally->mirror, &stmt, "REPLACE INTO label_counts VALUES (?, ?, ?)", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, entry->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, lineage_label_name(label), -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 3, entry->labels[label]);
    return mirror_run(tally->mirror, stmt, err);
}

static enum lineage_status write_calibration(struct tally *tally, const struct entry *entry,
                                             struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status =
        mirror_prepare(tally->mirror, &stmt, "REPLACE INTO calibration VALUES (?,?,?,?,?,?)", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, entry->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, entry->n);
    sqlite3_bind_int64(stmt, 3, entry->same_sign);
    sqlite3_bind_double(stmt, 4, entry->expected_sum);
    sqlite3_bind_double(stmt, 5, entry->actual_sum);
    sqlite3_bind_double(stmt, 6, entry->error_sum);
    return mirror_run(tally->mirror, stmt, err);
}

/* Labels without trials get no row. */
static enum lineage_status write_entry(struct tally *tally, const struct entry *entry,
                                       struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (int i = 0; status == LINEAGE_OK && i < LINEAGE_N_LABELS; i++)
        if (entry->labels[i])
            status = write_label(tally, entry, (enum lineage_label)i, err);
    if (status == LINEAGE_OK && entry->n)
        status = write_calibration(tally, entry, err);
    return status;
}

/* In hash order, which does not matter because each entry is written whole. */
enum lineage_status tally_flush(struct tally *tally, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < tally->capacity; i++) {
        for (const struct entry *e = tally->buckets[i]; status == LINEAGE_OK && e; e = e->next)
            status = write_entry(tally, e, err);
        tally->buckets[i] = NULL;
    }
    arena_reset(&tally->arena);
    tally->n = 0;
    tally->fresh = false;
    return status;
}
