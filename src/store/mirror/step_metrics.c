/*
 * step_metrics.c: reads the per-step metrics of telemetry/<exp_id>.json into the table step_metrics. A file that is
 * missing, unreadable or damaged does not make the sync fail: `lineage verify` reports it.
 */
#include "step_metrics.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "../files/telemetry.h"
#include "../format/json_text.h"
#include "mirror_internal.h"
#include "statement.h"

static enum lineage_status insert_step(struct mirror *mirror, const struct lineage_trial *trial, json_int_t step, const char *key,
                                       double value, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, "REPLACE INTO step_metrics VALUES (?,?,?,?,?)", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_int64(stmt, 1, (int64_t)trial->seq);
    sqlite3_bind_text(stmt, 2, trial->exp_id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 3, step);
    sqlite3_bind_text(stmt, 4, key, -1, SQLITE_STATIC);
    sqlite3_bind_double(stmt, 5, value);
    return mirror_run(mirror, stmt, err);
}

/* Files written by this library contain only numbers. A file of another writer is used up to its first error. */
static enum lineage_status insert_steps(struct mirror *mirror, const struct lineage_trial *trial, const json_t *steps,
                                        struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < json_array_size(steps); i++) {
        json_t *step = json_array_get(steps, i), *value;
        const char *key;
        json_int_t number = json_integer_value(json_object_get(step, "step"));
        json_object_foreach(step, key, value)
            if (status == LINEAGE_OK && json_is_number(value) && strcmp(key, "step") != 0)
                status = insert_step(mirror, trial, number, key, json_number_value(value), err);
    }
    return status;
}

/* Whether the failure would occur again next time. A temporary failure (I/O, memory, descriptors) must make the sync
 * fail; otherwise the row would count as read and its metrics would be missing until a rebuild. */
static bool is_permanent(const struct lineage_error *why)
{
    return why->status == LINEAGE_ENOTFOUND || why->status == LINEAGE_EINVAL || why->status == LINEAGE_ELIMIT ||
           why->os_errno == EACCES || why->os_errno == EPERM || why->os_errno == EISDIR || why->os_errno == ENOTDIR ||
           why->os_errno == ELOOP;
}

/* The file is read when its row is inserted, because append writes the file before the row, and the file does not
 * change later. */
enum lineage_status mirror_insert_telemetry(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    struct buf text = {0};
    struct lineage_error why = {0};
    json_t *root = NULL;
    enum lineage_status status = telemetry_read(mirror->store->dir_fd, trial->exp_id, &text, &why);
    if (status == LINEAGE_OK)
        status = json_text_parse(&root, "telemetry", LINEAGE_EINVAL, text.data, text.length, 0, &why);
    if (status == LINEAGE_OK)
        status = insert_steps(mirror, trial, json_object_get(root, "steps"), err);
    else
        status = is_permanent(&why) ? LINEAGE_OK : store_give(err, &why);
    json_decref(root);
    buf_release(&text);
    return status;
}
