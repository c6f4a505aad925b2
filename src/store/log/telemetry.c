/* telemetry.c: telemetry/<exp_id>.json, written whole before the row that it belongs to. */
#include "telemetry.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs.h"

bool telemetry_path(char path[TELEMETRY_PATH_MAX], const char *exp_id)
{
    size_t length = strlen(exp_id);
    if (!length || length > 200 || exp_id[0] == '.' || strchr(exp_id, '/'))
        return false;
    snprintf(path, TELEMETRY_PATH_MAX, "telemetry/%s.json", exp_id);
    return true;
}

bool telemetry_exists(int dir_fd)
{
    struct stat st;
    return fstatat(dir_fd, "telemetry", &st, 0) == 0 && S_ISDIR(st.st_mode);
}

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
    enum lineage_status status = LINEAGE_OK;
    if (!json_is_object(root))
        return store_fail(err, LINEAGE_EINVAL, "telemetry: not a JSON object");
    if (steps && !json_is_array(steps))
        return store_fail(err, LINEAGE_EINVAL, "telemetry: steps is not a list");
    for (size_t i = 0; status == LINEAGE_OK && i < json_array_size(steps); i++)
        status = check_step(json_array_get(steps, i), i, err);
    return status;
}

static enum lineage_status replace(int dir_fd, const char *path, const char *text, size_t length, bool sync,
                                   struct lineage_error *err)
{
    int telemetry_fd = fs_open(dir_fd, "telemetry", O_RDONLY | O_DIRECTORY, 0);
    if (telemetry_fd < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot open telemetry");
    enum lineage_status status = fs_replace(telemetry_fd, strchr(path, '/') + 1, text, length, sync, err);
    close(telemetry_fd);
    return status;
}

enum lineage_status telemetry_write(int dir_fd, const char *exp_id, const char *text, size_t length, bool sync,
                                    struct lineage_error *err)
{
    char path[TELEMETRY_PATH_MAX];
    json_error_t error;
    if (!telemetry_path(path, exp_id))
        return store_fail(err, LINEAGE_EINVAL, "exp_id '%.60s' cannot name a telemetry file", exp_id);
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return store_fail(err, LINEAGE_EINVAL, "telemetry:%d:%d: %s", error.line, error.column, error.text);
    enum lineage_status status = check(root, err);
    json_decref(root);
    if (status != LINEAGE_OK)
        return status;
    if (fs_mkdir(dir_fd, "telemetry") != 0 || (sync && fs_sync_dir(dir_fd) != 0))
        return store_fail_errno(err, LINEAGE_EIO, "cannot make the directory telemetry");
    return replace(dir_fd, path, text, length, sync, err);
}
