#include "sweep/trial_list.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <lineage/blobs.h>
#include <lineage/render.h>

/*
 * Checks the length of the path before anything runs, because a trial must not train for an hour and then fail because
 * the name of its checkpoint is too long.
 */
int checkpoint_files_find_directory(struct trial_list *list)
{
    struct lineage_error err;
    char *path;
    if (lineage_store_path(&path, list->store, LINEAGE_PLACE_CHECKPOINTS, &err) != LINEAGE_OK)
        return cli_error(CLI_SYSTEM, "%s", err.text);
    int n = snprintf(list->checkpoints, sizeof list->checkpoints, "%s", path);
    lineage_free(path);
    if ((size_t)n >= sizeof list->checkpoints)
        return cli_error(CLI_USAGE, "the path of the store is too long");
    return CLI_GO_ON;
}

/*
 * The file is named by the trial's key instead of its exp_id, because the file is needed before there is a row, and
 * child trials know their parent's key.
 */
void checkpoint_file(char out[NIGHT_PATH_MAX], const struct trial_list *list, size_t i)
{
    snprintf(out, NIGHT_PATH_MAX, "%s/%016" PRIx64 ".ckpt", list->checkpoints, list->trials[i].key);
}

static const char *blob_name(char out[64], const char *path)
{
    snprintf(out, 64, "checkpoints/%.48s", strrchr(path, '/') + 1);
    return out;
}

void checkpoint_file_send(const struct trial_list *list, const char *path)
{
    char name[64];
    struct lineage_error err;
    if (access(path, R_OK) == 0 && lineage_blob_put(list->store, blob_name(name, path), &err) != LINEAGE_OK)
        cli_say(err.text);
}

void checkpoint_file_fetch(const struct trial_list *list, const char *path)
{
    char name[64];
    struct lineage_error err;
    enum lineage_status status = lineage_blob_get(list->store, blob_name(name, path), &err);
    if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
        cli_say(err.text);
}
