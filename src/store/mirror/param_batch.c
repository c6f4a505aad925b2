/*
 * param_batch.c: parameters of many trials, put into param_rows in the order of that table:
 * neighbouring rows then go to the same pages.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define BATCH ((size_t)1 << 18)
#define MAX_NAMES 256

struct param_row {
    const char *key; /* in keys */
    double value;
    int64_t seq;
};

struct param_batch {
    struct param_row *rows;
    size_t n, capacity;
    struct arena keys;
    const char **names; /* distinct keys */
    size_t n_names, names_capacity;
};

struct param_batch *param_batch_new(void)
{
    return calloc(1, sizeof(struct param_batch));
}

void param_batch_free(struct param_batch *batch)
{
    if (!batch)
        return;
    arena_release(&batch->keys);
    free(batch->names);
    free(batch->rows);
    free(batch);
}

static bool grow(void **array, size_t *capacity, size_t size)
{
    size_t wanted = *capacity ? *capacity * 2 : 16;
    void *larger = realloc(*array, wanted * size);
    if (!larger)
        return false;
    *array = larger;
    *capacity = wanted;
    return true;
}

/* One copy per distinct name; there are a handful. */
static const char *intern(struct param_batch *batch, const char *name)
{
    for (size_t i = 0; i < batch->n_names; i++)
        if (strcmp(batch->names[i], name) == 0)
            return batch->names[i];
    if (batch->n_names == batch->names_capacity &&
        !grow((void **)(void *)&batch->names, &batch->names_capacity, sizeof *batch->names))
        return NULL;
    const char *copy = arena_text(&batch->keys, name, strlen(name));
    if (copy)
        batch->names[batch->n_names++] = copy;
    return copy;
}

static bool add_one(struct param_batch *batch, const struct lineage_param *param, uint64_t seq)
{
    if (batch->n == batch->capacity &&
        !grow((void **)(void *)&batch->rows, &batch->capacity, sizeof *batch->rows))
        return false;
    const char *key = intern(batch, param->name);
    if (key)
        batch->rows[batch->n++] = (struct param_row){key, param->value, (int64_t)seq};
    return key;
}

enum lineage_status param_batch_add(struct param_batch *batch, struct mirror *mirror,
                                    const struct lineage_trial *trial, struct lineage_error *err)
{
    for (size_t i = 0; i < trial->n_params; i++)
        if (!isnan(trial->params[i].value) && !add_one(batch, &trial->params[i], trial->seq))
            return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    return batch->n >= BATCH || batch->n_names >= MAX_NAMES ? param_batch_flush(batch, mirror, err)
                                                            : LINEAGE_OK;
}

static int by_key_and_value(const void *a, const void *b)
{
    const struct param_row *x = a, *y = b;
    if (x->key != y->key)
        return strcmp(x->key, y->key);
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

#define GROUP 64

static const char insert_one[] = "INSERT INTO param_rows VALUES (?,?,?)";
static const char insert_group[] = /* GROUP rows by one statement cost half as much */
    "INSERT INTO param_rows VALUES "
    "(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),"
    "(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),"
    "(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),"
    "(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),"
    "(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),"
    "(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),"
    "(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),"
    "(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?),(?,?,?)";

static enum lineage_status insert_rows(struct mirror *mirror, const struct param_row *rows,
                                       size_t n, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status =
        mirror_prepare(mirror, &stmt, n == GROUP ? insert_group : insert_one, err);
    if (status != LINEAGE_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        sqlite3_bind_text(stmt, (int)i * 3 + 1, rows[i].key, -1, SQLITE_STATIC);
        sqlite3_bind_double(stmt, (int)i * 3 + 2, rows[i].value);
        sqlite3_bind_int64(stmt, (int)i * 3 + 3, rows[i].seq);
    }
    return mirror_run(mirror, stmt, err);
}

enum lineage_status param_batch_flush(struct param_batch *batch, struct mirror *mirror,
                                      struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    size_t i = 0, n;
    if (batch->n)
        qsort(batch->rows, batch->n, sizeof *batch->rows, by_key_and_value);
    for (; status == LINEAGE_OK && i < batch->n; i += n) {
        n = batch->n - i >= GROUP ? GROUP : 1;
        status = insert_rows(mirror, batch->rows + i, n, err);
    }
    batch->n = batch->n_names = 0;
    arena_reset(&batch->keys);
    return status;
}
