/*
 * telemetry.c: telemetry/<exp_id>.json is written completely before its row: a file without a row is reported and
 * harmless, but a row without its file has lost its telemetry. The JSON is checked before it is written, because its
 * first reader may be a plot months later.
 */
#include "telemetry.h"

#include <fcntl.h>
#include <jansson.h>

#include "../format/json_text.h"
#include "fs.h"
#include "places.h"

/* A text or a null among the numbers cannot be stored in step_metrics and would be lost silently. */
static enum lineage_status check_step(const json_t *step, size_t i, struct lineage_error *err)
{
    const char *key;
    json_t *value;
    if (!json_is_integer(json_object_get(step, "step")))
        return store_fail(err, LINEAGE_EINVAL, "telemetry: steps[%zu] has no whole number `step`", i);
    json_object_foreach((json_t *)(uintptr_t)step, key, value)
        if (!json_is_number(value))
            return store_fail(err, LINEAGE_EINVAL, "telemetry: steps[%zu].%.40s is not a number", i, key);
    return LINEAGE_OK;
}

static enum lineage_status check(const json_t *root, struct lineage_error *err)
{
    const json_t *steps = json_object_get(root, "steps");
    if (!json_is_object(root))
        return store_fail(err, LINEAGE_EINVAL, "telemetry: not a JSON object");
    if (steps && !json_is_array(steps))
        return store_fail(err, LINEAGE_EINVAL, "telemetry: steps is not a list");
    for (size_t i = 0; i < json_array_size(steps); i++)
        TRY(check_step(json_array_get(steps, i), i, err));
    return LINEAGE_OK;
}

/* Opens telemetry/ and replaces the file in it, so that the directory that is synced is the one that contains the
 * name. */
static enum lineage_status replace(int dir_fd, const char *path, const char *text, size_t length, bool sync,
                                   struct lineage_error *err)
{
    int telemetry_fd = fs_open(dir_fd, PLACE_TELEMETRY, O_RDONLY | O_DIRECTORY, 0);
    if (telemetry_fd < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot open " PLACE_TELEMETRY);
    enum lineage_status status = fs_replace_alone(telemetry_fd, strchr(path, '/') + 1, text, length, sync, err);
    fs_close(telemetry_fd);
    return status;
}

enum lineage_status telemetry_write(int dir_fd, const char *exp_id, const char *text, size_t length, bool sync,
                                    struct lineage_error *err)
{
    char path[PLACE_MAX];
    json_t *root;
    if (!place_telemetry(path, exp_id))
        return store_fail(err, LINEAGE_EINVAL, "exp_id '%.60s' cannot name a telemetry file", exp_id);
    if (length > (size_t)FS_FILE_MAX)
        return store_fail(err, LINEAGE_ELIMIT, "telemetry is larger than %lld MiB", (long long)FS_FILE_MAX >> 20);
    enum lineage_status status = json_text_parse(&root, "telemetry", LINEAGE_EINVAL, text, length, JSON_REJECT_DUPLICATES, err);
    if (status == LINEAGE_OK)
        status = check(root, err);
    json_decref(root);
    TRY(status);
    /* The store's directory is synced too: if the name of telemetry/ is not durable, the files in it can be lost with
     * the directory. */
    if (fs_mkdir(dir_fd, PLACE_TELEMETRY) != 0 || (sync && fs_sync_dir(dir_fd) != 0))
        return store_fail_errno(err, LINEAGE_EIO, "cannot make the directory " PLACE_TELEMETRY);
    return replace(dir_fd, path, text, length, sync, err);
}

enum lineage_status telemetry_read(int dir_fd, const char *exp_id, struct buf *out, struct lineage_error *err)
{
    char path[PLACE_MAX];
    if (!place_telemetry(path, exp_id))
        return store_fail(err, LINEAGE_ENOTFOUND, "exp_id '%.60s' cannot name a telemetry file", exp_id);
    return fs_read_file(dir_fd, path, out, err);
}

/* For a row that was refused after its telemetry was written. If this fails, `verify` names the file, and the next row
 * with that id replaces it. */
void telemetry_remove(int dir_fd, const char *exp_id)
{
    char path[PLACE_MAX];
    if (place_telemetry(path, exp_id))
        fs_unlink(dir_fd, path);
}
