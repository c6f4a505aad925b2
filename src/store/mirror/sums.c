/* sums.c: a row costs a look-up in memory; the tables are touched once per sync. */
#include "sums.h"

#include <math.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include <lineage/text.h>

#include "../format/number.h"

enum sum_kind { SUM_LABEL, SUM_VALUE, SUM_CALIBRATION };

/* A key is this and the bytes of the name behind it. */
struct sum_key {
    int kind, label;
    double value; /* of the parameter */
    char name[];  /* specialist or parameter */
};

struct sum {
    UT_hash_handle hh;
    int64_t n, same_sign;
    double low, high; /* NAN while there is no score */
    double expected, actual, error;
    size_t name_length;
    struct sum_key *key;
};

static struct sum *make(struct sums *sums, enum sum_kind kind, int label, double value, const char *name)
{
    size_t length = strlen(name);
    struct sum *sum = arena_alloc(&sums->arena, 1, sizeof *sum);
    struct sum_key *key = arena_alloc(&sums->arena, 1, sizeof *key + length + 1);
    if (!sum || !key)
        return NULL;
    sum->low = sum->high = (double)NAN;
    sum->name_length = length;
    key->kind = (int)kind;
    key->label = label;
    key->value = value == 0 ? 0 : value; /* -0.0 and 0.0 are one value */
    memcpy(key->name, name, length);
    sum->key = key;
    return sum;
}

static struct sum *find(struct sums *sums, enum sum_kind kind, int label, double value, const char *name)
{
    union {
        struct sum_key key;
        char bytes[sizeof(struct sum_key) + 256];
    } probe;
    struct sum *found = NULL;
    size_t length = strlen(name), bytes = sizeof(struct sum_key) + length;
    if (length < 256) {
        memset(&probe, 0, sizeof(struct sum_key));
        probe.key.kind = (int)kind;
        probe.key.label = label;
        probe.key.value = value == 0 ? 0 : value;
        memcpy(probe.bytes + sizeof(struct sum_key), name, length);
        HASH_FIND(hh, sums->entries, &probe.key, bytes, found);
        if (found)
            return found;
    }
    struct sum *sum = make(sums, kind, label, value, name);
    if (!sum)
        return NULL;
    HASH_ADD_KEYPTR(hh, sums->entries, sum->key, bytes, sum);
    return sum->hh.tbl ? sum : NULL;
}

static bool count_label(struct sums *sums, const struct lineage_trial *trial)
{
    struct sum *sum = find(sums, SUM_LABEL, (int)trial->status, 0, trial->specialist);
    if (sum)
        sum->n++;
    return sum != NULL;
}

static bool count_value(struct sums *sums, const struct lineage_trial *trial, const struct lineage_param *param)
{
    struct sum *sum = find(sums, SUM_VALUE, (int)trial->status, param->value, param->name);
    if (!sum)
        return false;
    sum->n++;
    if (trial->score.present && isfinite(trial->score.value)) {
        sum->low = fmin(sum->low, trial->score.value); /* fmin and fmax pass over nan */
        sum->high = fmax(sum->high, trial->score.value);
    }
    return true;
}

bool expected_number(double *value, const char *text)
{
    static const char at_least[] = "≥";
    if (strncmp(text, at_least, sizeof at_least - 1) == 0)
        text += sizeof at_least - 1;
    text += strspn(text, " ");
    size_t length = number_length(text, strlen(text));
    return length && lineage_number_parse(value, text, length);
}

static bool count_calibration(struct sums *sums, const struct lineage_trial *trial)
{
    double expected, actual = trial->delta_vs_best.value;
    if ((trial->status != LINEAGE_KEEP && trial->status != LINEAGE_DISCARD) || !trial->delta_vs_best.present ||
        !isfinite(actual) || !expected_number(&expected, trial->expected_delta) || !isfinite(expected))
        return true;
    struct sum *sum = find(sums, SUM_CALIBRATION, 0, 0, trial->specialist);
    if (!sum)
        return false;
    sum->n++;
    sum->same_sign += (expected > 0 && actual > 0) || (expected < 0 && actual < 0);
    sum->expected += expected;
    sum->actual += actual;
    sum->error += fabs(expected - actual);
    return true;
}

enum lineage_status sums_add(struct sums *sums, const struct lineage_trial *trial, struct lineage_error *err)
{
    bool ok = count_label(sums, trial) && count_calibration(sums, trial);
    for (size_t i = 0; ok && i < trial->n_params; i++)
        ok = count_value(sums, trial, &trial->params[i]);
    return ok ? LINEAGE_OK : store_fail(err, LINEAGE_ENOMEM, "out of memory");
}

static void bind_score(sqlite3_stmt *stmt, int at, double score)
{
    if (!isnan(score))
        sqlite3_bind_double(stmt, at, score);
}

static enum lineage_status flush_one(const struct sum *sum, struct mirror *mirror, struct lineage_error *err)
{
    static const char *const sql[] = {
        [SUM_LABEL] = "INSERT INTO label_counts VALUES (?1, ?2, ?3)"
                      " ON CONFLICT DO UPDATE SET n = n + excluded.n",
        [SUM_VALUE] = "INSERT INTO param_values VALUES (?1, ?4, ?2, ?3, ?5, ?6) ON CONFLICT DO UPDATE SET"
                      " n = n + excluded.n, low = coalesce(min(low, excluded.low), low, excluded.low),"
                      " high = coalesce(max(high, excluded.high), high, excluded.high)",
        [SUM_CALIBRATION] = "INSERT INTO calibration VALUES (?1, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET"
                            " n = n + excluded.n, same_sign = same_sign + excluded.same_sign,"
                            " expected_sum = expected_sum + excluded.expected_sum,"
                            " actual_sum = actual_sum + excluded.actual_sum,"
                            " error_sum = error_sum + excluded.error_sum",
    };
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql[sum->key->kind], err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, sum->key->name, (int)sum->name_length, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 3, sum->n);
    if (sum->key->kind == SUM_CALIBRATION) {
        sqlite3_bind_int64(stmt, 4, sum->same_sign);
        sqlite3_bind_double(stmt, 5, sum->expected);
        sqlite3_bind_double(stmt, 6, sum->actual);
        sqlite3_bind_double(stmt, 7, sum->error);
    } else {
        sqlite3_bind_text(stmt, 2, lineage_label_name((enum lineage_label)sum->key->label), -1, SQLITE_STATIC);
    }
    if (sum->key->kind == SUM_VALUE) {
        sqlite3_bind_double(stmt, 4, sum->key->value);
        bind_score(stmt, 5, sum->low);
        bind_score(stmt, 6, sum->high);
    }
    status = mirror_step(mirror, stmt, err);
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

enum lineage_status sums_flush(struct sums *sums, struct mirror *mirror, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (const struct sum *sum = sums->entries; status == LINEAGE_OK && sum; sum = sum->hh.next)
        status = flush_one(sum, mirror, err);
    return status;
}

void sums_release(struct sums *sums)
{
    HASH_CLEAR(hh, sums->entries);
    arena_release(&sums->arena);
}
